"""A vector from pairs: in each layer, the way from what is not wanted to what is.

A text's row is the mean of its states at the ends of its words. The direction is the difference of
means, the first principal component of the pairs' differences (its sign by the pairs themselves,
since that of a component is luck), or a logistic regression's. Whatever the method, a vector is as
long as the two sides lie apart along it, so that strength 1 means the same for all and later
layers, whose states are longer, get more.

How strong it is to be: until the model's next words differ by a fixed amount,

    KL = mean over the tokens of neutral text of  sum over words w of  P'(w) log (P'(w) / P(w))

with P' the steered model and P the plain one, in nats. Two vectors at the same KL disturb a model
equally; their norms say nothing, since layers and models differ in scale.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from moralscope.axes.direction.components import principal_components, unit
from moralscope.axes.direction.labelled import Labels, mean_difference, shrunk_discriminant
from moralscope.axes.language import Asking
from moralscope.core.errors import InputError
from moralscope.core.protocols import Floats, LanguageModel, Matrix
from moralscope.models.language.gated import SteeringGate
from moralscope.stats.correlation import auc
from moralscope.steer.contrasts import ContrastPair, contrast_texts
from moralscope.steer.options import MEAN, PCA

_CUTS = 8  # places in a text at which its states are read
_FOLDS = 5
_CLOSE = 0.02  # of the target: where bisection stops
_MOST = 40  # strengths that are tried
_STRONGEST = 1e6
Vectors = Mapping[int, Matrix]
Step = Callable[[float, float], None]  # told a strength that was tried, and its KL


@dataclass(frozen=True, slots=True)
class LayerFit:
    """A layer's vector: how long it is, and how well one of other pairs tells the sides apart."""

    layer: int
    length: float
    separation: float  # share of held-out wanted and unwanted texts in the right order


@dataclass(frozen=True, slots=True)
class GateFit:
    """How well a gate tells prompts apart, each by a gate that was fitted without it."""

    layers: str  # 12-26
    opened: float  # share of prompts like the pairs' on which it opens
    opened_wrongly: float  # share of harmless requests and neutral texts on which it opens
    prompts: int  # of both kinds


def fit_gate(
    asking: Asking, prompts: Sequence[str], shut: Sequence[str], cost: float = 4
) -> tuple[SteeringGate, GateFit]:
    """Fit linear discriminants of prompts by their last states, and average them over a band.

    The limit is the middle of those at which held-out prompts are told apart best; to open wrongly
    counts as much as to stay shut `cost` times.
    """
    model = asking.model
    layers = range(max(1, round(0.4 * model.layers)), max(1, round(0.85 * model.layers)) + 1)
    texts = [asking.text(prompt) for prompt in (*prompts, *shut)]
    states = model.hidden_states(texts, layers).astype(np.float64)
    is_open = np.arange(len(texts)) < len(prompts)
    folds = np.arange(len(texts)) % _FOLDS
    scores = np.empty(len(texts))
    for fold in range(_FOLDS):
        kept = folds != fold
        rows, middle = _gate_rows(states[kept], is_open[kept])
        scores[~kept] = (states[~kept] * rows).sum(axis=(1, 2)) - middle
    limits = np.linspace(scores.min(), scores.max(), 401)
    above = scores[:, None] > limits
    gain = above[is_open].mean(axis=0) - cost * above[~is_open].mean(axis=0)
    limit = float(limits[gain == gain.max()].mean())
    opened, wrongly = (float((scores[side] > limit).mean()) for side in (is_open, ~is_open))
    fit = GateFit(f"{layers[0]}-{layers[-1]}", opened, wrongly, len(texts))
    rows, middle = _gate_rows(states, is_open)
    return SteeringGate(layers[0], rows, limit + middle), fit


def _gate_rows(states: Floats, is_open: Labels) -> tuple[Matrix, float]:
    """Return discriminants of layers, and where the middle of both means lies along their sum.

    Along each the means lie equally far apart: those of different folds and layers would else have
    their zeros and their scales in different places.
    """
    means = states[is_open].mean(axis=0), states[~is_open].mean(axis=0)
    rows = np.empty(states.shape[1:], np.float32)
    for at, gap in enumerate(means[0] - means[1]):
        row = shrunk_discriminant(states[:, at], is_open)
        rows[at] = row / (gap @ row) / len(rows)
    return rows, float(((means[0] + means[1]) * rows.astype(np.float64)).sum() / 2)


