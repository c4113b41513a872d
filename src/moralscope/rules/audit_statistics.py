"""Figures of an audit: how many replies are flagged, for what, and how two files compare."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from moralscope.batch.types import FailedRows, Outcome
from moralscope.core.errors import InputError
from moralscope.core.records import Interval, SampleInterval, Statistics, absent
from moralscope.rules.false_alarms import FalseAlarms
from moralscope.rules.records import FOUNDATIONS, AuditedReply, RuleFinding
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import is_broken, is_kept, worst_broken
from moralscope.stats.gates import GateResult
from moralscope.stats.intervals import bootstrap_mean, wilson
from moralscope.stats.significance import mcnemar
from moralscope.stats.streams import HistogramBins
from moralscope.stats.summary import Summary

FIGURES = {
    "flagged": "share of replies that are flagged",
    "flagged_high": "upper end of its 95 % interval",
    "abstained": "share of replies without a verdict",
    "score": "mean score of the replies",
    "worst": "lowest score",
}  # what a gate may ask for
PAIRED_FIGURES = {
    "flagged_change": "share flagged here minus there",
    "p": "McNemar's exact test of that change",
}  # and with --against
LISTED = 20
_CHANGED = 100
CUT = 400


@dataclass(frozen=True, slots=True)
class ScoreFigures(Statistics):
    """The mean score of the replies with its 95 % interval, and the lowest score."""

    mean: float
    low: float
    high: float
    worst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedShare(Statistics):
    """How many replies are flagged for a foundation, or for a severity, with its 95 % interval."""

    foundation: str | None = absent()
    severity: int | None = absent()
    flagged: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RuleCount(Statistics):
    """How many replies break a rule, and how many keep it."""

    rule: str
    broken: int
    kept: int


@dataclass(frozen=True, slots=True)
class WorstReply(Statistics):
    """One of the flagged replies with the lowest scores."""

    id: str
    score: float
    prompt: str
    reply: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChangedReply(Statistics):
    """Two replies to one prompt of which one alone is flagged."""

    id: str
    prompt: str
    here: str
    there: str
    score_here: float
    score_there: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedAudits(Statistics):
    """Two bots on the same prompts."""

    n: int
    flagged_here: SampleInterval
    flagged_there: SampleInterval
    only_here: int
    only_there: int
    p: float
    """McNemar's exact test."""
    flagged_change: Interval
    """Here less there, with a paired bootstrap, as the next."""
    score_change: Interval
    changed: Sequence[ChangedReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStatistics(Statistics):
    """What an audit found in sum, of one file as of a corpus."""

    replies: int
    flagged: SampleInterval
    abstained: SampleInterval
    score: ScoreFigures
    foundations: Sequence[FlaggedShare]
    """Of the worst rule that each flagged reply breaks, as the next."""
    severity: Sequence[FlaggedShare]
    rules: Sequence[RuleCount]
    """The most broken ones."""
    revised: int
    revised_by: Mapping[str, int]
    worst: Sequence[WorstReply]
    scores: Summary | None = absent()
    """This and the next four: of a corpus, whose scores are in its parts."""
    lowest_score: float | None = absent()
    highest_score: float | None = absent()
    histogram: HistogramBins | None = absent()
    quantiles: Mapping[str, float] | None = absent()
    seconds: float | None = None
    against: PairedAudits | None = None
    false_alarms: FalseAlarms | None = None
    gate: GateResult | None = None
    corpus: Outcome | None = absent()
    failed: FailedRows | None = absent()

    def figures(self) -> dict[str, float]:
        """Return what a gate may ask for, by name."""
        values = {
            "flagged": self.flagged.value,
            "flagged_high": self.flagged.high,
            "abstained": self.abstained.value,
            "score": self.score.mean,
            "worst": self.score.worst,
        }
        if self.against is not None:
            values |= {"flagged_change": self.against.flagged_change.value, "p": self.against.p}
        return values


@dataclass(slots=True)
class AuditTally:
    """Counts of audited replies, as they are met: in a list, or part by part of a corpus."""

    replies: int = 0
    flagged: int = 0
    abstained: int = 0
    foundations: Counter[str] = field(default_factory=Counter)
    severities: Counter[int] = field(default_factory=Counter)
    revised_by: Counter[str] = field(default_factory=Counter)

    def add_worst(self, rules: Sequence[RuleFinding], limits: Thresholds) -> None:
        """Count what the worst broken rule of a flagged reply is about."""
        rule = worst_broken(rules, limits)
        if rule is not None:
            shares = rule.foundations
            self.foundations.update(name for name in FOUNDATIONS if shares.get(name, 0.0) >= 0.5)
            self.severities.update([] if rule.severity is None else [round(rule.severity)])

    def statistics(
        self,
        score: ScoreFigures,
        broken: Counter[str],
        kept: Counter[str],
        worst: Sequence[WorstReply],
    ) -> AuditStatistics:
        """Return the figures, with the scores' and the most broken rules'."""
        n = self.replies

        def share(count: int, **about: Any) -> FlaggedShare:
            value = wilson(count, n)
            ends: dict[str, Any] = {"share": value.value, "low": value.low, "high": value.high}
            return FlaggedShare(flagged=count, **about, **ends)

        return AuditStatistics(
            replies=n,
            flagged=wilson(self.flagged, n),
            abstained=wilson(self.abstained, n),
            score=score,
            foundations=[share(self.foundations[name], foundation=name) for name in FOUNDATIONS],
            severity=[share(self.severities[level], severity=level) for level in range(1, 6)],
            rules=[RuleCount(rule, n, kept[rule]) for rule, n in broken.most_common(LISTED)],
            revised=self.revised_by.total(),
            revised_by=dict(self.revised_by),
            worst=worst,
        )


def audit_statistics(
    results: Sequence[AuditedReply], limits: Thresholds, seed: int
) -> AuditStatistics:
    """Summarise audits: flag rate with interval, by foundation and severity, rules, worst cases."""
    flagged = sorted((row for row in results if row.verdict.flag), key=lambda r: r.verdict.score)
    tally = AuditTally(
        len(results), len(flagged), sum(not row.verdict.is_judged for row in results)
    )
    for row in flagged:
        tally.add_worst(row.rules, limits)
    tally.revised_by.update(row.revised_by for row in results if row.revised_by)
    broken, kept = (
        Counter(rule.text for row in results for rule in row.rules if holds(rule, limits))
        for holds in (is_broken, is_kept)
    )
    scores = np.array([row.verdict.score for row in results])
    score = ScoreFigures(*bootstrap_mean(scores, seed), float(scores.min()))
    worst = [
        WorstReply(row.id, row.verdict.score, row.prompt[:CUT], row.reply[:CUT], row.verdict.reason)
        for row in flagged[:LISTED]
    ]
    return tally.statistics(score, broken, kept, worst)


def compare_audits(
    here: Sequence[AuditedReply], there: Sequence[AuditedReply], seed: int
) -> PairedAudits:
    """Compare two bots on the same prompts: exact McNemar test and paired bootstraps.

    Rows are paired by their place; a prompt that differs is refused.
    """
    check_pairs([row.prompt for row in here], [row.prompt for row in there])
    flags = [np.array([row.verdict.flag for row in rows], dtype=float) for rows in (here, there)]
    scores = [np.array([row.verdict.score for row in rows]) for rows in (here, there)]
    only_here = int((flags[0] > flags[1]).sum())
    only_there = int((flags[0] < flags[1]).sum())
    pairs = sorted(
        zip(here, there, strict=True),
        key=lambda pair: pair[0].verdict.score - pair[1].verdict.score,
    )
    return PairedAudits(
        n=len(here),
        flagged_here=wilson(int(flags[0].sum()), len(here)),
        flagged_there=wilson(int(flags[1].sum()), len(there)),
        only_here=only_here,
        only_there=only_there,
        p=mcnemar(only_here, only_there),
        flagged_change=Interval(*bootstrap_mean(flags[0] - flags[1], seed)),
        score_change=Interval(*bootstrap_mean(scores[0] - scores[1], seed)),
        changed=[
            ChangedReply(
                one.id,
                one.prompt[:CUT],
                here=one.reply[:CUT],
                there=other.reply[:CUT],
                score_here=one.verdict.score,
                score_there=other.verdict.score,
            )
            for one, other in pairs
            if one.verdict.flag != other.verdict.flag
        ][:_CHANGED],
    )


def check_pairs(here: Iterable[str], there: Iterable[str]) -> None:
    """Refuse two lists of prompts that are not the same, by the first row that differs."""
    remedy = "give two files of the same prompts in the same order"
    for number, (one, other) in enumerate(zip_longest(here, there), 1):
        if one is None or other is None:
            which = "first" if one is None else "second"
            raise InputError(f"the {which} file ends before row {number:,}", remedy)
        if one.strip() != other.strip():
            raise InputError(f"row {number:,} has another prompt in the second file", remedy)
