"""Train generators on Moral Stories: one adapter for one task, or for all of Table 18."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.models.language.conversion import resolve_base
from moralscope.models.language.making import TextMaking, make_generator, save_generator
from moralscope.models.store import Progress, Store
from moralscope.models.training import Schedule
from moralscope.models.training.folders import CHECKPOINT, named_base, training_folder
from moralscope.models.training.texts import TextLesson
from moralscope.stories.cards import expert_card
from moralscope.stories.data_files import load_stories
from moralscope.stories.splits import part_of
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import generation_task, generation_tasks, markers
from moralscope.stories.text_lessons import REFINEMENT, Drafts, refinement_lessons, text_lessons
from moralscope.stories.train import TEXTS, Report, TrainOptions, describe

DEFAULT = Schedule(epochs=4, learning_rate=1e-3, batch_size=32, patience=3)
# Table 11; what it leaves open is transformers' default.
PAPER = Schedule(
    epochs=50,
    learning_rate=5e-6,
    batch_size=8,
    accumulate=8,
    warmup=0.0,
    weight_decay=0.0,
    patience=3,
)
MAX_INPUT, PAPER_INPUT, MAX_OUTPUT = 200, 100, 60
WRITTEN = 64  # prompts of a task that are answered at each look at dev


def train_texts(
    options: TrainOptions,
    out: Path,
    stories: Path | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train, choose the epoch on dev, write the generator to `out`."""
    _check(options)
    longest = options.max_length or (PAPER_INPUT if options.paper else MAX_INPUT)
    options = replace(options, max_length=longest)
    drafts = read_drafts(options.drafts) if options.drafts else {}
    found = load_stories(stories).stories
    member = part_of(found, options.split, "action")
    lessons, dev = (
        _lessons([row for row in found if member.get(row.id) == part], part, drafts, options)
        for part in ("train", "dev")
    )
    name = options.base or "smollm2"
    base, base_sha256 = resolve_base(name, store=Store(), progress=progress)
    name, base_sha256 = named_base(name, base, base_sha256, options.base_is)
    schedule = options.schedule_from(DEFAULT, PAPER)
    limits = (longest, MAX_OUTPUT)
    written = 0 if options.paper else WRITTEN
    start = options.start[0] if options.start else None
    making = TextMaking(base, markers(), schedule, options.adapter, start, limits, written)
    with training_folder(out):
        learner, history = make_generator(making, lessons, dev, out / CHECKPOINT, report)
        figures = {"dev": history.looks[history.best]}
        card = expert_card(options, name, schedule, figures, own=stories)
        facts = {
            "base": name,
            "base_sha256": base_sha256,
            "markers": list(markers()),
            "tasks": _names(options),
            "card": card.facts,
        }
        save_generator(out, learner, facts, card.text)
    return RunRecord(
        job="train",
        seed=schedule.seed,
        config={**describe(options), "schedule": asdict(schedule), "out": str(out)},
        models=[ModelRef(name, base_sha256)],
        results=history.looks,
        statistics={
            "lessons": dict(Counter(row.group for row in lessons)),
            "figures": figures,
            "history": asdict(history),
        },
    )


def read_drafts(path: Path) -> Drafts:
    """Read drafts from a run of `consequence-ranking`: each candidate with its label."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    try:
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
        for row in record["results"] if record["config"]["kind"] == "consequence" else ():
            for draft in row["candidates"]:
                if draft["text"] and draft["score"] is not None:
                    label = "plausible" if draft["score"] >= 0.5 else "implausible"
                    found.setdefault((row["id"], row["target"]), []).append((draft["text"], label))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _no_drafts(path) from error
    if not found:
        raise _no_drafts(path)
    return found


def _no_drafts(path: Path) -> InputError:
    return InputError(
        f"{path} is no run of 'stories chain consequence-ranking' with scores",
        "give the file that its --out wrote",
    )


def _check(options: TrainOptions) -> None:
    """Refuse what only experts know, instead of leaving it aside."""
    experts_only = {
        "--grid": options.grid,
        "--ethics": options.ethics,
        "--consistency": options.consistency > 0,
        "--reversed-weight": options.reversed_weight != 1,
    }
    for name, given in experts_only.items():
        if given:
            raise InputError(f"{name} is for classification", f"leave it out for {options.task}")
    if options.test:
        raise InputError(
            "--test is for classification", "'stories generate' and 'score-texts' test a generator"
        )
    if len(options.start) > 1:
        raise InputError("texts go on from one adapter", "give --start once")
    if options.start and not (options.start[0] / "adapter_config.json").is_file():
        raise InputError(
            f"{options.start[0]} holds no adapter", "give --start a folder of 'stories train'"
        )


def _names(options: TrainOptions) -> list[str]:
    if options.task != TEXTS:
        return [options.task]
    return [name for name in generation_tasks() if name != REFINEMENT or options.drafts]


def _lessons(
    stories: Sequence[MoralStory], part: str, drafts: Drafts, options: TrainOptions
) -> list[TextLesson]:
    chosen = stories[: options.limit]
    lessons: list[TextLesson] = []
    for name in _names(options):
        if name == REFINEMENT:
            lessons += refinement_lessons(chosen, drafts)
        else:
            lessons += text_lessons(generation_task(name), chosen)
    if not lessons:
        raise InputError(
            f"no story of the {part} part has every sentence that '{options.task}' needs",
            "give stories that have them, and --drafts of both parts for refinement",
        )
    return lessons
