"""Rewriting norms: the opposite judgment of the same behaviour, or the same in other words.

Text in, text out, by the frames of `judged.py` and `modals.py` and the wordings of
`data/reversal.toml`; no model is used. What is in no known frame gives None. The sentences are for
training and testing judges: a reversal says the opposite of what people hold right, and is no
advice.

Order of the wordings of a reversal (`variant`; past the end it starts again):

0. the norm's own frame with the opposite judgment: "It's rude to X" → "It's polite to X";
1. its own frame with the behaviour denied: "It's rude to not X" ("You should always X" after a
   modal), where the frame has one;
2. and on: the wordings of the table in its order, less those already given.

A restatement begins with the table's wordings of the norm's own side. A norm that only permits
("It's okay to X") is restated as permission, and reversed into what forbids, or obliges.
"""

import random
import re
from collections.abc import Sequence
from functools import cache, lru_cache

from moralscope.stories.norms.inflection import base_of_finite, base_of_gerund, tables
from moralscope.stories.norms.judgments import ACT, Norm
from moralscope.stories.norms.phrases import (
    be,
    finite,
    gerund_phrase,
    is_plural,
    lower_start,
    objective,
)
from moralscope.stories.norms.reading import parse_norm, tidy
from moralscope.stories.story import MoralStory

_TRIES = 40
_SPECIFIC = 2  # content words; "It's good to be kind" concerns nearly every story


def swap_norms(stories: Sequence[MoralStory], seed: int) -> dict[str, str]:
    """Give each story the norm of an unrelated story: one that shares no content word with it.

    Norms are drawn at random until one shares no content word with the story's own sentences; of
    40 that all do, the one that shares fewest is taken. Norms with a single content word are
    passed over where others exist, for they concern nearly everything. A story for which there is
    no other norm is left out.
    """
    draw = random.Random(seed)  # noqa: S311
    words = {story.norm: content_words(story.norm) for story in stories if story.norm}
    specific = {norm for norm, content in words.items() if len(content) >= _SPECIFIC}
    norms = [norm for norm in words if len(specific) <= 1 or norm in specific]
    swapped = {}
    for story in stories:
        content = content_words(" ".join(text or "" for text in story.sentences.values()))
        best, least = None, len(content) + 1
        for _ in range(_TRIES if len(norms) > 1 else 0):
            norm = norms[draw.randrange(len(norms))]
            shared = len(content & words[norm])
            if norm != story.norm and shared < least:
                best, least = norm, shared
            if least == 0:
                break
        if best is not None:
            swapped[story.id] = best
    return swapped


def content_words(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning."""
    stems = []
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _common() or len(word) <= 2:
            continue
        if word.endswith("ing") and len(word) > 5:
            stems.append(base_of_gerund(word))
        elif word.endswith("ed") and len(word) > 4:
            stems.append(base_of_gerund(word[:-2] + "ing"))
        else:
            stems.append(base_of_finite(word))
    return frozenset(stems)


@cache
def _common() -> frozenset[str]:
    return frozenset(tables()["common"]["words"])


__all__ = [
    "Norm",
    "behaviour_of",
    "parse_norm",
    "restate_norm",
    "restatements",
    "reversals",
    "reverse_norm",
    "swap_norms",
]

_ENOUGH = 8  # wordings a norm must have
_OWN = re.compile(r"\b(?:the[iy]\w*|themsel\w+|one's|oneself)\b", re.I)
_YOU = re.compile(r"\byou", re.I)
_JOINED = re.compile(r" (?:and|or|but) ")
_PERMITTING = ("it's okay", "there's nothing wrong", "{S} shouldn't be ashamed")
_DENIES = ("not {vp}", "not to {vp}", "not {ger}")


def reverse_norm(text: str, *, variant: int = 0) -> str | None:
    """Return the norm with the opposite judgment, or None when it cannot be read."""
    wordings = reversals(text)
    return wordings[variant % len(wordings)] if wordings else None


def restate_norm(text: str, variant: int = 0) -> str | None:
    """Return the norm in other words with the same meaning, or None when it cannot be read."""
    wordings = restatements(text)
    return wordings[variant % len(wordings)] if wordings else None


def behaviour_of(text: str) -> tuple[str, int] | None:
    """Return the bare verb phrase a norm speaks of and its side (+1 do, -1 don't)."""
    norm = parse_norm(text)
    return None if norm is None else (norm.behaviour, norm.polarity)


@lru_cache(maxsize=50_000)
def reversals(text: str) -> tuple[str, ...]:
    """Return every reversal in the documented order; empty when the norm cannot be read."""
    norm = parse_norm(text)
    if norm is None:
        return ()
    # The norm's own frame comes first: it changes the fewest words, so a judge that is right on the
    # norm and wrong on this reversal cannot blame an unusual sentence.
    framed = [_sentence(frame, norm.lead) for frame in (norm.flipped, norm.denied) if frame]
    return _distinct([*framed, *_wordings(norm, -norm.polarity)], text)


@lru_cache(maxsize=50_000)
def restatements(text: str) -> tuple[str, ...]:
    """Return every restatement in the documented order; empty when the norm cannot be read."""
    norm = parse_norm(text)
    return () if norm is None else _distinct(_wordings(norm, norm.polarity), text)


def _wordings(norm: Norm, side: int) -> list[str]:
    table = tables()["wordings"]["good" if side > 0 else "bad"]
    who = lower_start(norm.subject)
    slots = {"S": who, "o": objective(who), "are": be(who), "c": norm.behaviour}
    if norm.kind != ACT:
        lines = table[norm.kind]
    elif norm.permits and side == norm.polarity:
        lines = table["permission"]
    else:
        lines = _act_lines(norm, who, table)
    if norm.kind == ACT:
        slots |= {
            "vp": norm.behaviour,
            "have": "have" if is_plural(who) else "has",
            "for": "" if who in tables()["subjects"]["anybody"] else f"for {objective(who)} ",
            "ger": gerund_phrase(norm.behaviour),
            "with": finite(who, norm.behaviour),
            "without": finite(who, norm.behaviour, negated=True),
        }
    return [_sentence(line.format(**slots), norm.lead) for line in lines]


def _act_lines(norm: Norm, who: str, table: dict[str, list[str]]) -> list[str]:
    """Choose the wordings whose grammar fits the behaviour."""
    # "It's good to love their parents" has lost its people.
    named = who not in tables()["subjects"]["anybody"] or (
        who != "you" and bool(_OWN.search(norm.behaviour))
    )
    lines = table["named" if named else "anybody"]
    if norm.permits:  # "It's okay to X" does not contradict "You don't have to X"
        lines = [line for line in lines if not line.startswith(_PERMITTING)]
    if _YOU.search(norm.behaviour):
        lines = [line for line in lines if not line.startswith("people")]
    if not _JOINED.search(norm.behaviour):
        return lines
    lines = [line for line in lines if "{ger}" not in line]  # only the first verb would take -ing
    plain = [line for line in lines if not any(part in line for part in _DENIES)]
    return plain if len(plain) >= _ENOUGH else lines  # "not read and write" denies one or both


def _sentence(text: str, lead: str) -> str:
    text = text.strip()
    if lead:
        text = f"{lead}, {lower_start(text)}"
    return text[:1].upper() + text[1:] + "."


def _distinct(lines: list[str], original: str) -> tuple[str, ...]:
    """Keep the first of equal lines, and none that equals the norm itself."""
    seen = {tidy(original).lower()}
    kept = []
    for line in lines:
        key = tidy(line).lower()
        if key not in seen:
            seen.add(key)
            kept.append(line)
    return tuple(kept)
