"""Severity, consensus and foundations of rules: their own values, or estimates that say so.

`Attributes` serves audits. A rule with values keeps them (evidence "rulebook"). One without is
estimated: by experts that read it where they were trained for it ("model"), else as the mean of the
nearest rules that have values, weighted by similarity ("neighbours"). `attributes` asks trained
experts about given rules, with the exchange each stands beside where there is one; what they were
not trained for is None.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import ExpertSet, Matrix
from moralscope.core.records import RunRecord
from moralscope.io.tables import read_header
from moralscope.models.store import Progress
from moralscope.rules.annotations.reading import read_annotations
from moralscope.rules.experts import FOUNDATIONS_TASK, prepare_rule_experts
from moralscope.rules.options import AttributesOptions
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
_REMEMBERED = 10_000  # rules of which the estimates are kept: one reply after another asks anew
_COLUMNS = ("prompt", "reply", "rule")


class Attributes:
    """Attributes of rules; where a rule has none, estimated by `experts` or from `known` rules."""

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
        self._guesses: dict[str, RuleAttributes] = {}
        # None becomes not-a-number: what a rule lacks counts in no mean.
        self._values = np.array(
            [[*rule.scales.values(), *_flags(rule)] for rule in self._known], dtype=np.float64
        )

    def of(self, rules: Sequence[RuleOfThumb]) -> list[RuleAttributes]:
        """Return the attributes of each rule, in order: its own, and what it lacks estimated."""
        guesses = self._guesses = self._guesses if len(self._guesses) <= _REMEMBERED else {}
        bare = (rule.text for rule in rules if not _is_complete(rule) and rule.text not in guesses)
        new = list(dict.fromkeys(bare))
        if new and self._experts is not None:
            none = dict.fromkeys(FOUNDATIONS, 0.0)
            for one in estimated_attributes(new, self._experts):
                shares = {**none, **one.probabilities} if one.probabilities else {}
                guesses[one.rule] = RuleAttributes(
                    **one.scales, foundations=shares, evidence="model"
                )
        elif new:
            guesses.update(zip(new, self._estimates(new), strict=True))
        attributes = []
        for rule in rules:
            shares = _named(_flags(rule))
            if _is_complete(rule):
                whole = RuleAttributes(**rule.scales, foundations=shares, evidence="rulebook")
                attributes.append(whole)
                continue
            guess = guesses[rule.text]
            known = {name: value for name, value in rule.scales.items() if value is not None}
            attributes.append(
                RuleAttributes(
                    **{**guess.scales, **known},
                    foundations=shares if rule.foundations else guess.foundations,
                    evidence=f"rulebook and {guess.evidence}" if known else guess.evidence,
                )
            )
        return attributes

    def _estimates(self, texts: Sequence[str]) -> list[RuleAttributes]:
        """Return the mean of the nearest rules that have values."""
        if not self._known:
            return [RuleAttributes()] * len(texts)
        if self._rows is None:
            self._rows = _unit(self._embed([rule.text for rule in self._known]))
        near = _unit(self._embed(texts)) @ self._rows.T
        estimates = []
        for row in near:
            nearest = np.argsort(-row, kind="stable")[:_NEAREST]
            weights = np.maximum(row[nearest].astype(np.float64), 1e-6)
            values = self._values[nearest]
            is_known = ~np.isnan(values)
            total = weights @ is_known
            means = weights @ np.where(is_known, values, 0.0) / np.maximum(total, 1e-12)
            known = [float(m) if held else None for m, held in zip(means, total, strict=True)]
            scales: dict[str, Any] = dict(zip(SCALES, known, strict=False))
            shares = means[len(SCALES) :].tolist()
            estimates.append(RuleAttributes(**scales, foundations=_named(shares)))
        return estimates


def _unit(rows: Matrix) -> Matrix:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _is_complete(rule: RuleOfThumb) -> bool:
    """Tell whether a rule has all that puts rules in order."""
    values = rule.scales
    return all(values[name] is not None for name, scale in SCALES.items() if scale.weighed)


def _flags(rule: RuleOfThumb) -> list[float]:
    return [float(name in rule.foundations) for name in FOUNDATIONS]


def _named(values: Sequence[float]) -> dict[str, float]:
    return dict(zip(FOUNDATIONS, values, strict=True))


@dataclass(frozen=True, slots=True)
class RuleQuery:
    """A rule, with the exchange it is set beside, where there is one."""

    rule: str
    exchange: Exchange | None = None


def prepare_attributes(name: str, progress: Progress | None = None) -> ExpertSet:
    """Load experts by name or folder; those that know nothing of rules are refused."""
    experts = prepare_rule_experts(name, progress=progress)
    if not {TASK, FOUNDATIONS_TASK, *SCALES} & set(experts.tasks):
        raise InputError(
            f"'{name}' has no expert for attributes of rules",
            "give a folder that 'moralscope rules train' wrote",
        )
    return experts


def rule_queries(
    rules: Sequence[str], prompt: str | None = None, reply: str | None = None
) -> list[RuleQuery]:
    """Set rules beside one exchange, or beside none."""
    if reply is None and prompt is not None:
        raise InputError("a prompt alone is not an exchange", "give the reply too")
    exchange = None if reply is None else Exchange(prompt or "", reply)
    return [RuleQuery(rule, exchange) for rule in rules]


def read_rule_queries(path: Path, columns: Mapping[str, str] | None = None) -> list[RuleQuery]:
    """Read rows of prompt, reply and rule: a CSV with these columns, or like MIC.csv."""
    names = dict(columns or {})
    if not names:
        header = read_header(path)
        names = {name: name for name in _COLUMNS if set(_COLUMNS) <= set(header)}
    file = read_annotations(path, kind="mic", columns=names)
    return [RuleQuery(row.rule, row.exchange) for row in file.annotations]


def attributes(
    asked: Sequence[RuleQuery],
    options: AttributesOptions | None = None,
    *,
    models: ExpertSet | None = None,
    **changes: Any,
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
    """
    if not asked or not all(one.rule.strip() for one in asked):
        raise InputError("there is no rule to look at", "give one or more, none of them empty")
    chosen = chosen_options(AttributesOptions, options, changes)
    experts = models or prepare_attributes(chosen.experts)
    estimates = estimated_attributes([one.rule for one in asked], experts)
    indices = [index for index, query in enumerate(asked) if query.exchange]
    if TASK in experts.tasks and indices:
        exchanges = [asked[index].exchange or Exchange("", "") for index in indices]
        pairs = [alignment_pair(asked[i].rule, e) for i, e in zip(indices, exchanges, strict=True)]
        rows = experts.told(TASK, experts.read(pairs)[0])
        for index, exchange, row in zip(indices, exchanges, rows, strict=True):
            chances = dict(zip(experts.labels(TASK), map(float, row), strict=True))
            estimates[index] = replace(
                estimates[index],
                alignment=max(chances, key=lambda name: chances[name]),
                alignment_probabilities=chances,
                prompt=exchange.prompt,
                reply=exchange.reply,
            )
    return RunRecord(
        "rules attributes",
        seed=chosen.seed,
        config={
            "experts": experts.ref.name,
            "tasks": list(experts.tasks),
            "options": plain_options(chosen),
        },
        models=[experts.ref],
        results=estimates,
        warnings=[ESTIMATED],
    )


