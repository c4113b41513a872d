"""Shares and how two are told apart: Wilson's interval, McNemar's test, a bootstrap of a mean."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 2000
_CELLS = 4_000_000  # draws in memory at once
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """A share of `n` with its 95 % interval."""

    value: float
    low: float
    high: float
    n: int


def wilson(successes: int, n: int) -> Share:
    """Return a share with Wilson's score interval (1927), sound for few cases and rare ones.

    centre = (p + z²/2n) / (1 + z²/n); half = z √(p(1-p)/n + z²/4n²) / (1 + z²/n), z = 1.96.

    Examples
    --------
    >>> found = wilson(0, 20)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.0, 0.0, 0.161)
    """
    if n < 1:
        return Share(float("nan"), float("nan"), float("nan"), 0)
    z = 1.959963984540054
    p = successes / n
    bottom = 1 + z * z / n
    centre = (p + z * z / (2 * n)) / bottom
    half = z * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / bottom
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return Share(p, low, high, n)


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact p-value of McNemar's test (1947) on the cases where two differ.

    Examples
    --------
    >>> mcnemar(0, 6), mcnemar(0, 0)
    (0.03125, 1.0)
    """
    from scipy.stats import binomtest

    apart = only_first + only_second
    return float(binomtest(only_first, apart).pvalue) if apart else 1.0


def bootstrap_mean(values: Floats, seed: int = 0) -> tuple[float, float, float]:
    """Return a mean with the ends of its 95 % percentile bootstrap, in blocks of memory.

    Examples
    --------
    >>> mean, low, high = bootstrap_mean(np.array([0.0, 1.0, 1.0, 2.0]))
    >>> mean, low < mean < high
    (1.0, True)
    """
    if not values.size:
        return float("nan"), float("nan"), float("nan")
    generator = np.random.default_rng(seed)
    block = max(1, min(_RESAMPLES, _CELLS // values.size))
    means: list[Floats] = []
    for start in range(0, _RESAMPLES, block):
        rows = min(block, _RESAMPLES - start)
        drawn = generator.integers(0, values.size, (rows, values.size))
        means.append(values[drawn].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(values.mean()), float(low), float(high)
