"""Principal components: whether the first stands out, and how it hangs on the rows.

Says nothing about morals: which component means what is decided by anchors (`fitting`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from moralscope.axes.records import Prominence, Stability
from moralscope.core.protocols import Floats

LEADING = 10  # components whose explained variance is reported
_RATIO = 1.5
_RESAMPLES = 200
_LEFT_OUT = 200
Indices = NDArray[np.int64]
Refit = Callable[[Indices], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Unit rows, strongest first, and the share of the variance that each explains."""

    axes: Floats
    shares: Floats


def principal_components(rows: Floats, *, centred: bool = True) -> Components:
    """Return the principal components of rows; without centring, those of second moments."""
    table = rows - rows.mean(axis=0) if centred else rows
    _, strengths, axes = np.linalg.svd(table, full_matrices=False)
    variances = strengths**2
    total = variances.sum()
    return Components(axes, variances / total if total > 0 else variances)


def leading_component(rows: Floats) -> Floats:
    """Return the first principal component alone, by way of the smaller Gram matrix."""
    # Refits need this hundreds of times: the eigenvector of the smaller of XᵀX and XXᵀ is far
    # cheaper than a whole decomposition. Squaring costs half the digits, which an angle in degrees
    # does not need; the direction itself comes from `principal_components`.
    table = rows - rows.mean(axis=0)
    if len(table) > table.shape[1]:
        _, vectors = np.linalg.eigh(table.T @ table)
        axis: Floats = vectors[:, -1]
        return axis
    _, vectors = np.linalg.eigh(table @ table.T)
    axis = table.T @ vectors[:, -1]
    return unit(axis)


def prominence(shares: Floats) -> Prominence:
    """Judge the first of the shares."""
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


def angle(first: Floats, second: Floats) -> float:
    """Return the angle between two unit vectors in degrees, 0 to 90: a line has no sign."""
    return float(np.degrees(np.arccos(min(1.0, abs(float(first @ second))))))


def measure_stability(
    vector: Floats, actions: tuple[str, ...], groups: Indices, refit: Refit, seed: int
) -> Stability:
    """Refit without single actions and on bootstrap draws, which keep the size of each group.

    With more than 200 actions, 200 of them, evenly spread over the list, are left out in turn.
    """
    everyone = np.arange(len(actions))
    chosen = np.unique(np.linspace(0, len(actions) - 1, min(len(actions), _LEFT_OUT)).round())
    generator = np.random.default_rng(seed)
    members = [everyone[groups == group] for group in np.unique(groups)]
    # Hundreds of tiny decompositions: threads would only wait for each other.
    with threadpool_limits(1, user_api="blas"):
        left_out = {
            actions[index]: angle(vector, refit(np.delete(everyone, index)))
            for index in chosen.astype(np.int64)
        }
        drawn = [
            angle(vector, refit(np.concatenate([generator.choice(m, len(m)) for m in members])))
            for _ in range(_RESAMPLES)
        ]
    worst = max(left_out, key=lambda action: left_out[action])
    median, p95 = (float(value) for value in np.quantile(drawn, [0.5, 0.95]))
    return Stability(left_out[worst], worst, median, p95)
