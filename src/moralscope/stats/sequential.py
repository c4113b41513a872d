"""A test for drift that one may look at as often as one likes: its error rate holds all the same.

Shares x in [0, 1] come in groups (runs). A bet on a rise to q against a mean of at most m pays

    L(q) = Π (q / m)^x · ((1 - q) / (1 - m))^(1 - x)

whose expectation is at most 1 while the mean of every group is m or less: by convexity for any x in
[0, 1], by concavity of the logarithm for items of different means. Capital that bets from a start
k on, spread over q and over all k with weights 1 / (k (k + 1)), is a test martingale (e-process;
Ville 1939; Waudby-Smith and Ramdas 2023; Shin, Ramdas and Rinaldo 2023 for starts). It reaches 1/a
with probability a at most, over all looks together. A fall is a rise of 1 - x.

The mean before is not known but estimated from a baseline: m is the end of an exact interval
(Clopper and Pearson 1934). Of the error rate a quarter each goes to its two ends and two bets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.core.protocols import Floats

ALARM_RATE = 0.01  # false alarms, over all looks at one sequence
_BETS = 48
_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class DriftTest:
    """What a sequence says: the capital of both bets after each group, and the first alarm."""

    low: float  # ends of the baseline's interval
    high: float
    rise: tuple[float, ...]  # e-values after each group
    fall: tuple[float, ...]
    alarm: int | None = None  # the first group at which an e-value reaches 1 / its rate
    since: int | None = None  # where the drift most likely began

    @property
    def limit(self) -> float:
        """The e-value that raises an alarm."""
        return 4 / ALARM_RATE


def drift_test(baseline: tuple[float, int], groups: Sequence[tuple[float, int]]) -> DriftTest:
    """Test groups, each a sum of shares and their number, against a baseline of the same kind.

    Examples
    --------
    >>> drift_test((100, 1000), [(10, 100)] * 30).alarm is None
    True
    >>> test = drift_test((100, 1000), [(10, 100)] * 10 + [(20, 100)] * 30)
    >>> test.since, 10 < test.alarm < 30
    (10, True)
    """
    total, count = baseline
    tail = ALARM_RATE / 4
    low, high = _clopper_pearson(total, count, tail)
    sums = np.array([group[0] for group in groups], float)
    sizes = np.array([group[1] for group in groups], float)
    rise, rise_logs = _capital(sums, sizes, high)
    fall, fall_logs = _capital(sizes - sums, sizes, 1 - low)
    reached = np.flatnonzero(np.maximum(rise, fall) >= 1 / tail)
    alarm = int(reached[0]) if len(reached) else None
    since = None
    if alarm is not None:
        logs = rise_logs if rise[alarm] >= fall[alarm] else fall_logs
        until = np.cumsum(logs[: alarm + 1][::-1], axis=0)[::-1]  # from each start on, by bet
        since = int(until.max(axis=1).argmax())
    return DriftTest(low, high, tuple(map(float, rise)), tuple(map(float, fall)), alarm, since)


def _capital(sums: Floats, sizes: Floats, mean: float) -> tuple[Floats, Floats]:
    """Return the capital after each group of bets on a rise, and the log gains by group and bet."""
    if mean >= 1 - _LEAST:  # nothing lies above
        return np.ones(len(sums)), np.zeros((len(sums), 1))
    # Bets lie closer near the mean, where most drifts are.
    bets = mean + (1 - mean) * np.linspace(0, 1, _BETS + 2)[1:-1] ** 2
    logs = np.outer(sums, np.log(bets / mean))
    logs += np.outer(sizes - sums, np.log((1 - bets) / (1 - mean)))
    capital, begun = np.empty(len(sums)), np.full(len(bets), -np.inf)
    for at, gains in enumerate(logs):
        weight = -np.log((at + 1) * (at + 2))
        begun = np.logaddexp(begun, weight) + gains
        waiting = 1 / (at + 2)  # of all starts that are still to come
        capital[at] = waiting + np.exp(np.minimum(begun, 700)).mean()
    return capital, logs


def _clopper_pearson(total: float, count: int, tail: float) -> tuple[float, float]:
    """Return the ends beyond which a share lies with probability `tail` each."""
    from scipy.special import betaincinv

    low = 0.0 if total <= 0 else float(betaincinv(total, count - total + 1, tail))
    high = 1.0 if total >= count else float(betaincinv(total + 1, count - total, 1 - tail))
    return min(max(low, _LEAST), 1 - _LEAST), min(max(high, _LEAST), 1 - _LEAST)
