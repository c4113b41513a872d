"""Train experts on Moral Stories: data card → split → task rows → the one loop → a folder.

Classification here; generation in `stories_train_texts`. The figures on dev choose, the figures on
test are computed only when asked for, once.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.models.adapters import AdapterShape
from moralscope.models.classifiers.learning import Lesson
from moralscope.models.classifiers.making import Making, keep_tasks
from moralscope.models.classifiers.module import resolve_base
from moralscope.models.classifiers.saved import ExpertSettings, folder_sha256, save_experts
from moralscope.models.store import Progress, Store, data_file
from moralscope.models.training import Moment, Schedule
from moralscope.models.training.folders import named_base, training_folder
from moralscope.models.training.runs import best_run, check_rate, dev_temperatures
from moralscope.stories.auxiliary import TASKS as ETHICS_TASKS
from moralscope.stories.auxiliary import ethics_lessons
from moralscope.stories.cards import expert_card
from moralscope.stories.data_files import load_stories
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

__all__ = ["Moment", "Report", "TrainOptions", "train_experts", "train_task"]

ALL, TEXTS = "all", "texts"
DEFAULT = Schedule(epochs=4, learning_rate=4e-4, batch_size=64, average=0.998)
# Appendix B and Table 14 (the setting of most rows); what they leave open is transformers' default.
PAPER = Schedule(
    epochs=4, learning_rate=1e-5, batch_size=16, warmup=0.0, weight_decay=0.0, patience=4
)
LENGTH, PAPER_LENGTH = 128, 100
# Footnote 4.
SMOOTHING = 0.05
TIED = {"action+context": "action+norm"}  # the same question with more to read
GRID: dict[str, Any] = {
    "learning_rate": (1e-5, 3e-5, 5e-5),
    "epochs": (3, 4),
    "batch_size": (8, 16),
}
Report = Callable[[Moment], None]


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What to train on what. `rank` None trains every weight of the base.

    `paper` gives the paper's settings: every weight, its schedule and length, its pairs alone.
    `contrast`, `behaviours` and `max_length` None mean what `paper` says, or else ours. `schedule`
    holds what differs from the defaults or from the paper. `base_is` names the store's entry whose
    weights the base folder holds (a copy elsewhere). `members` ("action", "consequence") takes
    every task's train part from that kind's split and looks at the tasks of that kind alone;
    without it, no story that either kind holds out is learnt from. `reversed_weight` is that of a
    pair with a reversed norm beside an official one; `consistency` is `PairLearner`'s. `start` goes
    on from saved adapters (several: from their mean; with no epochs at all, that mean is written).

    Examples
    --------
    >>> TrainOptions(paper=True).adapter is None, TrainOptions(rank=8).adapter.rank
    (True, 8)
    """

    task: str = ALL
    split: str = "norm_distance"
    members: str | None = None
    base: str | None = None
    base_is: str | None = None
    rank: int | None = 16
    paper: bool = False
    grid: bool = False
    max_length: int | None = None
    contrast: bool | None = None
    reversed_weight: float = 1.0
    consistency: float = 0.0
    behaviours: bool | None = None
    ethics: bool = False
    test: bool = False
    limit: int | None = None
    start: tuple[Path, ...] = ()
    drafts: Path | None = None
    schedule: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def adapter(self) -> AdapterShape | None:
        """The adapter's shape; None trains every weight, as the paper does."""
        return None if self.rank is None or self.paper else AdapterShape(self.rank)

    def schedule_from(self, ours: Schedule, paper: Schedule) -> Schedule:
        """Return the schedule that these options mean."""
        return replace(paper if self.paper else ours, seed=self.seed, **self.schedule)


