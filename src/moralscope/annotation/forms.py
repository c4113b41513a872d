"""Our forms, as data: task forms (`data/tasks/`), the qualification test, the questionnaire.

A new task is a new file. Whether an answer fits its form is `checks.py`'s question.

The test is after Ziems et al. 2022, appendix E.1: seven questions on moral foundations and on what
makes a rule of thumb, six to pass; the questions are ours. The questionnaire asks for what Emelin
et al. 2021 report of their contributors (age, gender, …, location), for political leaning, and for
the constructs of the Moral Foundations Questionnaire (Graham et al. 2008) as Ziems et al. used it
in section 4.2, on a scale of 1 to 5, in statements of ours. All of it is optional and is kept apart
from answers.
"""

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from statistics import fmean
from typing import Any

from moralscope.annotation.questions import AnswerChoice
from moralscope.annotation.records import Question, Questionnaire, TaskForm
from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import grouped
from moralscope.core.registry import did_you_mean
from moralscope.io.documents import shipped_yaml

FOUNDATIONS = ("care", "fairness", "liberty", "loyalty", "authority", "sanctity")
KINDS = ("foundation", "rule")  # of questions of the test
LOW, HIGH = 1, 5  # of the questionnaire


def one_of(value: str, known: Iterable[str], what: str) -> str:
    """Return the value, or refuse it with the nearest known one."""
    names = tuple(known)
    if value not in names:
        raise InputError(f"there is no {what} '{value[:60]}'", did_you_mean(value, names))
    return value


@cache
def form_names() -> tuple[str, ...]:
    """Return the names of all forms, sorted."""
    folder = resources.files(__package__) / "data" / "tasks"
    return tuple(sorted(one.name.removesuffix(".yaml") for one in folder.iterdir()))


@cache
def task_names() -> tuple[str, ...]:
    """Return the tasks of a project: all forms but those that only validate another's answers."""
    validating = {form.validation for form in map(load_form, form_names())}
    return tuple(name for name in form_names() if name not in validating)


@cache
def load_form(name: str) -> TaskForm:
    """Return a form by its name."""
    file = f"tasks/{one_of(name, form_names(), 'task')}.yaml"
    form = decode(TaskForm, {"name": name, **shipped_data(file)}, file, exact=True)
    fields = (
        replace(one, choices=foundation_choices()) if one.foundations else one
        for one in form.fields
    )
    return replace(form, fields=tuple(fields))


@cache
def foundation_choices() -> tuple[AnswerChoice, ...]:
    """Return the six foundations with definitions and examples, in our words."""
    meanings = shipped_data("foundations.yaml")
    entries = [{"value": name, **meanings[name]} for name in FOUNDATIONS]
    return decode(tuple[AnswerChoice, ...], entries, "foundations.yaml", exact=True)


@cache
def shipped_data(name: str) -> Any:
    """Return what one of the YAML files that ship with the package holds."""
    return shipped_yaml("moralscope.annotation", name)


@dataclass(frozen=True, slots=True)
class BankQuestion(Question):
    """A question of the test with its answer and the reason that is told to who got it wrong."""

    kind: str
    right: str
    why: str

    @property
    def question(self) -> Question:
        """What people see before they have answered."""
        return Question(self.id, self.text, self.choices)


@cache
def question_bank() -> dict[str, BankQuestion]:
    """Return all questions by id."""
    file = "qualification.yaml"
    shipped = shipped_data(file)
    entries = [{"choices": (), "kind": kind, **row} for kind in KINDS for row in shipped[kind]]
    bank = decode(list[BankQuestion], entries, file, exact=True)
    return {one.id: replace(one, choices=one.choices or foundation_choices()) for one in bank}


def draw_questions(count: int, seen: Collection[str], dice: random.Random) -> tuple[str, ...]:
    """Draw questions of both kinds, those not seen before first."""
    chosen: list[str] = []
    for kind, wanted in zip(KINDS, (count - count * 3 // 7, count * 3 // 7), strict=True):
        names = [name for name, one in question_bank().items() if one.kind == kind]
        dice.shuffle(names)
        names.sort(key=lambda name: name in seen)
        chosen += names[:wanted]
    dice.shuffle(chosen)
    return tuple(chosen)


def mark_test(questions: Collection[str], answers: Mapping[str, str]) -> dict[str, str]:
    """Return why, for each question answered wrongly; every question must have an answer."""
    wrong = {}
    for name in questions:
        question = question_bank()[name]
        if answers.get(name) not in {choice.value for choice in question.choices}:
            raise InputError("a question of the test has no answer", "answer all of them")
        if answers[name] != question.right:
            wrong[name] = question.why
    return wrong


@cache
def load_questionnaire() -> Questionnaire:
    """Return the leanings, the statements and the scale."""
    file = "questionnaire.yaml"
    return decode(Questionnaire, shipped_data(file), file, exact=True)


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


def checked_about(about: Mapping[str, Any]) -> dict[str, str]:
    """Return what a person told of her age, region and so on; what was never asked is refused."""
    asked = {one.id: one for one in load_questionnaire().about}
    for name, value in about.items():
        one_of(str(name), asked, "question")
        one_of(str(value), (choice.value for choice in asked[name].choices), "answer")
    return {str(name): str(value) for name, value in about.items()}


def mean_weights(statements: Mapping[str, int]) -> dict[str, float]:
    """Return the mean answer for each foundation that was answered at all."""
    asked = [one for one in load_questionnaire().statements if one.id in statements]
    weights = grouped((one.foundation, statements[one.id]) for one in asked)
    return {name: fmean(values) for name, values in weights.items()}
