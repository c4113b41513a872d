"""Calibration of class probabilities: how far they can be taken at their word, and one mending.

Expected calibration error and reliability bins by confidence, negative log-likelihood, and the
temperature that lowers it (Guo et al. 2017, "On Calibration of Modern Neural Networks"). Trains
nothing else.
"""

from dataclasses import dataclass

import numpy as np

from moralscope.core.protocols import Floats, Ints

BINS = 15  # as in Guo et al. 2017
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Samples whose confidence lies in (low, high]: their mean confidence and share of hits."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


def reliability_bins(probabilities: Floats, labels: Ints, bins: int = BINS) -> list[ReliabilityBin]:
    """Sort samples by confidence, max_k p_k, into bins of equal width; empty ones are left out."""
    confidence = probabilities.max(axis=1)
    hits = probabilities.argmax(axis=1) == labels
    edges = np.linspace(0, 1, bins + 1)
    bin_of = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    return [
        ReliabilityBin(
            float(edges[index]),
            float(edges[index + 1]),
            int(inside.sum()),
            float(confidence[inside].mean()),
            float(hits[inside].mean()),
        )
        for index in range(bins)
        if (inside := bin_of == index).any()
    ]


def expected_calibration_error(probabilities: Floats, labels: Ints, bins: int = BINS) -> float:
    """Return the mean gap between confidence and accuracy, weighted by the bins' samples.

    ECE = sum_b (n_b / n) |accuracy(b) - confidence(b)|            (Guo et al. 2017, Eq. 3)
    """
    rows = reliability_bins(probabilities, labels, bins)
    return sum(row.n * abs(row.accuracy - row.confidence) for row in rows) / len(labels)


def negative_log_likelihood(probabilities: Floats, labels: Ints) -> float:
    """Return the mean of -log p of the right label (natural logarithm)."""
    right = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(right, _TINY)).mean())


def at_temperature(probabilities: Floats, temperature: float) -> Floats:
    """Return softmax(log p / T): what the logits behind p give at temperature T."""
    from scipy.special import softmax

    return softmax(np.log(np.maximum(probabilities, _TINY)) / temperature, axis=1)


def fit_temperature(probabilities: Floats, labels: Ints) -> float:
    """Return the T > 0 that minimises the negative log-likelihood of held-out samples.

    It is searched within 0.05 ... 20, on a logarithmic scale, so that it is always positive; the
    order of the labels, and with it accuracy, stays as it is.
    """
    from scipy.optimize import minimize_scalar

    def loss(logarithm: float) -> float:
        scaled = at_temperature(probabilities, float(np.exp(logarithm)))
        return negative_log_likelihood(scaled, labels)

    best = minimize_scalar(loss, bounds=(np.log(0.05), np.log(20.0)), method="bounded")
    return float(np.exp(best.x))
