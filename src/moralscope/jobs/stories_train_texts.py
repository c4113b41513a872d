"""Train generators on Moral Stories: one adapter for one task, or for all of Table 18."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.engine.adapters import AdapterShape
from moralscope.engine.generators.conversion import resolve_base
from moralscope.engine.generators.making import TextMaking, make_generator, save_generator
from moralscope.engine.store import Progress, Store
from moralscope.engine.training import Schedule
from moralscope.engine.training.texts import TextLesson
from moralscope.jobs.expert_cards import expert_card
from moralscope.jobs.stories_data import load_stories
from moralscope.jobs.stories_train import CHECKPOINT, TEXTS, Report, TrainOptions, describe
from moralscope.stories.splits import part_of
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import generation_task, generation_tasks, markers
from moralscope.stories.text_lessons import REFINEMENT, Drafts, refinement_lessons, text_lessons

DEFAULT = Schedule(epochs=4, learning_rate=1e-3, batch_size=32, patience=3)
PAPER = Schedule(epochs=50, learning_rate=5e-6, batch_size=8, accumulate=8, warmup=0.0, patience=3)
MAX_INPUT, MAX_OUTPUT = 200, 60


def train_texts(
    options: TrainOptions,
    out: Path,
    stories: Path | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train, choose the epoch on dev, write the generator to `out`."""
    name = options.base or "smollm2"
    base, base_sha256 = resolve_base(name, store=Store(), progress=progress)
    if options.base_is:
        name, base_sha256 = options.base_is, Store().entry(options.base_is).sha256
    parts = _parts(load_stories(stories).stories, options)
    drafts = read_drafts(options.drafts) if options.drafts else {}
    lessons, dev = (_lessons(parts[part], drafts, options) for part in ("train", "dev"))
    schedule = replace(PAPER if options.paper else DEFAULT, seed=options.seed, **options.schedule)
    adapter = None if options.rank is None or options.paper else AdapterShape(options.rank)
    making = TextMaking(base, markers(), schedule, adapter, options.start, (MAX_INPUT, MAX_OUTPUT))
    out.mkdir(parents=True, exist_ok=True)
    learner, history = make_generator(making, lessons, dev, out / CHECKPOINT, report)
    figures = {"dev": history.looks[history.best]}
    card = expert_card(options, name, schedule, history, figures)
    facts = {"base": name, "base_sha256": base_sha256, "markers": list(markers())}
    save_generator(out, learner, {**facts, "tasks": _names(options), "card": card.facts}, card.text)
    (out / CHECKPOINT).unlink(missing_ok=True)
    return RunRecord(
        job="train",
        seed=schedule.seed,
        config={**describe(options), "schedule": asdict(schedule), "out": str(out)},
        models=[ModelRef(name, base_sha256)],
        results=history.looks,
        statistics={
            "lessons": {
                task: sum(row.group == task for row in lessons) for task in _names(options)
            },
            "figures": figures,
            "history": asdict(history),
        },
    )


def read_drafts(path: Path) -> Drafts:
    """Read drafts from a run of `consequence-ranking`: each candidate with its label."""
    try:
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
        found: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for row in record["results"]:
            for draft in row["candidates"]:
                label = "plausible" if draft["score"] >= 0.5 else "implausible"
                found.setdefault((row["id"], row["target"]), []).append((draft["text"], label))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is no run of 'stories chain consequence-ranking'", "give its --out file"
        ) from error
    return found


def _names(options: TrainOptions) -> list[str]:
    if options.task != TEXTS:
        return [options.task]
    return [name for name in generation_tasks() if name != REFINEMENT or options.drafts]


def _parts(stories: Sequence[MoralStory], options: TrainOptions) -> dict[str, list[MoralStory]]:
    member = part_of(stories, options.split, "action")
    return {
        part: [story for story in stories if member.get(story.id) == part][: options.limit]
        for part in ("train", "dev")
    }


def _lessons(
    stories: Sequence[MoralStory], drafts: Drafts, options: TrainOptions
) -> list[TextLesson]:
    lessons: list[TextLesson] = []
    for name in _names(options):
        if name == REFINEMENT:
            lessons += refinement_lessons(stories, drafts)
        else:
            lessons += text_lessons(generation_task(name), stories)
    if not lessons:
        raise InputError(
            f"no story has every sentence that '{options.task}' needs",
            "give stories that have them, and --drafts for refinement",
        )
    return lessons
