"""Task forms, read from `data/tasks/`: what is shown, what is asked, which checks apply.

A form is data: a new task is a new file. Whether an answer fits its form is `checks.py`'s question.
"""

import dataclasses
import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from statistics import fmean
from typing import Any

from moralscope.annotation.records import (
    FIELD_TYPES,
    LEVELS,
    Check,
    Choice,
    Field,
    Question,
    Questionnaire,
    Shown,
    Statement,
    TaskForm,
)
from moralscope.annotation.yaml_files import Keys, one_of, parse_yaml
from moralscope.core.errors import InputError

FOUNDATIONS = ("care", "fairness", "liberty", "loyalty", "authority", "sanctity")
CHOICE = ("value", "label", "help", "examples")
_FORM = (
    "title", "instructions", "shows", "fields", "search", "validation", "policies"
)  # fmt: skip
_SHOWN = ("name", "label", "required")
_FIELD = (*(one.name for one in dataclasses.fields(Field)), "foundations")
_LEVEL_OF = {"one": "nominal", "many": "several", "scale": "ordinal", "yes_no": "nominal"}


@cache
def form_names() -> tuple[str, ...]:
    """Return the names of all forms, sorted.

    Examples
    --------
    >>> "rule-of-thumb" in form_names()
    True
    """
    folder = resources.files(__package__) / "data" / "tasks"
    names = (one.name.removesuffix(".yaml") for one in folder.iterdir())
    return tuple(sorted(names))


@cache
def task_names() -> tuple[str, ...]:
    """Return the tasks of a project: all forms but those that only validate another's answers."""
    validating = {form.validation for form in map(load_form, form_names())}
    return tuple(name for name in form_names() if name not in validating)


@cache
def load_form(name: str) -> TaskForm:
    """Return a form by its name.

    Examples
    --------
    >>> form = load_form("action-yes-no")
    >>> [field.name for field in form.fields], form.shows[0].name
    (['ok'], 'action')
    """
    one_of(name, form_names(), "task")
    keys = data_keys(f"tasks/{name}.yaml", _FORM)
    shows = tuple(map(_shown, keys.parts("shows", _SHOWN)))
    fields = tuple(map(_field, keys.parts("fields", _FIELD)))
    return TaskForm(
        name,
        keys.text("title"),
        keys.texts("instructions"),
        shows,
        fields,
        search=keys.flag("search", False),
        validation=keys.text("validation", "") or None,
    )


def default_policies(name: str) -> dict[str, Any]:
    """Return the policies that a task has unless the project says otherwise.

    Examples
    --------
    >>> default_policies("action-yes-no")["qualification"]
    False
    """
    one_of(name, form_names(), "task")
    return data_keys(f"tasks/{name}.yaml", _FORM).pairs("policies")


@cache
def foundation_choices() -> tuple[Choice, ...]:
    """Return the six foundations with definitions and examples, in our words."""
    keys = data_keys("foundations.yaml", FOUNDATIONS)
    return tuple(read_choice(keys.inner(name, CHOICE), name) for name in FOUNDATIONS)


def data_keys(name: str, known: Iterable[str]) -> Keys:
    """Return the mapping of one of the files that ship with the room."""
    path = resources.files(__package__) / "data" / name
    return Keys(parse_yaml(path.read_text("utf-8"), name), name, known)


def _shown(keys: Keys) -> Shown:
    return Shown(keys.text("name"), keys.text("label"), keys.flag("required", True))


def _field(keys: Keys) -> Field:
    kind = one_of(keys.text("type"), FIELD_TYPES, "type of field")
    choices = tuple(read_choice(part) for part in keys.parts("choices", CHOICE))
    if keys.flag("foundations", False):
        choices = foundation_choices()
    return Field(
        keys.text("name"),
        keys.text("label"),
        kind,
        help=keys.text("help", ""),
        required=keys.flag("required", True),
        choices=choices,
        choices_from=keys.texts("choices_from"),
        low=keys.number("low", 1, 0, 10),
        high=keys.number("high", 5, 1, 10),
        longest=keys.number("longest", 500 if kind == "text" else 2000, 1, 20_000),
        checks=tuple(Check(name, value) for name, value in keys.pairs("checks").items()),
        level=one_of(keys.text("level", _LEVEL_OF.get(kind, "text")), LEVELS, "level"),
        shortcut=keys.text("shortcut", ""),
    )


