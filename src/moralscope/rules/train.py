"""Train experts for the attributes of rules: lessons → the one loop → a folder with its card.

Alignment, foundations, severity, consensus, or several in one adapter. From the data at hand
(Moral Stories, SOCIAL-CHEM-101) or from the user's MIC.csv with the paper's settings. Dev
chooses the epoch and the thresholds; test is looked at only when asked for, once.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.models.adapters import AdapterShape
from moralscope.models.classifiers.figures import best_thresholds, label_f1, sigmoid
from moralscope.models.classifiers.heads import refit_head
from moralscope.models.classifiers.learning import Lesson, PairLearner
from moralscope.models.classifiers.making import Making
from moralscope.models.classifiers.module import resolve_base
from moralscope.models.classifiers.saved import (
    ExpertSettings,
    folder_sha256,
    read_settings,
    save_experts,
)
from moralscope.models.store import Progress, Store
from moralscope.models.training import Moment, Schedule
from moralscope.models.training.folders import named_base, training_folder
from moralscope.models.training.loop import Report
from moralscope.models.training.runs import BestRun, best_run, check_rate, dev_temperatures
from moralscope.rules.alignment import TASK
from moralscope.rules.attribute_lessons import (
    FOUNDATIONS_TASK,
    KINDS,
    SCALES,
    foundation_baselines,
)
from moralscope.rules.cards import rule_card
from moralscope.rules.metrics import measure_scale
from moralscope.rules.reading import MIC_FILE, load_annotations, source_warnings
from moralscope.rules.training_data import (
    Taught,
    exchange_lessons,
    lessons_at_hand,
    lessons_of_file,
)

__all__ = ["TASKS", "AttributeOptions", "Moment", "train_attributes"]

ATTRIBUTES = "attributes"
TASKS = (TASK, FOUNDATIONS_TASK, *SCALES)
AT_HAND = (TASK, FOUNDATIONS_TASK)
DEFAULT = Schedule(epochs=4, learning_rate=4e-4, batch_size=64, average=0.998)
# Section 5.2: batch 16, epsilon 1e-8, one to eight epochs, the rate one of GRID.
PAPER = Schedule(
    epochs=8, learning_rate=3e-5, batch_size=16, warmup=0.0, weight_decay=0.0, patience=8
)
GRID = (2e-5, 3e-5, 5e-5)
LENGTH, SMOOTHING = 128, 0.05
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class AttributeOptions:
    """What to train on what.

    With `data` (MIC.csv) the paper's settings hold: every weight, its schedule. Without, the data
    at hand and an adapter; severity and consensus then need mic/MIC.csv below MORALSCOPE_DATA.
    `rank` makes an adapter of that rank, `full` trains every weight. `exchanges` is a file of
    judged exchanges that helps to choose the epoch. `start` goes on from saved experts (several:
    from their mean); `head` then fits alignment's last layer alone, and no epochs leave that mean
    as it is. `schedule` holds what differs from the default.

    Examples
    --------
    >>> AttributeOptions().adapter.rank, AttributeOptions(data=Path("MIC.csv")).adapter
    (16, None)
    """

    task: str = ATTRIBUTES
    base: str = "mpnet"
    base_is: str | None = None
    data: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    stories: Path | None = None
    exchanges: Path | None = None
    start: tuple[Path, ...] = ()
    head: bool = False
    rank: int | None = None
    full: bool = False
    grid: bool = False
    max_length: int = LENGTH
    test: bool = False
    limit: int | None = None
    schedule: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def from_file(self) -> bool:
        """Whether annotations are learnt: a named file, or what only MIC.csv has."""
        return self.data is not None or self.task in SCALES

    @property
    def adapter(self) -> AdapterShape | None:
        """The adapter's shape; None trains every weight, as the paper does."""
        if self.full or (self.from_file and self.rank is None):
            return None
        return AdapterShape(self.rank or 16)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The attributes that are learnt together."""
        if self.task != ATTRIBUTES:
            return (self.task,)
        return TASKS if self.from_file else AT_HAND

    @property
    def still(self) -> bool:
        """Whether the body stays as it was started from."""
        return self.head or self.schedule.get("epochs") == 0

    @property
    def schedules(self) -> list[Schedule]:
        """The schedule, or one for every learning rate that the paper tried."""
        one = replace(PAPER if self.from_file else DEFAULT, seed=self.seed, **self.schedule)
        if self.head:
            return [replace(one, epochs=0)]
        if not self.grid:
            return [one]
        return [replace(one, learning_rate=rate) for rate in GRID]


def train_attributes(
    options: AttributeOptions,
    out: Path,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train, choose on dev, write the experts to `out`, and say how well they do.

    Raises
    ------
    InputError
        A name that means nothing, data without the attribute, or a folder of other things.
    """
    _check(options)
    taught, warnings = _taught(options)
    base, base_sha256 = resolve_base(options.base, Store(), progress)
    name, base_sha256 = named_base(options.base, base, base_sha256, options.base_is)
    making = Making(
        base,
        taught.labels,
        adapter=options.adapter,
        max_length=options.max_length,
        smoothing=0.0 if options.from_file else SMOOTHING,
        kinds={task: kind for task, kind in KINDS.items() if task in taught.labels},
        starts=options.start,
    )
    with training_folder(out):
        pairs = (taught.parts["train"], taught.parts["dev"])
        searched = ["learning_rate"] if options.grid else []
        best = best_run(making, options.schedules, searched, pairs, out, report)
        if options.head:
            refit_head(best.learner, TASK)
        temperatures = dev_temperatures(best.learner, [TASK] if TASK in taught.labels else [])
        thresholds = (
            dict(read_settings(options.start[0]).thresholds)
            if options.still
            else _thresholds(best.learner)
        )
        figures = _figures(best, taught, thresholds, options)
        part = "test" if options.test else "dev"
        baselines = {} if options.still else _baselines(taught, part)
        card = rule_card(options, name, best.schedule, figures, taught, baselines)
        settings = ExpertSettings(
            name,
            base_sha256,
            dict(taught.labels),
            making.max_length,
            temperatures,
            card.facts,
            dict(making.kinds),
            thresholds,
        )
        save_experts(out, best.learner.module, settings, best.learner.tokenizer, card.text)
    return RunRecord(
        "rules train",
        seed=options.seed,
        config={**_described(options), "schedule": asdict(best.schedule), "out": str(out)},
        models=[ModelRef(name, base_sha256), ModelRef(out.name, folder_sha256(out))],
        results=best.history.looks,
        statistics={
            "lessons": {
                part: dict(Counter(row.task for row in rows)) for part, rows in taught.parts.items()
            },
            "counts": dict(taught.counts),
            "figures": figures,
            "baselines": baselines,
            "temperatures": temperatures,
            "thresholds": thresholds,
            "history": asdict(best.history),
            **({"grid": list(best.grid)} if options.grid else {}),
        },
        warnings=warnings,
    )


