"""How far people agree, field by field, and where they do not: disagreement kept as a result.

Which coefficients are right follows from the field's level. Nobody is called wrong: an item's
answers stay a distribution. Who the people are is `groups`' matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.annotation.judgments import FieldRatings
from moralscope.core.records import Interval
from moralscope.stats.agreement import (
    Agreement,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    percent_agreement,
)
from moralscope.stats.intraclass import IntraclassForm, intraclass_forms
from moralscope.stats.ratings import RESAMPLES, Floats


@dataclass(frozen=True, slots=True)
class FieldAgreement:
    """The coefficients of a field; None: not right for its level, or not for its people.

    `fleiss` is for labels, `cohen` for two people (quadratic weights on a scale), `icc` for
    numbers. `items` and `answers` count what two people or more answered.
    """

    field: str
    level: str
    alpha: Interval
    percent: Interval
    fleiss: Interval | None
    cohen: Interval | None
    icc: tuple[IntraclassForm, ...]
    items: int
    answers: int
    people: int


@dataclass(frozen=True, slots=True)
class ItemSpread:
    """An item's answers to a field: how often each value, and how far apart they lie (0 to 1).

    `disagreement` is the mean distance of two answers: of labels 0 or 1, of numbers their
    difference over the width of the scale in use.
    """

    item: str
    field: str
    answers: int
    disagreement: float
    counts: Mapping[str, int]


def field_agreement(
    ratings: FieldRatings, *, seed: int = 0, resamples: int = RESAMPLES
) -> FieldAgreement:
    """Return the coefficients that fit the field's level, with intervals over items.

    Examples
    --------
    >>> from moralscope.annotation.judgments import Judgment, by_field
    >>> given = [Judgment(str(n), who, "ok", n % 2) for n in range(6) for who in "pqr"]
    >>> found = field_agreement(by_field(given)[0][0])
    >>> found.alpha.value, found.percent.value, found.cohen
    (1.0, 1.0, None)
    """
    table, labels = ratings.table, ratings.level == "nominal"
    found = agreement(table, ratings.level, seed=seed, resamples=resamples)
    percent = percent_agreement(table, seed=seed, resamples=resamples)
    fleiss = fleiss_kappa(table, seed=seed, resamples=resamples) if labels else None
    cohen = None
    if table.raters == 2:
        weights = "none" if labels else "quadratic"
        cohen = cohen_kappa(table, weights, seed=seed, resamples=resamples)
    return FieldAgreement(
        ratings.field,
        ratings.level,
        _estimate(found),
        percent,
        fleiss,
        cohen,
        () if labels else intraclass_forms(table),
        found.units,
        found.ratings,
        len(ratings.persons),
    )


def item_spreads(ratings: FieldRatings) -> list[ItemSpread]:
    """Return the answers to each item in the items' order.

    Examples
    --------
    >>> from moralscope.annotation.judgments import Judgment, by_field
    >>> given = [Judgment("1", who, "severity", n) for who, n in (("p", 1), ("q", 5), ("r", 5))]
    >>> round(item_spreads(by_field(given, {"severity": "ordinal"})[0][0])[0].disagreement, 3)
    0.667
    """
    table = ratings.table
    sizes = np.bincount(table.unit, minlength=table.units)
    apart = _apart(ratings, sizes)
    return [
        ItemSpread(item, ratings.field, int(size), float(far), counts)
        for item, size, far, counts in zip(
            ratings.items, sizes, apart, ratings.counts(), strict=True
        )
    ]


def most_split(spreads: Sequence[ItemSpread], shown: int = 20) -> list[ItemSpread]:
    """Return the items whose answers lie farthest apart; what all answer alike is left out.

    Examples
    --------
    >>> rows = [ItemSpread("1", "ok", 3, 0.0, {}), ItemSpread("2", "ok", 3, 0.7, {})]
    >>> [row.item for row in most_split(rows)]
    ['2']
    """
    apart = [row for row in spreads if row.disagreement > 0]
    return sorted(apart, key=lambda row: (-row.disagreement, -row.answers, row.item))[:shown]


def _estimate(found: Agreement) -> Interval:
    return Interval(found.alpha, found.low, found.high)


def _apart(ratings: FieldRatings, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """Return the mean distance of two answers of each item; not a number for fewer."""
    table = ratings.table
    pairs = sizes * (sizes - 1) / 2
    if ratings.level == "nominal":
        cells = table.unit * max(1, len(table.values)) + table.code
        same = np.bincount(cells, minlength=table.units * max(1, len(table.values)))
        agreeing = (same * (same - 1) / 2).reshape(table.units, -1).sum(axis=1)
        total = pairs - agreeing
        width = 1.0
    else:
        numbers = table.numbers
        width = float(np.ptp(numbers)) if numbers.size > 1 else 1.0
        # Sorted within an item, the value at place i is added i times and taken m - 1 - i times.
        values = numbers[table.code]
        order = np.lexsort((values, table.unit))
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        owner = table.unit[order]
        place = np.arange(len(order)) - starts[owner]
        factors = 2 * place - (sizes[owner] - 1)
        total = np.bincount(owner, factors * values[order], minlength=table.units)
    found: Floats = np.full(len(sizes), np.nan)
    np.divide(total, pairs * width, out=found, where=pairs > 0)
    return found