def train_task(
    options: TrainOptions,
    out: Path,
    stories: Path | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train what the task's name means: classification experts, or a generator.

    Raises
    ------
    InputError
        A name that means nothing, stories without the sentences, or a folder of other things.
    """
    known = [ALL, TEXTS, *classification_tasks(), *generation_tasks()]
    if options.task not in known:
        raise InputError(f"there is no task '{options.task}'", did_you_mean(options.task, known))
    check_rate(options.schedule)
    if options.schedule.get("epochs") == 0 and not options.start:
        raise InputError("nothing is learnt in 0 epochs", "give --start DIR, or 1 epoch and more")
    if options.task == TEXTS or options.task in generation_tasks():
        from moralscope.stories.train_generator import train_texts

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
    if options.drafts:
        raise InputError("--drafts is for texts", f"leave it out for {options.task}")
    options = _settled(options)
    _check_weights(options)
    tasks = _tasks(options.task)
    looked_at = _looked_at(tasks, options)
    parts = _parts(tasks, load_stories(stories).stories, options)
    lessons = _lessons(tasks, parts, options)
    name = options.base or "mpnet"
    base, base_sha256 = resolve_base(name, Store(), progress)
    name, base_sha256 = named_base(name, base, base_sha256, options.base_is)
    labels = {task.name: task.labels for task in tasks} | (ETHICS_TASKS if options.ethics else {})
    making = Making(
        base,
        labels,
        adapter=options.adapter,
        max_length=options.max_length or LENGTH,
        smoothing=0.0 if options.paper else SMOOTHING,
        consistency=options.consistency,
        tied={task: own for task, own in TIED.items() if {task, own} <= set(labels)},
        starts=options.start,
    )
    with training_folder(out):
        dev = _part_lessons(looked_at, parts, "dev", options)
        searched = list(GRID) if options.grid else []
        best = best_run(making, _schedules(options), searched, (lessons, dev), out, report)
        names = [task.name for task in looked_at]
        temperatures = dev_temperatures(best.learner, names)
        slices = keep_tasks(best.learner.module, best.learner.slices, names)
        figures: dict[str, Mapping[str, float]] = {"dev": best.look}
        if options.test:
            test = _part_lessons(looked_at, parts, "test", options)
            learner = replace(best.learner, slices=slices, lessons=[], dev_lessons=test)
            figures["test"] = learner.dev()
        card = expert_card(options, name, best.schedule, figures, own=stories)
        settings = ExpertSettings(
            name, base_sha256, slices.labels, making.max_length, temperatures, card.facts
        )
        save_experts(out, best.learner.module, settings, best.learner.tokenizer, card.text)
    return RunRecord(
        job="train",
        seed=options.seed,
        config={**describe(options), "schedule": asdict(best.schedule), "out": str(out)},
        models=[ModelRef(name, base_sha256), ModelRef(out.name, folder_sha256(out))],
        results=best.history.looks,
        statistics={
            "lessons": dict(Counter(row.task for row in lessons)),
            "figures": figures,
            "temperatures": temperatures,
            "history": asdict(best.history),
            **({"grid": list(best.grid)} if options.grid else {}),
        },
    )


def _settled(options: TrainOptions) -> TrainOptions:
    """Return the options with nothing left open."""
    ours = not options.paper
    return replace(
        options,
        contrast=ours if options.contrast is None else options.contrast,
        behaviours=ours if options.behaviours is None else options.behaviours,
        max_length=options.max_length or (LENGTH if ours else PAPER_LENGTH),
    )


def _check_weights(options: TrainOptions) -> None:
    for name, weight in (
        ("--reversed-weight", options.reversed_weight),
        ("--consistency", options.consistency),
    ):
        if not 0 <= weight < math.inf:
            raise InputError(f"{name} is no weight: {weight}", "give a number from 0 on")
    if options.reversed_weight != 1 and not options.contrast:
        raise InputError("no norm is reversed without contrast", "leave --reversed-weight out")


def _tasks(name: str) -> list[ClassificationTask]:
    return list(classification_tasks().values()) if name == ALL else [classification_task(name)]


def _looked_at(
    tasks: Sequence[ClassificationTask], options: TrainOptions
) -> list[ClassificationTask]:
    """Return the tasks whose figures choose and are kept: those of the kind in `members`."""
    found = [task for task in tasks if options.members in (None, task.split)]
    if not found:
        raise InputError(
            f"'{options.task}' is no task of --members {options.members}",
            "give action or consequence, the kind that the task's split is for",
        )
    return found


def _parts(
    tasks: Sequence[ClassificationTask], stories: Sequence[MoralStory], options: TrainOptions
) -> dict[str, dict[str, list[MoralStory]]]:
    """Return the stories of every part, by task: consequences have a split of their own."""
    kinds = {options.members or task.split for task in tasks}
    members = {kind: part_of(stories, options.split, kind) for kind in kinds}
    held_out = {
        id for member in members.values() for id, part in member.items() if part != "train"
    }  # actions and consequences are split apart: a test story of one kind may train no other
    found: dict[str, dict[str, list[MoralStory]]] = {}
    for task in tasks:
        member = members[options.members or task.split]
        parts = {
            part: [
                story
                for story in stories
                if member.get(story.id) == part and (part != "train" or story.id not in held_out)
            ][: options.limit]
            for part in ("train", "dev", "test")
        }
        for part in ("train", "dev", *(("test",) if options.test else ())):
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
    for task in tasks:
        train = parts[task.name]["train"]
        lessons += official_lessons(task, train)
        if options.contrast and len(task.labels) > UNRELATED:
            lessons += contrast_lessons(
                task, train, Contrast(reversed_weight=options.reversed_weight), options.seed
            )
        if options.behaviours and not task.grounding:
            lessons += behaviour_lessons(task, train)
    return lessons + (_ethics(options) if options.ethics else [])


def _ethics(options: TrainOptions) -> list[Lesson]:
    folder = data_file("ethics/README.txt")
    if folder is None:
        raise InputError(
            "--ethics needs the ETHICS data below MORALSCOPE_DATA",
            "'moralscope data where ethics' says where it comes from",
        )
    return ethics_lessons(folder.parent, options.seed)[: options.limit]


def _part_lessons(
    tasks: Sequence[ClassificationTask],
    parts: Mapping[str, Mapping[str, list[MoralStory]]],
    part: str,
    options: TrainOptions,
) -> list[Lesson]:
    """Return the pairs of dev or test, in their groups."""
    return [
        row
        for task in tasks
        for row in dev_lessons(
            task,
            parts[task.name][part],
            bool(options.contrast) and len(task.labels) > UNRELATED,
            options.seed,
        )
    ]


def _schedules(options: TrainOptions) -> list[Schedule]:
    """Return one schedule, or every point of the grid; what the user gave is not searched."""
    one = options.schedule_from(DEFAULT, PAPER)
    free = {name: values for name, values in GRID.items() if name not in options.schedule}
    if not options.grid:
        return [one]
    points = itertools.product(*free.values())
    return [replace(one, **dict(zip(free, point, strict=True))) for point in points]


def describe(options: TrainOptions) -> dict[str, Any]:
    """Return the options as a run record holds them."""
    drafts = str(options.drafts) if options.drafts else None
    return {**asdict(options), "start": [str(path) for path in options.start], "drafts": drafts}
