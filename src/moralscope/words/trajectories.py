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
from moralscope.core.protocols import Floats
from moralscope.words.comparison import frequent_words, interval, percentiles, usable_sets
from moralscope.words.corpora import TextCorpus
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
    """An action over time; periods that hardly use it are left out."""

    action: str
    points: tuple[Point, ...]
    change: float  # last minus first point, in percentile points
    low: float
    high: float
    movement: float
    """Orders the trajectories: the mean squared distance of the points from their mean, in squared
    standard errors; about one, or less, when nothing but noise moves."""


@dataclass(frozen=True, slots=True, eq=False)
class PeriodGround:
    """What can be measured in each period, against which sets."""

    words: tuple[dict[str, int], ...]
    actions: tuple[str, ...]
    sets: WordSets
    dropped_actions: tuple[str, ...]
    dropped_set_words: tuple[str, ...]


def period_ground(
    whole: TextCorpus,
    periods: Sequence[TextCorpus],
    actions: Sequence[str],
    sets: WordSets,
    min_count: int,
) -> PeriodGround:
    """Find the words of each period, and the actions that half of them, or more, use enough."""
    known = set(frequent_words(whole, min_count))
    words = tuple(frequent_words(period, min_count) for period in periods)
    needed = max(2, (len(periods) + 1) // 2)
    kept = tuple(
        word for word in actions if sum(word in known_there for known_there in words) >= needed
    )
    if not kept:
        raise InputError(
            f"none of the {len(actions)} actions occurs {min_count} times in {needed} periods",
            "take a wider --bin, other --words, or a lower --min-count",
        )
    return PeriodGround(
        words=words,
        actions=kept,
        sets=usable_sets(sets, known, "the text"),
        dropped_actions=tuple(action for action in actions if action not in kept),
        dropped_set_words=tuple(
            word for word in (*sets.positive, *sets.negative) if word not in known
        ),
    )


def trajectories(
    periods: Sequence[TextCorpus], spaces: Sequence[Sequence[WordSpace]], ground: PeriodGround
) -> list[Trajectory]:
    """Follow every action; what moved most against its spread comes first.

    `spaces` are the runs of the whole corpus, then those of each period, in order of time.
    """
    ranks = []  # of each period: (runs, words), the percentile of each of its words in each run
    for runs, words in zip(spaces[1:], ground.words, strict=True):
        weights = np.sqrt(np.array(list(words.values()), dtype=np.float64))
        values = [
            _aligned_values(every, run, tuple(words), weights, ground.sets)
            for every, run in zip(spaces[0], runs, strict=True)
        ]
        ranks.append(percentiles(np.array(values)))
    spreads = [table.std(axis=0, ddof=1) for table in ranks]
    pad = max(1.0, float(np.median(np.concatenate(spreads))))  # never less than one point
    rows = []
    for action in ground.actions:
        draws, points = [], []
        for period, table, words in zip(periods, ranks, ground.words, strict=True):
            if action not in words:
                continue
            draws.append(table[:, list(words).index(action)])
            middle, low, high = (float(end) for end in interval(draws[-1]))
            ends = max(0.0, low), min(100.0, high)
            points.append(Point(period.name, middle, *ends, words[action]))
        change, low, high = np.clip(interval(draws[-1] - draws[0]), -100.0, 100.0).tolist()
        means = np.array([numbers.mean() for numbers in draws])
        errors = np.array([numbers.var(ddof=1) for numbers in draws]) + pad**2
        centre = np.average(means, weights=1 / errors)
        movement = float(((means - centre) ** 2 / errors).sum() / (len(means) - 1))
        rows.append(Trajectory(action, tuple(points), change, low, high, movement))
    return sorted(rows, key=lambda row: (-row.movement, row.action))


def _aligned_values(
    whole: WordSpace, run: WordSpace, words: tuple[str, ...], weights: Floats, sets: WordSets
) -> Floats:
    """Return Eq. 1 of a period's words against the whole corpus' sets."""
    extra = tuple(word for word in (*sets.positive, *sets.negative) if word not in set(words))
    frame = centred_units(whole.rows((*words, *extra)))
    index = {word: row for row, word in enumerate((*words, *extra))}
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
