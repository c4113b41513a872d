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
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean

GIVEN = TypeVar("GIVEN", bound="Options")
MORE = "More"  # the group of what nobody gave one
CORPUS = "Over a corpus"
_FIRST, _LAST = ("Input", "Model"), ("Output", CORPUS, MORE)  # between them a subject's own


@dataclass(frozen=True, slots=True)
class Option:
    """What all interfaces say of one field.

    Parameters
    ----------
    help
        One or two sentences.
    flag, short
        Names on the command line where the field's own (`--like-this`) will not do; `short` is
        a letter such as "-f".
    metavar
        What stands for the value in the help: FILE, N.
    least, most
        The range of a number, both ends in it; of a text, the number of its characters.
    choices
        The only values that are taken.
    shown
        What the help shows as the default where it is decided later.
    group
        The heading of the help that it stands under: Input, Model, Output, More, or one of the
        subject's own; `group_place` says in which order they come.
    argument
        On the command line a word without a flag.
    http
        False: not over HTTP (a path, say). A tuple: over HTTP only these names, because any
        other name would be a path or a hub id.
    """

    help: str
    flag: str = ""
    short: str = ""
    metavar: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    shown: str = ""
    group: str = MORE
    argument: bool = False
    http: bool | tuple[str, ...] = True

    @property
    def range(self) -> str:
        """The range in words, empty where there is none: "1 to 4", "0 or more"."""
        if self.least is None:
            return "" if self.most is None else f"{self.most:,} or less"
        return (
            f"{self.least:,} or more" if self.most is None else f"{self.least:,} to {self.most:,}"
        )


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
    """The base of all options: refuses what a field does not take.

    Examples
    --------
    >>> @dataclass(frozen=True, slots=True, kw_only=True)
    ... class ShoutOptions(Options):
    ...     times: Annotated[int, Option("How often.", least=1, most=3)] = 1
    >>> ShoutOptions(times=9)
    Traceback (most recent call last):
    moralscope.core.errors.InputError: times is 9; give 1 to 3
    """

    def __post_init__(self) -> None:
        for field in option_fields(type(self)):
            _check(field, getattr(self, field.name))


Seed = Annotated[int, Option("Seed of everything random.", least=0, most=2**32 - 1)]


def group_place(group: str) -> int:
    """Return a number that puts the groups of a command in their order.

    Examples
    --------
    >>> sorted(["More", "Output", "Rules", "Input"], key=group_place)
    ['Input', 'Rules', 'Output', 'More']
    """
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
    found = []
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        given = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        option = next((each for each in given if isinstance(each, Option)), None)
        if option is None:
            continue
        bare, optional = _without_none(get_args(hint)[0])
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        found.append(OptionField(field.name, bare, optional, default, option))
    return tuple(found)


def build_options(kind: type[GIVEN], given: Mapping[str, Any]) -> GIVEN:
    """Return options from keywords; a name that is not among them is refused with the nearest.

    Examples
    --------
    >>> build_options(Options, {})
    Options()
    """
    known = [field.name for field in dataclasses.fields(kind)]
    for name in given:
        if name not in known:
            raise UnknownName(f"there is no option '{name}'", did_you_mean(name, known))
    return kind(**given)


def chosen_options(kind: type[GIVEN], options: GIVEN | None, given: Mapping[str, Any]) -> GIVEN:
    """Return the options of a call that takes them whole or by keyword, not both.

    Examples
    --------
    >>> chosen_options(Options, None, {})
    Options()
    """
    if options is None:
        return build_options(kind, given)
    if given:
        names = ", ".join(given)
        raise InputError(
            f"options were given, and {names} beside them", "put them into the options"
        )
    return options


def plain_options(options: Options) -> dict[str, Any]:
    """Return what was said of a run, as a run record keeps it: options unlike their defaults.

    Examples
    --------
    >>> plain_options(Options())
    {}
    """
    found = {}
    for field in option_fields(type(options)):
        value = getattr(options, field.name)
        if value != field.default:
            found[field.name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def _without_none(kind: Any) -> tuple[Any, bool]:
    """Take `None` out of a union: the type that is left, and whether None was there."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind, False
    left = [each for each in get_args(kind) if each is not type(None)]
    return (left[0] if len(left) == 1 else Union[tuple(left)]), len(left) < len(get_args(kind))  # noqa: UP007


def _check(field: OptionField, value: Any) -> None:
    name, option = field.name, field.option
    choices, least, most = option.choices, option.least, option.most
    if value is None and field.optional:
        return
    for each in value if isinstance(value, tuple | list) else (value,):
        if choices and each not in choices:
            problem = f"{name} is '{str(each)[:60]}'"
            raise UnknownName(problem, did_you_mean(str(each), choices))
        if least is None and most is None:
            continue
        size, what = each, f"{name} is {each}"
        if isinstance(each, str):
            size, what = len(each), f"{name} has {len(each):,} characters"
        # Written so that what is not a number is refused too.
        if not (least is None or size >= least) or not (most is None or size <= most):
            raise InputError(what, f"give {option.range}")
