"""Severity, consensus and foundations of rules: their own values, or estimates that say so.

`Attributes` serves audits. A rule with values keeps them (evidence "rulebook"). One without is
estimated: by experts that read it where they were trained for it ("model"), else as the mean of the
nearest rules that have values, weighted by similarity ("neighbours"). `attributes` asks trained
experts about given rules, with the exchange each stands beside where there is one; what they were
not trained for is None.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import ExpertSet, Matrix
from moralscope.core.records import RunRecord
from moralscope.io.tables import read_header
from moralscope.models.store import Progress
from moralscope.rules.experts import FOUNDATIONS_TASK, prepare_rule_experts
from moralscope.rules.options import AttributesOptions
from moralscope.rules.reading import read_annotations
from moralscope.rules.records import (
    FOUNDATIONS,
    SCALE,
    SCALES,
    EstimatedRule,
    Exchange,
    RuleAttributes,
    RuleOfThumb,
)
from moralscope.rules.verdict import TASK, alignment_pair

LIBERTY = "liberty"
ESTIMATED = "what experts say of a rule is an estimate, learnt from what crowd workers said"
_NEAREST = 5
_OWN = ("prompt", "reply", "rule")


class Attributes:
    """Attributes of rules; where a rule has none, estimated by `experts` or from `known` rules.

    Examples
    --------
    >>> from moralscope.models.encoders import load_encoder
    >>> known = [RuleOfThumb("It is wrong to steal.", ("fairness",), 4.0, 5.0)]
    >>> attributes = Attributes(known, embed=load_encoder("scripted").encode)
    >>> own, other = attributes.of([known[0], RuleOfThumb("It is wrong to steal a car.")])
    >>> own.evidence, other.evidence, other.severity
    ('rulebook', 'neighbours', 4.0)
    """

    def __init__(
        self,
        known: Sequence[RuleOfThumb],
        *,
        embed: Callable[[Sequence[str]], Matrix],
        experts: ExpertSet | None = None,
    ) -> None:
        self._known = [rule for rule in known if _is_complete(rule)]
        self._embed = embed
        self._experts = experts if experts and set(SCALES) <= set(experts.tasks) else None
        self._rows: Matrix | None = None
        # None becomes not-a-number: what a rule lacks counts in no mean.
        self._values = np.array(
            [[*rule.scales.values(), *_flags(rule)] for rule in self._known], dtype=np.float64
        )

    def of(self, rules: Sequence[RuleOfThumb]) -> list[RuleAttributes]:
        """Return the attributes of each rule, in order."""
        bare = [rule for rule in rules if not _is_complete(rule)]
        estimate = self._estimates if self._experts is None else self._read
        guesses = iter(estimate([rule.text for rule in bare]) if bare else ())
        return [
            RuleAttributes(**rule.scales, foundations=_named(_flags(rule)), evidence="rulebook")
            if _is_complete(rule)
            else _filled(rule, next(guesses))
            for rule in rules
        ]

    def _read(self, texts: Sequence[str]) -> list[RuleAttributes]:
        """Return what experts make of rules."""
        found = estimated_attributes(texts, self._experts) if self._experts else []
        names = dict.fromkeys(FOUNDATIONS, 0.0)
        return [
            RuleAttributes(
                **{scale: each[scale] for scale in SCALES},
                foundations={**names, **each["probabilities"]} if each["probabilities"] else {},
                evidence="model",
            )
            for each in found
        ]

    def _estimates(self, texts: Sequence[str]) -> list[RuleAttributes]:
        """Return the mean of the nearest rules that have values."""
        if not self._known:
            return [RuleAttributes()] * len(texts)
        if self._rows is None:
            self._rows = _unit(self._embed([rule.text for rule in self._known]))
        near = _unit(self._embed(texts)) @ self._rows.T
        found = []
        for row in near:
            places = np.argsort(-row, kind="stable")[:_NEAREST]
            weights = np.maximum(row[places].astype(np.float64), 1e-6)
            own = self._values[places]
            told = ~np.isnan(own)
            total = weights @ told
            means = weights @ np.where(told, own, 0.0) / np.maximum(total, 1e-12)
            values = [float(m) if held else None for m, held in zip(means, total, strict=True)]
            scales: dict[str, Any] = dict(zip(SCALES, values, strict=False))
            shares = means[len(SCALES) :].tolist()
            found.append(RuleAttributes(**scales, foundations=_named(shares)))
        return found


def _unit(rows: Matrix) -> Matrix:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _is_complete(rule: RuleOfThumb) -> bool:
    """Tell whether a rule has all that puts rules in order."""
    own = rule.scales
    return all(own[name] is not None for name, scale in SCALES.items() if scale.weighed)


def _flags(rule: RuleOfThumb) -> list[float]:
    return [float(name in rule.foundations) for name in FOUNDATIONS]


def _named(values: Sequence[float]) -> dict[str, float]:
    return dict(zip(FOUNDATIONS, values, strict=True))


def _filled(rule: RuleOfThumb, guess: RuleAttributes) -> RuleAttributes:
    """Keep what the rule says itself, estimate the rest."""
    own = {name: value for name, value in rule.scales.items() if value is not None}
    shares = _named(_flags(rule)) if rule.foundations else guess.foundations
    return RuleAttributes(**{**guess.scales, **own}, foundations=shares, evidence=guess.evidence)


@dataclass(frozen=True, slots=True)
class RuleQuery:
    """A rule, with the exchange it is set beside, where there is one."""

    rule: str
    exchange: Exchange | None = None


def prepare_attributes(name: str, progress: Progress | None = None) -> ExpertSet:
    """Load experts by name or folder; those that know nothing of rules are refused.

    Examples
    --------
    >>> "severity" in prepare_attributes("scripted").tasks
    True
    """
    found = prepare_rule_experts(name, progress=progress)
    if not {TASK, FOUNDATIONS_TASK, *SCALES} & set(found.tasks):
        raise InputError(
            f"'{name}' has no expert for attributes of rules",
            "give a folder that 'moralscope rules train' wrote",
        )
    return found


def rule_queries(
    rules: Sequence[str], prompt: str | None = None, reply: str | None = None
) -> list[RuleQuery]:
    """Set rules beside one exchange, or beside none.

    Examples
    --------
    >>> rule_queries(["Don't lie."], reply="I lied.")[0].exchange.prompt
    ''
    """
    if reply is None and prompt is not None:
        raise InputError("a prompt alone is no exchange", "give the reply too")
    exchange = None if reply is None else Exchange(prompt or "", reply)
    return [RuleQuery(rule, exchange) for rule in rules]


def read_rule_queries(path: Path, columns: Mapping[str, str] | None = None) -> list[RuleQuery]:
    """Read rows of prompt, reply and rule: a CSV with these columns, or like MIC.csv."""
    names = dict(columns or {})
    if not names:
        header = read_header(path)
        names = {name: name for name in _OWN if set(_OWN) <= set(header)}
    file = read_annotations(path, kind="mic", columns=names)
    return [RuleQuery(row.rule, row.exchange) for row in file.annotations]


def attributes(
    asked: Sequence[RuleQuery],
    options: AttributesOptions | None = None,
    *,
    models: ExpertSet | None = None,
    **given: Any,
) -> RunRecord:
    """Return a run record with one `EstimatedRule` a rule, in order.

    Parameters
    ----------
    asked
        Rules, with the exchange each is set beside, where there is one.
    options
        `AttributesOptions`, or its fields as keywords.
    models
        Experts that are loaded already; else those that the options name.

    Examples
    --------
    >>> record = attributes([RuleQuery("Don't lie.")], experts="scripted")
    >>> record.results[0].alignment, record.results[0].evidence
    (None, 'model')
    """
    if not asked or not all(one.rule.strip() for one in asked):
        raise InputError("there is no rule to look at", "give one or more, none of them empty")
    chosen = chosen_options(AttributesOptions, options, given)
    experts = models or prepare_attributes(chosen.experts)
    found = estimated_attributes([one.rule for one in asked], experts)
    if TASK in experts.tasks:
        _align(found, asked, experts)
    return RunRecord(
        "rules attributes",
        seed=chosen.seed,
        config={
            "experts": experts.ref.name,
            "tasks": list(experts.tasks),
            "options": plain_options(chosen),
        },
        models=[experts.ref],
        results=[EstimatedRule(**one) for one in found],
        statistics={},
        warnings=[ESTIMATED],
    )


def estimated_attributes(rules: Sequence[str], experts: ExpertSet) -> list[dict[str, Any]]:
    """Return fields of `EstimatedRule` that experts can tell of bare rules, in one pass."""
    columns, _ = experts.read([("", rule) for rule in rules])
    found: list[dict[str, Any]] = [{"rule": rule, "probabilities": {}} for rule in rules]
    if FOUNDATIONS_TASK in experts.tasks:
        names, limits = experts.labels(FOUNDATIONS_TASK), experts.thresholds(FOUNDATIONS_TASK)
        rows = experts.told(FOUNDATIONS_TASK, columns)
        if LIBERTY in experts.tasks:  # a value of its own: SOCIAL-CHEM-101 knows no liberty
            names, limits = (*names, LIBERTY), (*limits, 0.5)
            rows = np.column_stack([rows, np.clip(experts.told(LIBERTY, columns), 0.0, 1.0)])
        for one, row in zip(found, rows, strict=True):
            one["probabilities"] = dict(zip(names, map(float, row), strict=True))
            told = zip(names, row, limits, strict=True)
            one["foundations"] = tuple(name for name, value, limit in told if value >= limit)
    for scale in (name for name in SCALES if name in experts.tasks):
        for one, row in zip(found, experts.told(scale, columns), strict=True):
            one[scale] = min(max(float(row[0]), SCALE[0]), SCALE[1])
    return found


def _align(found: Sequence[dict[str, Any]], asked: Sequence[RuleQuery], experts: ExpertSet) -> None:
    """Add the alignment of the rows that have an exchange."""
    places = [place for place, one in enumerate(asked) if one.exchange]
    pairs = [alignment_pair(one.rule, one.exchange) for one in asked if one.exchange]
    if not pairs:
        return
    names = experts.labels(TASK)
    rows = experts.told(TASK, experts.read(pairs)[0])
    for place, row in zip(places, rows, strict=True):
        told = dict(zip(names, map(float, row), strict=True))
        exchange = asked[place].exchange or Exchange("", "")
        found[place] |= {
            "alignment": max(told, key=lambda name: told[name]),
            "alignment_probabilities": told,
            "prompt": exchange.prompt,
            "reply": exchange.reply,
        }
