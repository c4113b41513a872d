"""How well an expert does on a task: accuracy, F1, calibration, paired tests.

Samples of one story hang together (they share norm and context), so every interval is a bootstrap
over stories, never over samples. Figures of the paper are binary: where an expert has a third label
("does not concern"), P(label 1) is p[1] / (p[0] + p[1]). Neither reads files nor trains.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.protocols import Classifier, Floats
from moralscope.core.records import Interval
from moralscope.stats.calibration import (
    ReliabilityBin,
    expected_calibration_error,
    negative_log_likelihood,
    reliability_bins,
)
from moralscope.stats.intervals import percentile_interval, resample_weights, without_certainty
from moralscope.stats.significance import mcnemar
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import ClassificationTask, LabelledPair, samples

RESAMPLES = 1000
THIRD = "does not concern"
Flags = NDArray[np.bool_]
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Predictions:
    """An expert's probabilities on samples, one row each, columns as its labels."""

    labels: tuple[str, ...]
    samples: Sequence[LabelledPair]
    probabilities: Floats

    @property
    def truth(self) -> NDArray[np.int64]:
        """The right label of each sample."""
        return np.array([sample.label for sample in self.samples], dtype=np.int64)

    @property
    def binary(self) -> Floats:
        """Probabilities of labels 0 and 1 alone, the third dropped."""
        kept = self.probabilities[:, :2]
        return np.asarray(kept / kept.sum(axis=1, keepdims=True))

    @property
    def positive(self) -> Flags:
        """Whether label 1 is called."""
        return self.binary[:, 1] > 0.5

    @property
    def right(self) -> Flags:
        """Whether the binary decision is right."""
        return np.asarray(self.positive == (self.truth == 1))


@dataclass(frozen=True, slots=True)
class ExpertMetrics:
    """Figures of one expert on one part."""

    stories: int
    samples: int
    accuracy: Interval
    f1: Interval  # the paper's: that of the positive class
    f1_macro: Interval
    ece: float
    nll: float
    reliability: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two experts on the same samples; `difference` is second less first accuracy."""

    samples: int
    only_first: int
    only_second: int
    p: float
    difference: Interval


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts: a row for each right label, a column for each called one (the most probable)."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A sample called wrongly, with the probability that the expert gave to the right label."""

    id: str
    grounding: str
    target: str
    right: str
    called: str
    probability: float


def predict(classifier: Classifier, rows: Sequence[LabelledPair]) -> Predictions:
    """Ask an expert about samples."""
    blocks = [np.empty((0, len(classifier.labels)))]
    for start in range(0, len(rows), _BLOCK):
        pairs = [(row.grounding, row.target) for row in rows[start : start + _BLOCK]]
        blocks.append(classifier.probabilities(pairs).astype(np.float64))
    return Predictions(classifier.labels, rows, np.concatenate(blocks))


def measure(predictions: Predictions, *, seed: int = 0) -> ExpertMetrics:
    """Return accuracy, both F1 and calibration of binary decisions."""
    truth, called = predictions.truth == 1, predictions.positive
    counts = _by_story(
        predictions, [truth & called, ~truth & called, truth & ~called, ~truth & ~called]
    )
    accuracy, f1, f1_macro = _bootstrap(counts, _accuracy_and_f1, seed)
    answers = predictions.binary, predictions.truth
    return ExpertMetrics(
        stories=counts.shape[1],
        samples=len(predictions.samples),
        accuracy=accuracy,
        f1=f1,
        f1_macro=f1_macro,
        ece=expected_calibration_error(*answers),
        nll=negative_log_likelihood(*answers),
        reliability=tuple(reliability_bins(*answers)),
    )


def paired(first: Predictions, second: Predictions, *, seed: int = 0) -> PairedTest:
    """Compare two experts on the same samples: exact McNemar test and a bootstrap over stories.

    McNemar's test (1947) asks whether the samples that only one of them gets right are split
    evenly; exact by the binomial distribution.
    """
    if list(first.samples) != list(second.samples):
        raise ValueError("a paired test needs the same samples in the same order")
    only_first = int((first.right & ~second.right).sum())
    only_second = int((second.right & ~first.right).sum())
    gain = second.right.astype(float) - first.right.astype(float)
    p = mcnemar(only_first, only_second)
    difference = mean_over_stories(first, gain, seed)
    return PairedTest(len(first.samples), only_first, only_second, p, difference)


