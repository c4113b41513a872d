"""How far people agree, field by field, and where they do not: disagreement kept as a result.

Which coefficients are right follows from the field's level. Nobody is called wrong: an item's
answers stay a distribution. Which items and fields split which leanings is told by permutation
tests, corrected, only where the leanings may be named (`groups`); a difference between groups says
nothing of any person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from moralscope.annotation.groups import (
    NOT_SAID,
    answering_groups,
    item_groups,
    large_groups,
    named,
)
from moralscope.annotation.judgments import FieldRatings
from moralscope.core.records import Interval
from moralscope.stats.agreement import agreement, cohen_kappa, fleiss_kappa, percent_agreement
from moralscope.stats.intraclass import IntraclassForm, intraclass_forms
from moralscope.stats.ratings import RESAMPLES, Floats
from moralscope.stats.significance import group_differences


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
    """Return the coefficients that fit the field's level, with intervals over items."""
    table, is_nominal = ratings.table, ratings.level == "nominal"
    how = {"seed": seed, "resamples": resamples}
    alpha = agreement(table, ratings.level, **how)
    weights = "none" if is_nominal else "quadratic"
    return FieldAgreement(
        field=ratings.field,
        level=ratings.level,
        alpha=Interval(alpha.alpha, alpha.low, alpha.high),
        percent=percent_agreement(table, **how),
        fleiss=fleiss_kappa(table, **how) if is_nominal else None,
        cohen=cohen_kappa(table, weights, **how) if table.raters == 2 else None,
        icc=() if is_nominal else intraclass_forms(table),
        items=alpha.units,
        answers=alpha.ratings,
        people=len(ratings.persons),
    )


def item_spreads(ratings: FieldRatings) -> list[ItemSpread]:
    """Return the answers to each item in the items' order; of one answer the distance is nan."""
    table = ratings.table
    sizes = np.bincount(table.unit, minlength=table.units)
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
        # Sorted within an item, the value at rank i is added i times and taken m - 1 - i times.
        values = numbers[table.code]
        order = np.lexsort((values, table.unit))
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        owner = table.unit[order]
        rank = np.arange(len(order)) - starts[owner]
        factors = 2 * rank - (sizes[owner] - 1)
        total = np.bincount(owner, factors * values[order], minlength=table.units)
    means: Floats = np.full(len(sizes), np.nan)
    np.divide(total, pairs * width, out=means, where=pairs > 0)
    rows = zip(ratings.items, sizes, means, ratings.counts(), strict=True)
    return [
        ItemSpread(item, ratings.field, int(size), float(mean), counts)
        for item, size, mean, counts in rows
    ]


def most_split(spreads: Sequence[ItemSpread], shown: int = 20) -> list[ItemSpread]:
    """Return the items whose answers lie farthest apart; what all answer alike is left out."""
    apart = [row for row in spreads if row.disagreement > 0]
    return sorted(apart, key=lambda row: (-row.disagreement, -row.answers, row.item))[:shown]


_SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class GroupSplit:
    """Two leanings on one item, or on a whole field (`item` is empty).

    Figures are means of people's answers: of a scale its value, of labels the share of people who
    chose `value`. `corrected` holds for everything that was compared.
    """

    field: str
    item: str
    value: str
    first: str
    second: str
    first_mean: float
    second_mean: float
    first_people: int
    second_people: int
    difference: float
    p: float
    corrected: float


