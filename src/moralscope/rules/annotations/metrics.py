"""How good rules and their attributes are: Tables 1 and 3 of Ziems et al. 2022, and what it prints.

Texts, gold and predicted values come in; which model made them is not known here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.protocols import Floats
from moralscope.core.records import SampleInterval
from moralscope.io.documents import shipped_toml
from moralscope.rules.records import ALIGNMENTS, FOUNDATIONS, SCALES, Annotation
from moralscope.stats.correlation import correlate
from moralscope.stats.intervals import percentile_interval, resampled_indices, without_certainty
from moralscope.stats.text import bleu, mean_sums, measure, rouge_table, words

if TYPE_CHECKING:
    from moralscope.models.bertscore import BertScorer

AUTOMATIC = ("R-1", "R-2", "R-L", "BLEU", "BScore", "Avg. Len")
PEOPLE = ("Well-Formed", "Fluent", "Relevant")
ATTRIBUTES = (
    *(f"{name} {of}" for name in ("severity", "consensus") for of in ("r", "MSE")),
    "alignment F1",
    *(f"{name} F1" for name in FOUNDATIONS),
)
FILTERS = tuple(f"{name} {of}" for name in ("sufficient", "moral") for of in ("P", "R", "F1"))

Table = Mapping[str, Mapping[str, float]]
_RESAMPLES = 1000
BLEU_IS = "mean over exchanges of the best sentence BLEU among the references"
_MARK = re.compile(r"[^\w\s'\u2019-]")  # the authors' word_tokenize counts marks as words too
Predict = Callable[[Sequence[Annotation]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class IntegrityPaper:
    """The printed figures: `tables["Table 1"][row][column]`, reliability by attribute.

    `shares` says how many annotations name each foundation.
    """

    tables: Mapping[str, Table]
    figure2: Table
    shares: Mapping[str, float]
    corpus: Mapping[str, int]
    notes: Mapping[str, str]

    def printed(self, table: str, row: str, column: str) -> float | None:
        """Return a cell, or None where the paper has none."""
        return self.tables.get(table, {}).get(row, {}).get(column)


@cache
def load_paper() -> IntegrityPaper:
    """Return the printed figures."""
    data = shipped_toml("moralscope.rules", "paper.toml")
    generation = (*AUTOMATIC, *PEOPLE)
    tables = {
        "Table 1": _named(generation, data["table1"]) | _named(PEOPLE, data["human"]),
        "Table 2": _named(generation, data["table2"]),
        "Table 3": _named(ATTRIBUTES, data["table3"]),
        "Table 4": _named(FILTERS, data["table4"]),
    }
    corpus = {name: value for name, value in data["corpus"].items() if isinstance(value, int)}
    figure2 = _named(("alpha", "ICC(1, k)"), data["figure2"])
    return IntegrityPaper(tables, figure2, data["shares"], corpus, data["notes"])


def _named(
    columns: Sequence[str], rows: Mapping[str, Sequence[float]]
) -> dict[str, dict[str, float]]:
    return {name: dict(zip(columns, values, strict=True)) for name, values in rows.items()}


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
    """
    _check(gold, predicted)
    r = correlate(gold, predicted, seed=seed)
    errors = (np.asarray(predicted, dtype=np.float64) - np.asarray(gold, dtype=np.float64)) ** 2
    draws = np.concatenate(
        [errors[drawn].mean(axis=1) for drawn in resampled_indices(len(errors), seed, _RESAMPLES)]
    )
    low, high = percentile_interval(draws[None])
    mse = SampleInterval(float(errors.mean()), float(low[0]), float(high[0]), len(errors))
    return ScaleMeasure(SampleInterval(r.r, r.low, r.high, r.n), mse)


def measure_label(
    gold: Sequence[bool], predicted: Sequence[bool], *, seed: int = 0
) -> SampleInterval:
    """Return F1 = 2TP / (2TP + FP + FN) of one label in percent (a foundation)."""
    _check(gold, predicted)
    first, second = np.asarray(gold, dtype=bool), np.asarray(predicted, dtype=bool)
    return _figure([(first, second)], len(gold), seed)


