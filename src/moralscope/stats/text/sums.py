"""Metrics as sums over items: an interval and a paired test for any of them, corpus BLEU too.

Items that share a group (the two texts of one story) are drawn and swapped together. A resample
costs one row of a matrix product, never a second reading of the texts.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from moralscope.core.protocols import Floats
from moralscope.core.records import SampleInterval
from moralscope.stats.intervals import percentile_interval, resample_weights
from moralscope.stats.significance import holm

RESAMPLES = 2000
PERMUTATIONS = 9999
_BLOCK = 1 << 22  # signs in memory at once


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """First less second over the n items that both have: 95 % interval and two-sided p."""

    difference: float
    low: float
    high: float
    p: float
    n: int


@dataclass(frozen=True, slots=True)
class Sums:
    """What a metric adds up: a row of `table` for each item, and how sums become the value.

    `combine` takes sums (... x columns) and returns values (...).
    """

    table: Floats
    combine: Callable[[Floats], Floats]

    @property
    def value(self) -> float:
        """The metric of all items together."""
        return float(self.combine(self.table.sum(axis=0)))


def mean_sums(values: Sequence[float] | Floats) -> Sums:
    """Return a mean as sums; items whose value is not a number do not count."""
    column = np.asarray(values, dtype=np.float64)
    known = np.isfinite(column)
    return Sums(np.stack([np.where(known, column, 0.0), known], axis=1), ratio)


def ratio(sums: Floats) -> Floats:
    """Divide the first sum by the second; nothing by nothing is not a number."""
    top, bottom = sums[..., 0], sums[..., 1]
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def measure(sums: Sums, groups: Sequence[str] | None = None, *, seed: int = 0) -> SampleInterval:
    """Return the metric with a percentile bootstrap interval over groups of items."""
    n = len(sums.table)
    grouped = grouped_rows(sums.table, groups)
    if len(grouped) < 2:
        return SampleInterval(sums.value if n else float("nan"), float("nan"), float("nan"), n)
    low, high = _interval(sums.combine(_draws(len(grouped), seed) @ grouped))
    return SampleInterval(sums.value, low, high, n)


def compare(
    first: Sums, second: Sums, groups: Sequence[str] | None = None, *, seed: int = 0
) -> PairedComparison:
    """Compare two systems on the same items in the same order.

    Notes
    -----
    The interval is a paired bootstrap: one draw of groups serves both systems (Koehn 2004). The p
    is approximate randomisation (Noreen 1989; Riezler and Maxwell 2005): under the null the two
    systems' texts of a group are exchangeable, so they are swapped at random, and
    p = (1 + #{|d*| >= |d|}) / (1 + R) with R = 9,999. For a mean this is the sign-flip test.

    Examples
    --------
    >>> better, worse = mean_sums([0.9] * 12), mean_sums([0.1] * 12)
    >>> found = compare(better, worse)
    >>> round(found.difference, 6), found.p < 0.01
    (0.8, True)
    """
    if first.table.shape != second.table.shape:
        raise ValueError("systems are compared on the same items")
    n, difference = len(first.table), first.value - second.value
    a, b = grouped_rows(first.table, groups), grouped_rows(second.table, groups)
    if len(a) < 2 or not np.isfinite(difference):
        return PairedComparison(difference, float("nan"), float("nan"), float("nan"), n)
    counts = _draws(len(a), seed)
    low, high = _interval(first.combine(counts @ a) - second.combine(counts @ b))
    return PairedComparison(difference, low, high, _randomisation(first, a, b, seed), n)


def grouped_rows(table: Floats, groups: Sequence[str] | None) -> Floats:
    """Add up the rows of each group; without groups each item is one."""
    if groups is None:
        return table
    if len(groups) != len(table):
        raise ValueError("every item needs a group")
    numbers = group_numbers(groups)
    sums = np.zeros((int(numbers.max(initial=-1)) + 1, table.shape[1]))
    np.add.at(sums, numbers, table)
    return sums


def group_numbers(groups: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of each item's group, from zero."""
    return np.unique(np.asarray(groups, dtype=str), return_inverse=True)[1].astype(np.int64)


@lru_cache(maxsize=4)  # every metric of a table is resampled with the same draws
def _draws(groups: int, seed: int) -> Floats:
    """Return how often each group is drawn in each resample."""
    counts = resample_weights(groups, RESAMPLES, seed) * groups
    counts.flags.writeable = False
    return counts


def _randomisation(metric: Sums, a: Floats, b: Floats, seed: int) -> float:
    observed = abs(metric.combine(a.sum(axis=0)) - metric.combine(b.sum(axis=0)))
    generator = np.random.default_rng([seed, 1])  # a stream of its own beside the bootstrap's
    total, step = a.sum(axis=0) + b.sum(axis=0), b - a
    rows, reached = max(1, _BLOCK // len(a)), 0
    for start in range(0, PERMUTATIONS, rows):
        block = min(rows, PERMUTATIONS - start)
        swapped = generator.integers(0, 2, (block, len(a))).astype(np.float64)
        sums = a.sum(axis=0) + swapped @ step
        differences = np.abs(metric.combine(sums) - metric.combine(total - sums))
        # Sums in another order differ in their last digits: a tie must count as reached.
        reached += int(np.sum(differences >= observed - 1e-12 * max(1.0, float(observed))))
    return (1 + reached) / (1 + PERMUTATIONS)


def _interval(draws: Floats) -> tuple[float, float]:
    usable = draws[np.isfinite(draws)]
    if not usable.size:
        return float("nan"), float("nan")
    low, high = percentile_interval(usable[None])
    return float(low[0]), float(high[0])


def perplexity_sums(totals: Sequence[tuple[float, int]]) -> Sums:
    """Return perplexity as sums, from each text's log-probability and number of tokens.

    exp(-Σ log p(t) / T), over all tokens; not a number where there is none.
    """
    rows = [(-log_probability, tokens) for log_probability, tokens in totals]
    return Sums(np.asarray(rows, dtype=np.float64).reshape(-1, 2), lambda sums: np.exp(ratio(sums)))


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """One metric of two systems: first less second, with p as it is and corrected (Holm)."""

    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    n: int


def corrected(
    compared: Iterable[tuple[str, str, str, PairedComparison]],
) -> tuple[SystemComparison, ...]:
    """Put (metric, first, second, comparison) into rows; Holm's correction is over all of them."""
    listed = list(compared)
    adjusted = holm([row.p for *_, row in listed])
    return tuple(
        SystemComparison(
            metric, first, second, row.difference, row.low, row.high, row.p, float(p), row.n
        )
        for (metric, first, second, row), p in zip(listed, adjusted, strict=True)
    )
