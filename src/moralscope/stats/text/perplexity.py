"""Perplexity of generated texts under the generator that wrote them."""

from collections.abc import Sequence

import numpy as np

from moralscope.core.records import Candidate
from moralscope.stats.text.sums import Floats, Sums, ratio


def perplexity(candidates: Sequence[Candidate]) -> float:
    """Return exp of the mean negative log-probability of a token, over all tokens.

    exp(-Σ log p(t) / T). Candidates without log-probabilities do not count; where none has any,
    the perplexity is not a number.

    Examples
    --------
    >>> from math import log
    >>> round(perplexity([Candidate("a b", (log(0.5), log(0.125)))]), 6)
    4.0
    """
    known = (candidate.log_probabilities for candidate in candidates)
    return perplexity_sums([(sum(values), len(values)) for values in known]).value


def perplexity_sums(totals: Sequence[tuple[float, int]]) -> Sums:
    """Return perplexity as sums, from each text's log-probability and number of tokens."""
    rows = [(-log_probability, tokens) for log_probability, tokens in totals]
    return Sums(np.asarray(rows, dtype=np.float64).reshape(-1, 2), _combine)


def _combine(sums: Floats) -> Floats:
    found: Floats = np.exp(ratio(sums))
    return found