def measure_alignment(
    gold: Sequence[str], predicted: Sequence[str], *, seed: int = 0
) -> SampleInterval:
    """Return macro-F1 in percent over the alignments that occur in gold or prediction."""
    _check(gold, predicted)
    first, second = np.asarray(gold), np.asarray(predicted)
    labels = [name for name in ALIGNMENTS if name in gold or name in predicted]
    return _figure([(first == name, second == name) for name in labels], len(gold), seed)


def _figure(
    pairs: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]], n: int, seed: int
) -> SampleInterval:
    whole = float(np.mean([_f1(gold[None], guess[None])[0] for gold, guess in pairs]))
    draws = np.concatenate(
        [
            np.mean([_f1(gold[drawn], guess[drawn]) for gold, guess in pairs], axis=0)
            for drawn in resampled_indices(n, seed, _RESAMPLES)
        ]
    )
    low, high = percentile_interval(draws[None] / 100)
    ends = without_certainty(whole / 100, float(low[0]), float(high[0]), n)
    return SampleInterval(whole, 100 * ends[0], 100 * ends[1], n)


def _f1(gold: NDArray[np.bool_], guess: NDArray[np.bool_]) -> Floats:
    """Return F1 of each row in percent; nothing to find and nothing found is 0."""
    right = (gold & guess).sum(axis=1)
    return np.asarray(200.0 * right / np.maximum(gold.sum(axis=1) + guess.sum(axis=1), 1))


def _check(gold: Sequence[object], predicted: Sequence[object]) -> None:
    if not len(gold) or len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold values cannot be set beside {len(predicted)} predicted")


def measure_rules(
    texts: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    scorer: "BertScorer | None" = None,
    seed: int = 0,
) -> dict[str, SampleInterval]:
    """Measure rules by those that people wrote for the same exchanges (Table 1).

    Parameters
    ----------
    texts
        One rule an exchange.
    references
        The rules of people for each exchange; the best of them counts.
    scorer
        For BERTScore; without one that column is left out.
    seed
        Of the bootstrap intervals over exchanges.
    """
    overlap = rouge_table(texts, references)
    best = [
        max(bleu([text], [[one]]) for one in wanted)
        for text, wanted in zip(texts, references, strict=True)
    ]
    values: list[Any] = [*(overlap[kind] for kind in ("rouge1", "rouge2", "rougeL")), best]
    values.append(scorer.f1(texts, references) if scorer else None)
    values.append([float(len(words(text)) + len(_MARK.findall(text))) for text in texts])
    return {
        column: measure(mean_sums(row), seed=seed)
        for column, row in zip(AUTOMATIC, values, strict=True)
        if row is not None
    }


def measure_attributes(
    rows: Sequence[Annotation], predict: Mapping[str, Predict], *, seed: int = 0
) -> dict[str, SampleInterval]:
    """Measure predicted attributes by those of people (Table 3).

    Parameters
    ----------
    rows
        Annotations; each attribute is measured over those that have it.
    predict
        For severity and consensus a callable that gives numbers, for alignment labels, for
        foundations the names that apply; what is missing is not measured. Consensus is measured
        on the paper's scale, where the labels 1 to 3 are one, 3.
    seed
        Of the bootstrap intervals over annotations.
    """
    figures: dict[str, SampleInterval] = {}
    for name, attribute in SCALES.items():
        known = [row for row in rows if row.scales[name] is not None]
        if name in predict and known:
            gold = [attribute.merge(row.scales[name]) for row in known]
            scale = measure_scale(gold, [float(v) for v in predict[name](known)], seed=seed)
            figures |= {f"{name} r": scale.r, f"{name} MSE": scale.mse}
    known = [row for row in rows if row.alignment is not None]
    if "alignment" in predict and known:
        figures["alignment F1"] = measure_alignment(
            [row.alignment or "" for row in known], list(predict["alignment"](known)), seed=seed
        )
    known = [row for row in rows if row.foundations is not None]
    if "foundations" in predict and known:
        predicted = [set(names) for names in predict["foundations"](known)]
        for name in FOUNDATIONS:
            gold_has = [name in (row.foundations or ()) for row in known]
            has = [name in names for names in predicted]
            figures[f"{name} F1"] = measure_label(gold_has, has, seed=seed)
    return figures
