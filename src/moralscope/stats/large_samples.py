"""Changes and rank correlations of more pairs than memory holds: blocks in, a few numbers out.

What is kept does not grow with the pairs: a table of counts for ranks, the sums of `streams` for a
mean. The intervals are those of large samples; few pairs belong to `paired` and `ranks`.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.stats.correlation import Correlation, stars, undefined
from moralscope.stats.summary import Summary

BINS = 1024
_NORMAL_97_5 = 1.959963984540054
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeanOf:
    """A mean with its 95 % interval and the p-value of its being zero."""

    value: float
    low: float
    high: float
    p: float
    n: int


def mean_against_zero(values: Summary) -> MeanOf:
    """Return a mean with Student's interval and test: mean ± t₀.₉₇₅,ₙ₋₁ sd / √n.

    Examples
    --------
    >>> round(mean_against_zero(Summary(3, 1.0, 0.5)).p, 3)
    0.074
    """
    if values.n < 2:
        nan = float("nan")
        return MeanOf(values.mean, nan, nan, nan, values.n)
    from scipy.stats import t

    error = values.sd / math.sqrt(values.n)
    half = error * float(t.ppf(0.975, values.n - 1))
    if error > 0:
        p = float(2 * t.sf(abs(values.mean) / error, values.n - 1))
    else:
        p = 1.0 if values.mean == 0 else 0.0
    return MeanOf(values.mean, values.mean - half, values.mean + half, p, values.n)


def rank_edges(sample: Floats, bins: int = BINS) -> Floats:
    """Return where to cut values into at most `bins` classes of like size, from a sample of them.

    Where the sample has no more distinct values than classes, each value is a class of its own.

    Examples
    --------
    >>> rank_edges(np.array([3.0, 1.0, 2.0, 1.0])).tolist()
    [2.0, 3.0]
    """
    distinct = np.unique(sample)
    if len(distinct) <= bins:
        return distinct[1:]
    return np.unique(np.quantile(sample, np.linspace(0, 1, bins + 1)[1:-1]))


class RankTable:
    """Spearman's rho of pairs that come in blocks, from counts of classes (see `rank_edges`).

    Values of one class count as ties. With 1,024 classes of like size rho is off by about 1e-5;
    with a class for each value it is exact.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> table = RankTable(rank_edges(values), rank_edges(values))
    >>> table.add(values[:2], values[:2])
    >>> table.add(values[2:], values[2:])
    >>> round(table.spearman().r, 12), table.spearman().n
    (1.0, 5)
    """

    def __init__(self, edges_x: Floats, edges_y: Floats) -> None:
        self._edges = edges_x, edges_y
        self._counts = np.zeros((len(edges_x) + 1, len(edges_y) + 1), dtype=np.int64)

    def add(self, x: Floats, y: Floats) -> None:
        """Take a block of pairs."""
        places = [
            np.searchsorted(edges, values, side="right")
            for edges, values in zip(self._edges, (x, y), strict=True)
        ]
        rows, columns = self._counts.shape
        flat = np.bincount(places[0] * columns + places[1], minlength=rows * columns)
        self._counts += flat.reshape(rows, columns)

    def spearman(self) -> Correlation:
        """Return rho; its interval is that of `large_sample_spearman`."""
        n = int(self._counts.sum())
        if n < 3:
            return undefined(n)
        sides = [_mid_ranks(self._counts.sum(axis=axis)) for axis in (1, 0)]
        (counts_x, x), (counts_y, y) = sides
        scale = math.sqrt(float(counts_x @ x**2) * float(counts_y @ y**2))
        if scale == 0:
            return undefined(n)
        return large_sample_spearman(float(x @ self._counts @ y) / scale, n)


def large_sample_spearman(rho: float, n: int) -> Correlation:
    """Return rho with tanh(atanh(rho) ± 1.96 √(1.06 / (n - 3))) (Fieller, Hartley, Pearson 1957).

    Examples
    --------
    >>> found = large_sample_spearman(0.9, 10_000)
    >>> round(found.low, 3), round(found.high, 3)
    (0.896, 0.904)
    """
    if n < 4 or not math.isfinite(rho):
        return undefined(n)
    from scipy.stats import t

    rho = max(-1.0, min(1.0, rho))
    middle = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, rho)))
    half = _NORMAL_97_5 * math.sqrt(1.06 / (n - 3))
    left = 1 - rho * rho
    p = float(2 * t.sf(abs(rho) * math.sqrt((n - 2) / left), n - 2)) if left > 0 else 0.0
    return Correlation(rho, p, math.tanh(middle - half), math.tanh(middle + half), n, stars(p))


def _mid_ranks(counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return how many each class holds and its mid-rank, centred."""
    ranks = np.cumsum(counts) - (counts - 1) / 2
    return counts.astype(np.float64), ranks - (counts.sum() + 1) / 2
