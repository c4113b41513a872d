"""Teach a fitted direction a user's corrections, moving it as little as they allow.

With z = x - m the rows seen from the axis' zero, w the axis (score = z . w), C the second moments
of the fitting actions and g the gaps between targets and scores of the corrected actions Z, the
taught axis is w + d with

    d = argmin  dᵀ(C + r I) d + k |Z d - g|²  =  A⁻¹Zᵀ (Z A⁻¹Zᵀ + I/k)⁻¹ g,   A = C + r I

The first term keeps the scores of the fitting actions and the axis itself, the second moves the
corrected actions: ridge regression of the gaps, and the mean of a Gaussian conditioned on them.
r is the mean variance of the fitting actions times `reach`: a small one changes little beside the
corrected actions, a large one moves everything that is like them.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.direction.components import unit
from moralscope.axes.direction.fitting import Direction
from moralscope.axes.direction.stability import angle
from moralscope.core.errors import InputError

REACH = 1.0
_MARK = ", taught"
_SLACK = 0.01  # of a correction's own leverage: met to about a hundredth
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """The new direction and the angle, in degrees, between it and the old one."""

    direction: Direction
    degrees: float


def teach_direction(
    direction: Direction, fitting: Floats, corrected: Floats, targets: Floats, reach: float = REACH
) -> Taught:
    """Refit a direction so that the corrected rows move to their targets.

    Parameters
    ----------
    direction
        The axis to start from; its zero stays where it is.
    fitting
        Mean question embeddings of the actions the direction was fitted on.
    corrected, targets
        Rows of the corrected actions and the scores they should have.
    reach
        How far a correction carries to other actions.
    """
    if not 0 < reach < np.inf:
        raise InputError(f"reach is {reach:g}", "give a number above 0; 1 is usual")
    centre, scale = direction.centres[0], direction.scales[0]
    mean = fitting.mean(axis=0)
    zero = mean + (centre - float(mean @ direction.vector)) * direction.vector
    old = direction.vector / scale
    spread = fitting - mean
    moments = spread.T @ spread / len(spread)
    ridge = reach * float(np.trace(moments)) / len(moments)
    rows = corrected - zero
    reached = np.linalg.solve(moments + ridge * np.eye(len(moments)), rows.T)
    leverage = rows @ reached
    slack = _SLACK * float(np.trace(leverage)) / len(leverage) + 1e-12
    new = old + reached @ np.linalg.solve(
        leverage + slack * np.eye(len(leverage)), targets - rows @ old
    )
    return Taught(_moved(direction, new, zero, fitting), angle(unit(old), unit(new)))


def _moved(direction: Direction, weights: Floats, zero: Floats, fitting: Floats) -> Direction:
    """Put weights in the form of a direction: unit vector, zero and scale."""
    vector = unit(weights)
    second = unit(direction.second - float(direction.second @ vector) * vector)
    moved = dataclasses.replace(
        direction,
        method=f"{direction.method.removesuffix(_MARK)}{_MARK}",
        vector=vector,
        second=second,
        centres=(float(zero @ vector), float((fitting @ second).mean())),
        scales=(1 / float(np.linalg.norm(weights)), direction.scales[1]),
    )
    return dataclasses.replace(moved, positions=moved.project(fitting))