def estimated_attributes(rules: Sequence[str], experts: ExpertSet) -> list[EstimatedRule]:
    """Return what experts can tell of bare rules, in one pass."""
    columns, _ = experts.read([("", rule) for rule in rules])
    estimates = [EstimatedRule(rule) for rule in rules]
    if FOUNDATIONS_TASK in experts.tasks:
        names, limits = experts.labels(FOUNDATIONS_TASK), experts.thresholds(FOUNDATIONS_TASK)
        rows = experts.told(FOUNDATIONS_TASK, columns)
        if LIBERTY in experts.tasks:  # a value of its own: SOCIAL-CHEM-101 knows no liberty
            names, limits = (*names, LIBERTY), (*limits, 0.5)
            rows = np.column_stack([rows, np.clip(experts.told(LIBERTY, columns), 0.0, 1.0)])
        estimates = [
            replace(
                estimate,
                probabilities=dict(zip(names, map(float, row), strict=True)),
                foundations=tuple(
                    name
                    for name, share, least in zip(names, row, limits, strict=True)
                    if share >= least
                ),
            )
            for estimate, row in zip(estimates, rows, strict=True)
        ]
    for scale in (name for name in SCALES if name in experts.tasks):
        numbers = [float(np.clip(row[0], *SCALE)) for row in experts.told(scale, columns)]
        estimates = [
            replace(estimate, **{scale: number})  # type: ignore[arg-type]
            for estimate, number in zip(estimates, numbers, strict=True)
        ]
    return estimates
