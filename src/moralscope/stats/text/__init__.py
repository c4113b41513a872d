"""How generated texts are measured: overlap with references, diversity, perplexity, length.

A metric is a float of a whole set of texts, or sums over its items (`Sums`), from which `measure`
draws an interval and `compare` a paired test. Knows nothing of what the texts are about.
"""

from moralscope.stats.text.diversity import (
    DISTINCT_SIGNATURE,
    compare_distinct,
    distinct,
    measure_distinct,
)
from moralscope.stats.text.overlap import (
    ROUGE_KINDS,
    bleu,
    bleu_signature,
    bleu_sums,
    rouge,
    rouge_signature,
    rouge_table,
)
from moralscope.stats.text.sums import (
    PairedComparison,
    Sums,
    SystemComparison,
    compare,
    corrected,
    mean_sums,
    measure,
    perplexity,
    perplexity_sums,
)
from moralscope.stats.text.words import words

__all__ = [
    "DISTINCT_SIGNATURE",
    "ROUGE_KINDS",
    "PairedComparison",
    "Sums",
    "SystemComparison",
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
