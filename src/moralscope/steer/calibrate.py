"""How strong a vector is to be: until the model's next words differ by a fixed amount.

    KL = mean over the tokens of neutral text of  sum over words w of  P'(w) log (P'(w) / P(w))

with P' the steered model and P the plain one, in nats. Two vectors at the same KL disturb a model
equally; their norms say nothing, since layers and models differ in scale.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import LanguageModel, Matrix

_CLOSE = 0.02  # of the target: where bisection stops
_MOST = 40  # strengths that are tried
_STRONGEST = 1e6
Vectors = Mapping[int, Matrix]
Step = Callable[[float, float], None]  # told a strength that was tried, and its KL


def mean_divergence(plain: Sequence[Matrix], steered: LanguageModel, texts: Sequence[str]) -> float:
    """Return the KL of the steered model from the plain model's distributions, over all tokens."""
    total, tokens = 0.0, 0
    for before, after in zip(plain, steered.distributions(texts), strict=True):
        total += float((np.exp(after) * (after - before)).sum(dtype=np.float64))
        tokens += len(before)
    return total / tokens


def calibrate(
    model: LanguageModel,
    vectors: Vectors,
    target: float,
    texts: Sequence[str],
    step: Step | None = None,
) -> tuple[float, float]:
    """Return the strength at which the KL on `texts` is the target, and that KL.

    Bisected between a strength that is too small and one that is too large.
    """
    plain = list(model.distributions(texts))

    def divergence(strength: float) -> float:
        other = model.steered(scaled(vectors, strength))
        value = mean_divergence(plain, other, texts)
        if step:
            step(strength, value)
        return value

    low, high, strength = 0.0, float("inf"), 1.0
    for _ in range(_MOST):
        kl = divergence(strength)
        if abs(kl - target) <= _CLOSE * target:
            return strength, kl
        low, high = (strength, high) if kl < target else (low, strength)
        # KL grows about with the square of a small push; where that guess fails, halve the rest.
        guess = strength * min(4.0, math.sqrt(target / kl)) if kl > 0 else 4 * strength
        middle = (low + high) / 2 if high < float("inf") else 2 * low
        strength = guess if low < guess < high else middle
        if strength > _STRONGEST:
            break
    raise InputError(
        f"no strength of this vector moves {model.name} by a KL of {target:g}",
        "give a smaller --kl or other layers",
    )


def scaled(vectors: Vectors, strength: float) -> dict[int, Matrix]:
    """Return vectors as they are added."""
    return {layer: np.float32(strength) * row for layer, row in vectors.items()}