def middle_layers(layers: int) -> tuple[int, ...]:
    """Return the layers that are steered where none are named: a band above the middle.

    Chosen with smollm2 on pairs that no certificate asks about (``bench/steer.py choose``).

    Examples
    --------
    >>> middle_layers(30)
    (15, 16, 17, 18, 19, 20, 21)
    """
    return tuple(range(max(1, round(0.5 * layers)), max(1, round(0.7 * layers)) + 1))


def pair_states(
    asking: Asking, contrasts: Sequence[ContrastPair], layers: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return the rows of wanted and unwanted texts: (pairs, layers, dimension) each."""
    texts: list[str] = []
    owners: list[int] = []
    for contrast in contrasts:
        before, *sides = contrast_texts(asking, contrast)
        for side in sides:
            cuts = _cuts(side)
            owners += [len(cuts)]
            texts += [before + cut for cut in cuts]
    states: Matrix = asking.model.hidden_states(texts, layers)
    spans = pairwise(np.cumsum([0, *owners]))
    rows = np.stack([states[start:end].mean(axis=0, dtype=np.float64) for start, end in spans])
    return rows[0::2], rows[1::2]


def fit_layers(
    wanted: Floats, unwanted: Floats, layers: Sequence[int], method: str
) -> tuple[Matrix, list[LayerFit]]:
    """Return a vector for each layer, and figures about it."""
    vectors, figures = [], []
    for index, layer in enumerate(layers):
        good, bad = wanted[:, index], unwanted[:, index]
        vector = fit_vector(good, bad, method)
        length = float(np.linalg.norm(vector))
        if not length > 0:
            problem = f"the pairs do not differ in layer {layer}"
            raise InputError(problem, "give pairs that say different things")
        vectors.append(vector)
        figures.append(LayerFit(layer, length, _separation(good, bad, method)))
    return np.stack(vectors).astype(np.float32), figures


def fit_vector(good: Floats, bad: Floats, method: str) -> Floats:
    """Return the way from bad rows to good ones."""
    gap = good.mean(axis=0) - bad.mean(axis=0)
    rows = np.concatenate([good, bad])
    is_good = np.arange(len(rows)) < len(good)
    direction: Floats
    if method == MEAN:
        direction = mean_difference(rows, is_good)
    elif method == PCA:
        # Not centred: what all pairs have in common is what is looked for.
        direction = principal_components(good - bad, centred=False).axes[0]
    else:
        from sklearn.linear_model import LogisticRegression

        regression = LogisticRegression(C=0.1, max_iter=2000)
        regression.fit(rows / (float(rows.std()) or 1.0), is_good)
        direction = unit(np.asarray(regression.coef_[0], dtype=np.float64))
    # The product is negative where a component points the other way.
    return float(gap @ direction) * direction


def _separation(good: Floats, bad: Floats, method: str) -> float:
    """Return the share of held-out texts in the right order; pairs are held out whole."""
    folds = min(_FOLDS, len(good))
    if folds < 2 or len(good) - len(good) // folds < 2:
        return float("nan")
    shares = []
    # Neighbours stay together: they may answer the same prompt.
    for held in np.array_split(np.arange(len(good)), folds):
        kept = np.setdiff1d(np.arange(len(good)), held)
        vector = fit_vector(good[kept], bad[kept], method)
        scores = np.concatenate([good[held], bad[held]]) @ vector
        shares.append(auc(scores, np.arange(len(scores)) < len(held)))
    return float(np.mean(shares))


def _cuts(text: str) -> list[str]:
    """Return beginnings of a text that end where words do, the whole text last."""
    words = text.split(" ")
    ends = [at for at in range(1, len(words) + 1) if words[at - 1]]
    picked = ends if len(ends) <= _CUTS else ends[:: -(-len(ends) // _CUTS)]
    return list(dict.fromkeys([*(" ".join(words[:at]) for at in picked), text]))


def mean_divergence(plain: Sequence[Matrix], steered: LanguageModel, texts: Sequence[str]) -> float:
    """Return the KL of the steered model from the plain model's distributions, over all tokens."""
    total, tokens = 0.0, 0
    for before, after in zip(plain, steered.distributions(texts), strict=True):
        total += float((np.exp(after) * (after - before)).sum(dtype=np.float64))
        tokens += len(before)
    return max(total / tokens, 0.0)  # batches round differently; NaN stays NaN


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
        value = mean_divergence(plain, model.steered(scaled(vectors, strength)), texts)
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
