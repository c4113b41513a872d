"""Train experts on Moral Stories: data card → split → task rows → the one loop → a folder.

Classification here; generation in `stories_train_texts`. The figures on dev choose, the figures on
test are computed only when asked for, once.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.engine.adapters import AdapterShape
from moralscope.engine.classifiers.bases import resolve_base
from moralscope.engine.classifiers.learning import Lesson, PairLearner
from moralscope.engine.classifiers.making import Making, keep_tasks, make_experts
from moralscope.engine.classifiers.saved import ExpertSettings, folder_sha256, save_experts
from moralscope.engine.data import data_file
from moralscope.engine.stats.calibration import fit_temperature
from moralscope.engine.store import Progress, Store
from moralscope.engine.training import History, Schedule
from moralscope.engine.training import Moment as Moment
from moralscope.jobs.expert_cards import expert_card
from moralscope.jobs.stories_data import load_stories
from moralscope.stories.auxiliary import TASKS as ETHICS_TASKS
from moralscope.stories.auxiliary import ethics_lessons
from moralscope.stories.lessons import (
    UNRELATED,
    Contrast,
    behaviour_lessons,
    contrast_lessons,
    dev_lessons,
    official_lessons,
)
from moralscope.stories.splits import part_of
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import (
    ClassificationTask,
    classification_task,
    classification_tasks,
    generation_tasks,
)

ALL, TEXTS = "all", "texts"
CHECKPOINT = "training.safetensors"
DEFAULT = Schedule(epochs=4, learning_rate=4e-4, batch_size=64)
PAPER = Schedule(epochs=4, learning_rate=1e-5, batch_size=16, warmup=0.0, patience=4)
PAPER_LENGTH = 100
GRID = {"learning_rate": (1e-5, 3e-5, 5e-5), "epochs": (3, 4), "batch_size": (8, 16)}
Report = Callable[[Moment], None]


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What to train on what. `rank` None trains every weight of the base.

    `base_is` names the store's entry whose weights the base folder holds (a copy elsewhere);
    `schedule` holds what differs from the defaults, or from the paper's settings with `paper`.
    """

    task: str = ALL
    split: str = "norm_distance"
    base: str | None = None
    base_is: str | None = None
    rank: int | None = 16
    paper: bool = False
    grid: bool = False
    max_length: int = 128
    contrast: bool = True
    behaviours: bool = True
    ethics: bool = False
    test: bool = False
    limit: int | None = None
    start: Path | None = None
    drafts: Path | None = None
    schedule: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0


