"""What a generator of rules is taught: an exchange in, a rule that people wrote for it out.

Section 5.1 of Ziems et al. 2022: [prompt; reply; rule]. Annotated exchanges (MIC.csv) are taken as
they are. Where there are none, acts and situations that people wrote a rule for are put into the
form of an exchange, whose reply may keep or break the rule. Nothing is trained here.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from moralscope.models.training.records import TextExample
from moralscope.rules.records import Annotation, Exchange
from moralscope.rules.replies import Act, draw_exchange, wordings
from moralscope.rules.rule_writer import rule_prompt
from moralscope.rules.sanitize import clean

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


def annotated_examples(rows: Iterable[Annotation]) -> list[TextExample]:
    """Return annotated exchanges, one lesson a rule.

    Examples
    --------
    >>> rows = [Annotation(Exchange("Do you steal?", "Yes."), "It is wrong to steal.")]
    >>> annotated_examples(rows)[0].target
    'It is wrong to steal.'
    """
    return [TextExample(rule_prompt(row.exchange), clean(row.rule), "exchanges") for row in rows]


def ruled_examples(rows: Iterable[Ruled], seed: int = 0) -> list[TextExample]:
    """Return acts and situations as exchanges; which wording is drawn by the seed and the texts.

    Examples
    --------
    >>> from moralscope.rules.replies import PlainAct
    >>> row = Ruled("It's rude to spit", PlainAct("spit at Al", "spat at Al", "spitting at Al"))
    >>> (lesson,) = ruled_examples([row])
    >>> "at Al" in lesson.prompt, lesson.target
    (True, "It's rude to spit.")
    """
    return [
        TextExample(rule_prompt(_exchange(row, seed)), as_sentence(row.rule), row.group)
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