def group_splits(
    fields: Sequence[FieldRatings],
    leanings: Mapping[str, str | None],
    smallest: int = 5,
    *,
    whole: bool = False,
    seed: int = 0,
) -> list[GroupSplit]:
    """Compare leanings item by item, where enough people of both answered it.

    The p-values come from permutations of people between the two leanings; they are corrected for
    all items and fields by the largest difference of a permutation, and for the number of pairs
    of leanings by their number. Largest differences first. With `whole`, fields are compared over
    all items: each person counts once, with the mean of her answers.
    """
    groups = dict(named(large_groups(leanings, smallest)))
    groups.pop(NOT_SAID, None)
    pairs = list(combinations(groups, 2))
    # Item → the leanings that may be named there; a whole field is the item "".
    nameable: list[dict[str, set[str]]] = []
    for ratings in fields:
        if whole:
            names = {name for name, _ in named(answering_groups(ratings, leanings, smallest))}
            nameable.append({"": names})
        else:
            by_item = item_groups(ratings, leanings, smallest)
            nameable.append({item: set(counts) for item, counts in by_item.items()})
    splits: list[GroupSplit] = []
    for first, second in pairs:
        people = [*groups[first], *groups[second]]
        questions: list[tuple[str, str, str]] = []
        tables = [np.empty((len(people), 0))]
        for ratings, names_of in zip(fields, nameable, strict=True):
            items = [item for item, names in names_of.items() if {first, second} <= names]
            asked, answers = _questions(ratings, people, items)
            questions += asked
            tables.append(answers)
        values = np.column_stack(tables)
        side = np.arange(len(people)) < len(groups[first])
        tested = group_differences(values, side, seed=seed)
        sizes = [np.isfinite(values[mask]).sum(axis=0) for mask in (side, ~side)]
        sums = [np.nansum(values[mask], axis=0) for mask in (side, ~side)]
        for index, (field, item, value) in enumerate(questions):
            if np.isnan(tested.p[index]):
                continue
            split = GroupSplit(
                field=field,
                item=item,
                value=value,
                first=first,
                second=second,
                first_mean=float(sums[0][index] / sizes[0][index]),
                second_mean=float(sums[1][index] / sizes[1][index]),
                first_people=int(sizes[0][index]),
                second_people=int(sizes[1][index]),
                difference=float(tested.difference[index]),
                p=float(tested.p[index]),
                corrected=min(1.0, float(tested.corrected[index]) * len(pairs)),
            )
            splits.append(split)
    return sorted(splits, key=lambda row: (row.corrected, row.p, -abs(row.difference)))


def significant(splits: Sequence[GroupSplit]) -> list[GroupSplit]:
    """Return the differences that hold after correction."""
    return [row for row in splits if row.corrected < _SIGNIFICANT]


def _questions(
    ratings: FieldRatings, people: Sequence[str], items: Sequence[str]
) -> tuple[list[tuple[str, str, str]], Floats]:
    """Return the questions about these items and people's answers (people x questions).

    A question is field, item and value: a scale's, or a label that may have been chosen.
    """
    table, width = ratings.table, len(items)
    row_of = {who: row for row, who in enumerate(people)}
    rows = np.array([row_of.get(who, -1) for who in ratings.people], dtype=np.int64)[table.rater]
    columns = np.zeros_like(table.unit)
    if items and items[0]:
        column_of = {item: column for column, item in enumerate(items)}
        columns = np.array([column_of.get(item, -1) for item in ratings.items])[table.unit]
    mine = (rows >= 0) & (columns >= 0)
    code, cells = table.code[mine], rows[mine] * width + columns[mine]
    size = len(people) * width
    counts = np.bincount(cells, minlength=size)
    questions: list[tuple[str, str, str]] = []
    tables = [np.empty((len(people), 0))]
    codes: list[int | None] = [*range(len(table.values))]
    if ratings.level != "nominal":
        codes = [None]
    elif len(codes) == 2:
        codes = codes[1:]  # of two labels one says it all
    for value in codes if items else ():
        name = "" if value is None else ratings.label(value)
        answers = table.numbers[code] if value is None else (code == value).astype(float)
        sums = np.bincount(cells, answers, minlength=size)
        means = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
        tables.append(means.reshape(len(people), width))
        questions += [(ratings.field, item, name) for item in items]
    return questions, np.column_stack(tables)
