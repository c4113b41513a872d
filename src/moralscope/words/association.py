"""Association of words with two sets of words: Eq. 1 with its spread, and WEAT over groups.

Single words are scored by `WordAssociation`. `weat` (the Word Embedding Association Test) says how
far two groups of target words lean apart, with an exact or sampled permutation test over
partitions of the targets.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import Floats, WordVectors
from moralscope.stats.intervals import percentile_interval, resample_weights

PERMUTATIONS = 10_000
_BLOCK = 4096
_EXACT_WORDS = 40  # half of them have 2**20 subsets: a fraction of a second
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class WordScore:
    """A word's association with its interval; all three are None for a word out of vocabulary."""

    word: str
    score: float | None
    low: float | None = None
    high: float | None = None


class WordAssociation:
    """How much nearer a word is to the words of A than to those of B.

        s(w, A, B) = mean_{a in A} cos(w, a) - mean_{b in B} cos(w, b)

    Caliskan et al. 2017; Eq. 1 of Jentzsch et al. 2019. The interval is a percentile bootstrap
    over the words of A and B: it says how much a score hangs on which words stand in the sets.
    A word that has no vector, or a vector without length, is missing, never zero.

    Parameters
    ----------
    vectors
        Any `WordVectors`.
    positive, negative
        The sets A and B.
    seed
        The bootstrap behind every interval.
    """

    def __init__(
        self,
        vectors: WordVectors,
        positive: Sequence[str],
        negative: Sequence[str],
        *,
        seed: int = 0,
    ) -> None:
        refuse_overlap(positive, negative, "positive", "negative")
        self._vectors = vectors
        self._positive, self.missing_positive = known_rows(vectors, positive, "positive")
        self._negative, self.missing_negative = known_rows(vectors, negative, "negative")
        self._axis = self._positive.mean(axis=0) - self._negative.mean(axis=0)
        self._seed = seed

    def scores(self, words: Sequence[str]) -> Floats:
        """Return s(w, A, B) of every word; NaN where it is missing."""
        blocks = [
            unit_rows(self._vectors, words[start : start + _BLOCK]) @ self._axis
            for start in range(0, len(words), _BLOCK)
        ]
        return np.concatenate(blocks) if blocks else np.empty(0)

    def associate(self, words: Sequence[str]) -> list[WordScore]:
        """Return the score of every word with its interval."""
        results = []
        # A and B are drawn again and again, in streams of their own: the same seed must not couple
        # the two. Each draw gives another difference of means.
        a = resample_weights(len(self._positive), _RESAMPLES, self._seed)
        b = resample_weights(len(self._negative), _RESAMPLES, self._seed + 1_000_003)
        axes = a @ self._positive - b @ self._negative
        for start in range(0, len(words), _BLOCK):
            block = words[start : start + _BLOCK]
            rows = unit_rows(self._vectors, block)
            scores = rows @ self._axis
            known = np.isfinite(scores)
            lows, highs = np.full_like(scores, np.nan), np.full_like(scores, np.nan)
            if known.any():
                lows[known], highs[known] = percentile_interval(rows[known] @ axes.T)
            results += [
                WordScore(word, score, low, high) if is_known else WordScore(word, None)
                for word, is_known, score, low, high in zip(
                    block, known, scores.tolist(), lows.tolist(), highs.tolist(), strict=True
                )
            ]
        return results


