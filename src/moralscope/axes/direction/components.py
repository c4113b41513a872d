"""Principal components by singular value decomposition, and whether the first one stands out.

Says nothing about morals: which component means what is decided by anchors (`fitting`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEADING = 10  # components whose explained variance is reported
_RATIO = 1.5
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Unit rows, strongest first, and the share of the variance that each explains."""

    axes: Floats
    shares: Floats


@dataclass(frozen=True, slots=True)
class Prominence:
    """Whether the first component stands out, and what that was decided by.

    It does when its share exceeds what a stick broken at random leaves for the longest piece
    (Jackson 1993: sum over k = 1..n of 1/k, divided by n) and is at least 1.5 times the second.
    """

    share: float
    broken_stick: float
    ratio: float
    stands_out: bool


def principal_components(rows: Floats, *, centred: bool = True) -> Components:
    """Return the principal components of rows; without centring, those of second moments.

    Examples
    --------
    >>> found = principal_components(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.1]]))
    >>> abs(found.axes[0]).round(6).tolist(), found.shares.round(3).tolist()
    ([1.0, 0.0], [0.997, 0.003])
    """
    table = rows - rows.mean(axis=0) if centred else rows
    _, strengths, axes = np.linalg.svd(table, full_matrices=False)
    variances = strengths**2
    total = variances.sum()
    return Components(axes, variances / total if total > 0 else variances)


def leading_component(rows: Floats) -> Floats:
    """Return the first principal component alone, by way of the smaller Gram matrix."""
    table = rows - rows.mean(axis=0)
    if len(table) > table.shape[1]:
        _, vectors = np.linalg.eigh(table.T @ table)
        axis: Floats = vectors[:, -1]
        return axis
    _, vectors = np.linalg.eigh(table @ table.T)
    axis = table.T @ vectors[:, -1]
    return unit(axis)


def prominence(shares: Floats) -> Prominence:
    """Judge the first of the shares.

    Examples
    --------
    >>> prominence(np.array([0.8, 0.1, 0.1])).stands_out
    True
    >>> prominence(np.array([0.4, 0.3, 0.3])).stands_out
    False
    """
    # A centred table of n rows has n - 1 components; the last, zero, is no piece of the stick.
    pieces = max(1, int((shares > 1e-12).sum()))
    stick = float((1 / np.arange(1, pieces + 1)).sum() / pieces)
    first = float(shares[0])
    second = float(shares[1]) if len(shares) > 1 else 0.0
    ratio = first / second if second > 0 else float("inf")
    return Prominence(first, stick, ratio, first > stick and ratio >= _RATIO)


def difference_shares(rows: Floats, positive: Floats, negative: Floats) -> Floats:
    """Return the explained variance of differences between questions and their answers.

    Figure 3 (a-b) of Schramowski et al. 2019, which says no more than "difference vectors of the
    question/answer pairs". Here each action's mean question is paired with the answer that is
    nearer to it by cosine, and each pair is centred, as Bolukbasi et al. 2016 do: what is left
    is +-(q - a)/2, so the components are those of the uncentred differences. The first one then
    is mostly what sets a question apart from an answer.
    """
    answers = np.stack([unit(positive), unit(negative)])
    nearer = (rows @ answers.T).argmax(axis=1)
    return principal_components(rows - np.stack([positive, negative])[nearer], centred=False).shares


def unit(vector: Floats) -> Floats:
    """Return the vector with length one; the zero vector stays as it is."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector
