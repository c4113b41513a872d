"""How several corpora value the same actions: values by rank, movers by two standardised changes.

Each corpus has its own word vectors, trained several times on bootstrap draws of its text
(`spaces`). For every word that all corpora use often enough:

* its **value** is Eq. 1 of Jentzsch et al. 2019 inside the corpus' own space,
  s(w, A, B) = mean cos(w, a) - mean cos(w, b), compared **by rank**: its percentile among the
  shared words. Cosines of two trainings have no common scale; ranks do. Eq. 1 does not change
  under a rotation, so alignment would add nothing here.
* its **displacement** is what alignment adds (orthogonal Procrustes; Hamilton et al. 2016): one
  minus the word's cosine with itself in the other corpus, less what two draws of one and the same
  corpus show. Zero: the word keeps the company that it keeps in the other corpus.

A word **moves** when either change is large against its own spread over the runs, which keeps rare
words, whose vectors jump from run to run (Antoniak and Mimno 2018), from crowding out the others.
Changes over time are in `trajectories`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.special import stdtrit
from scipy.stats import rankdata

from moralscope.core.errors import InputError
from moralscope.core.protocols import Floats
from moralscope.io.documents import shipped_text
from moralscope.stats.summary import unit_rows
from moralscope.words.corpora import TextCorpus
from moralscope.words.spaces import WordSpace, centred_units, similarity
from moralscope.words.word_sets import WordSets

MIN_SPREAD = 5  # blocks of text a word must occur in: one chapter is no usage
MIN_SET = 3
_NEIGHBOURS = 5
_MIDDLE = 50.0


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What corpora have in common: words that each of them uses often enough."""

    words: tuple[str, ...]
    weights: Floats  # carry the frame of an alignment: the square root of the smallest count
    actions: tuple[str, ...]
    sets: WordSets
    dropped_actions: tuple[str, ...]
    dropped_set_words: tuple[str, ...]

    def indices(self, words: Sequence[str]) -> list[int]:
        """Return where words stand in `words`."""
        index = {word: row for row, word in enumerate(self.words)}
        return [index[word] for word in words]


@dataclass(frozen=True, slots=True)
class CorpusValue:
    """What an action is worth in a corpus: Eq. 1, and its percentile with a 95 % interval."""

    corpus: str
    value: float
    percentile: float
    low: float
    high: float
    count: int
    neighbours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ActionDifference:
    """An action in two corpora."""

    action: str
    first: CorpusValue
    second: CorpusValue
    change: float  # second minus first, in percentile points
    low: float
    high: float
    displacement: float
    displacement_low: float
    displacement_high: float
    movement: float  # orders the movers; see `movements`


@dataclass(frozen=True, slots=True)
class CorpusAgreement:
    """Actions that every corpus values alike, and those that two corpora value oppositely.

    A do is above the middle of the shared words with its whole interval, a don't below.
    """

    dos: tuple[str, ...]
    donts: tuple[str, ...]
    divergent: tuple[str, ...]


@cache
def everyday_actions() -> tuple[str, ...]:
    """Return the built-in list of everyday actions, in base form."""
    text = shipped_text("moralscope.words", "everyday_actions.txt")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def frequent_words(corpus: TextCorpus, min_count: int) -> dict[str, int]:
    """Return the words that occur often enough and in enough places, with their counts."""
    rows = zip(corpus.words, corpus.counts.tolist(), corpus.spread().tolist(), strict=True)
    return {word: n for word, n, spread in rows if n >= min_count and spread >= MIN_SPREAD}


