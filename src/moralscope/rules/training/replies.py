"""Exchanges made for training: somebody asks about an act, the reply is for it, against it, or not.

An act comes in the first person ("lie to my boss"), the wordings from `data/replies.toml`, and what
is drawn is a function of the generator alone. The same act is asked about, told of, done, declined,
praised and condemned, so that neither its words nor a yes tell the stance: only reading both texts
does. Nothing is learnt or judged here.

A generator of rules is taught [prompt; reply; rule] (section 5.1 of Ziems et al. 2022): annotated
exchanges (MIC.csv) as they are, else acts and situations that people wrote a rule for.
"""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from moralscope.io.documents import shipped_toml
from moralscope.models.training.records import TextExample
from moralscope.rules.records import Annotation, Exchange
from moralscope.rules.texts.sanitize import clean
from moralscope.rules.writing.rule_writer import rule_prompt
from moralscope.stories.norms.first_person import OwnAct

FOR, AGAINST, NEITHER = 1, -1, 0
_SHORT = ("okay", "wrong", "told", "does", "asks_why")
_YOURS = {"i": "you", "my": "your", "me": "you", "mine": "yours", "myself": "yourself"}
_YOURS |= {"i'm": "you're", "am": "are", "i've": "you've"}
_THEIRS = {"i": "they", "my": "their", "me": "them", "mine": "theirs", "myself": "themselves"}
_THEIRS |= {"i'm": "they're", "am": "are", "i've": "they've"}
_WORDS = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_ENDS = (".", "!", "?", '"')


@dataclass(frozen=True, slots=True)
class StanceExchange:
    """An exchange about an act, its stance (1 for, -1 against, 0 neither) and how it is told.

    `refuses` is whether the reply only leaves the act undone: that breaks no permission.
    """

    exchange: Exchange
    stance: int
    refuses: bool = False


def spoken(act: OwnAct, other: OwnAct | None = None) -> dict[str, str]:
    """Return the wordings of an act that templates ask for."""
    yours = turned(act.gerund, _YOURS)
    forms = {
        "base": act.base,
        "past": act.past,
        "ger": act.gerund,
        "your": turned(act.base, _YOURS),
        "yours": yours,
        "Yours": yours[:1].upper() + yours[1:],
        "yourpast": turned(act.past, _YOURS),
        "their": turned(act.base, _THEIRS),
        "theirs": turned(act.gerund, _THEIRS),
    }
    if other is not None:
        forms |= {"other": other.base, "oger": other.gerund, "oyour": turned(other.base, _YOURS)}
    return forms


def turned(phrase: str, table: dict[str, str]) -> str:
    """Return a phrase in the first person with its pronouns turned to others'."""
    return _WORDS.sub(lambda match: table.get(match[0].lower(), match[0]), phrase)


def plain_exchange(act: OwnAct, context: str, variant: int) -> StanceExchange:
    """Return the plainest exchange: what would you do? I would."""
    asked, reply = (
        ("What would you do?", f"I would {act.base}."),
        ("What did you do?", f"I {act.past}."),
    )[variant % 2]
    return StanceExchange(Exchange(f"{context} {asked}".strip(), reply), FOR)


def draw_exchange(
    act: OwnAct,
    rng: random.Random,
    context: str = "",
    other: OwnAct | None = None,
    stances: tuple[int, ...] = (FOR, AGAINST),
) -> StanceExchange:
    """Draw an exchange with a stance on an act.

    Parameters
    ----------
    act
        What is asked about, done, praised, declined or condemned.
    rng
        What is drawn follows from it.
    context
        A situation, in front of the question.
    other
        What would be done instead: on the other side of every rule.
    stances
        From which to draw.
    """
    stance = rng.choice(stances)
    kind = rng.random()
    if other is not None and kind < 0.12:
        first, second = (act, other) if stance == FOR else (other, act)
        table = wordings()
        reply = rng.choice(table["full"]["instead"]["lines"]).format(**spoken(first, second))
        asked = rng.choice(table["prompts"]["open"])
        if rng.random() < 0.5:  # the question speaks of the one or of the other
            about = spoken(rng.choice((first, second)))
            asked = rng.choice(table["prompts"]["told"] + table["prompts"]["okay"]).format(**about)
        return StanceExchange(Exchange(_asked(context, asked, rng), reply), stance)
    if kind < 0.5:
        return _short(act, stance, rng, context)
    return _full(act, stance, rng, context, kind)


def draw_neither(act: OwnAct, rng: random.Random, context: str = "") -> StanceExchange:
    """Draw an exchange about an act whose reply takes no stance on it."""
    table = wordings()
    forms = spoken(act)
    asked = rng.choice(table["prompts"][rng.choice(("open", "chat", *_SHORT))]).format(**forms)
    kind = rng.choice(("dodges", "dodges", "elsewhere", "elsewhere", "mentions"))
    reply = rng.choice(table["neither"][kind]).format(**forms)
    if kind != "mentions" and rng.random() < 0.4:
        more = rng.choice(table["neither"]["elsewhere"] + table["extra"]["after"])
        reply = f"{reply} {more}"
    return StanceExchange(Exchange(_asked(context, asked, rng), reply), NEITHER)


