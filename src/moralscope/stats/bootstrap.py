"""The bootstrap as weights: one seeded set of resamples serves any number of rows.

Percentile intervals. With few observations (ten prompts) they are a little too narrow, as
percentile intervals are; they say how much the number hangs on the choice of observations.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def resample_weights(observations: int, resamples: int, seed: int) -> Floats:
    """Return (resamples, observations): how often each was drawn, as shares that sum to one.

    Examples
    --------
    >>> weights = resample_weights(10, 3, seed=0)
    >>> weights.shape, weights.sum(axis=1).round(12).tolist()
    ((3, 10), [1.0, 1.0, 1.0])
    """
    generator = np.random.default_rng(seed)
    counts = generator.multinomial(observations, [1 / observations] * observations, resamples)
    return counts / observations


def percentile_interval(draws: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the ends of the interval of each row of `draws` (rows x resamples).

    Examples
    --------
    >>> low, high = percentile_interval(np.arange(101.0)[None], 0.9)
    >>> low.round(9).tolist(), high.round(9).tolist()
    ([5.0], [95.0])
    """
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=-1)
    return low, high


def crossed_bootstrap(values: Floats, column_weights: Floats, seed: int) -> Floats:
    """Resample rows and columns of one table at once; return (1, resamples) grand means.

    Rows (paraphrases) and columns (prompts) are crossed factors, so each is drawn on its own.
    """
    resamples = len(column_weights)
    # A stream of its own: the same seed must not couple the draw of rows to that of columns.
    row_weights = resample_weights(len(values), resamples, seed + 1_000_003)
    draws: Floats = np.einsum("br,rc,bc->b", row_weights, values, column_weights, optimize=True)
    return draws[None]
