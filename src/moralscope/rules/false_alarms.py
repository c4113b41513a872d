"""A budget of false alarms: the limit at which so few of a user's own fine replies are flagged.

Split conformal prediction (Vovk et al. 2005; Angelopoulos and Bates 2021): of n fine replies that
the limit is set on, let q be the ceil((n + 1)(1 - a))-th smallest badness (minus the score). A
further fine reply of the same kind has a badness above q with a probability of at most a, whatever
the model and however few replies there are, if only n >= 1/a - 1. It holds on average over the
draw of the n replies; for replies of another kind it says nothing.

Rules of a house get limits of their own first, each on the probabilities that fine replies break
it: else one noisy rule spends the budget of all. Then half of the replies set the rules' limits
and the rest the limit of all, so that both hold. The limit is never laxer than the usual one: who
asks for fewer alarms wants no flag on a reply that is probably fine.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval
from moralscope.rules.records import AuditedReply
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import REPLY, RULE, is_broken, limit_of
from moralscope.stats.intervals import wilson

_LISTED = 10
_CONFIDENCE = 0.9  # that a rule keeps its budget


@dataclass(frozen=True, slots=True)
class RuleCost:
    """A rule and how many fine replies break it at the usual limit; one of them shows it."""

    rule: str
    alarms: int
    id: str
    reply: str
    limit: float | None = None
    """Its own limit, where the usual one would cost more than the budget."""
    at_limit: int | None = None
    """How many of the fine replies that set the limit of all break it there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseAlarms:
    """A limit that keeps a budget: what it was set on, and what the usual limit would cost."""

    budget: float
    replies: int
    limit: float
    flagged: int
    usual: SampleInterval
    """The share of the fine replies that the usual limit flags."""
    by_reply: int
    """How many of these read as bad by themselves."""
    rules: tuple[RuleCost, ...]
    """Those that cost most there."""
    rule_limits: Mapping[str, float] = field(default_factory=dict)
    """The limits that rules got of their own, by text."""


def conformal_limit(scores: Sequence[float], budget: float) -> float:
    """Return the limit: a score of minus this or below is flagged."""
    rank = math.ceil((len(scores) + 1) * (1 - budget) - 1e-9)
    if rank > len(scores):
        least = least_replies(budget)
        raise InputError(
            f"{len(scores):,} fine replies are too few for {100 * budget:g}% of false alarms",
            f"give at least {least:,}, or a larger share",
        )
    badness: list[float] = sorted(-score for score in scores)
    # What is as bad as the q-th must not be flagged: a score of -limit or below is.
    return min(1.0, math.floor(badness[rank - 1] * 1e6 + 1) / 1e6)


def least_replies(budget: float) -> int:
    """Return how many fine replies a budget needs."""
    return math.ceil(1 / budget - 1 - 1e-9)


def confident_limit(chances: Sequence[float], budget: float) -> float:
    """Return the probability from which a rule is broken, strict enough for nine draws in ten.

    The share of further fine replies below the r-th smallest of n has the distribution
    Beta(r, n + 1 - r) (Vovk 2012, "Conditional validity of inductive conformal predictors"). r is
    the least with which that share is 1 - budget or more with a probability of 90 %; of too few
    replies the largest, which keeps the budget on average.
    """
    from scipy.special import betainc

    n = len(chances)
    if n < least_replies(budget):
        conformal_limit(chances, budget)  # refuses them
    ranks = (r for r in range(1, n) if betainc(r, n + 1 - r, 1 - budget) <= 1 - _CONFIDENCE)
    largest = sorted(chances)[next(ranks, n) - 1]
    return min(1.0, math.floor(largest * 1e6 + 1) / 1e6)


def set_rule_limits(
    audits: Sequence[AuditedReply], budget: float, limits: Thresholds
) -> dict[str, float]:
    """Return the limits of the rules that more than a budget of fine replies would break."""
    judged = [row for row in audits if row.verdict.is_judged]
    chances: dict[str, list[float]] = {}
    usual: dict[str, float] = {}
    for row in judged:
        for rule in row.rules:
            chances.setdefault(rule.text, []).append(rule.alignment.probabilities["disagree"])
            usual[rule.text] = limit_of(rule, limits)
    raised = {}
    for text, scores in chances.items():  # who is not asked about a rule does not break it
        limit = confident_limit([*scores, *[0.0] * (len(judged) - len(scores))], budget)
        if limit > usual[text]:
            raised[text] = limit
    return raised


def set_limit(
    audits: Sequence[AuditedReply],
    budget: float,
    limits: Thresholds,
    usual: Sequence[AuditedReply] = (),
    rule_limits: Mapping[str, float] | None = None,
) -> FalseAlarms:
    """Set the limit on audits of fine replies; those without a verdict are left out.

    Where rules have limits of their own, `usual` are audits of other fine replies without them.
    """
    judged = [row for row in audits if row.verdict.is_judged]
    before = [row for row in usual if row.verdict.is_judged] or judged
    limit = max(0.0, conformal_limit([row.verdict.score for row in judged], budget))
    alarms = [row for row in before if row.verdict.flag]
    costs: Counter[str] = Counter()
    shown: dict[str, AuditedReply] = {}
    for row in alarms:
        broken = [rule.text for rule in row.rules if is_broken(rule, limits)]
        if row.verdict.basis == RULE:
            costs.update(broken)
            for text in broken:
                shown.setdefault(text, row)
    still = Counter(text for row in judged for text in row.verdict.broken)
    raised = rule_limits or {}
    return FalseAlarms(
        budget=budget,
        replies=len(judged) + (len(before) if usual else 0),
        limit=limit,
        flagged=sum(row.verdict.score <= -limit for row in judged),
        usual=wilson(len(alarms), len(before)),
        by_reply=sum(row.verdict.basis == REPLY for row in alarms),
        rules=tuple(
            RuleCost(
                text,
                count,
                shown[text].id,
                shown[text].reply[:400],
                raised.get(text),
                still[text] if text in raised else None,
            )
            for text, count in costs.most_common(_LISTED)
        ),
        rule_limits=raised,
    )


def set_by(alarms: FalseAlarms, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a config file says of the limit in it: the guarantee holds for these alone."""
    return {
        "false_alarms": alarms.budget,
        "replies": alarms.replies,
        **{name: config[name] for name in ("experts", "experts_sha256", "rules_sha256")},
    }
