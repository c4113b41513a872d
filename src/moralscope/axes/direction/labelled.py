"""An axis fixed by labels: difference of means, or linear discriminant with shrinkage.

Which of the two is decided by cross-validation inside the labelled actions alone. Data about
people never enters here.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.direction.components import unit

MEANS, LDA = "difference of means", "linear discriminant"
_FOLDS, _REPEATS = 5, 10
Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]  # True is good


def mean_difference(rows: Floats, good: Labels) -> Floats:
    """Return the unit vector from the mean of the bad rows to that of the good ones.

    Examples
    --------
    >>> mean_difference(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([True, False])).tolist()
    [1.0, 0.0]
    """
    return unit(rows[good].mean(axis=0) - rows[~good].mean(axis=0))


def shrunk_discriminant(rows: Floats, good: Labels) -> Floats:
    """Return the unit vector of the linear discriminant with a Ledoit-Wolf covariance.

        w = S*^-1 (mean of good - mean of bad),   S* = (1 - a) S + a (tr S / d) I

    with S the covariance within the classes and `a` after Ledoit and Wolf 2004. S* is inverted
    through the table of n x n products (Woodbury): there are fewer labelled actions than
    dimensions.
    """
    difference = rows[good].mean(axis=0) - rows[~good].mean(axis=0)
    inner = np.where(good[:, None], rows - rows[good].mean(axis=0), rows - rows[~good].mean(axis=0))
    products = inner @ inner.T
    count, dimension = inner.shape
    mean_variance = float(np.trace(products)) / count / dimension
    share = ledoit_wolf_share(products, dimension)
    ridge = max(share, 1e-9) * mean_variance
    if ridge == 0:  # no spread inside the classes: nothing to weigh by
        return unit(difference)
    kernel = products + np.eye(count) * (count * ridge / max(1 - share, 1e-9))
    return unit(difference - inner.T @ np.linalg.solve(kernel, inner @ difference))


def ledoit_wolf_share(products: Floats, dimension: int) -> float:
    """Return how far the covariance of centred rows is shrunk, from their inner products.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> ledoit_wolf_share(rows @ rows.T, 2)
    0.0
    """
    count = len(products)
    squares = float((products**2).sum()) / count**2
    trace = float(np.trace(products)) / count
    spread = (squares - trace**2 / dimension) / dimension
    noise = (float((np.diag(products) ** 2).sum()) / count - squares) / (dimension * count)
    return min(noise, spread) / spread if spread > 1e-15 * trace**2 else 0.0


METHODS: Mapping[str, Callable[[Floats, Labels], Floats]] = {
    MEANS: mean_difference,
    LDA: shrunk_discriminant,
}


def cross_validate(rows: Floats, good: Labels) -> dict[str, float]:
    """Return, by method, how often a held-out good action lies above a held-out bad one (AUC).

    Ten times five stratified folds, drawn from a fixed seed: the choice of a method, and with it
    a score, never depends on the user's seed. Empty when a class is too small to be split.
    """
    if min(good.sum(), (~good).sum()) < _FOLDS:
        return {}
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for held in _folds(good):
        for name, fit in METHODS.items():
            scores = rows[held] @ fit(rows[~held], good[~held])
            found[name].append(auc(scores, good[held]))
    return {name: float(np.mean(values)) for name, values in found.items()}


def choose_method(validated: Mapping[str, float]) -> str:
    """Return the method with the higher AUC; the simpler one wins a tie.

    Examples
    --------
    >>> choose_method({MEANS: 0.9, LDA: 0.9}), choose_method({MEANS: 0.8, LDA: 0.9})
    ('difference of means', 'linear discriminant')
    """
    return max(METHODS, key=lambda name: validated.get(name, 0.0))


def auc(scores: Floats, good: Labels) -> float:
    """Return the share of good/bad pairs in the right order; ties count half.

    Examples
    --------
    >>> auc(np.array([2.0, 1.0, 0.0]), np.array([True, False, True]))
    0.5
    """
    gaps = scores[good][:, None] - scores[~good][None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


def _folds(good: Labels) -> Iterator[Labels]:
    """Yield masks of held-out rows, each class split evenly."""
    generator = np.random.default_rng(0)
    for _ in range(_REPEATS):
        fold = np.empty(len(good), dtype=np.int64)
        for side in (good, ~good):
            fold[side] = generator.permutation(np.arange(side.sum()) % _FOLDS)
        for number in range(_FOLDS):
            yield fold == number