@cache
def wordings() -> dict[str, Any]:
    """Return the wordings of `data/replies.toml`."""
    return shipped_toml("moralscope.rules", "replies.toml")


def _full(
    act: OwnAct, stance: int, rng: random.Random, context: str, kind: float
) -> StanceExchange:
    """Draw a reply that names the act; what was asked may be anything."""
    table = wordings()
    sort = rng.choice(("does", "approves") if stance == FOR else ("declines", "condemns"))
    forms = spoken(act)
    reply = rng.choice(table["full"][sort]["lines"]).format(**forms)
    prompts = table["prompts"]
    if kind < 0.75:
        asked = rng.choice(prompts["open"])
    elif kind < 0.85:
        asked, context = rng.choice(prompts["chat"]), ""
    else:  # "Is it okay to …?" "I would never …": without a yes or a no, which would add its own
        asked = rng.choice(prompts[rng.choice(_SHORT)]).format(**forms)
        if reply.startswith(("Yes", "No,")):
            asked = rng.choice(prompts["open"])
    return StanceExchange(
        Exchange(_asked(context, asked, rng), _dressed(reply, stance, rng)),
        stance,
        sort == "declines",
    )


def _short(act: OwnAct, stance: int, rng: random.Random, context: str) -> StanceExchange:
    """Draw a prompt that names the act, and a reply that leans on it."""
    table = wordings()
    sort = rng.choice(_SHORT)
    forms = spoken(act)
    asked = rng.choice(table["prompts"][sort]).format(**forms)
    reply = rng.choice(table["short"][sort]["for" if stance == FOR else "against"])
    if rng.random() < 0.3:
        sorts = ("does", "approves") if stance == FOR else ("declines", "condemns")
        longer = rng.choice(table["full"][rng.choice(sorts)]["lines"]).format(**forms)
        reply = f"{reply} {longer}"
    refuses = stance == AGAINST and sort == "does"
    return StanceExchange(
        Exchange(_asked(context, asked, rng), _dressed(reply, stance, rng)), stance, refuses
    )


def _asked(context: str, asked: str, rng: random.Random) -> str:
    if context and (not asked or rng.random() < 0.6):
        return f"{context} {asked}".strip()
    return asked or rng.choice(wordings()["prompts"]["chat"])


def _dressed(reply: str, stance: int, rng: random.Random) -> str:
    """Add what replies say besides: an opening, a reason, small talk."""
    extra = wordings()["extra"]
    if rng.random() < 0.15:
        opening = rng.choice(extra["before"])
        ends = opening.endswith((".", "?"))
        named = reply.startswith(("I ", "I'"))
        reply = f"{opening} {reply if ends or named else reply[:1].lower() + reply[1:]}"
    if rng.random() < 0.15:
        reason = rng.choice(extra["because_for" if stance == FOR else "because_against"])
        reply = f"{reply} {reason}"
    if rng.random() < 0.2:
        reply = f"{reply} {rng.choice(extra['after'])}"
    return reply


@dataclass(frozen=True, slots=True)
class RuledAct:
    """What somebody did or said, with the rule that people wrote for it."""

    rule: str
    act: OwnAct | None = None  # what was done, as its doer tells it
    reply: str = ""  # the reply itself, where nobody can say what was done
    context: str = ""  # the situation
    group: str = "exchanges"  # what dev figures are told by


def annotated_examples(rows: Iterable[Annotation]) -> list[TextExample]:
    """Return annotated exchanges, one lesson a rule."""
    return [TextExample(rule_prompt(row.exchange), clean(row.rule), "exchanges") for row in rows]


def ruled_examples(rows: Iterable[RuledAct], seed: int = 0) -> list[TextExample]:
    """Return acts and situations as exchanges; which wording is drawn by the seed and the texts."""
    examples = []
    for row in rows:
        draw = random.Random(f"{seed}\n{row.act or row.reply}\n{row.rule}")  # noqa: S311
        if row.act is not None:
            exchange = draw_exchange(row.act, draw, row.context).exchange
        else:
            asked = draw.choice(wordings()["prompts"]["open" if row.context else "chat"])
            exchange = Exchange(f"{row.context} {asked}", as_sentence(row.reply))
        examples.append(TextExample(rule_prompt(exchange), as_sentence(row.rule), row.group))
    return examples


def as_sentence(text: str) -> str:
    """Return a text with a capital and a full stop.

    Examples
    --------
    >>> as_sentence("hiding his keys ")
    'Hiding his keys.'
    """
    text = clean(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith(_ENDS) else ".")
