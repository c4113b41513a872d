"""Who the annotators are: leanings and what they hold (Ziems et al. 2022, Figures 3 and 4).

A group is named only if it has enough people, everywhere it is named: in a field, and in an item.
What is left over is never small enough to be read off from the total. Groups are what people said
of themselves. What splits them is `splits`' matter.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from moralscope.annotation.judgments import FieldRatings
from moralscope.core.errors import InputError
from moralscope.core.records import Interval, SampleInterval
from moralscope.stats.agreement import agreement
from moralscope.stats.intervals import bootstrap_mean, wilson
from moralscope.stats.ratings import RatingTable

OTHERS, NOT_SAID = "others", "not said"
SMALLEST = 3  # a project may ask for more people in a group, never for fewer


@dataclass(frozen=True, slots=True)
class Annotator:
    """What a person told of herself: leaning (None: not said), weights of foundations (1 to 5)."""

    person: str
    leaning: str | None = None
    foundations: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class LeaningShare:
    """A leaning's share of the people and of their annotations (Figure 3)."""

    leaning: str
    people: int
    share: SampleInterval
    annotations: int
    annotation_share: float


@dataclass(frozen=True, slots=True)
class GroupShare:
    """The share of people who gave one answer about themselves, and of their annotations."""

    question: str
    group: str
    people: int
    share: SampleInterval
    annotations: int
    annotation_share: float
    label: str = ""  # what a page calls the group


@dataclass(frozen=True, slots=True)
class FoundationWeight:
    """The mean weight that people of a leaning give to a foundation, 1 to 5 (Figure 4)."""

    leaning: str
    foundation: str
    mean: float
    low: float
    high: float
    people: int


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """How far people of one leaning agree among themselves, and what they answer."""

    field: str
    leaning: str
    people: int
    alpha: Interval
    items: int
    counts: Mapping[str, int]


def large_groups(leanings: Mapping[str, str | None], smallest: int = 5) -> dict[str, list[str]]:
    """Return leaning → people where it has enough; the rest is `others`, never too few of them.

    Parameters
    ----------
    leanings
        Person → leaning; None: not said.
    smallest
        People that a group must have.

    Examples
    --------
    >>> told = {f"p{n}": "left" if n < 6 else "right" if n < 12 else "middle" for n in range(18)}
    >>> {name: len(people) for name, people in large_groups({**told, "q": None}).items()}
    {'middle': 6, 'right': 6, 'others': 7}
    """
    if smallest < SMALLEST:
        raise InputError(
            f"groups of {smallest} could name a person", f"ask for {SMALLEST} people or more"
        )
    groups: dict[str, list[str]] = defaultdict(list)
    for person, leaning in leanings.items():
        groups[leaning or NOT_SAID].append(person)
    by_size = sorted(groups, key=lambda name: (len(groups[name]), name), reverse=True)
    kept = [name for name in by_size if len(groups[name]) >= smallest]
    left = [name for name in by_size if len(groups[name]) < smallest]
    # A total is known: one small rest could be worked out from it. It takes a group in with it.
    while kept and 0 < sum(len(groups[name]) for name in left) < smallest:
        left.append(kept.pop())
    found = {name: groups[name] for name in sorted(kept)}
    if left:
        found[OTHERS] = [person for name in left for person in groups[name]]
    return found


def leaning_shares(
    annotators: Iterable[Annotator], annotations: Mapping[str, int], smallest: int = 5
) -> list[LeaningShare]:
    """Return the shares of leanings among people and among annotations (Figure 3).

    Examples
    --------
    >>> people = [Annotator(f"p{n}", "left" if n < 5 else "right") for n in range(10)]
    >>> [row.annotation_share for row in leaning_shares(people, {"p0": 3, "p9": 1})]
    [0.75, 0.25]
    """
    leanings = {one.person: one.leaning for one in annotators}
    found = group_shares("leaning", leanings, annotations, smallest)
    return [
        LeaningShare(row.group, row.people, row.share, row.annotations, row.annotation_share)
        for row in found
    ]


