"""Overlap of texts with references: corpus BLEU through sacrebleu, ROUGE through rouge-score.

sacrebleu tokenises and counts; resamples only add its counts up again, so that BLEU has an
interval. ROUGE-1, ROUGE-2 and ROUGE-L are one F1 an item, with stemming (Porter, words of four
letters and more), as ROUGE-1.5.5 and SacreROUGE do by default, so that figures stand beside those
of Emelin et al. 2021.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from moralscope.core.extras import require_extra
from moralscope.core.protocols import Floats
from moralscope.stats.text.sums import Sums

_ORDER = 4
ROUGE_KINDS = ("rouge1", "rouge2", "rougeL")
References = Sequence[Sequence[str]]


def bleu(hypotheses: Sequence[str], references: References) -> float:
    """Return corpus BLEU in percent (13a tokens, case kept, exponential smoothing).

    Parameters
    ----------
    hypotheses
        The texts, one an item.
    references
        The references of each item, one or more.
    """
    return bleu_sums(hypotheses, references).value


def bleu_sums(hypotheses: Sequence[str], references: References) -> Sums:
    """Return matches and totals of 1- to 4-grams and both lengths of each item.

    BLEU = BP · exp(¼ Σ ln pₙ), pₙ = matchesₙ / totalₙ, BP = min(1, exp(1 - r / c))
    (Papineni et al. 2002); an order without a match counts 1 / 2ᵏ matches, k = 1, 2, …
    (Chen and Cherry 2014, method 3), as in sacrebleu (Post 2018).
    """
    check_references(hypotheses, references)
    scorer = _bleu_scorer()
    rows = np.zeros((len(hypotheses), 2 * _ORDER + 2))
    for row, text, wanted in zip(rows, hypotheses, references, strict=True):
        score = scorer.sentence_score(text, list(wanted))
        row[:] = [*score.counts, *score.totals, score.sys_len, score.ref_len]
    return Sums(rows, _bleu_of)


def bleu_signature(references: References) -> str:
    """Return sacrebleu's signature of the figure, as papers print it."""
    import sacrebleu

    sizes = {len(wanted) for wanted in references}
    count = str(sizes.pop()) if len(sizes) == 1 else "var"
    return f"nrefs:{count}|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"


def check_references(hypotheses: Sequence[str], references: References) -> None:
    """Refuse items without a reference: callers leave them out, and say so."""
    if len(hypotheses) != len(references) or not all(references):
        raise ValueError("every text needs one reference at least")


def _bleu_of(sums: Floats) -> Floats:
    matches, totals = sums[..., :_ORDER], sums[..., _ORDER : 2 * _ORDER]
    ours, theirs = sums[..., -2], sums[..., -1]
    missed = matches == 0
    halved = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), matches)
    precision = np.divide(halved, totals, out=np.zeros_like(halved), where=totals > 0)
    # sacrebleu gives 0 when nothing matches at all, and when an order has no n-grams.
    usable = (matches.sum(axis=-1) > 0) & (totals > 0).all(axis=-1)
    logs = np.log(precision, out=np.zeros_like(precision), where=precision > 0)
    shortness = np.divide(theirs, ours, out=np.ones_like(ours), where=ours > 0)
    brevity = np.minimum(0.0, 1 - shortness)
    return np.where(usable, 100 * np.exp(logs.mean(axis=-1) + brevity), 0.0)


@cache
def _bleu_scorer() -> Any:
    require_extra("train", "BLEU")
    from sacrebleu.metrics import BLEU

    return BLEU(effective_order=True)  # only its counts are used: the order does not matter


def rouge(
    hypotheses: Sequence[str], references: References, *, kind: str = "rougeL", stem: bool = True
) -> list[float]:
    """Return F1 in percent for each item; the best of its references counts (Lin 2004).

    F1 = 2PR / (P + R); for ROUGE-L, P and R are the longest common subsequence over the words of
    the text and of the reference.
    """
    table = rouge_table(hypotheses, references, stem=stem, kinds=(kind,))
    figures: list[float] = table[kind].tolist()
    return figures


def rouge_table(
    hypotheses: Sequence[str],
    references: References,
    *,
    stem: bool = True,
    kinds: Sequence[str] = ROUGE_KINDS,
) -> dict[str, Floats]:
    """Return every kind in one reading of the texts: kind → one F1 in percent an item."""
    check_references(hypotheses, references)
    scorer = _rouge_scorer(tuple(kinds), stem)
    table = {kind: np.zeros(len(hypotheses)) for kind in kinds}
    for index, (text, wanted) in enumerate(zip(hypotheses, references, strict=True)):
        scores = scorer.score_multi(list(wanted), text)
        for kind in kinds:
            table[kind][index] = 100 * scores[kind].fmeasure
    return table


def rouge_signature(*, stem: bool = True) -> str:
    """Say which implementation gave the figure, and how."""
    from importlib.metadata import version

    words = "porter" if stem else "none"
    return f"rouge-score {version('rouge-score')}|F1|stem:{words}|case:lower|max over references"


@cache
def _rouge_scorer(kinds: tuple[str, ...], stem: bool) -> Any:
    require_extra("train", "ROUGE")
    from rouge_score import rouge_scorer, tokenizers

    return rouge_scorer.RougeScorer(list(kinds), tokenizer=_Tokenizer(tokenizers, stem))


class _Tokenizer:
    """rouge-score's own words; each word is stemmed once, as stemming is the slow part."""

    def __init__(self, tokenizers: Any, stem: bool) -> None:
        self._split = tokenizers.DefaultTokenizer(use_stemmer=False).tokenize
        self._stem = cache(tokenizers.DefaultTokenizer(use_stemmer=True).tokenize) if stem else None

    def tokenize(self, text: str) -> list[str]:
        words: list[str] = self._split(text)
        if self._stem is None:
            return words
        return [part for word in words for part in self._stem(word)]
