"""Pearson's r, Spearman's rho and Kendall's tau-b with p, stars and a bootstrap interval.

A pooled r over two groups that differ in mean is mostly the difference of the groups. So no
pooled r goes out alone: the r inside each group is printed beside it. Ranks ask only whether two
lists order things alike, so scores on different scales can be compared. Values and p come from
SciPy; intervals are percentile bootstraps over the pairs. Of fewer than 25 pairs a bootstrap knows
too little (four pairs in one line would give 1.00 … 1.00): there the interval is Fisher's,

    tanh(atanh(r n / (n + 1)) ± 1.96 √(v / (n - m)))

with v / (n - m) = 1 / (n - 3) for r, 1.06 / (n - 3) for rho and 0.437 / (n - 4) for tau (Fieller,
Hartley and Pearson 1957). r is drawn in by one pair without correlation, so that a perfect r of few
pairs is not certain; three pairs say nothing at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from moralscope.core.protocols import Floats, Ints
from moralscope.stats.intervals import percentile_interval, resampled_indices
from moralscope.stats.significance import stars

_BOOTSTRAPPED_TAU = 2000  # pairs up to which tau's table of all pairs fits and is quick
_NORMAL_97_5 = 1.959963984540054
_PERMUTED = 7  # so many pairs have few enough orders to try all
_FEW = 25  # below so many pairs the interval is Fisher's
_OF_R, _OF_RHO, _OF_TAU = (1.0, 3), (1.06, 3), (0.437, 4)  # variance and what n is lessened by


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation of n pairs (Pearson's unless said otherwise); `within`: inside each group."""

    r: float
    p: float
    low: float
    high: float
    n: int
    stars: str
    within: "Mapping[str, Correlation]" = field(default_factory=dict)


def correlate(
    x: Sequence[float], y: Sequence[float], groups: Sequence[str] | None = None, *, seed: int = 0
) -> Correlation:
    """Correlate pairs; with `groups`, also inside each group."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    within = {}
    if groups is not None:
        labels = np.asarray(groups)
        for name in sorted(set(groups)):
            chosen = labels == name
            within[name] = _correlate(first[chosen], second[chosen], seed)
    return replace(_correlate(first, second, seed), within=within)


def _correlate(x: Floats, y: Floats, seed: int) -> Correlation:
    n = len(x)
    if not has_spread(x, y):
        return undefined(n)
    from scipy.stats import pearsonr

    test = pearsonr(x, y)
    r, p = float(test.statistic), float(test.pvalue)
    if n < _FEW:
        return _fisher(r, p, n, _OF_R)
    draws = [_row_correlations(x[pairs], y[pairs]) for pairs in resampled_indices(n, seed)]
    return _with_interval(r, p, n, np.concatenate(draws))


def has_spread(x: Floats, y: Floats) -> bool:
    """Say whether pairs can be correlated: three or more, and neither side constant."""
    return len(x) >= 3 and bool(np.ptp(x) > 0) and bool(np.ptp(y) > 0)


def undefined(n: int) -> Correlation:
    """Return the correlation of pairs that have none."""
    nan = float("nan")
    return Correlation(nan, nan, nan, nan, n, "")


def _row_correlations(x: Floats, y: Floats) -> Floats:
    """Pearson's r of each row; resamples without spread are left out."""
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    usable = scale > 0
    return np.asarray((x * y).sum(axis=1)[usable] / scale[usable])


def spearman(x: Sequence[float], y: Sequence[float], *, seed: int = 0) -> Correlation:
    """Return Spearman's rho (Pearson's r of mid-ranks); every resample is ranked afresh."""
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(first)
    if not has_spread(first, second):
        return undefined(n)
    from scipy.stats import spearmanr

    test = spearmanr(first, second)
    rho, p = float(test.statistic), float(test.pvalue)
    codes = np.unique(first, return_inverse=True)[1], np.unique(second, return_inverse=True)[1]
    if n < _FEW:
        if n <= _PERMUTED:  # all orders of so few: SciPy's formula says 0 of three in a line
            a, b = _mid_ranks(codes[0]), _mid_ranks(codes[1])
            sums = np.abs(b[np.array(list(permutations(range(n))))] @ a)
            p = float(np.mean(sums >= abs(float(a @ b)) - 1e-9))
        return _fisher(rho, p, n, _OF_RHO)
    draws = [
        _spearman_of(codes[0][row], codes[1][row])
        for pairs in resampled_indices(n, seed)
        for row in pairs
    ]
    return _with_interval(rho, p, n, np.asarray(draws))


def kendall(x: Sequence[float], y: Sequence[float], *, seed: int = 0) -> Correlation:
    """Return Kendall's tau-b: concordant less discordant pairs, corrected for ties.

    Beyond 2,000 pairs the interval is Fisher's, too: a bootstrap would only cost time.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(first)
    if not has_spread(first, second):
        return undefined(n)
    from scipy.stats import kendalltau

    test = kendalltau(first, second)
    tau, p = float(test.statistic), float(test.pvalue)
    if n < _FEW or n > _BOOTSTRAPPED_TAU:
        return _fisher(tau, p, n, _OF_TAU)
    return _with_interval(tau, p, n, _tau_draws(first, second, seed))


def _fisher(value: float, p: float, n: int, kind: tuple[float, int]) -> Correlation:
    variance, less = kind
    low, high = -1.0, 1.0
    if n > less:
        middle, half = np.arctanh(value * n / (n + 1)), np.sqrt(variance / (n - less))
        low = min(value, float(np.tanh(middle - _NORMAL_97_5 * half)))
        high = max(value, float(np.tanh(middle + _NORMAL_97_5 * half)))
    return Correlation(value, p, low, high, n, stars(p))


def _with_interval(value: float, p: float, n: int, draws: Floats) -> Correlation:
    low, high = percentile_interval(draws[np.isfinite(draws)][None])
    return Correlation(value, p, float(low[0]), float(high[0]), n, stars(p))


def _spearman_of(x: Ints, y: Ints) -> float:
    a, b = _mid_ranks(x), _mid_ranks(y)
    scale = np.sqrt(np.sum(a * a) * np.sum(b * b))
    return float(np.sum(a * b) / scale) if scale > 0 else float("nan")


def _mid_ranks(codes: Ints) -> Floats:
    """Rank by counting, without sorting: ties share the middle of their ranks; centred."""
    counts = np.bincount(codes)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    return ranks - (len(codes) + 1) / 2


def _tau_draws(x: Floats, y: Floats, seed: int) -> Floats:
    """Return tau-b of each resample as quadratic forms of how often each pair was drawn."""
    signs_x = np.sign(x[:, None] - x[None]).astype(np.float32)
    signs_y = np.sign(y[:, None] - y[None]).astype(np.float32)
    tables = signs_x * signs_y, np.abs(signs_x), np.abs(signs_y)
    draws = []
    for pairs in resampled_indices(len(x), seed):
        rows, n = pairs.shape  # how often each pair was drawn in each row
        flat = (pairs + n * np.arange(rows)[:, None]).ravel()
        drawn = np.bincount(flat, minlength=rows * n).reshape(rows, n).astype(np.float32)
        both, only_x, only_y = (((drawn @ table) * drawn).sum(axis=1) for table in tables)
        scale = np.sqrt(only_x.astype(np.float64) * only_y)
        draws.append(np.divide(both, scale, out=np.full(len(scale), np.nan), where=scale > 0))
    return np.concatenate(draws)


def auc(scores: Floats, good: NDArray[np.bool_]) -> float:
    """Return the share of good/bad pairs in the right order; ties count half."""
    gaps = scores[good][:, None] - scores[~good][None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