def unit_rows(vectors: WordVectors, words: Sequence[str]) -> Floats:
    """Return rows of length one; NaN for a word without a vector or without a direction."""
    rows = np.full((len(words), vectors.dimension), np.nan)
    known = [index for index, word in enumerate(words) if word in vectors]
    wide = vectors.vectors([words[index] for index in known]).astype(np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    rows[known] = wide / np.where(norms == 0, np.nan, norms)
    return rows


def known_rows(
    vectors: WordVectors, words: Sequence[str], name: str
) -> tuple[Floats, tuple[str, ...]]:
    """Return the unit rows of a set and its missing words; refuse a set that cannot be used."""
    if not words:
        raise InputError(f"the set '{name}' is empty", "give it at least one word")
    twice = first_twice(words)
    if twice is not None:
        raise InputError(f"the set '{name}' holds '{twice}' twice", "remove one of them")
    rows = unit_rows(vectors, words)
    known = np.isfinite(rows[:, 0])
    if not known.any():
        raise InputError(
            f"none of the {len(words)} words of the set '{name}' is in {vectors.name}",
            "choose other sets or other vectors, or another case policy (exact, lower)",
        )
    missing = tuple(word for word, is_known in zip(words, known, strict=True) if not is_known)
    return rows[known], missing


def first_twice(words: Sequence[str]) -> str | None:
    """Return the first word that stands twice in a list, if any does."""
    return next((word for word, times in Counter(words).items() if times > 1), None)


def refuse_overlap(first: Sequence[str], second: Sequence[str], *names: str) -> None:
    """Refuse two opposite sets that share a word."""
    shared = sorted(set(first) & set(second), key=list(first).index)
    if shared:
        both = f"the sets '{names[0]}' and '{names[1]}'"
        listed = f"{len(shared)} words ({', '.join(shared[:5])})"
        raise InputError(f"{both} share {listed}", "leave each word in one of them only")


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
    """
    refuse_overlap(sets.x, sets.y, "x", "y")
    refuse_overlap(sets.positive, sets.negative, "positive", "negative")
    rows, missing = {}, {}
    lists = {"x": sets.x, "y": sets.y, "positive": sets.positive, "negative": sets.negative}
    for name, words in lists.items():
        rows[name], missing[name] = known_rows(vectors, words, name)
    axis = rows["positive"].mean(axis=0) - rows["negative"].mean(axis=0)
    x, y = rows["x"] @ axis, rows["y"] @ axis
    if np.ptp(np.concatenate([x, y])) == 0:
        raise InputError(
            f"all {len(x) + len(y)} target words found have the same association",
            "give target sets with more words that the vectors hold",
        )
    # The interval of d: the words of X and of Y are drawn again; draws without spread say nothing.
    generator = np.random.default_rng(seed + 1_000_003)
    xs = x[generator.integers(0, len(x), (_RESAMPLES, len(x)))]
    ys = y[generator.integers(0, len(y), (_RESAMPLES, len(y)))]
    spread = np.concatenate([xs, ys], axis=1).std(axis=1)
    usable = spread > 0
    draws = (xs.mean(axis=1) - ys.mean(axis=1))[usable] / spread[usable]
    low, high = percentile_interval(draws[None])
    return WeatResult(
        statistic=float(x.sum() - y.sum()),
        effect_size=effect_size(x, y),
        low=float(low[0]),
        high=float(high[0]),
        p=permutation_p(x, y, permutations=permutations, exact=exact, seed=seed),
        n_x=len(x),
        n_y=len(y),
        missing=missing,
    )


def effect_size(x: Floats, y: Floats) -> float:
    """Return d of two groups of associations (population standard deviation over both)."""
    return float((x.mean() - y.mean()) / np.concatenate([x, y]).std())


def permutation_p(
    x: Floats, y: Floats, *, permutations: int, exact: bool | None = None, seed: int = 0
) -> PValue:
    """Return p of sum(x) - sum(y) over all partitions, or over distinct ones drawn by seed.

    Partitions are drawn without replacement and the observed one is counted once:
    p = (hits + 1) / (drawn + 1), with a Clopper-Pearson interval around it.
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
    from scipy.stats import binomtest

    # Binomial, and so a little wide: partitions are drawn without replacement.
    ends = binomtest(hits, permutations).proportion_ci(method="exact")
    # p is over all partitions, the observed one included; the share is over all others.
    low, high = (float((1 + share * (total - 1)) / total) for share in ends)
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
    halves = []
    for part in (values[:half], values[half:]):
        sums = [np.zeros(1)]  # of all subsets, listed by how many values they take
        for value in part:
            grown = [those + value for those in sums]
            longer = zip([*sums, np.empty(0)], [np.empty(0), *grown], strict=True)
            sums = [np.concatenate(pair) for pair in longer][: size + 1]
        halves.append(sums)
    first, second = halves
    count = 0
    for taken, totals in enumerate(first):
        if 0 <= size - taken < len(second):
            others = np.sort(second[size - taken])
            count += int((len(others) - np.searchsorted(others, limit - totals)).sum())
    return count


def _draw_partitions(words: int, size: int, wanted: int, seed: int) -> NDArray[np.bool_]:
    """Draw distinct partitions as rows of a mask, the observed one (the first `size`) left out."""
    generator = np.random.default_rng(seed)
    masks = (np.arange(words) < size)[None]
    while len(masks) <= wanted:
        order = generator.random((wanted, words)).argpartition(size - 1, axis=1)
        drawn = np.zeros((wanted, words), dtype=np.bool_)
        np.put_along_axis(drawn, order[:, :size], True, axis=1)
        masks = np.concatenate([masks, drawn])
        _, first = np.unique(np.packbits(masks, axis=1), axis=0, return_index=True)
        masks = masks[np.sort(first)]
    return masks[1 : wanted + 1]
