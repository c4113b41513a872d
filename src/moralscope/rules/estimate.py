"""Attributes of given rules: foundations, severity and consensus, and the alignment of replies.

What a model says is an estimate and marked as one. Rules come one by one, or in rows with a prompt
and a reply; attributes that the experts were not trained for are None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options
from moralscope.core.protocols import Matrix
from moralscope.core.records import ModelRef, RunRecord
from moralscope.io.tables import read_header
from moralscope.models.classifiers import Experts, ScriptedExperts
from moralscope.models.store import Progress
from moralscope.rules.alignment import TASK, alignment_pair
from moralscope.rules.attribute_lessons import FOUNDATIONS_TASK, SCALES
from moralscope.rules.options import AttributesOptions
from moralscope.rules.reading import read_annotations
from moralscope.rules.records import ALIGNMENTS, FOUNDATIONS, SCALE, Exchange
from moralscope.stories.experts import RULES, prepare_experts

ESTIMATED = "what experts say of a rule is an estimate, learnt from what crowd workers said"
_OWN = ("prompt", "reply", "rule")


class AttributeExperts(Protocol):
    """Experts whose tasks may be of any kind."""

    @property
    def ref(self) -> ModelRef: ...

    @property
    def tasks(self) -> tuple[str, ...]: ...

    def labels(self, task: str) -> tuple[str, ...]: ...

    def values(self, task: str, pairs: Sequence[tuple[str, str]]) -> Matrix: ...

    def thresholds(self, task: str) -> tuple[float, ...]: ...


@dataclass(frozen=True, slots=True)
class AskedRule:
    """A rule, with the exchange it is set beside, where there is one."""

    rule: str
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class EstimatedRule:
    """What experts say of a rule; `foundations` are those over their thresholds."""

    rule: str
    foundations: tuple[str, ...] | None = None
    probabilities: Mapping[str, float] = field(default_factory=dict)
    severity: float | None = None
    consensus: float | None = None
    alignment: str | None = None
    alignment_probabilities: Mapping[str, float] = field(default_factory=dict)
    prompt: str | None = None
    reply: str | None = None
    evidence: str = "estimated"


def prepare_attributes(name: str, progress: Progress | None = None) -> AttributeExperts:
    """Load experts by name or folder; those that know nothing of rules are refused.

    Examples
    --------
    >>> prepare_attributes("scripted").tasks
    ('alignment', 'foundations')
    """
    if name == "scripted":
        return ScriptedExperts({TASK: ALIGNMENTS, FOUNDATIONS_TASK: FOUNDATIONS})
    found = prepare_experts(name, family=RULES, progress=progress)
    if not isinstance(found, Experts) or not {TASK, FOUNDATIONS_TASK, *SCALES} & set(found.tasks):
        raise InputError(
            f"'{name}' has no expert for attributes of rules",
            "give a folder that 'moralscope rules train' wrote",
        )
    return found


def asked_rules(
    rules: Sequence[str], prompt: str | None = None, reply: str | None = None
) -> list[AskedRule]:
    """Set rules beside one exchange, or beside none.

    Examples
    --------
    >>> asked_rules(["Don't lie."], reply="I lied.")[0].exchange.prompt
    ''
    """
    if reply is None and prompt is not None:
        raise InputError("a prompt alone is no exchange", "give the reply too")
    exchange = None if reply is None else Exchange(prompt or "", reply)
    return [AskedRule(rule, exchange) for rule in rules]


def read_asked(path: Path, columns: Mapping[str, str] | None = None) -> list[AskedRule]:
    """Read rows of prompt, reply and rule: a CSV with these columns, or like MIC.csv."""
    names = dict(columns or {})
    if not names:
        header = read_header(path)
        names = {name: name for name in _OWN if set(_OWN) <= set(header)}
    file = read_annotations(path, kind="mic", columns=names)
    return [AskedRule(row.rule, row.exchange) for row in file.annotations]


def attributes(
    asked: Sequence[AskedRule],
    options: AttributesOptions | None = None,
    *,
    models: AttributeExperts | None = None,
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
    >>> record = attributes([AskedRule("Don't lie.")], experts="scripted")
    >>> record.results[0].alignment, record.results[0].evidence
    (None, 'estimated')
    """
    if not asked or not all(one.rule.strip() for one in asked):
        raise InputError("there is no rule to look at", "give one or more, none of them empty")
    chosen = chosen_options(AttributesOptions, options, given)
    experts = models or prepare_attributes(chosen.experts)
    found: list[dict[str, Any]] = [{"rule": one.rule} for one in asked]
    bare = [("", one.rule) for one in asked]
    if FOUNDATIONS_TASK in experts.tasks:
        names, limits = experts.labels(FOUNDATIONS_TASK), experts.thresholds(FOUNDATIONS_TASK)
        for one, row in zip(found, experts.values(FOUNDATIONS_TASK, bare), strict=True):
            one["probabilities"] = dict(zip(names, map(float, row), strict=True))
            told = zip(names, row, limits, strict=True)
            one["foundations"] = tuple(name for name, value, limit in told if value >= limit)
    for scale in (name for name in SCALES if name in experts.tasks):
        for one, row in zip(found, experts.values(scale, bare), strict=True):
            one[scale] = min(max(float(row[0]), SCALE[0]), SCALE[1])
    if TASK in experts.tasks:
        _align(found, asked, experts)
    return RunRecord(
        "rules attributes",
        seed=chosen.seed,
        config={"experts": experts.ref.name, "tasks": list(experts.tasks)},
        models=[experts.ref],
        results=[EstimatedRule(**one) for one in found],
        statistics={},
        warnings=[ESTIMATED],
    )


def _align(
    found: Sequence[dict[str, Any]], asked: Sequence[AskedRule], experts: AttributeExperts
) -> None:
    """Add the alignment of the rows that have an exchange."""
    places = [place for place, one in enumerate(asked) if one.exchange]
    pairs = [alignment_pair(one.rule, one.exchange) for one in asked if one.exchange]
    if not pairs:
        return
    names = experts.labels(TASK)
    for place, row in zip(places, experts.values(TASK, pairs), strict=True):
        told = dict(zip(names, map(float, row), strict=True))
        exchange = asked[place].exchange or Exchange("", "")
        found[place] |= {
            "alignment": max(told, key=lambda name: told[name]),
            "alignment_probabilities": told,
            "prompt": exchange.prompt,
            "reply": exchange.reply,
        }
