"""ROUGE-1, ROUGE-2 and ROUGE-L through rouge-score: one F1 an item, the best reference counts.

With stemming (Porter, words of four letters and more), as ROUGE-1.5.5 and SacreROUGE do by
default, so that figures stand beside those of Emelin et al. 2021.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from moralscope.stats.text.bleu import References, check_references
from moralscope.stats.text.sums import Floats

ROUGE_KINDS = ("rouge1", "rouge2", "rougeL")


def rouge(
    hypotheses: Sequence[str],
    references: References,
    *,
    kind: str = "rougeL",
    stem: bool = True,
) -> list[float]:
    """Return F1 in percent for each item; the best of its references counts (Lin 2004).

    F1 = 2PR / (P + R); for ROUGE-L, P and R are the longest common subsequence over the words of
    the text and of the reference.

    Examples
    --------
    >>> rouge(["police kill the gunman"], [["police killed the gunman"]], stem=False)
    [75.0]
    """
    found: list[float] = rouge_table(hypotheses, references, stem=stem, kinds=(kind,))[
        kind
    ].tolist()
    return found


def rouge_table(
    hypotheses: Sequence[str],
    references: References,
    *,
    stem: bool = True,
    kinds: Sequence[str] = ROUGE_KINDS,
) -> dict[str, Floats]:
    """Return every kind in one reading of the texts: kind → one F1 in percent an item."""
    check_references(hypotheses, references)
    scorer = _scorer(tuple(kinds), stem)
    table = {kind: np.zeros(len(hypotheses)) for kind in kinds}
    for place, (text, wanted) in enumerate(zip(hypotheses, references, strict=True)):
        found = scorer.score_multi(list(wanted), text)
        for kind in kinds:
            table[kind][place] = 100 * found[kind].fmeasure
    return table


def rouge_signature(*, stem: bool = True) -> str:
    """Say which implementation gave the figure, and how."""
    from importlib.metadata import version

    words = "porter" if stem else "none"
    return f"rouge-score {version('rouge-score')}|F1|stem:{words}|case:lower|max over references"


@cache
def _scorer(kinds: tuple[str, ...], stem: bool) -> Any:
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
