"""Pearson's r with p, stars and a bootstrap interval, pooled and within groups.

A pooled r over two groups that differ in mean is mostly the difference of the groups. So no
pooled r goes out alone: the r inside each group is printed beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from moralscope.engine.stats.bootstrap import percentile_interval

_RESAMPLES = 2000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r of n pairs; `within` holds the same inside each group."""

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
    if n < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        nan = float("nan")
        return Correlation(nan, nan, nan, nan, n, "", within)
    from scipy.stats import pearsonr

    found = pearsonr(x, y)
    places = np.random.default_rng(seed).integers(0, n, (_RESAMPLES, n))
    low, high = percentile_interval(_row_correlations(x[places], y[places])[None])
    p = float(found.pvalue)
    return Correlation(
        float(found.statistic), p, float(low[0]), float(high[0]), n, stars(p), within
    )


def _row_correlations(x: Floats, y: Floats) -> Floats:
    """Pearson's r of each row; resamples without spread are left out."""
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    usable = scale > 0
    products: Floats = (x * y).sum(axis=1)[usable] / scale[usable]
    return products
