"""Figures of more values than memory holds: moments, histograms, extremes, names, rank tables.

Everything takes values in pieces and stays as large as it was: that is why it is written here and
not taken from SciPy, which wants all values at once. The intervals are those of large samples;
few pairs belong to `significance` and `correlation`.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from moralscope.core.protocols import Floats
from moralscope.core.records import Interval, Statistics
from moralscope.stats.correlation import Correlation, undefined
from moralscope.stats.significance import stars
from moralscope.stats.summary import Summary

Item = TypeVar("Item")
BINS = 1024
_NORMAL_97_5 = 1.959963984540054
_FINE = 2048  # bins that quantiles are read from


class Moments:
    """Count, mean, spread and ends of values that come in pieces (Chan et al. 1983)."""

    def __init__(self) -> None:
        self.n = 0
        self.low, self.high = math.inf, -math.inf
        self._mean = self._squares = 0.0

    def add(self, values: Floats) -> None:
        """Take a piece; there is no place in it for what is not a number."""
        if not values.size:
            return
        mean = float(values.mean())
        squares = float(np.square(values - mean).sum())
        total = self.n + values.size
        apart = mean - self._mean
        self._squares += squares + apart * apart * self.n * values.size / total
        self._mean += apart * values.size / total
        self.n = total
        self.low = min(self.low, float(values.min()))
        self.high = max(self.high, float(values.max()))

    @property
    def summary(self) -> Summary:
        """Size, mean and sample standard deviation."""
        mean = self._mean if self.n else math.nan
        sd = math.sqrt(self._squares / (self.n - 1)) if self.n > 1 else math.nan
        return Summary(self.n, mean, sd)

    def mean_interval(self) -> tuple[float, float]:
        """Return the ends of the mean's 95 % interval: mean ± 1.96 sd / √n."""
        summary = self.summary
        half = _NORMAL_97_5 * summary.sd / math.sqrt(summary.n) if summary.n else math.nan
        return summary.mean - half, summary.mean + half


@dataclass(frozen=True, slots=True)
class HistogramBins(Statistics):
    """The edges of bins, and how many values lie in each."""

    edges: Sequence[float]
    counts: Sequence[int]


class Histogram:
    """Counts of values between two ends; quantiles are read off fine bins."""

    def __init__(self, low: float, high: float) -> None:
        self._low, self._high = low, high if high > low else low + 1.0
        self._counts = np.zeros(_FINE, dtype=np.int64)

    def add(self, values: Floats) -> None:
        """Take a piece."""
        self._counts += np.histogram(values, bins=_FINE, range=(self._low, self._high))[0]

    def coarse(self, bins: int) -> HistogramBins:
        """Return `bins` bins, a divisor of 2048, as edges and counts."""
        counts = self._counts.reshape(bins, -1).sum(axis=1)
        return HistogramBins(np.linspace(self._low, self._high, bins + 1).tolist(), counts.tolist())

    def quantile(self, share: float) -> float:
        """Return about the value below which a share of all values lies."""
        total = int(self._counts.sum())
        if not total:
            return math.nan
        reached = np.cumsum(self._counts)
        wanted = share * total
        index = min(int(np.searchsorted(reached, wanted)), _FINE - 1)
        before = float(reached[index - 1]) if index else 0.0
        inside = (wanted - before) / max(1.0, float(self._counts[index]))
        return self._low + (index + inside) * (self._high - self._low) / _FINE


class Extremes(Generic[Item]):
    """The few items with the lowest keys, each name once; of equal keys the first comer stays."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._heap: list[tuple[float, int, str, Item]] = []
        self._names: set[str] = set()
        self._come = 0

    def admits(self, key: float) -> bool:
        """Tell whether a new name with this key would stay: whoever builds items asks first."""
        return len(self._heap) < self._count or -key > self._heap[0][0]

    def add(self, key: float, name: str, item: Item) -> None:
        """Take an item; a name that is there already is not taken again."""
        if name in self._names or not self.admits(key):
            return
        self._come += 1
        entry = (-key, -self._come, name, item)  # the heap gives up its least: the highest key
        self._names.add(name)
        if len(self._heap) < self._count:
            heapq.heappush(self._heap, entry)
        else:
            self._names.discard(heapq.heapreplace(self._heap, entry)[2])

    def items(self) -> list[Item]:
        """Return the items, lowest key first."""
        ordered = sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))
        return [item for _, _, _, item in ordered]


class Frequent(Counter[str]):
    """Counts of names, bounded: when there are too many, the rarest half is forgotten."""

    def __init__(self, most: int = 20_000) -> None:
        super().__init__()
        self._most = most

    def add(self, counts: Mapping[str, int] | Iterable[str]) -> None:
        """Take counts, or names one by one."""
        self.update(counts)
        if len(self) > self._most:
            kept = dict(self.most_common(self._most // 2))
            self.clear()
            self.update(kept)


@dataclass(frozen=True, slots=True)
class MeanOf(Interval):
    """A mean with its 95 % interval and the p-value of its being zero."""

    p: float
    n: int


def mean_against_zero(values: Summary) -> MeanOf:
    """Return a mean with Student's interval and test: mean ± t₀.₉₇₅,ₙ₋₁ sd / √n."""
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
    """
    distinct = np.unique(sample)
    if len(distinct) <= bins:
        return distinct[1:]
    return np.unique(np.quantile(sample, np.linspace(0, 1, bins + 1)[1:-1]))


class RankTable:
    """Spearman's rho of pairs that come in blocks, from counts of classes (see `rank_edges`).

    Values of one class count as ties. With 1,024 classes of like size rho is off by about 1e-5;
    with a class for each value it is exact.
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
        counts_x, counts_y = (self._counts.sum(axis=axis) for axis in (1, 0))
        x, y = (  # mid-ranks of the classes, centred
            np.cumsum(counts) - (counts - 1) / 2 - (n + 1) / 2 for counts in (counts_x, counts_y)
        )
        scale = math.sqrt(float(counts_x @ x**2) * float(counts_y @ y**2))
        if scale == 0:
            return undefined(n)
        return large_sample_spearman(float(x @ self._counts @ y) / scale, n)


def large_sample_spearman(rho: float, n: int) -> Correlation:
    """Return rho with its interval, tanh(atanh(rho) ± 1.96 √(1.06 / (n - 3))) (Fieller 1957)."""
    if n < 4 or not math.isfinite(rho):
        return undefined(n)
    from scipy.stats import t

    rho = max(-1.0, min(1.0, rho))
    middle = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, rho)))
    half = _NORMAL_97_5 * math.sqrt(1.06 / (n - 3))
    left = 1 - rho * rho
    p = float(2 * t.sf(abs(rho) * math.sqrt((n - 2) / left), n - 2)) if left > 0 else 0.0
    return Correlation(rho, p, math.tanh(middle - half), math.tanh(middle + half), n, stars(p))
