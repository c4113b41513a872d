"""Figures of an audit: how many replies are flagged, for what, and how two files compare."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.rules.records import FOUNDATIONS, AuditedReply, RuleFinding
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import abstained, is_broken, is_kept, worst_broken
from moralscope.stats.intervals import bootstrap_mean, wilson
from moralscope.stats.significance import mcnemar
from moralscope.stats.streams import Frequent

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
RuleCounts = Counter[str] | Frequent
CUT = 400


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
        self, score: Mapping[str, float], broken: RuleCounts, kept: RuleCounts
    ) -> dict[str, Any]:
        """Return the figures, with the scores' and the most broken rules'."""
        n = self.replies
        return {
            "replies": n,
            "flagged": wilson(self.flagged, n),
            "abstained": wilson(self.abstained, n),
            "score": dict(score),
            "foundations": _shares("foundation", FOUNDATIONS, self.foundations, n),
            "severity": _shares("severity", range(1, 6), self.severities, n),
            "rules": [
                {"rule": text, "broken": count, "kept": kept[text]}
                for text, count in broken.most_common(LISTED)
            ],
            "revised": self.revised_by.total(),
            "revised_by": dict(self.revised_by),
        }


def audit_statistics(
    results: Sequence[AuditedReply], limits: Thresholds, seed: int
) -> dict[str, Any]:
    """Summarise audits: flag rate with interval, by foundation and severity, rules, worst cases.

    Examples
    --------
    >>> from moralscope.rules.records import Verdict
    >>> row = AuditedReply("1", "Hi!", "Hello.", (), Verdict(False, 0.0, "abstained: no rule"))
    >>> audit_statistics([row], Thresholds(), 0)["flagged"].value
    0.0
    """
    flagged = sorted((row for row in results if row.verdict.flag), key=lambda r: r.verdict.score)
    silent = sum(abstained(row.verdict) for row in results)
    tally = AuditTally(len(results), len(flagged), silent)
    for row in flagged:
        tally.add_worst(row.rules, limits)
    tally.revised_by.update(row.revised_by for row in results if row.revised_by)
    broken, kept = (
        Counter(rule.text for row in results for rule in row.rules if holds(rule, limits))
        for holds in (is_broken, is_kept)
    )
    scores = np.array([row.verdict.score for row in results])
    mean, low, high = bootstrap_mean(scores, seed)
    score = {"mean": mean, "low": low, "high": high, "worst": float(scores.min())}
    return {
        **tally.statistics(score, broken, kept),
        "worst": [
            {
                "id": row.id,
                "score": row.verdict.score,
                "prompt": row.prompt[:CUT],
                "reply": row.reply[:CUT],
                "reason": row.verdict.reason,
            }
            for row in flagged[:LISTED]
        ],
        "revised": sum(row.revised_reply is not None for row in results),
    }


def figures(found: Mapping[str, Any], paired: Mapping[str, Any] | None) -> dict[str, float]:
    """Return what a gate may ask for, by name."""
    own = {
        "flagged": found["flagged"].value,
        "flagged_high": found["flagged"].high,
        "abstained": found["abstained"].value,
        "score": found["score"]["mean"],
        "worst": found["score"]["worst"],
    }
    if paired is None:
        return own
    return {**own, "flagged_change": paired["flagged_change"]["value"], "p": paired["p"]}


def compare_audits(
    here: Sequence[AuditedReply], there: Sequence[AuditedReply], seed: int
) -> dict[str, Any]:
    """Compare two bots on the same prompts: exact McNemar test and paired bootstraps.

    Rows are paired by their place; a prompt that differs is refused.

    Examples
    --------
    >>> from moralscope.rules.records import Verdict
    >>> def row(name, score):
    ...     return AuditedReply(name, "Hi!", "No.", (), Verdict(score < 0, score, ""))
    >>> found = compare_audits([row("1", -0.9), row("2", 0.1)], [row("1", 0.2), row("2", 0.1)], 0)
    >>> found["flagged_change"]["value"], found["only_here"], found["p"]
    (0.5, 1, 1.0)
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
    return {
        "n": len(here),
        "flagged_here": wilson(int(flags[0].sum()), len(here)),
        "flagged_there": wilson(int(flags[1].sum()), len(there)),
        "only_here": only_here,
        "only_there": only_there,
        "p": mcnemar(only_here, only_there),
        "flagged_change": _span(flags[0] - flags[1], seed),
        "score_change": _span(scores[0] - scores[1], seed),
        "changed": [
            {
                "id": one.id,
                "prompt": one.prompt[:CUT],
                "here": one.reply[:CUT],
                "there": other.reply[:CUT],
                "score_here": one.verdict.score,
                "score_there": other.verdict.score,
            }
            for one, other in pairs
            if one.verdict.flag != other.verdict.flag
        ][:_CHANGED],
    }


def check_pairs(here: Iterable[str], there: Iterable[str]) -> None:
    """Refuse two lists of prompts that are not the same, by the first row that differs."""
    remedy = "give two files of the same prompts in the same order"
    for number, (one, other) in enumerate(zip_longest(here, there), 1):
        if one is None or other is None:
            which = "first" if one is None else "second"
            raise InputError(f"the {which} file ends before row {number:,}", remedy)
        if one.strip() != other.strip():
            raise InputError(f"row {number:,} has another prompt in the second file", remedy)


def _shares(
    key: str, names: Iterable[Any], counts: Mapping[Any, int], n: int
) -> list[dict[str, Any]]:
    """Return counts out of `n` as rows: how many are flagged, which share, with its interval."""
    rows = []
    for name in names:
        share = wilson(counts[name], n)
        row = {key: name, "flagged": counts[name], "share": share.value}
        rows.append({**row, "low": share.low, "high": share.high})
    return rows


def _span(differences: Any, seed: int) -> dict[str, float]:
    value, low, high = bootstrap_mean(differences, seed)
    return {"value": value, "low": low, "high": high}
