"""How much of a removed direction can still be read from embeddings.

Gonen & Goldberg 2019 ("Lipstick on a Pig"): after linear removal, words that leaned to one side
still lie near each other, and a probe still finds the side. Two figures of theirs, by least squares
and cosines; both compare before with after and have chance level 0.5.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.stats.summary import unit_rows

_FOLDS = 5
_NEIGHBOURS = 10
_RIDGE = 1e-2
Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Leakage:
    """Share of words whose side a probe finds, and of neighbours on the same side."""

    probe: float
    neighbours: float
    n: int


def leaning(scores: Floats, share: float = 1 / 3) -> tuple[NDArray[np.intp], Labels]:
    """Return the places of the words that lean most to either side, and which side that is.

    Examples
    --------
    >>> places, sides = leaning(np.array([0.0, 3.0, -2.0, 1.0, -1.0, 0.1]))
    >>> places.tolist(), sides.tolist()
    ([2, 4, 3, 1], [False, False, True, True])
    """
    count = max(1, int(len(scores) * share))
    order = np.argsort(scores, kind="stable")
    return np.concatenate([order[:count], order[-count:]]), np.repeat([False, True], count)


def leakage(rows: Floats, sides: Labels, *, seed: int = 0) -> Leakage:
    """Measure how well the sides can be told from the rows.

    Examples
    --------
    >>> rows = np.repeat([[1.0, 0.0], [0.0, 1.0]], 10, axis=0)
    >>> leakage(rows, np.repeat([False, True], 10))
    Leakage(probe=1.0, neighbours=1.0, n=20)
    """
    centred = rows - rows.mean(axis=0)
    return Leakage(_probe(centred, sides, seed), _near(centred, sides), len(rows))


def _probe(rows: Floats, sides: Labels, seed: int) -> float:
    """Cross-validated accuracy of ridge regression on the side, its penalty relative to size."""
    order = np.random.default_rng(seed).permutation(len(rows))
    targets = np.where(sides, 1.0, -1.0)
    right = 0
    for held in np.array_split(order, min(_FOLDS, len(rows))):
        train = np.setdiff1d(order, held)
        x, y = rows[train], targets[train]
        products = x @ x.T
        penalty = _RIDGE * float(np.trace(products)) / len(x)
        weights = np.linalg.solve(products + max(penalty, 1e-12) * np.eye(len(x)), y - y.mean())
        guesses = rows[held] @ x.T @ weights + y.mean()
        right += int(((guesses > 0) == sides[held]).sum())
    return right / len(rows)


def _near(rows: Floats, sides: Labels) -> float:
    """Mean share of the nearest by cosine (ten, fewer of few) that lie on the word's own side."""
    unit = unit_rows(rows)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[
        :, : max(1, min(_NEIGHBOURS, len(rows) // 4))
    ]
    return float((sides[nearest] == sides[:, None]).mean())
