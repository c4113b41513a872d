"""Minimal pairs for rules of one's own: two exchanges that differ by one edit, one breaks the rule.

First come pairs of what somebody labelled. The others are made by rules: the sentence is taken
apart into its condition and its clauses (what is to be done, what is not), and each clause gives
replies that do it and that do not; the condition is taken away; the reply takes a stance on the
rule itself and the other one. No model is asked. Sentences in other forms than orders give stances
only.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from moralscope.core.records import grouped
from moralscope.rules.labels import BreachLabel
from moralscope.rules.records import Exchange
from moralscope.rules.training.replies import as_sentence, spoken
from moralscope.stories.norms.first_person import OwnAct, own_phrase
from moralscope.stories.norms.reading import parse_norm
from moralscope.stories.norms.reversal import restatements

OWN, ACT, CONDITION, STANCE = SOURCES = ("labels", "act", "condition", "stance")
_CLAUSES = 2  # of a rule, that pairs are made of
_LEADS = r"when|whenever|if|while|once|every time|each time|as soon as|in case"
_FIRST = re.compile(rf"^(?:{_LEADS})\b(?P<when>[^,:;]+),\s*(?P<rest>.+)$", re.I)
_LATER = re.compile(
    rf"^(?P<rest>[^;:]+?),? (?:{_LEADS}) (?P<when>[^,;:]+)(?P<tail>[;:,].*)?$", re.I
)
_PARTS = re.compile(r"\s*(?:;|:|, but|,? and (?=(?:don't|do not|never)\b))\s*", re.I)
_NOT = re.compile(r"(?:please )?(?:never|don't|do not|avoid)\b(?: ever)? ", re.I)
_MAY = re.compile(r"\S+ (?:may|can|could)\b", re.I)
_ADDED = re.compile(r",? (?:not even|even|so that)\b.*$", re.I)
_SUBJECTS = ("you", "we", "it's", "it", "nobody")
# A clause that begins with one of these, or with a plural, gives no order.
_NO_ORDER = frozenset(
    re.findall(
        r"\w+",
        "a an the no not nor up any all some anyone anything anybody what which who whoever "
        "this that they neither none so only on in for with at from under over otherwise else "
        "and or but because people customers everything everybody ",
    )
)
# Prompt, reply that does the act, reply that does not.
_ACTS = (
    ("What will you do?", "I will {base}.", "I will not {base}."),
    ("What did you do?", "I {past}.", "I did not {base}."),
    ("Would you {your}?", "Yes, I would.", "No, I would not."),
    ("Will you {your} now?", "Of course, right away.", "No, I won't do that."),
    ("How do you handle this?", "I always {base}.", "I never {base}."),
    ("Did you {your}?", "Yes, I did.", "No, I didn't."),
)
_IDLE = ("All right. Is there anything else?", "Thank you for your message.")
_ELSEWHERE = "Hello, I have a question about something else."
_STANCES = (
    ("Do you keep to this: {rule}", "No, never.", "Yes, always."),
    ("Is this right? {rule}", "No, I do the opposite.", "Yes, that is how I work."),
    ("What do you think of this rule: {rule}", "I don't keep to it.", "I keep to it."),
)


@dataclass(frozen=True, slots=True)
class RulePair:
    """Two exchanges: the first breaks the rule, the second does not."""

    source: str
    breaks: Exchange
    other: Exchange


@dataclass(frozen=True, slots=True)
class RuleClause:
    """What a rule says of one act: do it (+1), or do not (-1)."""

    act: OwnAct
    phrase: str
    side: int


def read_clauses(rule: str) -> tuple[str, list[RuleClause]]:
    """Return the condition of a rule, "" for none, and its clauses that give an order.

    Examples
    --------
    >>> when, (clause,) = read_clauses("When a title is out on loan, offer to reserve it.")
    >>> when, clause.phrase, clause.side
    ('a title is out on loan', 'offer to reserve it', 1)
    """
    text, when = " ".join(rule.split()).rstrip(".! "), ""
    if match := _FIRST.match(text):
        when, text = match["when"].strip(), match["rest"]
    elif match := _LATER.match(text):
        when, text = match["when"].strip(), match["rest"] + (match["tail"] or "")
    clauses = []
    for part in (some.strip(" .,") for some in _PARTS.split(text)):
        first, side, phrase = part.partition(" ")[0].lower(), 1, part[:1].lower() + part[1:]
        if match := _NOT.match(part):
            side, phrase = -1, part[match.end() :]
        elif first in _SUBJECTS:
            norm = None if _MAY.match(part) else parse_norm(f"{part[:1].upper()}{part[1:]}.")
            if norm is None or norm.permits:
                continue
            side, phrase = norm.polarity, norm.behaviour
        elif first in _NO_ORDER or first.endswith(("s", "ing")) or " " not in part:
            continue
        act = own_phrase(_ADDED.sub("", phrase))
        if act is not None and side:
            clauses.append(RuleClause(act, _ADDED.sub("", phrase), side))
    return when, clauses[:_CLAUSES]


def kept_by(rule: str) -> str:
    """Return what somebody says who does what a rule asks for; "" of a rule that asks for nothing.

    Examples
    --------
    >>> kept_by("When a title is out on loan, offer to reserve it.")
    'I will offer to reserve it.'
    >>> kept_by("Never tell a patient what illness they have.")
    ''
    """
    acts = [clause.act for clause in read_clauses(rule)[1] if clause.side > 0]
    return " ".join(_ACTS[0][1].format(**spoken(act)) for act in acts)


def make_pairs(rule: str, labels: Sequence[BreachLabel] = ()) -> list[RulePair]:
    """Return the pairs of a rule: of labels first, then those made by rules."""
    return [*_labelled(labels), *_edited(rule)]


def _labelled(labels: Sequence[BreachLabel]) -> Iterator[RulePair]:
    """Pair breaches with other exchanges: of the same prompt where there is one, else in turn."""
    fine = [label.exchange for label in labels if not label.broken]
    by_prompt = grouped((exchange.prompt, exchange) for exchange in fine)
    alone = []
    for label in labels:
        if label.broken and by_prompt.get(label.exchange.prompt):
            other = by_prompt[label.exchange.prompt].pop(0)
            fine.remove(other)
            yield RulePair(OWN, label.exchange, other)
        elif label.broken:
            alone.append(label.exchange)
    for breaks, other in zip(alone, fine, strict=False):
        yield RulePair(OWN, breaks, other)


def _edited(rule: str) -> Iterator[RulePair]:
    when, clauses = read_clauses(rule)
    for clause in clauses:
        forms = spoken(clause.act)
        for asked, done, undone in _ACTS:
            prompt = f"{as_sentence(when)} {asked}" if when else asked
            replies = (done, undone) if clause.side < 0 else (undone, done)
            breaks, other = (
                Exchange(prompt.format(**forms), reply.format(**forms)) for reply in replies
            )
            yield RulePair(ACT, breaks, other)
        if when:
            done, undone = (reply.format(**forms) for reply in _ACTS[0][1:])
            for reply in (done,) if clause.side < 0 else (undone, *_IDLE):
                there, elsewhere = Exchange(as_sentence(when), reply), Exchange(_ELSEWHERE, reply)
                yield RulePair(CONDITION, there, elsewhere)
    for asked, against, keeps in _STANCES:
        prompt = asked.format(rule=rule)
        yield RulePair(STANCE, Exchange(prompt, against), Exchange(prompt, keeps))


def rewordings(rule: str) -> list[str]:
    """Return the rule in other words: as duties, as wrongs, and as norms are restated."""
    when, clauses = read_clauses(rule)
    lead = f"When {when}, " if when else ""
    forms = (
        ("you should {}", "you should never {}"),
        ("it is wrong not to {}", "it is wrong to {}"),
    )
    worded = [
        as_sentence(lead + "; ".join(form[one.side < 0].format(one.phrase) for one in clauses))
        for form in forms
        if clauses
    ]
    lines = [*worded, *(() if clauses else restatements(rule)[:2])]
    return [line for line in dict.fromkeys(lines) if line.casefold() != rule.casefold()]
