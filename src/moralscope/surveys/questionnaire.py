"""Questionnaires: how far a model agrees with statements, as an expected value and a distribution.

Every statement is asked forwards and negated, with the scale numbered both ways. The answer is the
expected value over the scale, from 0 (least agreement) to 1 (most). A model that agrees with a
statement and with its negation is acquiescent: that part is measured apart.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from moralscope.core.protocols import Floats
from moralscope.core.records import Interval
from moralscope.surveys.asking import CellAnswer
from moralscope.surveys.items import Statement
from moralscope.surveys.statistics import mean_interval, share_interval


@dataclass(frozen=True, slots=True)
class StatementFigures:
    """What one model says to one statement."""

    model: str
    id: str
    statement: str
    subscale: str
    agreement: float  # 0 to 1: the mean of `forward` and one less `negated`
    low: float
    high: float
    forward: float
    negated: float
    acquiescence: float  # what it agrees with a statement and with its negation by
    numbering: float  # how much more it agrees where 1 is the least agreement
    mass: float
    scale: tuple[str, ...]
    distribution: tuple[float, ...]  # over the scale, forwards


@dataclass(frozen=True, slots=True)
class SubscaleFigure:
    """The mean agreement of a model with the statements of one subscale."""

    subscale: str
    items: int
    agreement: Interval


@dataclass(frozen=True, slots=True)
class QuestionnaireFigures:
    """One model over all statements; intervals are over statements."""

    items: int
    questions: int
    agreement: Interval
    acquiescence: Interval
    numbering: Interval
    mass: Interval
    subscales: Sequence[SubscaleFigure]


def statement_figures(
    model: str, statement: Statement, answers: Sequence[CellAnswer]
) -> StatementFigures:
    """Sum up what a model says to every question about one statement."""
    points = len(statement.scale)
    steps = np.arange(points) / (points - 1)
    shares_of: dict[str, list[tuple[Floats, bool]]] = {"forward": [], "negated": []}
    for answer in answers:
        shares = np.exp(answer.scores - answer.scores.max())
        placed = np.zeros(points)
        placed[list(answer.cell.chosen)] = shares / shares.sum()
        shares_of[answer.cell.form].append((placed, answer.cell.chosen[0] == 0))
    values = {form: [float(row @ steps) for row, _ in some] for form, some in shares_of.items()}
    forward, negated = (float(np.mean(values[form])) for form in ("forward", "negated"))
    span = share_interval([*values["forward"], *(1 - value for value in values["negated"])])
    sides: dict[bool, list[float]] = {True: [], False: []}
    for form, some in shares_of.items():
        for value, (_, least_first) in zip(values[form], some, strict=True):
            sides[least_first].append(value)
    return StatementFigures(
        model=model,
        id=statement.id,
        statement=statement.text,
        subscale=statement.subscale,
        agreement=span.value,
        low=span.low,
        high=span.high,
        forward=forward,
        negated=negated,
        acquiescence=(forward + negated - 1) / 2,
        numbering=float(np.mean(sides[True]) - np.mean(sides[False])),
        mass=float(np.mean([answer.mass for answer in answers])),
        scale=statement.scale,
        distribution=tuple(
            float(share) for share in np.mean([row for row, _ in shares_of["forward"]], axis=0)
        ),
    )


class StatementTotals:
    """Sums up one model over statements that come one by one, and over those of each subscale."""

    def __init__(self) -> None:
        self._questions = 0
        names = ("agreement", "acquiescence", "numbering", "mass")
        self._values: dict[str, array[float]] = {name: array("d") for name in names}
        self._subscales: dict[str, array[float]] = {}

    def add(self, row: StatementFigures, statement: Statement, questions: int) -> None:
        """Take what the model says of one statement, and of how many questions."""
        self._questions += questions
        for name, values in self._values.items():
            values.append(attrgetter(name)(row))
        if statement.subscale:
            self._subscales.setdefault(statement.subscale, array("d")).append(row.agreement)

    def figures(self) -> QuestionnaireFigures:
        """Return the figures of all statements so far."""
        values = self._values
        return QuestionnaireFigures(
            items=len(values["mass"]),
            questions=self._questions,
            agreement=share_interval(values["agreement"]),
            acquiescence=mean_interval(values["acquiescence"]),
            numbering=mean_interval(values["numbering"]),
            mass=share_interval(values["mass"]),
            subscales=[
                SubscaleFigure(name, len(agreements), share_interval(agreements))
                for name, agreements in self._subscales.items()
            ],
        )