def train_task(
    options: TrainOptions,
    out: Path,
    stories: Path | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train what the task's name means: classification experts, or a generator."""
    if options.task == TEXTS or options.task in generation_tasks():
        from moralscope.jobs.stories_train_texts import train_texts

        return train_texts(options, out, stories, report, progress)
    return train_experts(options, out, stories, report, progress)


def train_experts(
    options: TrainOptions,
    out: Path,
    stories: Path | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train, choose on dev, write the experts to `out`, and say how well they do."""
    tasks = _tasks(options.task)
    name = options.base or "mpnet"
    base, base_sha256 = resolve_base(name, Store(), progress)
    if options.base_is:
        name, base_sha256 = options.base_is, Store().entry(options.base_is).sha256
    parts = _parts(tasks, load_stories(stories).stories, options)
    lessons = _lessons(tasks, parts, options)
    dev = [row for task in tasks for row in _dev(task, parts[task.name]["dev"], options)]
    out.mkdir(parents=True, exist_ok=True)
    learner, history, schedule = _best(options, base, lessons, dev, tasks, out, report)
    temperatures = {task.name: _temperature(learner, task.name) for task in tasks}
    figures = {"dev": history.looks[history.best]}
    slices = keep_tasks(learner.module, learner.slices, [task.name for task in tasks])
    if options.test:
        test = [row for task in tasks for row in _dev(task, parts[task.name]["test"], options)]
        final = PairLearner(learner.module, learner.tokenizer, slices, [], test, _length(options))
        figures["test"] = final.dev()
    card = expert_card(options, name, schedule, history, figures)
    settings = ExpertSettings(
        name,
        base_sha256,
        slices.labels,
        _length(options),
        temperatures,
        card.facts,
    )
    save_experts(out, learner.module, settings, learner.tokenizer, card.text)
    (out / CHECKPOINT).unlink(missing_ok=True)
    return RunRecord(
        job="train",
        seed=schedule.seed,
        config={**describe(options), "schedule": asdict(schedule), "out": str(out)},
        models=[ModelRef(name, base_sha256), ModelRef(out.name, folder_sha256(out))],
        results=history.looks,
        statistics={
            "lessons": _counts(lessons),
            "figures": figures,
            "temperatures": temperatures,
            "history": asdict(history),
        },
    )


def _tasks(name: str) -> list[ClassificationTask]:
    return list(classification_tasks().values()) if name == ALL else [classification_task(name)]


def _parts(
    tasks: Sequence[ClassificationTask], stories: Sequence[MoralStory], options: TrainOptions
) -> dict[str, dict[str, list[MoralStory]]]:
    """Return the stories of every part, by task: consequences have a split of their own."""
    members = {kind: part_of(stories, options.split, kind) for kind in {t.split for t in tasks}}
    held_out = {
        id for member in members.values() for id, part in member.items() if part != "train"
    }  # actions and consequences are split apart: a test story of one kind may train no other
    found: dict[str, dict[str, list[MoralStory]]] = {}
    for task in tasks:
        member = members[task.split]
        parts = {
            part: [
                story
                for story in stories
                if member.get(story.id) == part and (part != "train" or story.id not in held_out)
            ][: options.limit]
            for part in ("train", "dev", "test")
        }
        for part in ("train", "dev"):
            if not official_lessons(task, parts[part]):
                raise InputError(
                    f"no story of the {part} part has every sentence that '{task.name}' needs "
                    f"({', '.join((*task.grounding, task.target))})",
                    "give stories that have them, or take another task",
                )
        found[task.name] = parts
    return found


def _lessons(
    tasks: Sequence[ClassificationTask],
    parts: Mapping[str, Mapping[str, list[MoralStory]]],
    options: TrainOptions,
) -> list[Lesson]:
    lessons: list[Lesson] = []
    seed = options.seed
    for task in tasks:
        train = parts[task.name]["train"]
        lessons += official_lessons(task, train)
        if options.contrast and len(task.labels) > UNRELATED:
            lessons += contrast_lessons(task, train, Contrast(), seed)
        if options.behaviours and not task.grounding:
            lessons += behaviour_lessons(task, train)
    if options.ethics:
        folder = data_file("ethics/README.txt")
        if folder is None:
            raise InputError(
                "--ethics needs the ETHICS data below MORALSCOPE_DATA",
                "'moralscope data where ethics' says where it comes from",
            )
        found = ethics_lessons(folder.parent, seed)
        lessons += found[: options.limit] if options.limit else found
    return lessons


def _dev(
    task: ClassificationTask, stories: list[MoralStory], options: TrainOptions
) -> list[Lesson]:
    contrast = options.contrast and len(task.labels) > UNRELATED
    return dev_lessons(task, stories, contrast, options.seed)


def _best(
    options: TrainOptions,
    base: Path,
    lessons: list[Lesson],
    dev: list[Lesson],
    tasks: Sequence[ClassificationTask],
    out: Path,
    report: Report | None,
) -> tuple[PairLearner, History, Schedule]:
    """Train once, or once for every point of the paper's grid, and keep the best on dev."""
    labels = {task.name: task.labels for task in tasks}
    if options.ethics:
        labels |= ETHICS_TASKS
    best: tuple[PairLearner, History, Schedule] | None = None
    for place, schedule in enumerate(_schedules(options)):
        adapter = None if options.rank is None or options.paper else AdapterShape(options.rank)
        making = Making(base, labels, schedule, adapter, _length(options))
        checkpoint = out / (CHECKPOINT if not options.grid else f"{place:02d}-{CHECKPOINT}")
        learner, history = make_experts(making, lessons, dev, checkpoint, report)
        if best is None or _score(history) > _score(best[1]):
            best = learner, history, schedule
    if best is None:
        raise InputError("the grid is empty", "leave --grid out")
    for left in out.glob(f"*-{CHECKPOINT}"):
        left.unlink()
    return best


def _schedules(options: TrainOptions) -> list[Schedule]:
    one = replace(PAPER if options.paper else DEFAULT, seed=options.seed, **options.schedule)
    if not options.grid:
        return [one]
    points = itertools.product(*GRID.values())
    return [replace(one, **_named(point)) for point in points]


def _named(point: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(GRID, point, strict=True))


def _length(options: TrainOptions) -> int:
    return PAPER_LENGTH if options.paper else options.max_length


def _score(history: History) -> float:
    return history.looks[history.best]["score"]


def _temperature(learner: PairLearner, task: str) -> float:
    """Return the temperature that suits dev best, over all groups of the task."""
    chosen = [
        (logits, row.label)
        for logits, row in zip(learner.dev_logits(), learner.dev_lessons, strict=True)
        if row.task == task
    ]
    logits = np.array([row for row, _ in chosen], dtype=np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    rows = np.exp(logits)
    return fit_temperature(
        rows / rows.sum(axis=1, keepdims=True), np.array([label for _, label in chosen])
    )


def _counts(lessons: Sequence[Lesson]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in lessons:
        counts[row.task] = counts.get(row.task, 0) + 1
    return counts


def describe(options: TrainOptions) -> dict[str, Any]:
    """Return the options as a run record holds them."""
    paths = {"start": options.start, "drafts": options.drafts}
    return {**asdict(options), **{name: str(path) for name, path in paths.items() if path}}
