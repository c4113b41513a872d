"""Frames without a judgment: outcomes ("People get upset if you …") and habits."""

import re

from moralscope.stories.norms.inflection import (
    base_of_finite,
)
from moralscope.stories.norms.judgments import (
    vote,
)
from moralscope.stories.norms.modals import (
    subject_and_side,
)
from moralscope.stories.norms.norm import (
    Norm,
    subject_of,
)
from moralscope.stories.norms.phrases import (
    gerund_to_base,
    is_plural,
    plain_act,
    split_clause,
    starts_with_gerund,
)

_CONDITION = re.compile(r"(?P<main>.+?) (?:if|when|for) (?P<act>you .+|\w+ing .+)$", re.I)
_EFFECT = re.compile(
    r"(?P<act>.+?) (?P<main>(?:can|could|may|might|will|would|makes?|shows?|leads?|contributes?"
    r"|helps?|hurts?|causes?|means|is|are|isn't|does|deserves?|ruins?|builds?|gets?|brings?|keeps?"
    r"|upsets?|harms?|destroys?|damages?|puts?|avoids?)\b.+)$",
    re.I,
)
_HABIT = re.compile(
    r"(?P<who>(?:an?|the|every|each|your) (?:\w+ )?\w+|(?:good|real|true|decent|responsible|kind"
    r"|polite|most|healthy|loving|all|nice) \w+|no ?one|nobody|everyone|everybody|people|friends"
    r"|parents|partners|children|kids|adults|couples|family(?: members)?) (?:always )?"
    r"(?P<verb>[a-z]+)\b(?P<tail>.*)$",
    re.I,
)
_NO_HABIT = re.compile(
    r"(?:of|in|with|to|and|who|that|is|are|will|can|may|might|would|could|was|were)$", re.I
)


def outcome(line: str) -> Norm | None:
    """Read "People get angry if you …" and "…ing makes you look bad" by their words."""
    effect = _EFFECT.match(line) if starts_with_gerund(plain_act(line)[0]) else None
    condition = None if effect else _CONDITION.match(line)
    if effect:
        phrase, negated = plain_act(effect["act"])
        act, main = (gerund_to_base(phrase), negated), effect["main"]
    elif condition and (parts := split_clause(condition["act"])):
        act, main = parts[1:], condition["main"]
    elif condition:
        act, main = (gerund_to_base(condition["act"]), False), condition["main"]
    else:
        return None
    side, (behaviour, negated) = vote(main), act
    if not side or not behaviour:
        return None
    return Norm(
        "",
        "outcome",
        "",
        -side if negated else side,
        behaviour,
        negated,
        subject_of(behaviour),
        flipped=f"It is {'good' if side < 0 else 'wrong'} to {'not ' * negated}{behaviour}",
    )


def habit(line: str) -> Norm | None:
    """Read "A good friend listens", "Everyone deserves respect", "No one respects a liar"."""
    match = _HABIT.match(line)
    if match is None or _NO_HABIT.match(match["verb"]):
        return None
    singular = not is_plural(match["who"])
    if singular and not re.search(r"[^s]s$", match["verb"]):
        return None
    who, side = subject_and_side(match["who"], 1)
    behaviour = (base_of_finite(match["verb"]) if singular else match["verb"]) + match["tail"]
    if dislikes := re.match(r"(?:hate|dislike)(?= )", behaviour):
        behaviour, side = "like" + behaviour[dislikes.end() :], -side
    modal = "should" if side < 0 else "shouldn't"
    return Norm("", "habit", "", side, behaviour, False, who, flipped=f"{who} {modal} {behaviour}")
