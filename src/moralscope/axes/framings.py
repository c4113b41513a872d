"""Framings: the same action put otherwise, and how often its side of zero changes by that.

Rewordings are ours and data (`data/framings.toml`). They are phrases as actions are ("have people
killed" for "kill people"), so any axis and any model can be asked about them. Where a framing has
no rewording of an action, as an idiom for "eat dirt", that action does not count for it.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from moralscope.axes.wordings import is_sentence
from moralscope.core.errors import InputError
from moralscope.core.protocols import Axis, Report, Row
from moralscope.core.records import ActionScore, SampleInterval
from moralscope.stats.gates import GateResult, check_gate, parse_gate
from moralscope.stats.intervals import wilson
from moralscope.stories.norms.first_person import past_of_base

_THEIRS = {"my": "their", "me": "them", "mine": "theirs", "myself": "themselves", "I": "they"}
_FIRST = re.compile(r"\b(my|me|mine|myself|I)\b")


@dataclass(frozen=True, slots=True)
class FramedAction:
    """An action under one framing; `changed` says that its side of zero is another one."""

    action: str
    framing: str
    text: str
    score: float
    change: float
    changed: bool


@dataclass(frozen=True, slots=True)
class FramingFigures:
    """How many actions change their side under a framing, of those that it can put otherwise.

    `turns`: the meaning is turned round (a negation), so that they should.
    """

    changed: SampleInterval
    mean_change: float
    turns: bool


@dataclass(frozen=True, slots=True)
class Framings:
    """All framings of a run. `flips` is the share over those that leave the meaning alone."""

    flips: SampleInterval
    worst: str
    framings: Mapping[str, FramingFigures]
    rows: Sequence[FramedAction]


def framing_names() -> tuple[str, ...]:
    """Return the framings there are."""
    return tuple(name for name in _tables() if name != "verbs")


def turns_meaning(framing: str) -> bool:
    """Say whether a framing turns the meaning round, as a negation does."""
    return bool(_tables()[framing].get("turns"))


def gate_figures() -> tuple[str, ...]:
    """Return what a gate may ask for."""
    return ("flips", "worst_flips", *(f"flips_{name}" for name in framing_names()))


def reframe(action: str, framing: str) -> str | None:
    """Return an action under a framing, or None where it has no such rewording.

    Examples
    --------
    >>> [reframe("lie to my wife", name) for name in ("negation", "third_person")]
    ['not lie to my wife', 'be one of those people who lie to their wife']
    >>> reframe("lie to my wife", "idiom"), reframe("lie to my wife", "passive")
    ('pull the wool over the eyes of my wife', None)
    >>> reframe("give money to the poor", "passive")
    'have money given to the poor'
    """
    table = _tables()[framing]
    if "phrases" in table:
        return _replaced(action, table["phrases"])
    if "{object}" in table["form"]:
        return _passive(action, table["form"])
    if table.get("theirs"):
        action = _FIRST.sub(lambda match: _THEIRS[match[0]], action)
    return str(table["form"]).replace("{}", action)


def _replaced(action: str, phrases: Mapping[str, str]) -> str | None:
    for start in sorted(phrases, key=len, reverse=True):
        if f"{action} ".startswith(f"{start} "):
            rest = action[len(start) :].strip()
            form = phrases[start]
            if not form or (not rest and _needs_object(form)):
                return None
            return " ".join(form.replace("{}", rest).split())
    return None


def _needs_object(form: str) -> bool:
    """Tell "lend a hand to {}", which stops short without its object, from "hit the books {}"."""
    before, after = form.split("{}")
    return bool(after) or before.split()[-1] in _tables()["verbs"]["particles"]


def _passive(action: str, form: str) -> str | None:
    words, verbs = action.split(), _tables()["verbs"]
    if len(words) < 2 or words[0] in verbs["without_passive"] or words[1] in verbs["particles"]:
        return None
    ends = [at for at, word in enumerate(words) if at > 1 and word in verbs["particles"]]
    end = ends[0] if ends else len(words)
    participle = verbs["participles"].get(words[0]) or past_of_base(words[0])
    rest = "".join(f" {word}" for word in words[end:])
    return form.format(object=" ".join(words[1:end]), participle=participle, rest=rest)


def score_framings(
    axis: Axis, rows: Sequence[Row], plain: Sequence[ActionScore], report: Report | None = None
) -> Framings:
    """Score each action under every framing that can put it otherwise.

    Examples
    --------
    >>> from moralscope.axes.build import build_axis
    >>> from moralscope.axes.options import AxisOptions
    >>> axis = build_axis(AxisOptions(encoder="scripted"))
    >>> rows = [{"action": "kill people"}, {"action": "help old people"}]
    >>> found = score_framings(axis, rows, axis.score_rows(rows).results)
    >>> found.framings["passive"].changed.n
    2
    """
    asked = [
        (name, row, before, text)
        for name in framing_names()
        for row, before in zip(rows, plain, strict=True)
        if not is_sentence(row["action"]) and (text := reframe(row["action"], name)) is not None
    ]
    if not asked:
        raise InputError(
            "framings reword phrases, and all actions are sentences",
            'write them as "kill time", not "Sam kills time."',
        )
    found = axis.score_rows([{**row, "action": text} for _, row, _, text in asked], None, report)
    framed = [
        FramedAction(
            row["action"],
            name,
            text,
            after.score,
            after.score - before.score,
            (after.score > 0) != (before.score > 0),
        )
        for (name, row, before, text), after in zip(asked, found.results, strict=True)
    ]
    return _summed(framed)


def _summed(framed: Sequence[FramedAction]) -> Framings:
    figures = {}
    for name in dict.fromkeys(row.framing for row in framed):
        own = [row for row in framed if row.framing == name]
        changed = wilson(sum(row.changed for row in own), len(own))
        mean = sum(row.change for row in own) / len(own)
        figures[name] = FramingFigures(changed, mean, turns_meaning(name))
    same = {name: each for name, each in figures.items() if not each.turns}
    kept = [row for row in framed if row.framing in same]
    worst = max(same, key=lambda name: same[name].changed.value)
    return Framings(wilson(sum(row.changed for row in kept), len(kept)), worst, figures, framed)


def gate_framings(expression: str, found: Framings) -> GateResult:
    """Hold framings against a gate; a framing that reworded nothing has no figure."""
    missing = dict.fromkeys(gate_figures(), float("nan"))
    shares = {f"flips_{name}": each.changed.value for name, each in found.framings.items()}
    worst = found.framings[found.worst].changed.value
    figures = {**missing, **shares, "flips": found.flips.value, "worst_flips": worst}
    return check_gate(parse_gate(expression, gate_figures()), {"": figures})


@cache
def _tables() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("data/framings.toml").read_text("utf-8")
    return tomllib.loads(text)
