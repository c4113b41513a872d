"""Bradley-Terry strengths from comparisons whose sides hold several things at once.

Bradley and Terry (1952), with features in place of players:

    log-odds of the first side = Σ_v strength_v · (what the first side has of v - the second's)

Models tell shares, not wins, so the log-odds are known and the strengths are their least squares:
what a single comparison adds of its own averages out, which it does not in a likelihood of shares
(there it pulls strengths to zero). A share counts as 0.001 to 0.999. A weak ridge puts the mean at
zero where only differences of strengths are known.
"""

import numpy as np

from moralscope.core.protocols import Floats

_RIDGE = 1e-3
_LEAST = 1e-3  # of a share


def bradley_terry(features: Floats, shares: Floats, weights: Floats) -> Floats:
    """Return (resamples, values): the strengths under each row of weights.

    Parameters
    ----------
    features
        (comparisons, values): what the first side has of each value less what the second has.
    shares
        Of each comparison, how often the first side is chosen.
    weights
        (resamples, comparisons): how much each comparison counts; a bootstrap draws them.

    Examples
    --------
    >>> import math
    >>> one = bradley_terry(np.array([[1.0, -1.0]] * 400), np.full(400, 0.8), np.ones((1, 400)))
    >>> round(float(one[0, 0] - one[0, 1]), 2), round(math.log(0.8 / 0.2), 2)
    (1.39, 1.39)
    """
    values = features.shape[1]
    kept = np.clip(shares, _LEAST, 1 - _LEAST)
    odds = np.log(kept / (1 - kept))
    products = np.einsum("ni,nj->nij", features, features).reshape(len(features), -1)
    squares = (weights @ products).reshape(-1, values, values) + _RIDGE * np.eye(values)
    sums = (weights * odds) @ features
    return np.asarray(np.linalg.solve(squares, sums[..., None])[..., 0])
