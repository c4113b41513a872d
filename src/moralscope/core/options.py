"""Options, declared once: the frozen dataclass of a command is its form in every interface.

A subclass of `Options` annotates its fields with `Option` (help, range, choices). From it derive
the flags of the command line (`cli.declare`), the body of an HTTP request (`server.api.bodies`),
the keywords of the Python function (`build_options`) and the `options` in a run record
(`plain_options`). Values are checked here and nowhere else, so that all refuse the same values with
the same words.

Modules that declare options import nothing heavy: `moralscope --help` reads all of them.
"""

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.records import to_plain
from moralscope.core.registry import did_you_mean, require_known

T = TypeVar("T", bound="Options")
MORE = "More"  # the group of what nobody gave one
CORPUS = "Over a corpus"
_FIRST, _LAST = ("Input", "Model"), ("Output", CORPUS, MORE)  # between them a subject's own


@dataclass(frozen=True, slots=True)
class Option:
    """What all interfaces say of one field."""

    help: str  # one or two sentences
    flag: str = ""  # on the command line, where the field's own (`--like-this`) will not do
    short: str = ""  # a letter such as "-f"
    metavar: str = ""  # what stands for the value in the help: FILE, N
    least: float | None = None  # of a number; of a text, the number of its characters
    most: float | None = None
    choices: tuple[str, ...] = ()  # the only values that are taken
    shown: str = ""  # what the help shows as the default where it is decided later
    group: str = MORE
    """The heading of the help that it stands under: Input, Model, Output, More, or one of the
    subject's own; `group_place` says in which order they come."""
    argument: bool = False  # on the command line a word without a flag
    http: bool | tuple[str, ...] = True
    """False: not over HTTP (a path, say). A tuple: over HTTP only these names, because any other
    name would be a path or a hub id."""

    @property
    def range(self) -> str:
        """The range in words, empty where there is none: "1 to 4", "0 or more"."""
        if self.least is None:
            return "" if self.most is None else f"{self.most:,} or less"
        return (
            f"{self.least:,} or more" if self.most is None else f"{self.least:,} to {self.most:,}"
        )


# By the heading of the help that they stand under.
input_option = partial(Option, group="Input")
model_option = partial(Option, group="Model")
output_option = partial(Option, group="Output")
file_option = partial(Option, metavar="FILE", group="Input")
gate_option = partial(Option, metavar="EXPR", least=1, most=500, group="Output")


@dataclass(frozen=True, slots=True)
class OptionField:
    """One field of an options class, taken apart: `kind` is its type without None and Option."""

    name: str
    kind: Any
    optional: bool
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        return self.option.flag or f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The base of all options: refuses what a field does not take."""

    def __post_init__(self) -> None:
        for field in option_fields(type(self)):
            _check(field, getattr(self, field.name))


Seed = Annotated[int, Option("Seed of everything random.", least=0, most=2**32 - 1)]


def group_place(group: str) -> int:
    """Return a number that puts the groups of a command in their order."""
    if group in _FIRST:
        return _FIRST.index(group)
    return len(_FIRST) + (1 + _LAST.index(group) if group in _LAST else 0)


def option_fields(kind: type[Options]) -> tuple[OptionField, ...]:
    """Return the fields of an options class in their order.

    A field without an `Option` is for Python alone: no interface shows it.
    """
    return _fields(kind)  # type: ignore[arg-type]  # a class is hashable; mypy looks at its objects


@cache
def _fields(kind: Any) -> tuple[OptionField, ...]:
    hints = get_type_hints(kind, include_extras=True)
    fields = []
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        option = next((note for note in notes if isinstance(note, Option)), None)
        if option is None:
            continue
        bare, optional = get_args(hint)[0], False
        if get_origin(bare) in (Union, types.UnionType):  # without None
            kinds = [one for one in get_args(bare) if one is not type(None)]
            optional = len(kinds) < len(get_args(bare))
            bare = kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        fields.append(OptionField(field.name, bare, optional, default, option))
    return tuple(fields)


def build_options(kind: type[T], keywords: Mapping[str, Any]) -> T:
    """Return options from keywords; a name that is not among them is refused with the nearest."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in keywords:
        require_known(name, known, f"there is no option '{name}'")
    return kind(**keywords)


def chosen_options(kind: type[T], options: T | None, keywords: Mapping[str, Any]) -> T:
    """Return the options of a call that takes them whole or by keyword, not both."""
    if options is None:
        return build_options(kind, keywords)
    if keywords:
        names = ", ".join(keywords)
        raise InputError(f"both options and {names} were given", f"put {names} into the options")
    return options


def plain_options(options: Options) -> dict[str, Any]:
    """Return what was said of a run, as a run record keeps it: options unlike their defaults."""
    values = ((field, getattr(options, field.name)) for field in option_fields(type(options)))
    return {field.name: to_plain(value) for field, value in values if value != field.default}


def _check(field: OptionField, value: Any) -> None:
    name, option = field.name, field.option
    choices, least, most = option.choices, option.least, option.most
    if value is None and field.optional:
        return
    for item in value if isinstance(value, tuple | list) else (value,):
        if choices and item not in choices:
            raise UnknownName(f"{name} is '{str(item)[:60]}'", did_you_mean(str(item), choices))
        if least is None and most is None:
            continue
        size, what = item, f"{name} is {item}"
        if isinstance(item, str):
            size, what = len(item), f"{name} has {len(item):,} characters"
        # Written so that what is not a number is refused too.
        if not (least is None or size >= least) or not (most is None or size <= most):
            raise InputError(what, f"give {option.range}")