def _check(options: AttributeOptions) -> None:
    known = [ATTRIBUTES, *TASKS]
    if options.task not in known:
        raise InputError(
            f"there is no attribute '{options.task}'", did_you_mean(options.task, known)
        )
    check_rate(options.schedule)
    if options.from_file and (options.stories or options.exchanges):
        raise InputError("--stories and --exchanges go with the data at hand", "leave them out")
    if options.head and (not options.start or TASK not in options.tasks):
        raise InputError(
            "--head fits the last layer of alignment on experts that are there", "give --start DIR"
        )
    if options.still and not options.start:
        raise InputError("in no epochs nothing is learnt", "give --start DIR, or more --epochs")
    if options.exchanges and TASK not in options.tasks:
        raise InputError("--exchanges are for alignment", f"leave it out for {options.task}")


def _taught(options: AttributeOptions) -> tuple[Taught, list[str]]:
    if options.from_file:
        file = load_annotations(options.data, kind=None, columns=options.columns)
        return lessons_of_file(file, options.tasks, options.limit, options.seed), [
            *source_warnings(file)
        ]
    turns = max(1, options.schedules[0].epochs)
    taught = lessons_at_hand(options.tasks, options.stories, options.limit, turns, options.seed)
    if options.exchanges:
        more = exchange_lessons(options.exchanges)
        parts = {**taught.parts, "dev": [*taught.parts["dev"], *more]}
        taught = replace(taught, parts=parts)
    return taught, []


