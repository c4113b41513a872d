"""Bradley-Terry strengths from comparisons whose sides hold several things at once.

Bradley and Terry (1952), with shares in place of wins and features in place of players:

    log-odds of the first side = Σ_v strength_v · (what the first side has of v - the second's)

fitted by maximum likelihood of the shares. A weak normal prior (standard deviation 5) keeps a value
that always wins finite, and puts the mean at zero where only differences are known.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_PRIOR = 1 / 25  # of a strength: one over its variance
_STEPS = 25
_CLOSE = 1e-7
_BLOCK = 100  # resamples at once


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
    blocks = [
        _newton(features, shares, weights[start : start + _BLOCK])
        for start in range(0, len(weights), _BLOCK)
    ]
    return np.concatenate(blocks)


def _newton(features: Floats, shares: Floats, weights: Floats) -> Floats:
    values = features.shape[1]
    strengths = np.zeros((len(weights), values))
    prior = _PRIOR * np.eye(values)
    products = np.einsum("ni,nj->nij", features, features).reshape(len(features), -1)
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(strengths @ features.T, -30, 30)))
        slope = (weights * (shares - chances)) @ features - _PRIOR * strengths
        bend = ((weights * chances * (1 - chances)) @ products).reshape(-1, values, values) + prior
        step = np.linalg.solve(bend, slope[..., None])[..., 0]
        size = np.abs(step).max(axis=1, keepdims=True)
        strengths += step / np.maximum(1, size / 2)  # a step of Newton's may overshoot
        if size.max() < _CLOSE:
            break
    return np.asarray(strengths)
