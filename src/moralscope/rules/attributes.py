"""Severity, consensus and foundations of a rule: its own values, or an estimate that says so.

A rule with values keeps them (evidence "measured"). One without them, generated or retrieved from
bare text, gets the mean of the nearest rules that have them, weighted by similarity (evidence
"estimated"). Nothing is trained here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.core.protocols import Encoder, Matrix
from moralscope.rules.records import FOUNDATIONS, RuleOfThumb
from moralscope.rules.retrieval import unit_rows

_NEAREST = 5


@dataclass(frozen=True, slots=True)
class RuleAttributes:
    """What is known or estimated of a rule; None and empty where nobody can say."""

    severity: float | None
    consensus: float | None
    foundations: Mapping[str, float]
    evidence: str


class Attributes:
    """Attributes of rules, estimated from `known` rules where a rule has none.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> known = [RuleOfThumb("It is wrong to steal.", ("fairness",), 4.0, 5.0)]
    >>> attributes = Attributes(known, load_encoder("scripted"))
    >>> own, other = attributes.of([known[0], RuleOfThumb("It is wrong to steal a car.")])
    >>> own.evidence, other.evidence, other.severity
    ('measured', 'estimated', 4.0)
    """

    def __init__(self, known: Sequence[RuleOfThumb], encoder: Encoder) -> None:
        self._known = [rule for rule in known if _measured(rule)]
        self._encoder = encoder
        self._rows: Matrix | None = None
        self._values = np.array(
            [[rule.severity, rule.consensus, *_flags(rule)] for rule in self._known],
            dtype=np.float64,
        )

    def of(self, rules: Sequence[RuleOfThumb]) -> list[RuleAttributes]:
        """Return the attributes of each rule, in order."""
        bare = [rule for rule in rules if not _measured(rule)]
        guesses = iter(self._estimates([rule.text for rule in bare]))
        return [
            RuleAttributes(rule.severity, rule.consensus, _named(_flags(rule)), "measured")
            if _measured(rule)
            else _filled(rule, next(guesses))
            for rule in rules
        ]

    def _estimates(self, texts: Sequence[str]) -> list[RuleAttributes]:
        if not texts or not self._known:
            return [RuleAttributes(None, None, {}, "estimated")] * len(texts)
        if self._rows is None:
            self._rows = unit_rows(self._encoder, [rule.text for rule in self._known])
        near = unit_rows(self._encoder, texts) @ self._rows.T
        found = []
        for row in near:
            places = np.argsort(-row, kind="stable")[:_NEAREST]
            weights = np.maximum(row[places].astype(np.float64), 1e-6)
            values = weights @ self._values[places] / weights.sum()
            found.append(
                RuleAttributes(
                    float(values[0]), float(values[1]), _named(values[2:].tolist()), "estimated"
                )
            )
        return found


def _measured(rule: RuleOfThumb) -> bool:
    return rule.severity is not None and rule.consensus is not None


def _flags(rule: RuleOfThumb) -> list[float]:
    return [float(name in rule.foundations) for name in FOUNDATIONS]


def _named(values: Sequence[float]) -> dict[str, float]:
    return dict(zip(FOUNDATIONS, values, strict=True))


def _filled(rule: RuleOfThumb, guess: RuleAttributes) -> RuleAttributes:
    """Keep what the rule says itself, estimate the rest."""
    return RuleAttributes(
        guess.severity if rule.severity is None else rule.severity,
        guess.consensus if rule.consensus is None else rule.consensus,
        _named(_flags(rule)) if rule.foundations else guess.foundations,
        "estimated",
    )
