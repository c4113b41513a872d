"""Rank correlations with intervals: Spearman's rho and Kendall's tau-b, ties included.

Ranks ask only whether two lists order things alike, so scores on different scales can be
compared. Values and p come from SciPy; intervals are percentile bootstraps over the pairs.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moralscope.stats.bootstrap import percentile_interval
from moralscope.stats.correlation import (
    Correlation,
    Floats,
    Places,
    has_spread,
    resampled_places,
    stars,
    undefined,
)

_BOOTSTRAPPED_TAU = 2000  # pairs up to which tau's table of all pairs fits and is quick
_NORMAL_97_5 = 1.959963984540054
Codes = NDArray[np.int64]


def spearman(x: Sequence[float], y: Sequence[float], *, seed: int = 0) -> Correlation:
    """Return Spearman's rho (Pearson's r of mid-ranks); every resample is ranked afresh.

    Examples
    --------
    >>> found = spearman([1, 2, 3, 4], [1, 8, 27, 64])
    >>> round(found.r, 6), found.n
    (1.0, 4)
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(first)
    if not has_spread(first, second):
        return undefined(n)
    from scipy.stats import spearmanr

    found = spearmanr(first, second)
    codes = np.unique(first, return_inverse=True)[1], np.unique(second, return_inverse=True)[1]
    draws = [
        _spearman_of(codes[0][row], codes[1][row])
        for places in resampled_places(n, seed)
        for row in places
    ]
    return _with_interval(float(found.statistic), float(found.pvalue), n, np.asarray(draws))


def kendall(x: Sequence[float], y: Sequence[float], *, seed: int = 0) -> Correlation:
    """Return Kendall's tau-b: concordant less discordant pairs, corrected for ties.

    Beyond 2,000 pairs the interval is tanh(atanh(tau) ± 1.96 √(0.437 / (n - 4)))
    (Fieller, Hartley and Pearson 1957), where a bootstrap would only cost time.

    Examples
    --------
    >>> round(kendall([1, 2, 3, 4], [1, 2, 4, 3]).r, 4)
    0.6667
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n = len(first)
    if not has_spread(first, second):
        return undefined(n)
    from scipy.stats import kendalltau

    found = kendalltau(first, second)
    tau, p = float(found.statistic), float(found.pvalue)
    if n <= _BOOTSTRAPPED_TAU:
        return _with_interval(tau, p, n, _tau_draws(first, second, seed))
    half = _NORMAL_97_5 * np.sqrt(0.437 / (n - 4))
    middle = np.arctanh(np.clip(tau, -1 + 1e-12, 1 - 1e-12))
    low, high = float(np.tanh(middle - half)), float(np.tanh(middle + half))
    return Correlation(tau, p, low, high, n, stars(p))


def _with_interval(value: float, p: float, n: int, draws: Floats) -> Correlation:
    low, high = percentile_interval(draws[np.isfinite(draws)][None])
    return Correlation(value, p, float(low[0]), float(high[0]), n, stars(p))


def _spearman_of(x: Codes, y: Codes) -> float:
    a, b = _mid_ranks(x), _mid_ranks(y)
    scale = np.sqrt(np.sum(a * a) * np.sum(b * b))
    return float(np.sum(a * b) / scale) if scale > 0 else float("nan")


def _mid_ranks(codes: Codes) -> Floats:
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
    for places in resampled_places(len(x), seed):
        drawn = _counts(places)
        both, only_x, only_y = (((drawn @ table) * drawn).sum(axis=1) for table in tables)
        scale = np.sqrt(only_x.astype(np.float64) * only_y)
        draws.append(np.divide(both, scale, out=np.full(len(scale), np.nan), where=scale > 0))
    return np.concatenate(draws)


def _counts(places: Places) -> NDArray[np.float32]:
    """Return how often each place was drawn in each row."""
    rows, n = places.shape
    flat = (places + n * np.arange(rows)[:, None]).ravel()
    return np.bincount(flat, minlength=rows * n).reshape(rows, n).astype(np.float32)
