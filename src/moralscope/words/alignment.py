"""Word spaces brought into one frame: orthogonal Procrustes.

Two trainings give axes that mean nothing to each other. The rotation that brings shared words
closest together makes rows comparable across spaces (Schönemann 1966; Hamilton, Leskovec and
Jurafsky 2016). Cosines inside a space do not change.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def centred_units(rows: Floats) -> Floats:
    """Return rows of length one around their common mean, which carries frequency, not meaning."""
    unit = unit_rows(rows)
    return unit_rows(unit - unit.mean(axis=0))


def rotation(source: Floats, target: Floats, weights: Floats) -> Floats:
    """Return the orthogonal Q that minimises the weighted distance of source Q to target.

    Q = U V' with U S V' = source' W target. Frequent words have vectors that a retraining hardly
    moves, so they should carry the frame: weight them more.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> turned = rows @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> np.allclose(rows @ rotation(rows, turned, np.ones(2)), turned)
    True
    """
    left, _, right = np.linalg.svd((source * weights[:, None]).T @ target)
    turn: Floats = left @ right
    return turn


def similarity(source: Floats, target: Floats, weights: Floats) -> Floats:
    """Return each row's cosine with its counterpart after alignment; rows have length one."""
    cosines: Floats = ((source @ rotation(source, target, weights)) * target).sum(axis=1)
    return cosines


def unit_rows(rows: Floats) -> Floats:
    """Return rows of length one; a row without length stays what it is."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    units: Floats = rows / np.where(norms == 0, 1.0, norms)
    return units
