"""How much a direction hangs on the actions it was fitted on: angles after refits, in degrees."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

_RESAMPLES = 200
_LEFT_OUT = 200
Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Refit = Callable[[Places], Floats]


@dataclass(frozen=True, slots=True)
class Stability:
    """Angles between the direction and refits: one action left out, or actions drawn anew."""

    leave_one_out_degrees_max: float
    leave_one_out_action: str
    bootstrap_degrees_median: float
    bootstrap_degrees_p95: float


def angle(first: Floats, second: Floats) -> float:
    """Return the angle between two unit vectors in degrees, 0 to 90: a line has no sign.

    Examples
    --------
    >>> round(angle(np.array([1.0, 0.0]), np.array([-1.0, 1.0]) / 2**0.5), 3)
    45.0
    """
    return float(np.degrees(np.arccos(min(1.0, abs(float(first @ second))))))


def measure_stability(
    vector: Floats, actions: tuple[str, ...], groups: Places, refit: Refit, seed: int
) -> Stability:
    """Refit without single actions and on bootstrap draws, which keep the size of each group.

    With more than 200 actions, 200 of them, evenly spread over the list, are left out in turn.
    """
    # Hundreds of tiny decompositions: threads would only wait for each other.
    with threadpool_limits(1, user_api="blas"):
        return _measure(vector, actions, groups, refit, seed)


def _measure(
    vector: Floats, actions: tuple[str, ...], groups: Places, refit: Refit, seed: int
) -> Stability:
    everyone = np.arange(len(actions))
    chosen = np.unique(np.linspace(0, len(actions) - 1, min(len(actions), _LEFT_OUT)).round())
    left_out = {
        actions[place]: angle(vector, refit(np.delete(everyone, place)))
        for place in chosen.astype(np.int64)
    }
    worst = max(left_out, key=lambda action: left_out[action])
    generator = np.random.default_rng(seed)
    members = [everyone[groups == group] for group in np.unique(groups)]
    drawn = [
        angle(vector, refit(np.concatenate([generator.choice(m, len(m)) for m in members])))
        for _ in range(_RESAMPLES)
    ]
    median, p95 = (float(value) for value in np.quantile(drawn, [0.5, 0.95]))
    return Stability(left_out[worst], worst, median, p95)
