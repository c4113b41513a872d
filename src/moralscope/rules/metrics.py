"""How good rules and their attributes are: the columns of Tables 1 and 3 of Ziems et al. 2022.

Texts and predictions come in; which model made them is not known here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moralscope.core.records import SampleInterval
from moralscope.models.bertscore import BertScorer
from moralscope.rules.measures import (
    measure_alignment,
    measure_label,
    measure_scale,
)
from moralscope.rules.paper import AUTOMATIC
from moralscope.rules.records import FOUNDATIONS, SCALES, Annotation
from moralscope.stats.text import bleu, mean_sums, measure, rouge_table, words

BLEU_IS = "mean over exchanges of the best sentence BLEU among the references"
_MARK = re.compile(r"[^\w\s'\u2019-]")  # the authors' word_tokenize counts marks as words too

Predict = Callable[[Sequence[Annotation]], Sequence[Any]]


def measure_rules(
    texts: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    scorer: BertScorer | None = None,
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

    Examples
    --------
    >>> found = measure_rules(["Be kind."], [["Lying is wrong.", "Be kind."]])
    >>> round(found["R-L"].value), found["Avg. Len"].value
    (100, 3.0)
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

    Examples
    --------
    >>> from moralscope.rules.records import Exchange
    >>> rows = [Annotation(Exchange("a", "b"), "Rule.", label) for label in ("agree", "disagree")]
    >>> measure_attributes(rows, {"alignment": lambda _: ["agree", "disagree"]})
    {'alignment F1': SampleInterval(value=100.0, low=50.0, high=100.0, n=2)}
    """
    found: dict[str, SampleInterval] = {}
    for name, attribute in SCALES.items():
        known = [row for row in rows if row.scales[name] is not None]
        if name in predict and known:
            gold = [attribute.merge(row.scales[name]) for row in known]
            scale = measure_scale(gold, [float(v) for v in predict[name](known)], seed=seed)
            found |= {f"{name} r": scale.r, f"{name} MSE": scale.mse}
    known = [row for row in rows if row.alignment is not None]
    if "alignment" in predict and known:
        gold_labels = [row.alignment or "" for row in known]
        found["alignment F1"] = measure_alignment(
            gold_labels, list(predict["alignment"](known)), seed=seed
        )
    known = [row for row in rows if row.foundations is not None]
    if "foundations" in predict and known:
        predicted = [set(names) for names in predict["foundations"](known)]
        for name in FOUNDATIONS:
            gold_has = [name in (row.foundations or ()) for row in known]
            has = [name in names for names in predicted]
            found[f"{name} F1"] = measure_label(gold_has, has, seed=seed)
    return found
