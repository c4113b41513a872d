"""How well attributes are predicted, as in Table 3: r and MSE of scales, F1 of labels.

Gold and predicted values come in; where they come from is not known here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.core.records import SampleInterval
from moralscope.rules.records import ALIGNMENTS
from moralscope.stats.correlation import correlate
from moralscope.stats.intervals import percentile_interval

_RESAMPLES = 1000
_BLOCK = 1 << 22
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScaleMeasure:
    """How well a scale is predicted: Pearson's r and the mean squared error."""

    r: SampleInterval
    mse: SampleInterval


def measure_scale(
    gold: Sequence[float], predicted: Sequence[float], *, seed: int = 0
) -> ScaleMeasure:
    """Return r = Pearson(gold, predicted) and MSE = mean (predicted - gold)².

    Where the gold values are all the same there is no r, and it is not a number.

    Examples
    --------
    >>> found = measure_scale([1, 2, 3, 4], [1, 2, 3, 5])
    >>> round(found.r.value, 3), found.mse.value
    (0.983, 0.25)
    """
    _check(gold, predicted)
    found = correlate(gold, predicted, seed=seed)
    errors = (np.asarray(predicted, dtype=np.float64) - np.asarray(gold, dtype=np.float64)) ** 2
    draws = np.concatenate([errors[places].mean(axis=1) for places in _places(len(errors), seed)])
    low, high = percentile_interval(draws[None])
    mse = SampleInterval(float(errors.mean()), float(low[0]), float(high[0]), len(errors))
    return ScaleMeasure(SampleInterval(found.r, found.low, found.high, found.n), mse)


def measure_label(
    gold: Sequence[bool], predicted: Sequence[bool], *, seed: int = 0
) -> SampleInterval:
    """Return F1 = 2TP / (2TP + FP + FN) of one label in percent (a foundation).

    Examples
    --------
    >>> round(measure_label([True, True, False], [True, False, False]).value, 1)
    66.7
    """
    _check(gold, predicted)
    first, second = np.asarray(gold, dtype=bool), np.asarray(predicted, dtype=bool)
    return _figure([(first, second)], len(gold), seed)


def measure_alignment(
    gold: Sequence[str], predicted: Sequence[str], *, seed: int = 0
) -> SampleInterval:
    """Return macro-F1 in percent over the alignments that occur in gold or prediction.

    Examples
    --------
    >>> measure_alignment(["agree", "disagree"], ["agree", "disagree"]).value
    100.0
    """
    _check(gold, predicted)
    first, second = np.asarray(gold), np.asarray(predicted)
    labels = [name for name in ALIGNMENTS if name in gold or name in predicted]
    return _figure([(first == name, second == name) for name in labels], len(gold), seed)


def _figure(
    pairs: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]], n: int, seed: int
) -> SampleInterval:
    whole = float(np.mean([_f1(gold[None], found[None])[0] for gold, found in pairs]))
    draws = np.concatenate(
        [
            np.mean([_f1(gold[places], found[places]) for gold, found in pairs], axis=0)
            for places in _places(n, seed)
        ]
    )
    low, high = percentile_interval(draws[None])
    return SampleInterval(whole, float(low[0]), float(high[0]), n)


def _f1(gold: NDArray[np.bool_], found: NDArray[np.bool_]) -> Floats:
    """Return F1 of each row in percent; nothing to find and nothing found is 0."""
    right = (gold & found).sum(axis=1)
    either = gold.sum(axis=1) + found.sum(axis=1)
    return np.asarray(200.0 * right / np.maximum(either, 1))


def _places(n: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield the places of all resamples, in blocks of rows that fit in memory."""
    generator = np.random.default_rng(seed)
    rows = max(1, _BLOCK // n)
    for start in range(0, _RESAMPLES, rows):
        yield generator.integers(0, n, (min(rows, _RESAMPLES - start), n))


def _check(gold: Sequence[object], predicted: Sequence[object]) -> None:
    if not len(gold) or len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold values cannot be set beside {len(predicted)} predicted")