@dataclass(frozen=True, slots=True)
class Examination:
    """An expert on the samples of some stories: what reversed and swapped norms start from."""

    classifier: Classifier
    task: ClassificationTask
    stories: Sequence[MoralStory]
    predictions: Predictions


def examine(
    classifier: Classifier, task: ClassificationTask, stories: Sequence[MoralStory]
) -> Examination:
    """Ask an expert about every complete sample of the stories."""
    return Examination(classifier, task, stories, predict(classifier, list(samples(task, stories))))


def confusion(*parts: Predictions) -> Confusion:
    """Count right and called labels over all labels that the expert has."""
    labels = parts[0].labels
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    for part in parts:
        np.add.at(counts, (part.truth, part.probabilities.argmax(axis=1)), 1)
    return Confusion(labels, tuple(map(tuple, counts.tolist())))


def worst(predictions: Predictions, limit: int = 50) -> tuple[Mistake, ...]:
    """Return the wrong binary decisions that the expert was surest of, the worst first."""
    truth = predictions.truth
    sure = predictions.binary[np.arange(len(truth)), truth]
    wrong = [row for row in np.argsort(sure, kind="stable").tolist() if not predictions.right[row]]
    return tuple(
        Mistake(
            id=predictions.samples[row].id,
            grounding=predictions.samples[row].grounding,
            target=predictions.samples[row].target,
            right=predictions.labels[int(truth[row])],
            called=predictions.labels[1 - int(truth[row])],
            probability=float(sure[row]),
        )
        for row in wrong[:limit]
    )


def mean_over_stories(predictions: Predictions, values: NDArray[Any], seed: int) -> Interval:
    """Return the mean of one value a sample, with its interval over stories."""
    counts = _by_story(predictions, [values, np.ones(len(values))])
    (figure,) = _bootstrap(counts, lambda drawn: drawn[:1] / drawn[1:], seed)
    return figure


def _by_story(predictions: Predictions, rows: Sequence[NDArray[Any]]) -> Floats:
    """Sum values of samples by story: (rows, stories)."""
    numbers = {name: n for n, name in enumerate(dict.fromkeys(s.id for s in predictions.samples))}
    stories = np.array([numbers[sample.id] for sample in predictions.samples], dtype=np.int64)
    sums = [np.bincount(stories, values.astype(float), len(numbers)) for values in rows]
    return np.stack(sums).astype(np.float64)


def _bootstrap(counts: Floats, figures: Callable[[Floats], Floats], seed: int) -> list[Interval]:
    """Resample stories: `counts` is (kinds, stories), `figures` maps (kinds, draws) to rows."""
    weights = resample_weights(counts.shape[1], RESAMPLES, seed)
    values = figures(counts.sum(axis=1, keepdims=True))[:, 0]
    lows, highs = percentile_interval(figures(counts @ weights.T * counts.shape[1]))
    return [
        Interval(value, *without_certainty(value, low, high, counts.shape[1]))
        for value, low, high in zip(values.tolist(), lows.tolist(), highs.tolist(), strict=True)
    ]


def _accuracy_and_f1(counts: Floats) -> Floats:
    """Return accuracy, F1 of label 1 and the mean of both labels' F1 (rows) of each draw."""
    true_yes, false_yes, false_no, true_no = counts
    accuracy = (true_yes + true_no) / counts.sum(axis=0)
    yes, no = _f1(true_yes, false_yes + false_no), _f1(true_no, false_yes + false_no)
    return np.stack([accuracy, yes, (yes + no) / 2])


def _f1(hits: Floats, misses: Floats) -> Floats:
    """F1 = 2 TP / (2 TP + FP + FN); 0 where there is nothing to find."""
    whole = 2 * hits + misses
    return np.divide(2 * hits, whole, out=np.zeros_like(whole), where=whole > 0)
