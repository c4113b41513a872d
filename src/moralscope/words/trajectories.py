"""How a corpus values actions over time: one value a period, with its interval.

A period is a small corpus and may hardly use the association words. So each period's space is
turned into the space of the whole corpus (orthogonal Procrustes; Hamilton et al. 2016), and Eq. 1
is taken against the association sets as the *whole* corpus uses them: the yardstick stays, the
word moves. Values are compared by rank: percentiles among the words that the period uses often
enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.core.errors import InputError
from moralscope.words.comparison import (
    Floats,
    frequent_words,
    interval,
    percentiles,
    usable_sets,
)
from moralscope.words.corpora import Corpus
from moralscope.words.spaces import WordSpace, centred_units, rotation
from moralscope.words.word_sets import WordSets


@dataclass(frozen=True, slots=True)
class Point:
    """An action's percentile in a period, with a 95 % interval."""

    period: str
    percentile: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An action over time; periods that hardly use it are left out.

    `change` is last minus first point in percentile points. `movement` orders the trajectories:
    the mean squared distance of the points from their mean, in squared standard errors; about
    one, or less, when nothing but noise moves.
    """

    action: str
    points: tuple[Point, ...]
    change: float
    low: float
    high: float
    movement: float


@dataclass(frozen=True, slots=True, eq=False)
class PeriodGround:
    """What can be measured in each period, against which sets."""

    words: tuple[dict[str, int], ...]
    actions: tuple[str, ...]
    sets: WordSets
    dropped_actions: tuple[str, ...]
    dropped_set_words: tuple[str, ...]


def period_ground(
    whole: Corpus, periods: Sequence[Corpus], actions: Sequence[str], sets: WordSets, min_count: int
) -> PeriodGround:
    """Find the words of each period, and the actions that half of them, or more, use enough."""
    known = set(frequent_words(whole, min_count))
    words = tuple(frequent_words(period, min_count) for period in periods)
    needed = max(2, (len(periods) + 1) // 2)
    kept = tuple(word for word in actions if sum(word in found for found in words) >= needed)
    if not kept:
        raise InputError(
            f"none of the {len(actions)} actions occurs {min_count} times in {needed} periods",
            "take a wider --bin, other --words, or a lower --min-count",
        )
    usable = usable_sets(sets, known, "the text")
    return PeriodGround(
        words,
        kept,
        usable,
        tuple(action for action in actions if action not in kept),
        tuple(word for word in (*sets.positive, *sets.negative) if word not in known),
    )


def trajectories(
    periods: Sequence[Corpus], spaces: Sequence[Sequence[WordSpace]], ground: PeriodGround
) -> list[Trajectory]:
    """Follow every action; what moved most against its spread comes first.

    Parameters
    ----------
    periods
        The periods, in order of time.
    spaces
        The runs of the whole corpus, then those of each period.
    ground
        What can be measured.
    """
    ranks = [
        _ranks(spaces[0], runs, words, ground.sets)
        for runs, words in zip(spaces[1:], ground.words, strict=True)
    ]
    spreads = [table.std(axis=0, ddof=1) for table in ranks]
    pad = max(1.0, float(np.median(np.concatenate(spreads))))  # never less than one point
    found = []
    for action in ground.actions:
        draws = {
            place: ranks[place][:, list(words).index(action)]
            for place, words in enumerate(ground.words)
            if action in words
        }
        points = []
        for place, numbers in draws.items():
            middle, low, high = (float(end) for end in interval(numbers))
            ends = max(0.0, low), min(100.0, high)
            points.append(Point(periods[place].name, middle, *ends, ground.words[place][action]))
        found.append(_trajectory(action, tuple(points), list(draws.values()), pad))
    return sorted(found, key=lambda row: (-row.movement, row.action))


def _ranks(
    whole: Sequence[WordSpace], runs: Sequence[WordSpace], words: dict[str, int], sets: WordSets
) -> Floats:
    """Return (runs, words): the percentile of each of the period's words in each run."""
    listed = tuple(words)
    weights = np.sqrt(np.array(list(words.values()), dtype=np.float64))
    values = [
        _aligned_values(every, run, listed, weights, sets)
        for every, run in zip(whole, runs, strict=True)
    ]
    return percentiles(np.array(values))


def _aligned_values(
    whole: WordSpace, run: WordSpace, words: tuple[str, ...], weights: Floats, sets: WordSets
) -> Floats:
    """Return Eq. 1 of a period's words against the whole corpus' sets."""
    extra = tuple(word for word in (*sets.positive, *sets.negative) if word not in set(words))
    frame = centred_units(whole.rows((*words, *extra)))
    index = {word: place for place, word in enumerate((*words, *extra))}
    rows = centred_units(run.rows(words))
    rows = rows @ rotation(rows, frame[: len(words)], weights)
    values: Floats = np.zeros(len(words))
    for sign, members in ((1.0, sets.positive), (-1.0, sets.negative)):
        cosines = rows @ frame[[index[word] for word in members]].T
        for column, word in enumerate(members):  # a word of a set is not compared with itself
            if index[word] < len(words):
                cosines[index[word], column] = np.nan
        values += sign * np.nanmean(cosines, axis=1)
    return values


def _trajectory(
    action: str, points: tuple[Point, ...], draws: Sequence[Floats], pad: float
) -> Trajectory:
    bounded = np.clip(interval(draws[-1] - draws[0]), -100.0, 100.0)
    means = np.array([numbers.mean() for numbers in draws])
    errors = np.array([numbers.var(ddof=1) for numbers in draws]) + pad**2
    centre = np.average(means, weights=1 / errors)
    movement = float(((means - centre) ** 2 / errors).sum() / (len(means) - 1))
    change, low, high = bounded.tolist()
    return Trajectory(action, points, change, low, high, movement)
