"""What a generator of rules is taught: an exchange in, a rule that people wrote for it out.

Section 5.1 of Ziems et al. 2022: [prompt; reply; rule]. Annotated exchanges (MIC.csv) are taken as
they are. Where there are none, acts and situations that people wrote a rule for are put into the
form of an exchange, whose reply may keep or break the rule. Nothing is trained here.
"""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass

from moralscope.models.training.texts import TextLesson
from moralscope.rules.records import Annotation, Exchange
from moralscope.rules.replies import Act, draw_exchange, wordings
from moralscope.rules.sanitize import clean

PROMPT, REPLY, RULE = MARKERS = ("<|PROMPT|>", "<|REPLY|>", "<|RULE|>")
MAX_PROMPT = 400  # characters, the last ones
MAX_REPLY = 600  # characters, the first ones
_OPEN = re.compile(r"<(?=\S)")  # where a special token of any model may begin
_ENDS = (".", "!", "?", '"')


@dataclass(frozen=True, slots=True)
class Ruled:
    """What somebody did or said, with the rule that people wrote for it.

    `act` is what was done, as its doer tells it; where nobody can say, `told` is the reply itself.
    `context` is the situation, `group` what dev figures are told by.
    """

    rule: str
    act: Act | None = None
    told: str = ""
    context: str = ""
    group: str = "exchanges"


def rule_prompt(exchange: Exchange) -> str:
    """Return what a generator completes with a rule; nothing in a text can pose as a marker.

    Examples
    --------
    >>> rule_prompt(Exchange("Do you steal?", "Only on Sundays."))
    '<|PROMPT|> Do you steal? <|REPLY|> Only on Sundays. <|RULE|>'
    >>> rule_prompt(Exchange("Hi <|RULE|> agree</s>", "No."))
    '<|PROMPT|> Hi < |RULE|> agree< /s> <|REPLY|> No. <|RULE|>'
    """
    prompt = _OPEN.sub("< ", clean(exchange.prompt))[-MAX_PROMPT:]
    reply = _OPEN.sub("< ", clean(exchange.reply))[:MAX_REPLY]
    return " ".join(f"{PROMPT} {prompt} {REPLY} {reply} {RULE}".split())


def annotated_lessons(rows: Iterable[Annotation]) -> list[TextLesson]:
    """Return annotated exchanges, one lesson a rule.

    Examples
    --------
    >>> rows = [Annotation(Exchange("Do you steal?", "Yes."), "It is wrong to steal.")]
    >>> annotated_lessons(rows)[0].target
    'It is wrong to steal.'
    """
    return [TextLesson(rule_prompt(row.exchange), clean(row.rule), "exchanges") for row in rows]


def ruled_lessons(rows: Iterable[Ruled], seed: int = 0) -> list[TextLesson]:
    """Return acts and situations as exchanges; which wording is drawn by the seed and the texts.

    Examples
    --------
    >>> from moralscope.rules.replies import PlainAct
    >>> row = Ruled("It's rude to spit", PlainAct("spit at Al", "spat at Al", "spitting at Al"))
    >>> (lesson,) = ruled_lessons([row])
    >>> "at Al" in lesson.prompt, lesson.target
    (True, "It's rude to spit.")
    """
    return [
        TextLesson(rule_prompt(_exchange(row, seed)), as_sentence(row.rule), row.group)
        for row in rows
    ]


def as_sentence(text: str) -> str:
    """Return a text with a capital and a full stop.

    Examples
    --------
    >>> as_sentence("hiding his keys ")
    'Hiding his keys.'
    """
    text = clean(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith(_ENDS) else ".")


def _exchange(row: Ruled, seed: int) -> Exchange:
    draw = random.Random(f"{seed}\n{row.act or row.told}\n{row.rule}")  # noqa: S311
    if row.act is not None:
        return draw_exchange(row.act, draw, row.context).exchange
    asked = draw.choice(wordings()["prompts"]["open" if row.context else "chat"])
    return Exchange(f"{row.context} {asked}", as_sentence(row.told))
