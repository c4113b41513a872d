"""The Word Embedding Association Test: how far two groups of target words lean apart.

Single words are scored by `association`; here groups of them are compared, with an exact or
sampled permutation test over partitions of the targets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import WordVectors
from moralscope.stats import percentile_interval
from moralscope.words.association import known_rows, refuse_overlap

PERMUTATIONS = 10_000
_EXACT_WORDS = 40  # half of them have 2**20 subsets: a fraction of a second
_RESAMPLES = 2000
_TAIL = 0.025
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TargetSets:
    """Target words X and Y against the association words A (positive) and B (negative)."""

    x: Sequence[str]
    y: Sequence[str]
    positive: Sequence[str]
    negative: Sequence[str]


@dataclass(frozen=True, slots=True)
class PValue:
    """One-sided p with its Monte-Carlo interval; exact ones have none to speak of."""

    p: float
    low: float
    high: float
    exact: bool
    partitions: int  # equal-size partitions there are
    compared: int  # those that the observed one was compared with, itself included


@dataclass(frozen=True, slots=True)
class WeatResult:
    """Statistic, effect size with its interval, p; `missing` names the unused words by set."""

    statistic: float
    effect_size: float
    low: float
    high: float
    p: PValue
    n_x: int
    n_y: int
    missing: dict[str, tuple[str, ...]]


def weat(
    vectors: WordVectors,
    sets: TargetSets,
    *,
    permutations: int = PERMUTATIONS,
    exact: bool | None = None,
    seed: int = 0,
) -> WeatResult:
    """Run the full test of Caliskan et al. 2017 (Science 356, supplement, "Methods").

        s(X, Y, A, B) = sum_{x in X} s(x, A, B) - sum_{y in Y} s(y, A, B)
        d = (mean_{x in X} s(x, A, B) - mean_{y in Y} s(y, A, B)) / std_{w in X u Y} s(w, A, B)
        p = Pr_i[ s(X_i, Y_i, A, B) >= s(X, Y, A, B) ]

    over partitions (X_i, Y_i) of X u Y that keep the sizes. std is the population standard
    deviation (n, not n - 1), as WEFE has it: with it |d| is at most 2 for sets of equal size.
    The paper writes ">" in p; ">=" counts the observed partition, so that p is never zero and
    the test keeps its level. d's interval is a percentile bootstrap over the target words.

    Parameters
    ----------
    vectors, sets
        What is tested. X and Y may differ in size; missing words are left out and reported.
    permutations
        Distinct partitions to sample where p is not exact.
    exact
        None: exact for up to 40 target words; True or False forces it. Where half of all
        partitions would be drawn, all are compared.
    seed
        Seeds the sampled partitions and the bootstrap.

    Examples
    --------
    >>> from moralscope.words.vectors import scripted_vectors
    >>> sets = TargetSets(["gift", "help"], ["lie", "harm"], ["joy", "love"], ["war", "evil"])
    >>> found = weat(scripted_vectors(), sets)
    >>> found.p.exact, found.p.partitions
    (True, 6)
    """
    refuse_overlap(sets.x, sets.y, "x", "y")
    refuse_overlap(sets.positive, sets.negative, "positive", "negative")
    rows, missing = {}, {}
    for name in ("x", "y", "positive", "negative"):
        rows[name], missing[name] = known_rows(vectors, getattr(sets, name), name)
    axis = rows["positive"].mean(axis=0) - rows["negative"].mean(axis=0)
    x, y = rows["x"] @ axis, rows["y"] @ axis
    if np.ptp(np.concatenate([x, y])) == 0:
        raise InputError(
            f"all {len(x) + len(y)} target words found have the same association",
            "give target sets with more words that the vectors hold",
        )
    low, high = _effect_interval(x, y, seed)
    p = permutation_p(x, y, permutations=permutations, exact=exact, seed=seed)
    statistic = float(x.sum() - y.sum())
    return WeatResult(statistic, effect_size(x, y), low, high, p, len(x), len(y), missing)


def effect_size(x: Floats, y: Floats) -> float:
    """Return d of two groups of associations (population standard deviation over both).

    Examples
    --------
    >>> effect_size(np.array([1.0, 1.0]), np.array([-1.0, -1.0]))
    2.0
    """
    return float((x.mean() - y.mean()) / np.concatenate([x, y]).std())


def permutation_p(
    x: Floats, y: Floats, *, permutations: int, exact: bool | None = None, seed: int = 0
) -> PValue:
    """Return p of sum(x) - sum(y) over all partitions, or over distinct ones drawn by seed.

    Partitions are drawn without replacement and the observed one is counted once:
    p = (hits + 1) / (drawn + 1), with a Clopper-Pearson interval around it.

    Examples
    --------
    >>> permutation_p(np.array([2.0, 3.0]), np.array([0.0, 1.0]), permutations=10).p == 1 / 6
    True
    """
    values = np.concatenate([x, y])
    total = comb(len(values), len(x))
    # The same sum in another order may differ in its last digits; that is a tie, not a loss.
    limit = x.sum() - 1e-12 * np.abs(values).sum()
    few = total <= 2 * permutations
    if exact and not few and len(values) > _EXACT_WORDS:
        raise InputError(
            f"an exact p for {len(values)} target words needs {total:.3g} partitions",
            f"sample them, or give at most {_EXACT_WORDS} words",
        )
    if few or exact or (exact is None and len(values) <= _EXACT_WORDS):
        p = _count_exact(values, len(x), limit) / total
        return PValue(p, p, p, True, total, total)
    drawn = _draw_partitions(len(values), len(x), permutations, seed)
    hits = int((drawn @ values >= limit).sum())
    low, high = _others_share(hits, permutations)
    # p is over all partitions, the observed one included; the share is over all others.
    low, high = (float((1 + share * (total - 1)) / total) for share in (low, high))
    p = (hits + 1) / (permutations + 1)
    return PValue(p, low, high, False, total, permutations + 1)


def _count_exact(values: Floats, size: int, limit: float) -> int:
    """Count the subsets of `size` values whose sum reaches the limit: meet in the middle.

    Subset sums of either half, by how many values they take; for each sum of one half, a binary
    search finds how many sums of the other complete it. 2**(n/2) work in place of 2**n.
    """
    if size > len(values) // 2:  # the smaller side says the same with fewer subsets
        return _count_exact(-values, len(values) - size, limit - values.sum())
    half = len(values) // 2
    first, second = (_subset_sums(part, size) for part in (values[:half], values[half:]))
    count = 0
    for taken, sums in enumerate(first):
        if 0 <= size - taken < len(second):
            others = np.sort(second[size - taken])
            count += int((len(others) - np.searchsorted(others, limit - sums)).sum())
    return count


def _subset_sums(values: Floats, most: int) -> list[Floats]:
    """Return the sums of all subsets of at most `most` values, listed by how many they take."""
    sums = [np.zeros(1)]
    for value in values:
        grown = [part + value for part in sums]
        longer = zip([*sums, np.empty(0)], [np.empty(0), *grown], strict=True)
        sums = [np.concatenate(pair) for pair in longer][: most + 1]
    return sums


def _draw_partitions(words: int, size: int, wanted: int, seed: int) -> NDArray[np.bool_]:
    """Draw distinct partitions as rows of a mask, the observed one (the first `size`) left out."""
    generator = np.random.default_rng(seed)
    observed = (np.arange(words) < size)[None]
    masks = observed
    while len(masks) <= wanted:
        order = generator.random((wanted, words)).argpartition(size - 1, axis=1)
        drawn = np.zeros((wanted, words), dtype=np.bool_)
        np.put_along_axis(drawn, order[:, :size], True, axis=1)
        masks = np.concatenate([masks, drawn])
        _, first = np.unique(np.packbits(masks, axis=1), axis=0, return_index=True)
        masks = masks[np.sort(first)]
    return masks[1 : wanted + 1]


def _others_share(hits: int, drawn: int) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of the share of other partitions that reach it.

    It is binomial, and so a little wide: partitions are drawn without replacement.
    """
    from scipy.special import betaincinv

    low = float(betaincinv(hits, drawn - hits + 1, _TAIL)) if hits else 0.0
    high = float(betaincinv(hits + 1, drawn - hits, 1 - _TAIL)) if hits < drawn else 1.0
    return low, high


def _effect_interval(x: Floats, y: Floats, seed: int) -> tuple[float, float]:
    """Resample the words of X and of Y; draws without any spread are left out."""
    generator = np.random.default_rng(seed + 1_000_003)
    xs = x[generator.integers(0, len(x), (_RESAMPLES, len(x)))]
    ys = y[generator.integers(0, len(y), (_RESAMPLES, len(y)))]
    spread = np.concatenate([xs, ys], axis=1).std(axis=1)
    usable = spread > 0
    draws = (xs.mean(axis=1) - ys.mean(axis=1))[usable] / spread[usable]
    low, high = percentile_interval(draws[None])
    return float(low[0]), float(high[0])