def group_shares(
    question: str,
    answers: Mapping[str, str | None],
    annotations: Mapping[str, int],
    smallest: int = 5,
) -> list[GroupShare]:
    """Return the shares of answers to a question among people and among annotations.

    Parameters
    ----------
    question
        What was asked: age, region, leaning.
    answers
        Person → answer; None: not said.
    annotations
        Person → how many she gave.
    smallest
        People that a group must have to be named; the others are taken together.

    Examples
    --------
    >>> told = {f"p{n}": "europe" if n < 5 else "canada" for n in range(10)} | {"q": "oceania"}
    >>> [(row.group, row.people) for row in group_shares("region", told, {})]
    [('europe', 5), ('others', 6)]
    """
    groups = large_groups(answers, smallest)
    total = sum(annotations.get(who, 0) for people in groups.values() for who in people)
    everyone = sum(map(len, groups.values()))
    rows = []
    for name, people in groups.items():
        written = sum(annotations.get(who, 0) for who in people)
        share = written / total if total else float("nan")
        found = wilson(len(people), everyone)
        rows.append(GroupShare(question, name, len(people), found, written, share))
    return rows


def foundation_weights(
    annotators: Sequence[Annotator], smallest: int = 5, *, seed: int = 0
) -> list[FoundationWeight]:
    """Return mean weights of foundations by leaning with bootstrap intervals (Figure 4).

    Examples
    --------
    >>> people = [Annotator(f"p{n}", "left", {"care": 4.0 + n % 2}) for n in range(6)]
    >>> [(row.leaning, row.foundation, row.mean) for row in foundation_weights(people)]
    [('left', 'care', 4.5)]
    """
    told = {one.person: one.foundations for one in annotators if one.foundations}
    names = dict.fromkeys(name for weights in told.values() for name in weights)
    rows = []
    for foundation in names:
        leanings = {
            one.person: one.leaning for one in annotators if foundation in told.get(one.person, {})
        }
        for leaning, people in named(large_groups(leanings, smallest)):
            values = np.array([told[who][foundation] for who in people], dtype=np.float64)
            ends = bootstrap_mean(values, seed)
            rows.append(FoundationWeight(leaning, foundation, *ends, len(people)))
    return rows


def group_agreement(
    ratings: FieldRatings, leanings: Mapping[str, str | None], smallest: int = 5, *, seed: int = 0
) -> list[GroupAgreement]:
    """Return agreement within each leaning that has enough people on this field."""
    rows = []
    for leaning, people in named(answering_groups(ratings, leanings, smallest)):
        own = _only(ratings, people)
        found = agreement(own.table, own.level, seed=seed)
        alpha = Interval(found.alpha, found.low, found.high)
        codes = Counter(own.table.code.tolist())
        counts = {own.label(code): codes[code] for code in sorted(codes)}
        rows.append(GroupAgreement(ratings.field, leaning, len(people), alpha, found.units, counts))
    return rows


def item_groups(
    ratings: FieldRatings, leanings: Mapping[str, str | None], smallest: int = 5
) -> dict[str, dict[str, dict[str, int]]]:
    """Return item → leaning → how often each value, for items that enough people answered."""
    table = ratings.table
    sizes = np.bincount(table.unit, minlength=table.units)
    answers: dict[int, dict[str, int]] = defaultdict(dict)
    wanted = sizes[table.unit] >= smallest
    for unit, rater, code in zip(
        table.unit[wanted].tolist(),
        table.rater[wanted].tolist(),
        table.code[wanted].tolist(),
        strict=True,
    ):
        answers[unit][ratings.people[rater]] = code
    found = {}
    for unit, given in answers.items():
        groups = large_groups({who: leanings.get(who) for who in given}, smallest)
        counts = {
            leaning: {
                ratings.label(code): n
                for code, n in sorted(Counter(given[who] for who in people).items())
            }
            for leaning, people in named(groups)
        }
        if counts:
            found[ratings.items[unit]] = counts
    return found


def answering_groups(
    ratings: FieldRatings, leanings: Mapping[str, str | None], smallest: int
) -> dict[str, list[str]]:
    """Return `large_groups` of the people who answered a field."""
    there = (ratings.people[place] for place in ratings.persons.tolist())
    return large_groups({who: leanings.get(who) for who in there}, smallest)


def named(groups: Mapping[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the groups that may be named, with their people."""
    return ((name, people) for name, people in groups.items() if name != OTHERS)


def _only(ratings: FieldRatings, people: Iterable[str]) -> FieldRatings:
    """Return the ratings of these people alone."""
    chosen = set(people)
    wanted = np.array([who in chosen for who in ratings.people])
    places = np.cumsum(wanted) - 1
    old = ratings.table
    mine = wanted[old.rater]
    table = RatingTable(
        old.unit[mine], places[old.rater[mine]], old.code[mine], old.values, old.units,
        int(wanted.sum()),
    )  # fmt: skip
    names = tuple(who for who in ratings.people if who in chosen)
    return replace(ratings, table=table, people=names)
