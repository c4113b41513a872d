"""How generated texts are measured: overlap with references, diversity, perplexity, length.

A metric is a float of a whole set of texts, or sums over its items (`Sums`), from which `measure`
draws an interval and `compare` a paired test. Knows nothing of what the texts are about.
"""

from moralscope.stats.text.bleu import bleu, bleu_signature, bleu_sums
from moralscope.stats.text.diversity import (
    DISTINCT_SIGNATURE,
    compare_distinct,
    distinct,
    measure_distinct,
)
from moralscope.stats.text.perplexity import perplexity, perplexity_sums
from moralscope.stats.text.rouge import ROUGE_KINDS, rouge, rouge_signature, rouge_table
from moralscope.stats.text.sums import Compared, Measured, Sums, compare, mean_sums, measure
from moralscope.stats.text.systems import SystemComparison, corrected
from moralscope.stats.text.words import average_length, words

__all__ = [
    "DISTINCT_SIGNATURE",
    "ROUGE_KINDS",
    "Compared",
    "Measured",
    "Sums",
    "SystemComparison",
    "average_length",
    "bleu",
    "bleu_signature",
    "bleu_sums",
    "compare",
    "compare_distinct",
    "corrected",
    "distinct",
    "mean_sums",
    "measure",
    "measure_distinct",
    "perplexity",
    "perplexity_sums",
    "rouge",
    "rouge_signature",
    "rouge_table",
    "words",
]