def common_ground(
    corpora: Sequence[TextCorpus], actions: Sequence[str], sets: WordSets, min_count: int
) -> Ground:
    """Find what all corpora share; refuse to compare on too little."""
    known = [frequent_words(corpus, min_count) for corpus in corpora]
    words = tuple(word for word in known[0] if all(word in other for other in known[1:]))
    shared = set(words)
    kept = tuple(word for word in actions if word in shared)
    usable = usable_sets(sets, shared, "every corpus")
    if not kept:
        raise InputError(
            f"none of the {len(actions)} actions occurs {min_count} times in every corpus",
            "give more text, other --words, or a lower --min-count",
        )
    counts = np.array([min(other[word] for other in known) for word in words], dtype=np.float64)
    return Ground(
        words=words,
        weights=np.sqrt(counts),
        actions=kept,
        sets=usable,
        dropped_actions=tuple(word for word in actions if word not in shared),
        dropped_set_words=tuple(
            word for word in (*sets.positive, *sets.negative) if word not in shared
        ),
    )


def usable_sets(sets: WordSets, known: set[str], where: str) -> WordSets:
    """Keep the association words that are known; refuse a side with fewer than three."""
    lists = {"positive": sets.positive, "negative": sets.negative}
    kept = {side: tuple(word for word in words if word in known) for side, words in lists.items()}
    for side, left in kept.items():
        if len(left) < MIN_SET:
            raise InputError(
                f"only {len(left)} of {len(lists[side])} {side} association words occur often "
                f"enough in {where}",
                "give more text, or a lower --min-count",
            )
    return replace(sets, positive=kept["positive"], negative=kept["negative"])


def association_values(rows: Floats, positive: Sequence[int], negative: Sequence[int]) -> Floats:
    """Return Eq. 1 of every row; a word of a set is not compared with itself."""
    return _mean_cosines(rows, positive) - _mean_cosines(rows, negative)


def _mean_cosines(rows: Floats, members: Sequence[int]) -> Floats:
    sums = rows @ rows[list(members)].sum(axis=0)
    sizes = np.full(len(rows), float(len(members)))
    sums[list(members)] -= 1.0
    sizes[list(members)] -= 1.0
    return np.asarray(sums / np.maximum(sizes, 1.0))


def percentiles(values: Floats) -> Floats:
    """Return the percentile of every value among all, per row; ties share theirs."""
    return np.asarray((rankdata(values, axis=-1) - 0.5) / values.shape[-1] * 100)


