"""One training run, or one for every point of a grid, of which the best on dev is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.models.classifiers.learning import Lesson, PairLearner
from moralscope.models.classifiers.making import Making, make_experts
from moralscope.models.training import History, Schedule
from moralscope.models.training.folders import CHECKPOINT
from moralscope.models.training.loop import Report
from moralscope.stats.calibration import fit_temperature


@dataclass(frozen=True, slots=True)
class BestRun:
    """The best point of the grid, or the only one; `grid` has the dev score of every point."""

    learner: PairLearner
    history: History
    schedule: Schedule
    grid: Sequence[Mapping[str, float]] = ()

    @property
    def look(self) -> dict[str, float]:
        """What dev said when it was best."""
        return self.history.looks[self.history.best]


def check_rate(schedule: Mapping[str, Any]) -> None:
    """Refuse a learning rate of nothing, where one was given for an adapter."""
    if not float(schedule.get("learning_rate", 1.0)) > 0:
        raise InputError("a learning rate is more than 0", "4e-4 is usual for an adapter")


def best_run(
    making: Making,
    schedules: Sequence[Schedule],
    searched: Sequence[str],
    lessons: tuple[Sequence[Lesson], Sequence[Lesson]],
    out: Path,
    report: Report | None,
) -> BestRun:
    """Train once for every schedule, on (train, dev); `searched` names what differs among them."""
    best: BestRun | None = None
    grid: list[dict[str, float]] = []
    for place, schedule in enumerate(schedules):
        checkpoint = out / (f"{place:02d}-{CHECKPOINT}" if len(schedules) > 1 else CHECKPOINT)
        one = replace(making, schedule=schedule)
        made = BestRun(*make_experts(one, *lessons, checkpoint, report), schedule)
        grid.append({**{name: getattr(schedule, name) for name in searched}, **made.look})
        if best is None or made.look["score"] > best.look["score"]:
            best = made
        del made  # a learner that is not the best leaves memory before the next is built
    if best is None:
        raise InputError("the grid is empty", "leave --grid out")
    return replace(best, grid=grid)


def dev_temperatures(learner: PairLearner, tasks: Sequence[str]) -> dict[str, float]:
    """Return the temperature that suits dev best, over all groups of each task."""
    each = list(zip(learner.dev_logits(), learner.dev_lessons, strict=True))
    found = {}
    for task in tasks:
        own = [(logits, row.label) for logits, row in each if row.task == task]
        logits = np.array([row for row, _ in own], dtype=np.float64)
        rows = np.exp(logits - logits.max(axis=1, keepdims=True))
        labels = np.array([label for _, label in own])
        found[task] = fit_temperature(rows / rows.sum(axis=1, keepdims=True), labels)
    return found