def read_choice(keys: Keys, value: str | None = None) -> Choice:
    """Return a choice; where its key is its value, `value` is given."""
    return Choice(
        keys.text("value") if value is None else value,
        keys.text("label"),
        keys.text("help", ""),
        keys.texts("examples"),
    )


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
def question_bank() -> dict[str, BankQuestion]:
    """Return all questions by id.

    Examples
    --------
    >>> len(question_bank()) >= 14, {one.kind for one in question_bank().values()} == set(KINDS)
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


def draw_questions(count: int, seen: Collection[str], dice: random.Random) -> tuple[str, ...]:
    """Draw questions of both kinds, those not seen before first.

    Examples
    --------
    >>> drawn = draw_questions(7, (), random.Random(0))
    >>> len(set(drawn)), sum(question_bank()[name].kind == "rule" for name in drawn)
    (7, 3)
    """
    chosen: list[str] = []
    for kind, wanted in zip(KINDS, (count - count * 3 // 7, count * 3 // 7), strict=True):
        names = [name for name, one in question_bank().items() if one.kind == kind]
        dice.shuffle(names)
        names.sort(key=lambda name: name in seen)
        chosen += names[:wanted]
    dice.shuffle(chosen)
    return tuple(chosen)


def mark_test(questions: Collection[str], answers: Mapping[str, str]) -> dict[str, str]:
    """Return why, for each question answered wrongly; every question must have an answer.

    Examples
    --------
    >>> name = draw_questions(1, (), random.Random(0))[0]
    >>> mark_test([name], {name: question_bank()[name].right})
    {}
    """
    wrong = {}
    for name in questions:
        question = question_bank()[name]
        given = answers.get(name)
        if given not in {choice.value for choice in question.question.choices}:
            raise InputError("a question of the test has no answer", "answer all of them")
        if given != question.right:
            wrong[name] = question.why
    return wrong


LOW, HIGH = 1, 5


@cache
def load_questionnaire() -> Questionnaire:
    """Return the leanings, the statements and the scale.

    Examples
    --------
    >>> asked = load_questionnaire()
    >>> [choice.value for choice in asked.leanings][2], len(asked.scale)
    ('moderate', 5)
    """
    keys = data_keys("questionnaire.yaml", ("leanings", "scale", "statements"))
    statements = []
    for part in keys.parts("statements", ("id", "foundation", "text")):
        foundation = one_of(part.text("foundation"), FOUNDATIONS, "foundation")
        statements.append(Statement(part.text("id"), part.text("text"), foundation))
    return Questionnaire(
        tuple(map(read_choice, keys.parts("leanings", CHOICE))),
        tuple(statements),
        tuple(map(read_choice, keys.parts("scale", CHOICE))),
    )


def checked_statements(leaning: str | None, statements: Mapping[str, Any]) -> dict[str, int]:
    """Return the statements answered; what was never asked is refused."""
    asked = load_questionnaire()
    if leaning is not None:
        one_of(leaning, (choice.value for choice in asked.leanings), "leaning")
    known = {one.id for one in asked.statements}
    for name, value in statements.items():
        one_of(str(name), known, "statement")
        if isinstance(value, bool) or not isinstance(value, int) or not LOW <= value <= HIGH:
            raise InputError(f"'{name}' has an answer off the scale", f"give {LOW} to {HIGH}")
    return dict(statements)


def mean_weights(statements: Mapping[str, int]) -> dict[str, float]:
    """Return the mean answer for each foundation that was answered at all.

    Examples
    --------
    >>> mean_weights({"care-1": 5, "care-2": 4})
    {'care': 4.5}
    """
    given: dict[str, list[int]] = {}
    for one in load_questionnaire().statements:
        if one.id in statements:
            given.setdefault(one.foundation, []).append(statements[one.id])
    return {name: fmean(values) for name, values in given.items()}
