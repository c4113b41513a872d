"""Task forms, read from `data/tasks/`: what is shown, what is asked, which checks apply.

A form is data: a new task is a new file. Whether an answer fits its form is `checks.py`'s question.
"""

import dataclasses
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from moralscope.annotation.records import (
    FIELD_TYPES,
    LEVELS,
    Check,
    Choice,
    Field,
    Shown,
    TaskForm,
)
from moralscope.annotation.yaml_files import Keys, one_of, parse_yaml

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
