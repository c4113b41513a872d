"""What dev and test say of experts: accuracy, F1 of labels that may hold together, r and MSE.

Logits and gold values in, figures out; nothing is trained or loaded here.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moralscope.models.classifiers.module import sigmoid

Floats = NDArray[np.floating]
_GRID = np.linspace(0.05, 0.95, 37)


def label_f1(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return 2TP / (2TP + FP + FN) of every column; 0 where nothing is right."""
    right = (gold & predicted).sum(axis=0)
    return np.asarray(2.0 * right / np.maximum(gold.sum(axis=0) + predicted.sum(axis=0), 1))


def best_thresholds(gold: NDArray[np.bool_], probabilities: Floats) -> tuple[float, ...]:
    """Return, for every label, the least probability to take it that gives the best F1."""
    scores = np.array([label_f1(gold, probabilities >= limit) for limit in _GRID])
    return tuple(float(_GRID[index]) for index in scores.argmax(axis=0))


def group_figures(
    group: str, kind: str, gold: Sequence[Sequence[float]], logits: Floats
) -> Mapping[str, float]:
    """Return the figures of one group of dev lessons; the first is the one that decides.

    Of kind "many" it is macro-F1 at the thresholds that suit these very rows; of a "scale" r.
    """
    true = np.asarray(gold, dtype=np.float64)
    if kind == "many":
        held, probabilities = true > 0, sigmoid(logits)
        limits = np.array(best_thresholds(held, probabilities))
        return {group: float(label_f1(held, probabilities >= limits).mean())}
    error = float(((logits - true) ** 2).mean())
    return {group: pearson(true.ravel(), logits.ravel()), f"{group} mse": error}


def pearson(first: Floats, second: Floats) -> float:
    """Return Pearson's r; 0 where one side does not vary."""
    one, other = (np.asarray(side, dtype=np.float64) for side in (first, second))
    one, other = one - one.mean(), other - other.mean()
    size = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / size if size else 0.0
