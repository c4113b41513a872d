"""Intervals: the bootstrap as weights or as draws, and Wilson's for shares.

One seeded set of resamples serves any number of rows, which `scipy.stats.bootstrap` cannot do: it
draws afresh, and slower, for each statistic. Percentile intervals. With few observations (ten
prompts) they are a little too narrow, as percentile intervals are; they say how much the number
hangs on the choice of observations.
"""

import math
from collections.abc import Iterator

import numpy as np

from moralscope.core.protocols import Floats, Ints
from moralscope.core.records import SampleInterval

_RESAMPLES = 2000
_CELLS = 1 << 22  # draws in memory at once


def resample_weights(observations: int, resamples: int, seed: int) -> Floats:
    """Return (resamples, observations): how often each was drawn, as shares that sum to one."""
    generator = np.random.default_rng(seed)
    counts = generator.multinomial(observations, [1 / observations] * observations, resamples)
    return counts / observations


def resampled_indices(n: int, seed: int, resamples: int = _RESAMPLES) -> Iterator[Ints]:
    """Yield the observations that each resample draws, a block at a time: (resamples, n)."""
    generator = np.random.default_rng(seed)
    rows = max(1, _CELLS // n)
    for start in range(0, resamples, rows):
        yield generator.integers(0, n, (min(rows, resamples - start), n))


def percentile_interval(
    draws: Floats, level: float = 0.95, tail: float | None = None
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of each row of `draws` (rows x resamples).

    Every bootstrap ends here. `tail` is the share beyond each end, where it is not that of `level`.
    """
    beyond = (1 - level) / 2 if tail is None else tail
    low, high = np.quantile(draws, [beyond, 1 - beyond], axis=-1)
    return low, high


def without_certainty(value: float, low: float, high: float, n: int) -> tuple[float, float]:
    """Return the ends of a bootstrap of a share or a coefficient up to 1, over `n` cases.

    Where every case is right, so is every resample, and a bootstrap would say 1.00 … 1.00 of four
    cases. Then the lower end is Wilson's for n of n, n / (n + 1.96²); likewise the upper for none.
    """
    z2 = 3.8414588206941254
    if low == high == 1.0:
        return n / (n + z2), high
    if low == high == value == 0.0:
        return low, z2 / (n + z2)
    return low, high


def crossed_bootstrap(values: Floats, column_weights: Floats, seed: int) -> Floats:
    """Resample rows and columns of one table at once; return (1, resamples) grand means.

    Rows (paraphrases) and columns (prompts) are crossed factors, so each is drawn on its own.
    """
    # A stream of its own: the same seed must not couple the draw of rows to that of columns.
    row_weights = resample_weights(len(values), len(column_weights), seed + 1_000_003)
    draws: Floats = np.einsum("br,rc,bc->b", row_weights, values, column_weights, optimize=True)
    return draws[None]


def wilson(successes: int, n: int) -> SampleInterval:
    """Return a share with Wilson's score interval (1927), sound for few cases and rare ones."""
    if n < 1:
        return SampleInterval(float("nan"), float("nan"), float("nan"), 0)
    from scipy.special import ndtri  # scipy.stats would cost every audit a second at its start

    share, z2 = successes / n, float(ndtri(0.975)) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    low = 0.0 if successes == 0 else middle - half  # exact ends, as SciPy's
    high = 1.0 if successes == n else middle + half
    return SampleInterval(share, low, high, n)


def bootstrap_mean(values: Floats, seed: int = 0) -> tuple[float, float, float]:
    """Return a mean with the ends of its 95 % percentile bootstrap, in blocks of memory."""
    if not values.size:
        return float("nan"), float("nan"), float("nan")
    means = [values[drawn].mean(axis=1) for drawn in resampled_indices(values.size, seed)]
    low, high = percentile_interval(np.concatenate(means)[None])
    return float(values.mean()), float(low[0]), float(high[0])
