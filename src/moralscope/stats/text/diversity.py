"""Diversity: the share of distinct 1- to 4-grams in a set of texts.

A ratio of types to tokens falls as texts are added, so compare sets of the same items only. For
the same reason a bootstrap is wrong here (a resample repeats texts and looks less diverse):
intervals and tests come from the jackknife over groups, which errs on the safe side for such
figures (Efron and Stein 1981).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.core.protocols import Floats
from moralscope.core.records import SampleInterval
from moralscope.stats.text.sums import PairedComparison, group_numbers
from moralscope.stats.text.words import lemma, words

_ORDER = 4
DISTINCT_SIGNATURE = "1- to 4-grams of lemmas (simplemma), no punctuation, mean of four shares"


@dataclass(frozen=True, slots=True)
class _Counts:
    """Distinct and all n-grams by n, and what each group alone adds to them."""

    types: Floats
    tokens: Floats
    own_types: Floats  # groups x n: n-grams that no other group has
    own_tokens: Floats

    def share(self, pooled: bool = False) -> float:
        return float(_share(self.types, self.tokens, pooled))

    def left_out(self, pooled: bool = False) -> Floats:
        """Return the share without each group in turn."""
        return _share(self.types - self.own_types, self.tokens - self.own_tokens, pooled)


def distinct(texts: Sequence[str], *, pooled: bool = False) -> float:
    """Return the share of distinct n-grams, n = 1 … 4, of lower-case lemmas.

    d = ¼ Σₙ distinct n-grams / n-grams (See et al. 2019 for one n; Emelin et al. 2021, section
    4.3). Footnote 13 there says that all n are taken "jointly": their code means the four shares,
    and only so do their reference norms come to the printed 0.56. `pooled=True` is the other
    reading: distinct n-grams of all n over all n-grams.
    """
    return _count(texts, None).share(pooled)


def measure_distinct(
    texts: Sequence[str], groups: Sequence[str] | None = None, *, pooled: bool = False
) -> SampleInterval:
    """Return the diversity with a jackknife interval (Student's t, a degree less than groups)."""
    counts = _count(texts, groups)
    value, n = counts.share(pooled), len(texts)
    half = _half(counts.left_out(pooled))
    return SampleInterval(value, value - half, value + half, n)


def compare_distinct(
    first: Sequence[str], second: Sequence[str], groups: Sequence[str] | None = None
) -> PairedComparison:
    """Compare the diversity of two systems on the same items in the same order.

    The standard error is the jackknife's of the difference, one group left out of both systems at
    a time; p is that of t = difference / error, with a degree of freedom less than groups.
    """
    if len(first) != len(second):
        raise ValueError("systems are compared on the same items")
    a, b = _count(first, groups), _count(second, groups)
    difference = a.share() - b.share()
    left_out = a.left_out() - b.left_out()
    half = _half(left_out)
    p = _two_sided(difference, _error(left_out), len(left_out) - 1)
    return PairedComparison(difference, difference - half, difference + half, p, len(first))


def _count(texts: Sequence[str], groups: Sequence[str] | None) -> _Counts:
    numbers = group_numbers(groups) if groups is not None else np.arange(len(texts))
    shape = (int(numbers.max(initial=-1)) + 1, _ORDER)
    own_types, own_tokens, types = np.zeros(shape), np.zeros(shape), np.zeros(_ORDER)
    lemmas = [[lemma(word) for word in words(text)] for text in texts]
    for order in range(1, _ORDER + 1):
        owner: dict[tuple[str, ...], int] = {}  # the only group that has it, or -1
        for group, tokens in zip(numbers.tolist(), lemmas, strict=True):
            grams = list(zip(*(tokens[start:] for start in range(order)), strict=False))
            own_tokens[group, order - 1] += len(grams)
            for gram in grams:
                if owner.setdefault(gram, group) != group:
                    owner[gram] = -1
        types[order - 1] = len(owner)
        alone = np.fromiter((group for group in owner.values() if group >= 0), np.int64)
        own_types[:, order - 1] = np.bincount(alone, minlength=shape[0])
    return _Counts(types, own_tokens.sum(axis=0), own_types, own_tokens)


def _share(types: Floats, tokens: Floats, pooled: bool) -> Floats:
    if pooled:
        types, tokens = types.sum(axis=-1, keepdims=True), tokens.sum(axis=-1, keepdims=True)
    shares = np.divide(types, tokens, out=np.full(types.shape, np.nan), where=tokens > 0)
    # Texts too short for a 4-gram have no share of them: the mean is over the n there are.
    known = np.isfinite(shares)
    count = known.sum(axis=-1)
    total = np.where(known, shares, 0.0).sum(axis=-1)
    mean: Floats = np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)
    return mean


def _error(left_out: Floats) -> float:
    """Return the jackknife's standard error from the values with one group left out."""
    n = len(left_out)
    if n < 2:
        return float("nan")
    return float(np.sqrt((n - 1) / n * np.sum((left_out - left_out.mean()) ** 2)))


def _half(left_out: Floats) -> float:
    """Return half the width of the 95 % interval."""
    from scipy.stats import t

    return float(t.ppf(0.975, len(left_out) - 1)) * _error(left_out)


def _two_sided(difference: float, error: float, degrees: int) -> float:
    from scipy.stats import t

    if not np.isfinite(error):
        return float("nan")
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * t.sf(abs(difference) / error, degrees))
