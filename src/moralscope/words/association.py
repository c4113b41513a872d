"""Association of single words with two sets of words: Eq. 1, with its spread.

Says nothing about groups of words: that is `weat`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import WordVectors
from moralscope.stats import percentile_interval, resample_weights

_BLOCK = 4096
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WordScore:
    """A word's association with its interval; all three are None for a word out of vocabulary."""

    word: str
    score: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Associations:
    """Scores in the order of the words, and the words of the sets that could not be used."""

    scores: tuple[WordScore, ...]
    missing_positive: tuple[str, ...]
    missing_negative: tuple[str, ...]


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
    seed, resamples
        The bootstrap behind every interval.

    Examples
    --------
    >>> from moralscope.words.vectors import scripted_vectors
    >>> axis = WordAssociation(scripted_vectors(), ["joy", "love"], ["war", "nowhere"])
    >>> axis.missing_negative, axis.scores(["joy", "zzz"]).shape
    (('nowhere',), (2,))
    """

    def __init__(
        self,
        vectors: WordVectors,
        positive: Sequence[str],
        negative: Sequence[str],
        *,
        seed: int = 0,
        resamples: int = 2000,
    ) -> None:
        refuse_overlap(positive, negative, "positive", "negative")
        self._vectors = vectors
        self._positive, self.missing_positive = known_rows(vectors, positive, "positive")
        self._negative, self.missing_negative = known_rows(vectors, negative, "negative")
        self._axis = self._positive.mean(axis=0) - self._negative.mean(axis=0)
        self._seed, self._resamples = seed, resamples

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
        axes = self._resampled_axes()
        for start in range(0, len(words), _BLOCK):
            block = words[start : start + _BLOCK]
            rows = unit_rows(self._vectors, block)
            scores = rows @ self._axis
            known = np.isfinite(scores)
            lows, highs = np.full_like(scores, np.nan), np.full_like(scores, np.nan)
            if known.any():
                draws = rows[known] @ axes.T
                lows[known], highs[known] = percentile_interval(draws)
            results += [
                WordScore(word, score, low, high) if found else WordScore(word, None)
                for word, found, score, low, high in zip(
                    block, known, scores.tolist(), lows.tolist(), highs.tolist(), strict=True
                )
            ]
        return results

    def _resampled_axes(self) -> Floats:
        """Draw A and B again and again; each draw gives another difference of means."""
        # Streams of their own: the same seed must not couple the draws of A and B.
        a = resample_weights(len(self._positive), self._resamples, self._seed)
        b = resample_weights(len(self._negative), self._resamples, self._seed + 1_000_003)
        axes: Floats = a @ self._positive - b @ self._negative
        return axes


def associations(
    vectors: WordVectors,
    words: Sequence[str],
    positive: Sequence[str],
    negative: Sequence[str],
    *,
    seed: int = 0,
) -> Associations:
    """Score words by Eq. 1 and report every word that could not be used.

    Examples
    --------
    >>> from moralscope.words.vectors import scripted_vectors
    >>> found = associations(scripted_vectors(), ["gift", "zzz"], ["joy", "love"], ["war"])
    >>> found.scores[1]
    WordScore(word='zzz', score=None, low=None, high=None)
    """
    axis = WordAssociation(vectors, positive, negative, seed=seed)
    return Associations(tuple(axis.associate(words)), axis.missing_positive, axis.missing_negative)


def unit_rows(vectors: WordVectors, words: Sequence[str]) -> Floats:
    """Return rows of length one; NaN for a word without a vector or without a direction."""
    rows = np.full((len(words), vectors.dimension), np.nan)
    known = [place for place, word in enumerate(words) if word in vectors]
    wide = vectors.vectors([words[place] for place in known]).astype(np.float64)
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
    missing = tuple(word for word, found in zip(words, known, strict=True) if not found)
    return rows[known], missing


def first_twice(words: Sequence[str]) -> str | None:
    """Return the first word that stands twice in a list, if any does."""
    return next((word for word, times in Counter(words).items() if times > 1), None)


def refuse_overlap(first: Sequence[str], second: Sequence[str], *names: str) -> None:
    """Refuse two opposite sets that share a word."""
    others = set(second)
    shared = [word for word in first if word in others]
    if shared:
        listed = ", ".join(shared[:5])
        raise InputError(
            f"the sets '{names[0]}' and '{names[1]}' share {len(shared)} words ({listed})",
            "leave each word in one of them only",
        )
