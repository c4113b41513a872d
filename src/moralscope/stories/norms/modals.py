"""Frames with a modal, imperatives, effects: "You should …", "Never …", "People won't like …"."""

import re
from dataclasses import dataclass
from functools import cache

from moralscope.stories.norms.inflection import base_of_finite, tables
from moralscope.stories.norms.judgments import Norm, act_norm, vote
from moralscope.stories.norms.phrases import (
    be,
    gerund_phrase,
    gerund_to_base,
    is_plural,
    lower_start,
    plain_act,
    split_clause,
    starts_with_gerund,
)

_LONGEST_SUBJECT = 12  # words
_IMPERATIVE = re.compile(
    r"(?:please )?(?P<how>don'?t ever|do not ever|don'?t|do not|never ever|never|always|do|please"
    r"|try to|be sure to|make sure to|remember to|(?=(?:be|treat|respect|keep|tell) \w))\b ?(?=\w)",
    re.I,
)
_SOMETHING = re.compile(
    r"(?P<act>\S+ing\b.*) is (?:something|a thing) (?:that )?(?P<rest>.+) do$", re.I
)
_FILLER = re.compile(r" (?:just|really|simply|absolutely|definitely|also|probably)$", re.I)


def imperative(line: str) -> Norm | None:
    """Read "Don't …", "Always …", "Be …"."""
    how = _IMPERATIVE.match(line)
    if how is None or (not how["how"] and re.search(r" (?:is|are|should) ", line)):
        return None
    side = -1 if re.search(r"n'?t|not|never", how["how"], re.I) else 1
    behaviour, negated = plain_act(lower_start(line[how.end() :]))
    is_wanted = (side > 0) != negated
    return act_norm(
        "do / don't",
        how["how"].lower() or "do",
        side,
        (behaviour, negated),
        flipped=f"{'Always' if side < 0 else 'Never'} {'not ' * negated}{behaviour}",
        denied=("Don't " if is_wanted else "Make sure to ") + behaviour,
    )


@dataclass(frozen=True, slots=True)
class _Modal:
    shape: re.Pattern[str]
    side: int
    instead: str
    form: str
    permits: bool


@cache
def _modals(weak: bool) -> tuple[_Modal, ...]:
    return tuple(
        _Modal(
            re.compile(rf"(?P<who>.{{1,120}}?)(?P<modal>{row['shape']}) (?=\w)", re.I),
            row["side"],
            row["instead"],
            row.get("form", "base"),
            row.get("permits", False),
        )
        for row in tables()["modals"]
        if row.get("weak", False) == weak
    )


def strong_modal(line: str) -> Norm | None:
    """Read "You should …", "…ing is something that you should never do"."""
    if something := _SOMETHING.match(line):
        line = f"{something['rest']} {gerund_to_base(something['act'])}"
    return _first_modal(line, _modals(weak=False), "should / must")


def weak_modal(line: str) -> Norm | None:
    """Read "You can't …", "Friends don't …"; "People will … if you …" is left to its outcome."""
    if re.search(r" (?:if|when) you ", line):
        return None
    norm = _first_modal(line, _modals(weak=True), "can / do")
    if norm is None or norm.subject.lower() in tables()["subjects"]["anybody"]:
        return norm
    return None if vote(norm.behaviour) < 0 else norm


def _first_modal(line: str, modals: tuple[_Modal, ...], pattern: str) -> Norm | None:
    matches = [(match, modal) for modal in modals if (match := modal.shape.match(line))]
    if not matches:
        return None
    match, modal = min(matches, key=lambda pair: pair[0].start("modal"))
    who, side = subject_and_side(match["who"], modal.side)
    if len(who.split()) > _LONGEST_SUBJECT or who.endswith("'re"):
        return None
    rest = line[match.end() :]
    behaviour, negated = plain_act(gerund_to_base(rest) if modal.form == "from" else rest)
    instead = modal.instead.format(are=be(who), have="have" if is_plural(who) else "has")
    if side != modal.side:  # "No one should": the people who should are enough
        instead = " should"
    act = gerund_phrase(behaviour) if modal.form == "gerund" else behaviour
    return act_norm(
        pattern,
        match["modal"].strip(" '").lower(),
        side,
        (behaviour, negated),
        who,
        flipped=f"{who}{instead} {'not ' * negated}{act}",
        denied=f"{who} should {'never' if (side > 0) != negated else 'always'} {behaviour}",
        permits=modal.permits,
    )


def subject_and_side(text: str, side: int) -> tuple[str, int]:
    """Return the subject; "No one should" turns the side."""
    text = _FILLER.sub("", text)
    if re.fullmatch(r"no ?one|nobody", text, re.I):
        return "people", -side
    if re.match(r"no \w", text, re.I):
        return f"a {text[3:]}", -side
    return text, side


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
    flipped = f"It is {'good' if side < 0 else 'wrong'} to {'not ' * negated}{behaviour}"
    return act_norm("outcome", "", side, act, flipped=flipped)


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
    return Norm("habit", "", side, behaviour, False, who, flipped=f"{who} {modal} {behaviour}")