def _thresholds(learner: PairLearner) -> dict[str, tuple[float, ...]]:
    """Return the least probability at which a foundation is taken, by F1 on dev."""
    rows = _of(learner, FOUNDATIONS_TASK)
    if not rows:
        return {}
    gold = np.array([row.values for row, _ in rows]) > 0
    return {FOUNDATIONS_TASK: best_thresholds(gold, sigmoid(np.array([own for _, own in rows])))}


def _figures(
    best: BestRun,
    taught: Taught,
    thresholds: Mapping[str, tuple[float, ...]],
    options: AttributeOptions,
) -> dict[str, Figures]:
    """Return macro-F1 of alignment and foundations, r and MSE of scales, of each group."""
    parts = {"dev": best.learner}
    if options.test:
        test = taught.parts["test"]
        if not test:
            raise InputError("there is no test part", "leave --test out")
        parts["test"] = replace(best.learner, lessons=[], dev_lessons=test)
    told = {part: _part_figures(learner, thresholds) for part, learner in parts.items()}
    if options.still:  # the rest is as its own card says
        told = {
            part: {name: value for name, value in each.items() if FOUNDATIONS_TASK not in name}
            for part, each in told.items()
        }
    kept = {name: best.look[name] for name in ("epoch", "loss", "score")}
    return {part: {**(kept if part == "dev" else {}), **each} for part, each in told.items()}


def _part_figures(learner: PairLearner, thresholds: Mapping[str, tuple[float, ...]]) -> Figures:
    found: Figures = {}
    aligned: dict[str, list[tuple[Lesson, Any]]] = {}
    for row, own in _of(learner, TASK):
        aligned.setdefault(row.group or TASK, []).append((row, own))
    for group, rows in aligned.items():
        gold = np.array([row.label for row, _ in rows])
        chosen = np.array([own.argmax() for _, own in rows])
        columns = np.arange(len(learner.slices.labels[TASK]))
        each = label_f1(gold[:, None] == columns, chosen[:, None] == columns)
        found[group] = float(each.mean())
        found[f"{group} accuracy"] = float((gold == chosen).mean())
    rows = _of(learner, FOUNDATIONS_TASK)
    if rows:
        gold = np.array([row.values for row, _ in rows]) > 0
        taken = sigmoid(np.array([own for _, own in rows])) >= thresholds[FOUNDATIONS_TASK]
        each = label_f1(gold, taken)
        names = learner.slices.labels[FOUNDATIONS_TASK]
        found[FOUNDATIONS_TASK] = float(each.mean())
        found |= {f"foundations {name}": float(f1) for name, f1 in zip(names, each, strict=True)}
    for name in SCALES:
        if rows := _of(learner, name):
            told = measure_scale(
                [row.values[0] for row, _ in rows], [float(own[0]) for _, own in rows]
            )
            found |= {f"{name} r": told.r.value, f"{name} mse": told.mse.value}
    return found


def _of(learner: PairLearner, task: str) -> list[tuple[Lesson, Any]]:
    """Return the dev lessons of a task with their logits."""
    own = [row for row in learner.dev_lessons if row.task == task]
    if not own:
        return []
    logits = replace(learner, lessons=[], dev_lessons=own).dev_logits()
    return list(zip(own, logits, strict=True))


def _baselines(taught: Taught, part: str) -> dict[str, Any]:
    """Return what foundations must beat on a part; nothing where they are not learnt."""
    rows = {
        name: [row for row in each if row.task == FOUNDATIONS_TASK and row.weight == 1.0]
        for name, each in taught.parts.items()
    }
    if not rows.get(part):
        return {}
    found = foundation_baselines(rows["train"], rows["dev"], rows[part])
    return {"part": part, **asdict(found), "best": found.best}


def _described(options: AttributeOptions) -> dict[str, Any]:
    paths = {name: getattr(options, name) for name in ("data", "stories", "exchanges")}
    told = {name: str(path) if path else None for name, path in paths.items()}
    if options.from_file and options.data is None:
        told["data"] = MIC_FILE
    return {**asdict(options), **told, "start": [str(path) for path in options.start]}