def interval(draws: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean, low and high over the runs (first axis): mean ± t · sd, 95 %.

    The runs are bootstrap draws, so their spread is the standard error of one training on the
    text. Student's t pays for the few runs; percentiles of six draws would be far too narrow.
    """
    middle = draws.mean(axis=0)
    half = stdtrit(len(draws) - 1, 0.975) * draws.std(axis=0, ddof=1)
    return middle, middle - half, middle + half


def standardised(draws: Floats) -> Floats:
    """Return mean over spread of every column, the spread padded by the columns' median spread.

    The padding (Tusher et al. 2001) keeps a column whose few runs agree by chance from the top.
    """
    spread = draws.std(axis=0, ddof=1)
    padded = np.sqrt(spread**2 + np.median(spread) ** 2)
    return np.asarray(draws.mean(axis=0) / np.where(padded == 0, 1.0, padded))


def movements(changes: Floats, displacements: Floats) -> Floats:
    """Return how far each word stands out, by change of value and by displacement together.

    Both are standardised by their spread over the runs, then set against all shared words
    (distance from the median in robust standard deviations), and added: a change of value in
    either direction, a displacement only if it is above the median. Two corpora of different style
    displace every word, so there a displacement must be unusual to count; a corpus and its edited
    copy displace none.
    """
    moved = np.maximum(_stand_out(standardised(displacements)), 0.0)
    return np.abs(_stand_out(standardised(changes))) + moved


def _stand_out(values: Floats) -> Floats:
    distance = values - np.median(values)
    return distance / (1.4826 * np.median(np.abs(distance)) or 1.0)


class CorpusComparison:
    """Corpora on their common ground: values, agreement, and the movers of any two of them.

    `spaces` has the word spaces of each corpus, as many runs for each.
    """

    def __init__(
        self, corpora: Sequence[TextCorpus], spaces: Sequence[Sequence[WordSpace]], ground: Ground
    ) -> None:
        self._corpora, self._ground = corpora, ground
        positive = ground.indices(ground.sets.positive)
        negative = ground.indices(ground.sets.negative)
        plain = [[unit_rows(space.rows(ground.words)) for space in runs] for runs in spaces]
        self._values = np.array(
            [[association_values(rows, positive, negative) for rows in runs] for runs in plain]
        )
        self._rows = [[centred_units(rows) for rows in runs] for runs in plain]
        self._percentiles = percentiles(self._values)
        self._counts = [dict(zip(c.words, c.counts.tolist(), strict=True)) for c in corpora]
        # The next run of the same corpus: what a retraining alone moves.
        self._noise = [self._similarities(runs, [*runs[1:], runs[0]]) for runs in self._rows]

    def differences(self, first: int, second: int) -> list[ActionDifference]:
        """Compare two of the corpora; the biggest mover comes first."""
        changes = self._percentiles[second] - self._percentiles[first]
        between = self._similarities(self._rows[first], self._rows[second])
        displaced = (self._noise[first] + self._noise[second]) / 2 - between
        bounded = np.clip(interval(changes), -100.0, 100.0)
        numbers = np.array([*bounded, *interval(displaced), movements(changes, displaced)])
        left, right = self.values(first), self.values(second)
        rows = [
            ActionDifference(action, left[action], right[action], *numbers[:, index].tolist())
            for action, index in self._actions()
        ]
        return sorted(rows, key=lambda row: (-row.movement, row.action))

    def values(self, corpus: int) -> dict[str, CorpusValue]:
        """Return what each action is worth in a corpus."""
        middle, low, high = interval(self._percentiles[corpus])
        value = self._values[corpus].mean(axis=0)
        indices = [index for _, index in self._actions()]
        similar = np.mean([rows[indices] @ rows.T for rows in self._rows[corpus]], axis=0)
        values = {}
        for (action, index), cosines in zip(self._actions(), similar, strict=True):
            nearest = np.argsort(-cosines, kind="stable")[: _NEIGHBOURS + 1]
            neighbours = [self._ground.words[row] for row in nearest if row != index]
            values[action] = CorpusValue(
                corpus=self._corpora[corpus].name,
                value=float(value[index]),
                percentile=float(middle[index]),
                low=max(0.0, float(low[index])),
                high=min(100.0, float(high[index])),
                count=self._counts[corpus][action],
                neighbours=tuple(neighbours[:_NEIGHBOURS]),
            )
        return values

    def agreement(self) -> CorpusAgreement:
        """Return shared dos and don'ts and divergent actions, the clearest first."""
        worth = [self.values(index) for index in range(len(self._corpora))]
        dos, donts, divergent = {}, {}, {}
        for action in self._ground.actions:
            rows = [values[action] for values in worth]
            good = [row for row in rows if row.low > _MIDDLE]
            bad = [row for row in rows if row.high < _MIDDLE]
            mean = float(np.mean([row.percentile for row in rows]))
            if len(good) == len(rows):
                dos[action] = -mean
            elif len(bad) == len(rows):
                donts[action] = mean
            elif good and bad:
                divergent[action] = min(r.percentile for r in bad) - max(r.percentile for r in good)
        ordered = (tuple(sorted(order, key=order.__getitem__)) for order in (dos, donts, divergent))
        return CorpusAgreement(*ordered)

    def _actions(self) -> list[tuple[str, int]]:
        actions = self._ground.actions
        return list(zip(actions, self._ground.indices(actions), strict=True))

    def _similarities(self, runs: Sequence[Floats], others: Sequence[Floats]) -> Floats:
        """Return each word's cosine with itself, run by run."""
        pairs = zip(runs, others, strict=True)
        return np.array([similarity(a, b, self._ground.weights) for a, b in pairs])
