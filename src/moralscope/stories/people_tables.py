"""Ratings of people in the form of Tables 4-6: total, moral target, immoral target, a criterion.

An item's value is the mean of its raters' answers. Intervals are over stories, agreement is
Krippendorff's alpha over items, strategies are compared on the same samples.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from moralscope.core.records import SampleInterval
from moralscope.stats.agreement import RaterAgreement, agreement
from moralscope.stats.text import (
    PairedComparison,
    SystemComparison,
    compare,
    corrected,
    mean_sums,
    measure,
)
from moralscope.stories.people_sheets import Pack, PackItem, Ratings
from moralscope.stories.story import ORIENTATIONS


@dataclass(frozen=True, slots=True)
class RatedStrategy:
    """A row of Table 4, 5 or 6: criterion → total and, but for norms, moral and immoral."""

    strategy: str
    criteria: Mapping[str, Mapping[str, SampleInterval]]


@dataclass(frozen=True, slots=True)
class RatedTable:
    """What people said: rows, agreement a criterion, paired comparisons, and what is missing."""

    task: str
    pack: str
    rows: tuple[RatedStrategy, ...]
    agreement: Mapping[str, RaterAgreement]
    comparisons: tuple[SystemComparison, ...]
    raters: tuple[str, ...]
    items: int
    samples: int
    unanswered: int
    warnings: tuple[str, ...]


def rated_table(pack: Pack, ratings: Ratings, *, seed: int = 0) -> RatedTable:
    """Turn ratings (rater → item → criterion → 0 or 1) into the paper's table."""
    criteria = [name for name, _ in pack.criteria]
    values = {name: _means(pack, ratings, name) for name in criteria}
    rows = tuple(
        RatedStrategy(
            strategy,
            {name: _cells(_items(pack, strategy), values[name], seed) for name in criteria},
        )
        for strategy in pack.strategies
    )
    agreed = {
        name: agreement(
            [
                [answers.get(item.item, {}).get(name) for item in pack.items]
                for answers in ratings.values()
            ],
            seed=seed,
        )
        for name in criteria
    }
    given = sum(len(row) for answers in ratings.values() for row in answers.values())
    unanswered = len(pack.raters) * len(pack.items) * len(criteria) - given
    return RatedTable(
        pack.task,
        pack.name,
        rows,
        agreed,
        corrected(_comparisons(pack, values, seed)),
        tuple(ratings),
        len(pack.items),
        pack.samples,
        unanswered,
        tuple(_warnings(pack, ratings, agreed, unanswered)),
    )


def _means(pack: Pack, ratings: Ratings, criterion: str) -> dict[str, float]:
    """Return item → mean of its raters' answers, not a number where nobody answered."""
    found = {}
    for item in pack.items:
        rows = (answers.get(item.item, {}) for answers in ratings.values())
        given = [row[criterion] for row in rows if criterion in row]
        found[item.item] = float(np.mean(given)) if given else float("nan")
    return found


def _items(pack: Pack, strategy: str) -> list[PackItem]:
    """Return a strategy's items, sample by sample in one order for all strategies."""
    own = [item for item in pack.items if strategy in item.strategies]
    return sorted(own, key=lambda item: (item.id, item.target or ""))


def _cells(
    items: Sequence[PackItem], values: Mapping[str, float], seed: int
) -> dict[str, SampleInterval]:
    sides = {"total": list(items)}
    sides |= {side: [item for item in items if item.target == side] for side in ORIENTATIONS}
    return {
        side: measure(
            mean_sums([values[item.item] for item in chosen]),
            [item.id for item in chosen],
            seed=seed,
        )
        for side, chosen in sides.items()
        if chosen or side == "total"
    }


def _comparisons(
    pack: Pack, values: Mapping[str, Mapping[str, float]], seed: int
) -> Iterator[tuple[str, str, str, PairedComparison]]:
    for first, second in combinations(pack.strategies, 2):
        ours, theirs = _items(pack, first), _items(pack, second)
        for name, found in values.items():
            pairs = [(found[a.item], found[b.item]) for a, b in zip(ours, theirs, strict=True)]
            both = [place for place, pair in enumerate(pairs) if np.isfinite(pair).all()]
            a, b = (mean_sums([pairs[place][side] for place in both]) for side in (0, 1))
            groups = [ours[place].id for place in both]
            yield name, first, second, compare(a, b, groups, seed=seed)


def _warnings(
    pack: Pack, ratings: Ratings, agreed: Mapping[str, RaterAgreement], unanswered: int
) -> Iterator[str]:
    absent = [rater for rater in pack.raters if not any(ratings.get(rater, {}).values())]
    if absent:
        yield f"no ratings of {', '.join(absent)}: figures are from the others"
    if unanswered:
        asked = len(pack.raters) * len(pack.items) * len(pack.criteria)
        yield f"{unanswered:,} of {asked:,} questions are unanswered and do not count"
    for name, found in agreed.items():
        if np.isnan(found.alpha):
            yield f"{name}: alpha is undefined (fewer than two raters, or all answers are the same)"
