"""Commands from options classes: their fields become flags, and the command gets the options.

    @takes
    def rank(options: RankOptions, output: OutputOptions) -> None: ...

typer reads a signature; `takes` gives it one made of the fields of every options class that the
function asks for. Ranges and choices are checked by the classes, not by typer.
"""

import dataclasses
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from moralscope.core.errors import MoralscopeError
from moralscope.core.options import OptionField, Options, option_fields


def takes(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command as typer wants it: one parameter for each field of its options classes.

    Parameters that are no options classes stay as they are. A field that two classes have, such as
    the seed, is one flag and goes to both.
    """
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return", None)
    groups = {name: kind for name, kind in hints.items() if _is_options(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        there = {each.name for each in parameters}
        fields = option_fields(groups[name])
        parameters += [_parameter(field) for field in fields if field.name not in there]
    # Arguments first: typer reads them in order, and flags have none.
    parameters.sort(key=lambda each: not _is_argument(each))

    @wraps(command)
    def called(**given: Any) -> None:
        filled = {}
        for name, kind in groups.items():
            fields = option_fields(kind)
            filled[name] = kind(**{each.name: _value(each, given[each.name]) for each in fields})
        own = {name: value for name, value in given.items() if name in hints}
        try:
            command(**filled, **own)
        except KeyboardInterrupt as error:
            if error.args:  # what is kept of the work, which typer would drop
                raise MoralscopeError(*error.args) from None
            raise

    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    )
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _is_options(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Options)


def _is_argument(parameter: inspect.Parameter) -> bool:
    hint = parameter.annotation
    return get_origin(hint) is Annotated and any(
        isinstance(each, typer.models.ArgumentInfo) for each in get_args(hint)
    )


def _parameter(field: OptionField) -> inspect.Parameter:
    option = field.option
    many = get_origin(field.kind) is tuple
    kind: Any = list[get_args(field.kind)[0]] if many else field.kind  # type: ignore[misc]
    required = field.default is dataclasses.MISSING
    default = ... if required else _listed(field.default)
    about = option.help
    if option.range and field.kind is not str and field.name != "seed":
        about += f" [{option.range}]"
    told: dict[str, Any] = {"help": about, "metavar": option.metavar or None}
    if option.shown:
        told["show_default"] = option.shown
    if option.group:
        told["rich_help_panel"] = option.group
    if option.argument:
        info: Any = typer.Argument(**told)
    else:
        # Without "/" typer would add a --no-… to every switch.
        names = [field.flag, *([option.short] if option.short else [])]
        info = typer.Option(*names, **told)
    if field.optional or (many and default is None):
        kind = kind | None
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else default,
        annotation=Annotated[kind, info],
    )


def _listed(default: Any) -> Any:
    return (list(default) or None) if isinstance(default, tuple) else default


def _value(field: OptionField, given: Any) -> Any:
    """Return a field's value: typer gives lists, and None for a list that was not given."""
    if given is None and not field.optional:
        return field.default
    return tuple(given) if isinstance(given, list) else given
