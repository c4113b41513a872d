"""Framings: the same action put otherwise, and how often its side of zero changes by that.

Rewordings are ours and data (`data/framings.toml`). They are phrases as actions are ("have people
killed" for "kill people"), so any axis and any model can be asked about them. Where a framing has
no rewording of an action, as an idiom for "eat dirt", that action does not count for it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from moralscope.axes.records import FramedAction, FramingFigures, Framings
from moralscope.axes.wordings import is_sentence
from moralscope.core.errors import InputError
from moralscope.core.protocols import Axis, Row
from moralscope.core.records import ActionScore
from moralscope.io.documents import shipped_toml
from moralscope.stats.gates import GateResult, check_gate, parse_gate
from moralscope.stats.intervals import wilson
from moralscope.stories.norms.first_person import past_of_base

_THEIRS = {"my": "their", "me": "them", "mine": "theirs", "myself": "themselves", "I": "they"}
_FIRST = re.compile(r"\b(my|me|mine|myself|I)\b")


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
    """Return an action under a framing, or None where it has no such rewording."""
    table, verbs = _tables()[framing], _tables()["verbs"]
    words = action.split()
    if "phrases" in table:
        phrases: Mapping[str, str] = table["phrases"]
        starts = sorted(phrases, key=len, reverse=True)
        start = next((start for start in starts if f"{action} ".startswith(f"{start} ")), None)
        if start is None or not (form := phrases[start]):
            return None
        rest = action[len(start) :].strip()
        before, after = form.split("{}")
        # "lend a hand to {}" stops short without its object; "hit the books {}" does not.
        if not rest and (after or before.split()[-1] in verbs["particles"]):
            return None
        return " ".join(form.replace("{}", rest).split())
    if "{object}" in table["form"]:  # the passive
        if len(words) < 2 or words[0] in verbs["without_passive"] or words[1] in verbs["particles"]:
            return None
        particles = (at for at, word in enumerate(words) if at > 1 and word in verbs["particles"])
        end = next(particles, len(words))
        participle = verbs["participles"].get(words[0]) or past_of_base(words[0])
        rest = "".join(f" {word}" for word in words[end:])
        kept = " ".join(words[1:end])
        return str(table["form"].format(object=kept, participle=participle, rest=rest))
    if table.get("theirs"):
        action = _FIRST.sub(lambda match: _THEIRS[match[0]], action)
    return str(table["form"]).replace("{}", action)


def score_framings(axis: Axis, rows: Sequence[Row], plain: Sequence[ActionScore]) -> Framings:
    """Score each action under every framing that can put it otherwise."""
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
    run = axis.score_rows([{**row, "action": text} for _, row, _, text in asked])
    framed = [
        FramedAction(
            action=row["action"],
            framing=name,
            text=text,
            score=after.score,
            change=after.score - before.score,
            changed=(after.score > 0) != (before.score > 0),
        )
        for (name, row, before, text), after in zip(asked, run.results, strict=True)
    ]
    figures = {}
    for name in dict.fromkeys(row.framing for row in framed):
        rows_of_it = [row for row in framed if row.framing == name]
        changed = wilson(sum(row.changed for row in rows_of_it), len(rows_of_it))
        mean = sum(row.change for row in rows_of_it) / len(rows_of_it)
        figures[name] = FramingFigures(changed, mean, turns_meaning(name))
    alike = [name for name, figure in figures.items() if not figure.turns]
    kept = [row for row in framed if row.framing in alike]
    return Framings(
        flips=wilson(sum(row.changed for row in kept), len(kept)),
        worst=max(alike, key=lambda name: figures[name].changed.value),
        framings=figures,
        rows=framed,
    )


def gate_framings(expression: str, framings: Framings) -> GateResult:
    """Hold framings against a gate; a framing that reworded nothing has no figure."""
    figures = dict.fromkeys(gate_figures(), float("nan"))
    figures |= {f"flips_{name}": row.changed.value for name, row in framings.framings.items()}
    figures["flips"] = framings.flips.value
    figures["worst_flips"] = framings.framings[framings.worst].changed.value
    return check_gate(parse_gate(expression, gate_figures()), {"": figures})


@cache
def _tables() -> dict[str, Any]:
    return shipped_toml("moralscope.axes", "framings.toml")
