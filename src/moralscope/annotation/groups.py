"""Who the annotators are: leanings and what they hold (Ziems et al. 2022, Figures 3 and 4).

A group is named only if it has enough people, everywhere it is named: in a field, and in an item.
What is left over is never small enough to be read off from the total. Groups are what people said
of themselves. What splits them is `disagreement`'s matter.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
    large = {name: groups[name] for name in sorted(kept)}
    if left:
        large[OTHERS] = [person for name in left for person in groups[name]]
    return large


def leaning_shares(
    leanings: Mapping[str, str | None], annotations: Mapping[str, int], smallest: int = 5
) -> list[LeaningShare]:
    """Return the shares of leanings among people and among annotations (Figure 3)."""
    return [
        LeaningShare(row.group, row.people, row.share, row.annotations, row.annotation_share)
        for row in group_shares("leaning", leanings, annotations, smallest)
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
    """
    groups = large_groups(answers, smallest)
    total = sum(annotations.get(who, 0) for people in groups.values() for who in people)
    everyone = sum(map(len, groups.values()))
    rows = []
    for name, people in groups.items():
        written = sum(annotations.get(who, 0) for who in people)
        share = written / total if total else float("nan")
        of_people = wilson(len(people), everyone)
        rows.append(GroupShare(question, name, len(people), of_people, written, share))
    return rows


def foundation_weights(
    annotators: Sequence[Annotator], smallest: int = 5, *, seed: int = 0
) -> list[FoundationWeight]:
    """Return mean weights of foundations by leaning with bootstrap intervals (Figure 4)."""
    weights = {one.person: one.foundations for one in annotators if one.foundations}
    rows = []
    for foundation in dict.fromkeys(name for names in weights.values() for name in names):
        leanings = {
            one.person: one.leaning
            for one in annotators
            if foundation in weights.get(one.person, {})
        }
        for leaning, people in named(large_groups(leanings, smallest)):
            values = np.array([weights[who][foundation] for who in people], dtype=np.float64)
            ends = bootstrap_mean(values, seed)
            rows.append(FoundationWeight(leaning, foundation, *ends, len(people)))
    return rows


def group_agreement(
    ratings: FieldRatings, leanings: Mapping[str, str | None], smallest: int = 5, *, seed: int = 0
) -> list[GroupAgreement]:
    """Return agreement within each leaning that has enough people on this field."""
    rows = []
    table = ratings.table
    for leaning, people in named(answering_groups(ratings, leanings, smallest)):
        members = set(people)
        wanted = np.array([who in members for who in ratings.people])
        mine = wanted[table.rater]
        raters = (np.cumsum(wanted) - 1)[table.rater[mine]]
        unit, code = table.unit[mine], table.code[mine]
        within = RatingTable(unit, raters, code, table.values, table.units, int(wanted.sum()))
        alpha = agreement(within, ratings.level, seed=seed)
        codes = Counter(code.tolist())
        row = GroupAgreement(
            field=ratings.field,
            leaning=leaning,
            people=len(people),
            alpha=Interval(alpha.alpha, alpha.low, alpha.high),
            items=alpha.units,
            counts={ratings.label(value): codes[value] for value in sorted(codes)},
        )
        rows.append(row)
    return rows


def item_groups(
    ratings: FieldRatings, leanings: Mapping[str, str | None], smallest: int = 5
) -> dict[str, dict[str, dict[str, int]]]:
    """Return item → leaning → how often each value, for items that enough people answered."""
    table = ratings.table
    sizes = np.bincount(table.unit, minlength=table.units)
    answers: dict[int, dict[str, int]] = defaultdict(dict)
    wanted = sizes[table.unit] >= smallest
    columns = (column[wanted].tolist() for column in (table.unit, table.rater, table.code))
    for unit, rater, code in zip(*columns, strict=True):
        answers[unit][ratings.people[rater]] = code
    by_item = {}
    for unit, codes in answers.items():
        counts = {}
        for leaning, people in named(
            large_groups({who: leanings.get(who) for who in codes}, smallest)
        ):
            values = sorted(Counter(codes[who] for who in people).items())
            counts[leaning] = {ratings.label(code): n for code, n in values}
        if counts:
            by_item[ratings.items[unit]] = counts
    return by_item


def answering_groups(
    ratings: FieldRatings, leanings: Mapping[str, str | None], smallest: int
) -> dict[str, list[str]]:
    """Return `large_groups` of the people who answered a field."""
    people = (ratings.people[rater] for rater in ratings.persons.tolist())
    return large_groups({who: leanings.get(who) for who in people}, smallest)


def named(groups: Mapping[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the groups that may be named, with their people."""
    return ((name, people) for name, people in groups.items() if name != OTHERS)
