"""How generated texts are measured: overlap with references, diversity, perplexity, length.

A metric is a float of a whole set of texts, or sums over its items (`Sums`), from which `measure`
draws an interval and `compare` a paired test. Knows nothing of what the texts are about.
"""

from moralscope.stats.text.diversity import distinct
from moralscope.stats.text.overlap import bleu, bleu_sums, rouge, rouge_table
from moralscope.stats.text.sums import compare, mean_sums, measure
from moralscope.stats.text.words import words

__all__ = [
    "bleu",
    "bleu_sums",
    "compare",
    "distinct",
    "mean_sums",
    "measure",
    "rouge",
    "rouge_table",
    "words",
]
