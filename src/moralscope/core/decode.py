"""The one reader of typed things: plain values (JSON, TOML, YAML, Arrow) become a dataclass.

Records, saved runs, parts of a corpus, recipes, rulebooks, projects, templates and entries of the
store are all read here, so that every file is refused in the same way: which file, which field,
what is wrong, what to do.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from moralscope.core.errors import InputError, MoralscopeError, UnknownName
from moralscope.core.registry import did_you_mean

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")
_DAMAGED = "the file was changed or damaged: run the job again"
_WORDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}


def decode(
    cls: type[T], plain: Any, source: str = "", *, remedy: str = _DAMAGED, exact: bool = False
) -> T:
    """Return `plain` as a `cls`, or refuse it with the place of the first thing that is wrong.

    Parameters
    ----------
    cls
        A dataclass, or a type made of dataclasses: `list[Verdict]`, `dict[str, Interval]`. One
        whose older records look otherwise has a static method `upgraded`: plain in, plain out.
    plain
        What a parser gave. A number that is null becomes not a number (`core.records.to_plain`
        wrote it so).
    source
        What the message calls the thing: usually a file.
    remedy
        What to do about it.
    exact
        Refuse keys that the class does not have: for what people write by hand. Records of other
        versions may have more keys than this one knows.
    """
    from cattrs import BaseValidationError, StructureHandlerNotFoundError

    try:
        return _converter(exact).structure(plain, cls)
    except StructureHandlerNotFoundError:
        raise  # a bug of ours: a field whose type cannot be read
    except (BaseValidationError, TypeError, ValueError, KeyError, AttributeError) as error:
        path, problem, better = _first(error)
        where = ": ".join(part for part in (source, path) if part)
        joined = f"{where} {problem}" if path else f"{where}: {problem}" if where else problem
        kind = UnknownName if better else InputError
        raise kind(joined.strip(), better or remedy) from None


@cache
def _converter(exact: bool) -> "Converter":
    from cattrs import Converter
    from cattrs._compat import is_tuple
    from cattrs.cols import (
        homogenous_tuple_structure_factory,
        is_mutable_sequence,
        is_sequence,
        list_structure_factory,
    )
    from cattrs.gen import make_dict_structure_fn, override
    from cattrs.strategies import configure_union_passthrough

    converter = Converter(forbid_extra_keys=exact)
    configure_union_passthrough(str | int | float | bool | None, converter)
    for kind in _WORDS:
        converter.register_structure_hook(kind, _primitive)
    converter.register_structure_hook(Path, lambda value, _: Path(_primitive(value, str)))
    for is_kind, factory in (
        (is_tuple, lambda _, converter: converter._structure_tuple),
        (is_sequence, homogenous_tuple_structure_factory),
        (is_mutable_sequence, list_structure_factory),
    ):
        converter.register_structure_hook_factory(is_kind, _no_text(factory))

    def of_fields(kind: Any) -> Any:
        # cattrs reads the names of classes in quotes, but not inside of other types.
        hints = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            field.type = hints[field.name]
        renamed: Any = {
            field.name: override(rename=field.metadata["key"])
            for field in dataclasses.fields(kind)
            if "key" in field.metadata
        }
        read = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=exact, **renamed)
        # What older versions wrote is brought up to date by the class itself, and nowhere else.
        upgraded = kind.upgraded if hasattr(kind, "upgraded") else dict

        def structure(plain: Any, _: Any) -> Any:
            if not isinstance(plain, Mapping):
                raise TypeError(f"is {_short(plain)}, not a mapping")
            return read(upgraded(plain), kind)

        return structure

    # A Statistics is a mapping too: without this, cattrs would read it as one.
    converter.register_structure_hook_factory(
        lambda kind: isinstance(kind, type) and dataclasses.is_dataclass(kind), of_fields
    )
    return converter


def _no_text(factory: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse what can be walked through and is no list: "joy" is not the words j, o and y."""

    def checked(kind: Any, converter: "Converter") -> Callable[[Any, Any], Any]:
        read = factory(kind, converter)

        def structure(value: Any, _: Any) -> Any:
            if value is None or isinstance(value, str | bytes | int | float | Mapping):
                raise TypeError(f"is {_short(value)}, not a list")
            return read(value, kind)

        return structure

    return checked


def _primitive(value: Any, kind: Any) -> Any:
    """Return a value of exactly this kind: nothing is made of a text that looks like a number."""
    if kind is float:
        if value is None:
            return math.nan
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    elif isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise TypeError(f"is {_short(value)}, not {_WORDS[kind]}")


def _first(error: BaseException) -> tuple[str, str, str]:
    """Return path, problem and, for an unknown key, the remedy of the first of many errors."""
    from cattrs import BaseValidationError, ForbiddenExtraKeysError, StructureHandlerNotFoundError

    if isinstance(error, BaseValidationError):
        # A key that is written wrongly says more than the one that is therefore missing.
        inner = min(error.exceptions, key=lambda one: not isinstance(one, ForbiddenExtraKeysError))
        if isinstance(inner, StructureHandlerNotFoundError):
            raise inner
        path, problem, better = _first(inner)
        notes = [note for note in getattr(inner, "__notes__", ()) if hasattr(note, "name")]
        notes += [note for note in getattr(inner, "__notes__", ()) if hasattr(note, "index")]
        step = ""
        if notes and not isinstance(inner, KeyError):
            note = notes[0]
            step = note.name if hasattr(note, "name") else f"{_nth(note.index)}"
        return ", ".join(part for part in (step, path) if part), problem, better
    if isinstance(error, ForbiddenExtraKeysError):
        name = min(map(str, error.extra_fields))
        known = [field.metadata.get("key", field.name) for field in dataclasses.fields(error.cl)]
        return "", f"has an unknown key '{name[:60]}'", did_you_mean(name, known)
    if isinstance(error, MoralscopeError):  # options refuse their own ranges
        return error.problem, "", error.remedy
    if isinstance(error, KeyError):
        return "", f"has no '{error.args[0]}'", ""
    text = str(error)
    known_words = text.startswith(("is ", "has ", "holds "))
    return "", text if known_words else "has another shape than expected", ""


def _nth(index: Any) -> str:
    return f"row {index + 1:,}" if isinstance(index, int) else f"'{str(index)[:60]}'"


def _short(value: Any) -> str:
    if isinstance(value, Mapping | list | tuple):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    return "empty" if value is None else repr(str(value)[:40])
