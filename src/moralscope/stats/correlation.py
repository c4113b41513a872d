"""Pearson's r with p, stars and a bootstrap interval, pooled and within groups.

A pooled r over two groups that differ in mean is mostly the difference of the groups. So no
pooled r goes out alone: the r inside each group is printed beside it. Ranks: `ranks.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from moralscope.stats.bootstrap import percentile_interval

_RESAMPLES = 2000
_BLOCK = 1 << 22  # drawn places in memory at once
Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation of n pairs (Pearson's unless said otherwise); `within`: inside each group."""

    r: float
    p: float
    low: float
    high: float
    n: int
    stars: str
    within: Mapping[str, "Correlation"] = field(default_factory=dict)


def stars(p: float) -> str:
    """Return the papers' significance marks: 5 %, 1 %, 0.1 %.

    Examples
    --------
    >>> [stars(p) for p in (0.2, 0.04, 0.004, 0.0004)]
    ['', '*', '**', '***']
    """
    return "*" * sum(p < limit for limit in (0.05, 0.01, 0.001))


def correlate(
    x: Sequence[float],
    y: Sequence[float],
    groups: Sequence[str] | None = None,
    *,
    seed: int = 0,
) -> Correlation:
    """Correlate pairs; with `groups`, also inside each group.

    Examples
    --------
    >>> found = correlate([1, 2, 3, 4], [2, 1, 4, 3], ["do", "do", "don't", "don't"])
    >>> round(found.r, 2), sorted(found.within)
    (0.6, ['do', "don't"])
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    within = {}
    if groups is not None:
        labels = np.asarray(groups)
        for name in sorted(set(groups)):
            chosen = labels == name
            within[name] = _correlate(first[chosen], second[chosen], seed, {})
    return _correlate(first, second, seed, within)


def _correlate(x: Floats, y: Floats, seed: int, within: Mapping[str, Correlation]) -> Correlation:
    n = len(x)
    if not has_spread(x, y):
        return undefined(n, within)
    from scipy.stats import pearsonr

    found = pearsonr(x, y)
    draws = [_row_correlations(x[places], y[places]) for places in resampled_places(n, seed)]
    low, high = percentile_interval(np.concatenate(draws)[None])
    p = float(found.pvalue)
    return Correlation(
        float(found.statistic), p, float(low[0]), float(high[0]), n, stars(p), within
    )


def has_spread(x: Floats, y: Floats) -> bool:
    """Say whether pairs can be correlated: three or more, and neither side constant."""
    return len(x) >= 3 and bool(np.ptp(x) > 0) and bool(np.ptp(y) > 0)


def undefined(n: int, within: Mapping[str, Correlation] | None = None) -> Correlation:
    """Return the correlation of pairs that have none."""
    nan = float("nan")
    return Correlation(nan, nan, nan, nan, n, "", within or {})


def resampled_places(n: int, seed: int) -> Iterator[Places]:
    """Yield the places of 2,000 resamples of n pairs, in blocks of rows that fit in memory."""
    generator = np.random.default_rng(seed)
    rows = max(1, _BLOCK // n)
    for start in range(0, _RESAMPLES, rows):
        yield generator.integers(0, n, (min(rows, _RESAMPLES - start), n))


def _row_correlations(x: Floats, y: Floats) -> Floats:
    """Pearson's r of each row; resamples without spread are left out."""
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    usable = scale > 0
    products: Floats = (x * y).sum(axis=1)[usable] / scale[usable]
    return products
