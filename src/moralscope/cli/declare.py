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
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from moralscope.core.errors import MoralscopeError
from moralscope.core.options import MORE, OptionField, Options, group_place, option_fields

# What stands for a value in the help; a switch has none.
_METAVARS: dict[Any, str] = {bool: "", int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}


class CommandGroup(TyperGroup):
    """A group of commands whose switches are shown without a type."""

    def get_params(self, ctx: Any) -> Any:
        """Return what the group takes."""
        params = super().get_params(ctx)
        for param in params:
            if isinstance(param, TyperOption) and param.is_flag:
                param.metavar = ""
        return params


class GroupedCommand(TyperCommand):
    """A command whose --help stands with the last group, and whose defaults end the sentence.

    typer gives --help a panel of its own, and every default a line where the text is long.
    """

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option that shows the help."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel, option.metavar = MORE, ""
        return option

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        for param in self.params:
            if isinstance(param, TyperOption) and (words := _default_in_words(param)):
                param.help, param.show_default = rf"{param.help} \[default: {words}]", False
            if isinstance(param, TyperArgument):  # its name says what it is, not "<list[str]>"
                vars(param)["display_type_rich"] = lambda ctx: None
            elif isinstance(param, TyperOption) and param.metavar is None and not param.is_flag:
                param.metavar = "TEXT"
        super().format_help(ctx, formatter)


def takes(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command as typer wants it: one parameter for each field of its options classes.

    Parameters that are no options classes stay as they are. A field that two classes have, such as
    the seed, is one flag and goes to both.
    """
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return", None)
    groups = {
        name: kind
        for name, kind in hints.items()
        if isinstance(kind, type) and issubclass(kind, Options)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        known = {parameter.name for parameter in parameters}
        fields = option_fields(groups[name])
        parameters += [_parameter(field) for field in fields if field.name not in known]
    parameters.sort(key=_order)

    @wraps(command)
    def called(**values: Any) -> None:
        filled = {}
        for name, kind in groups.items():
            fields = option_fields(kind)
            filled[name] = kind(**{one.name: _value(one, values[one.name]) for one in fields})
        others = {name: value for name, value in values.items() if name in hints}
        try:
            command(**filled, **others)
        except KeyboardInterrupt as error:
            if error.args:  # what is kept of the work, which typer would drop
                raise MoralscopeError(*error.args) from None
            raise

    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    )
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _order(parameter: inspect.Parameter) -> tuple[int, bool]:
    """Arguments first: typer reads them in order. Then group by group, `--file` before others."""
    hint = parameter.annotation
    notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    if any(isinstance(note, typer.models.ArgumentInfo) for note in notes):
        return -1, False
    panels = (note.rich_help_panel for note in notes if isinstance(note, typer.models.OptionInfo))
    return group_place(next(panels, None) or MORE), parameter.name != "file"


def _parameter(field: OptionField) -> inspect.Parameter:
    option = field.option
    many = get_origin(field.kind) is tuple
    kind: Any = list[get_args(field.kind)[0]] if many else field.kind  # type: ignore[misc]
    required = field.default is dataclasses.MISSING
    default = ... if required else field.default
    if isinstance(default, tuple):
        default = list(default) or None
    metavar = option.metavar or _METAVARS.get(get_args(field.kind)[0] if many else field.kind)
    ranged = option.most is not None and field.kind is not str and field.name != "seed"
    text = f"{option.help} [{option.range}]" if ranged else option.help
    about: dict[str, Any] = {"help": text, "metavar": metavar}
    if option.shown:
        about["show_default"] = option.shown
    if option.argument:
        info: Any = typer.Argument(**{**about, "metavar": option.metavar or None})
    else:
        # Without "/" typer would add a --no-… to every switch.
        names = [field.flag, *([option.short] if option.short else [])]
        info = typer.Option(*names, rich_help_panel=option.group, **about)
    if field.optional or (many and default is None):
        kind = kind | None
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else default,
        annotation=Annotated[kind, info],
    )


def _default_in_words(param: Any) -> str:
    """Return what a flag is where it is not given; empty where that needs no words."""
    shown, value = param.show_default, param.default
    if isinstance(shown, str) or not shown:
        return shown or ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if value is True:
        return str(param.opts[0]).removeprefix("--")
    return "" if value is None or value is False else str(value)


def _value(field: OptionField, value: Any) -> Any:
    """Return a field's value: typer gives lists, and None for a list that was not value."""
    if value is None and not field.optional:
        return field.default
    return tuple(value) if isinstance(value, list) else value
