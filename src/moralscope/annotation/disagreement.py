"""How far people agree, field by field, and where they do not: disagreement kept as a result.

Which coefficients are right follows from the field's level. Nobody is called wrong: an item's
answers stay a distribution. Which items and fields split which leanings is told by permutation
tests, corrected, only where the leanings may be named (`groups`); a difference between groups says
nothing of any person.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from moralscope.stats.agreement import (
    agreement,
    cohen_kappa,
    fleiss_kappa,
    percent_agreement,
)
from moralscope.stats.intraclass import IntraclassForm, intraclass_forms
from moralscope.stats.ratings import RESAMPLES, Floats
from moralscope.stats.significance import GroupDifferences, group_differences


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
    >>> from moralscope.annotation.judgments import PersonJudgment, by_field
    >>> given = [PersonJudgment(str(n), who, "ok", n % 2) for n in range(6) for who in "pqr"]
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
        Interval(found.alpha, found.low, found.high),
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
    >>> from moralscope.annotation.judgments import PersonJudgment, by_field
    >>> given = [PersonJudgment("1", who, "severity", n) for who, n in zip("pqr", (1, 5, 5))]
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

    Examples
    --------
    >>> from moralscope.annotation.judgments import PersonJudgment, by_field
    >>> told = {f"p{n}": "left" if n < 8 else "right" for n in range(16)}
    >>> given = [PersonJudgment("1", who, "ok", leaning == "left") for who, leaning in told.items()]
    >>> [(row.item, row.value, row.difference) for row in group_splits(by_field(given)[0], told)]
    [('1', 'yes', 1.0)]
    """
    groups = dict(named(large_groups(leanings, smallest)))
    groups.pop(NOT_SAID, None)
    pairs = list(combinations(groups, 2))
    shown = [_shown(ratings, leanings, smallest, whole=whole) for ratings in fields]
    found: list[GroupSplit] = []
    for first, second in pairs:
        people = [*groups[first], *groups[second]]
        both = {first, second}
        parts = [
            _questions(ratings, people, [item for item, names in allowed.items() if both <= names])
            for ratings, allowed in zip(fields, shown, strict=True)
        ]
        asked = [question for questions, _ in parts for question in questions]
        values = np.column_stack([np.empty((len(people), 0)), *(table for _, table in parts)])
        side = np.arange(len(people)) < len(groups[first])
        tested = group_differences(values, side, seed=seed)
        found += _compared(asked, (first, second), (values[side], values[~side]), tested)
    known = (row for row in found if not np.isnan(row.p))
    paid = [replace(row, corrected=min(1.0, row.corrected * len(pairs))) for row in known]
    return sorted(paid, key=lambda row: (row.corrected, row.p, -abs(row.difference)))


def significant(splits: Sequence[GroupSplit]) -> list[GroupSplit]:
    """Return the differences that hold after correction."""
    return [row for row in splits if row.corrected < _SIGNIFICANT]


def _compared(
    asked: Sequence[tuple[str, str, str]],
    names: tuple[str, str],
    sides: tuple[Floats, Floats],
    tested: GroupDifferences,
) -> Iterator[GroupSplit]:
    sizes = [np.isfinite(values).sum(axis=0) for values in sides]
    means = [np.nansum(values, axis=0) / size for values, size in zip(sides, sizes, strict=True)]
    for place, question in enumerate(asked):
        yield GroupSplit(
            *question, *names,
            float(means[0][place]), float(means[1][place]),
            int(sizes[0][place]), int(sizes[1][place]),
            float(tested.difference[place]), float(tested.p[place]), float(tested.corrected[place]),
        )  # fmt: skip


def _shown(
    ratings: FieldRatings, leanings: Mapping[str, str | None], smallest: int, *, whole: bool
) -> dict[str, set[str]]:
    """Return item → the leanings that may be named there; a whole field is the item ''."""
    if whole:
        return {"": {name for name, _ in named(answering_groups(ratings, leanings, smallest))}}
    found = item_groups(ratings, leanings, smallest)
    return {item: set(counts) for item, counts in found.items()}


def _questions(
    ratings: FieldRatings, people: Sequence[str], items: Sequence[str]
) -> tuple[list[tuple[str, str, str]], Floats]:
    """Return the questions about these items and people's answers (people x questions).

    A question is field, item and value: a scale's, or a label that may have been chosen.
    """
    table, width = ratings.table, len(items)
    places = {who: place for place, who in enumerate(people)}
    rows = np.array([places.get(who, -1) for who in ratings.people], dtype=np.int64)[table.rater]
    columns = np.zeros_like(table.unit)
    if items and items[0]:
        wanted = {item: place for place, item in enumerate(items)}
        columns = np.array([wanted.get(item, -1) for item in ratings.items])[table.unit]
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
