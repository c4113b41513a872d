"""Whose judgment? A model's answers beside the shares of people that the user brings.

`people_NAME` is, for a population, the share that chooses the first action of a dilemma, or how far
it agrees with a statement. The distance of a model to a population is the mean over items of the
absolute difference. A model is *surer* than people where its share is further from one half than
theirs, on either side.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from moralscope.core.records import Interval, SampleInterval
from moralscope.stats.significance import holm
from moralscope.surveys.items import Dilemma, Statement
from moralscope.surveys.questionnaire import StatementFigures
from moralscope.surveys.statistics import ItemFigures, mean_interval, share_interval, t_against_zero

_MOST_LISTED = 20
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class PopulationDistance:
    """How far a model is from one population; the nearest has no difference to itself."""

    population: str
    distance: SampleInterval  # mean absolute difference of shares
    surer: Interval  # the share of items where the model is surer than these people
    farther: Interval | None = None  # than the nearest population, over items both answered
    p_holm: float = float("nan")


@dataclass(frozen=True, slots=True)
class SurerAnswer:
    """An item where a model is surer than people are."""

    id: str
    population: str
    model: float  # its share for the first action, or its agreement
    people: float


@dataclass(frozen=True, slots=True)
class Closeness:
    """Populations by distance, the nearest first, and where a model is surer than people."""

    populations: Sequence[PopulationDistance]
    nearest: tuple[str, ...]  # those that cannot be told from the nearest one
    surer: Sequence[SurerAnswer]


class PeopleTotals:
    """Collects one model's answers and people's shares, item by item."""

    def __init__(self) -> None:
        # By population and number of the item: the model's share and people's.
        self._shares: dict[str, dict[int, tuple[float, float]]] = {}
        self._ids: list[str] = []

    def add(self, row: ItemFigures | StatementFigures, item: Dilemma | Statement) -> None:
        """Take what the model says of one item."""
        share = row.agreement if isinstance(row, StatementFigures) else row.likelihoods[0]
        for population, people in item.people:
            self._shares.setdefault(population, {})[len(self._ids)] = (share, people)
        self._ids.append(item.id)

    def figures(self) -> Closeness | None:
        """Return the distances, or None where no item has people's shares."""
        if not self._shares:
            return None
        gaps = {
            name: {key: abs(model - people) for key, (model, people) in shares.items()}
            for name, shares in self._shares.items()
        }
        means = {name: mean_interval(list(some.values())).value for name, some in gaps.items()}
        order = sorted(means, key=means.__getitem__)
        nearest, *others = order
        farther = {}
        for name in others:
            both = gaps[name].keys() & gaps[nearest].keys()
            farther[name] = [gaps[name][key] - gaps[nearest][key] for key in sorted(both)]
        tests = [t_against_zero(some) for some in farther.values()]
        corrected = dict(zip(farther, holm(tests), strict=True)) if tests else {}
        rows = []
        for name in order:
            distance = share_interval(list(gaps[name].values()))
            surer = [abs(m - 0.5) > abs(p - 0.5) for m, p in self._shares[name].values()]
            rows.append(
                PopulationDistance(
                    name,
                    SampleInterval(distance.value, distance.low, distance.high, len(gaps[name])),
                    share_interval([float(one) for one in surer]),
                    mean_interval(farther[name]) if name in farther else None,
                    float(corrected.get(name, math.nan)),
                )
            )
        # Without enough items a test says nothing: such a population is not told apart.
        alike = [row.population for row in rows if not row.p_holm <= _ALPHA]
        return Closeness(rows, tuple(alike), self._surest())

    def _surest(self) -> list[SurerAnswer]:
        answers = [
            SurerAnswer(self._ids[key], name, model, people)
            for name, shares in self._shares.items()
            for key, (model, people) in shares.items()
            if abs(model - 0.5) > abs(people - 0.5)
        ]
        answers.sort(key=lambda one: abs(one.people - 0.5) - abs(one.model - 0.5))
        return answers[:_MOST_LISTED]
