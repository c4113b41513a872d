"""The qualification test: our bank of questions, a draw for each attempt, and its marking.

After Ziems et al. 2022, appendix E.1: seven questions on moral foundations and on what makes a
rule of thumb, six to pass. The questions are ours.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from moralscope.annotation.forms import CHOICE, data_keys, foundation_choices, read_choice
from moralscope.annotation.records import Question
from moralscope.core.errors import InputError

KINDS = ("foundation", "rule")
_QUESTION = ("id", "text", "choices", "right", "why")


@dataclass(frozen=True, slots=True)
class BankQuestion:
    """A question with its answer and the reason that is told to who got it wrong."""

    question: Question
    kind: str
    right: str
    why: str


@cache
def bank() -> dict[str, BankQuestion]:
    """Return all questions by id.

    Examples
    --------
    >>> len(bank()) >= 14, {one.kind for one in bank().values()} == set(KINDS)
    (True, True)
    """
    keys = data_keys("qualification.yaml", KINDS)
    found: dict[str, BankQuestion] = {}
    for kind in KINDS:
        for part in keys.parts(kind, _QUESTION):
            name = part.text("id")
            own = tuple(read_choice(one) for one in part.parts("choices", CHOICE))
            question = Question(name, part.text("text"), own or foundation_choices())
            found[name] = BankQuestion(question, kind, part.text("right"), part.text("why"))
    return found


def draw(count: int, seen: Collection[str], dice: random.Random) -> tuple[str, ...]:
    """Draw questions of both kinds, those not seen before first.

    Examples
    --------
    >>> drawn = draw(7, (), random.Random(0))
    >>> len(set(drawn)), sum(bank()[name].kind == "rule" for name in drawn)
    (7, 3)
    """
    chosen: list[str] = []
    for kind, wanted in zip(KINDS, (count - count * 3 // 7, count * 3 // 7), strict=True):
        names = [name for name, one in bank().items() if one.kind == kind]
        dice.shuffle(names)
        names.sort(key=lambda name: name in seen)
        chosen += names[:wanted]
    dice.shuffle(chosen)
    return tuple(chosen)


def mark(questions: Collection[str], answers: Mapping[str, str]) -> dict[str, str]:
    """Return why, for each question answered wrongly; every question must have an answer.

    Examples
    --------
    >>> name = draw(1, (), random.Random(0))[0]
    >>> mark([name], {name: bank()[name].right})
    {}
    """
    wrong = {}
    for name in questions:
        question = bank()[name]
        given = answers.get(name)
        if given not in {choice.value for choice in question.question.choices}:
            raise InputError("a question of the test has no answer", "answer all of them")
        if given != question.right:
            wrong[name] = question.why
    return wrong
