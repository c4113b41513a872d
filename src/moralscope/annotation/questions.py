"""The types of questions that a form may ask: one class each.

A type says which values answer it, at which level of measurement they are compared, how people
read a value, how a table holds it and how it is typed on a command line. A new type is a class here
and a macro of its name in `server/page/templates/fields.html`, which draws it; `reads` tells the
page's script (`static/form.js`) what the value is made of.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from moralscope.core.errors import InputError

Texts = Mapping[str, str]  # of an item, by name
LEVELS = ("nominal", "ordinal", "several", "text")


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """One value a person may choose, what the page calls it, and what it means."""

    value: str
    label: str
    help: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """One question of a form."""

    name: str
    label: str
    type: str
    """One of `QUESTION_TYPES`: it says what value answers the question."""
    help: str = ""
    required: bool = True
    choices: tuple[AnswerChoice, ...] = ()
    """What may be chosen; of a scale, the labels of its points."""
    choices_from: tuple[str, ...] = ()
    """The item's texts that are the choices (the three norms of a story)."""
    foundations: bool = False
    """The choices are the six moral foundations."""
    low: int = 1
    high: int = 5
    longest: int = 0
    """Characters of a text; 0 is what the type allows."""
    checks: Mapping[str, Any] = field(default_factory=dict)
    """Rules for the text: a name in `checks.CHECKS` and its argument."""
    level: str = ""
    """Level of measurement for agreement figures, one of `LEVELS`; empty is the type's."""
    shortcut: str = ""
    """The key of the question for keyboard work."""

    def __post_init__(self) -> None:
        kind = QUESTION_TYPES[self.type]
        object.__setattr__(self, "longest", self.longest or kind.longest)
        object.__setattr__(self, "level", self.level or kind.level)

    @property
    def kind(self) -> "QuestionType":
        """What its type knows."""
        return QUESTION_TYPES[self.type]

    def with_choices(self, texts: Texts) -> "Field":
        """Return the question with the item's texts among its choices, where they are."""
        offered = [texts[name] for name in self.choices_from if texts.get(name)]
        choices = (*self.choices, *(AnswerChoice(text, text) for text in offered))
        return replace(self, choices=choices)

    def label_of(self, value: str) -> str:
        """Return what a value is called."""
        return next((one.label for one in self.choices if one.value == value), "")

    def say(self, value: Any) -> str:
        """Return an answer as people read it."""
        return "\N{EN DASH}" if value in (None, "") else self.kind.say(self, value)


class QuestionType:
    """What is the same for all types; each names itself in `QUESTION_TYPES`."""

    level: ClassVar[str] = "nominal"
    longest: ClassVar[int] = 2000
    reads: ClassVar[str] = "one"  # what form.js reads: one, list, number, flag, text, line
    writes: ClassVar[bool] = False  # people write words of their own
    exported: ClassVar[bool] = True  # False: a promise of the writer, no part of what she wrote
    request: ClassVar[str] = "Please answer this one."

    def is_missing(self, value: Any) -> bool:
        """Tell whether nothing was answered."""
        return value is None or (isinstance(value, str) and not value.strip())

    def fits(self, field: Field, value: Any) -> bool:
        """Tell whether a value answers the question; its choices are complete."""
        return value in [choice.value for choice in field.choices]

    def parse(self, field: Field, typed: str, texts: Texts) -> Any:
        """Read what was typed on a command line; whether it fits is asked afterwards."""
        return texts.get(typed, typed) if field.choices_from else typed

    def name(self, field: Field, value: str) -> str:
        """Return what a value is called where values are counted."""
        return field.label_of(value) or value

    def say(self, field: Field, value: Any) -> str:
        """Return a value as people read it."""
        return self.name(field, str(value))

    def cell(self, value: Any) -> Any:
        """Return a value as a cell of an exported table."""
        return value


class One(QuestionType):
    """One of the choices: a str."""


class Many(QuestionType):
    """Any number of the choices, or none of them: a list of str."""

    level, reads = "several", "list"

    def fits(self, field: Field, value: Any) -> bool:
        """Tell whether all are among the choices, each once."""
        known = [choice.value for choice in field.choices]
        if not isinstance(value, list) or len(value) != len(set(map(str, value))):
            return False
        return all(one in known for one in value)

    def parse(self, field: Field, typed: str, texts: Texts) -> Any:
        """Read `care|fairness`."""
        return [part.strip() for part in typed.split("|") if part.strip()]

    def say(self, field: Field, value: Any) -> str:
        """List what was chosen."""
        return ", ".join(self.name(field, str(one)) for one in value) or "none of these"

    def cell(self, value: Any) -> Any:
        """Join what was chosen."""
        return "|".join(value)


class RatingScale(QuestionType):
    """An int from `low` to `high`; the choices label the points."""

    level, reads = "ordinal", "number"

    def fits(self, field: Field, value: Any) -> bool:
        """Tell whether it is a point of the scale."""
        return type(value) is int and field.low <= value <= field.high

    def parse(self, field: Field, typed: str, texts: Texts) -> Any:
        """Read a whole number."""
        if not typed.isdecimal():
            raise InputError(f"{field.name} is '{typed[:20]}'", f"give {field.low} to {field.high}")
        return int(typed)

    def name(self, field: Field, value: str) -> str:
        """Return the point with its label."""
        label = field.label_of(value)
        return f"{value}: {label}" if label else value


class YesNo(QuestionType):
    """A bool."""

    reads = "flag"

    def fits(self, field: Field, value: Any) -> bool:
        """Tell whether it is yes or no."""
        return isinstance(value, bool)

    def parse(self, field: Field, typed: str, texts: Texts) -> Any:
        """Read yes or no."""
        values = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
        if typed.lower() not in values:
            raise InputError(f"{field.name} is '{typed[:20]}'", "give yes or no")
        return values[typed.lower()]

    def say(self, field: Field, value: Any) -> str:
        """Return yes or no."""
        return "yes" if value else "no"

    def cell(self, value: Any) -> Any:
        """Return 1 for yes and 0 for no."""
        return int(value)


class Confirm(YesNo):
    """True: a box that must be ticked."""

    level, exported, request = "text", False, "Please tick this."

    def is_missing(self, value: Any) -> bool:
        """Tell whether the box is empty."""
        return value is False or super().is_missing(value)

    def fits(self, field: Field, value: Any) -> bool:
        """Tell whether it is ticked."""
        return value is True


class LongText(QuestionType):
    """A str of at most `longest` characters."""

    level, reads, writes = "text", "text", True

    def fits(self, field: Field, value: Any) -> bool:
        """Tell whether it is a text."""
        return isinstance(value, str)


class ShortText(LongText):
    """A str of one line."""

    longest, reads = 500, "line"

    def fits(self, field: Field, value: Any) -> bool:
        """Tell whether it is a text without line breaks."""
        return isinstance(value, str) and "\n" not in value.strip()


QUESTION_TYPES: Mapping[str, QuestionType] = {
    "text": ShortText(),
    "long": LongText(),
    "one": One(),
    "many": Many(),
    "scale": RatingScale(),
    "yes_no": YesNo(),
    "confirm": Confirm(),
}
