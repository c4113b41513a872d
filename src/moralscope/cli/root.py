"""The command tree: one file per command group, heavy imports only inside commands.

The file of a command is imported when it is called; help and misspelt names need them all.
"""

import inspect
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from moralscope.cli.declare import CommandGroup, GroupedCommand
from moralscope.version import __version__

# By the panel of the help: a command's name, its file, and what is taken from there.
_PANELS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Start here": (("demo", "score", "demo"),),
    "Measure": (
        ("score", "score", "score"),
        ("compare", "compare", "compare"),
        ("survey", "survey", "survey"),
        ("rank", "score", "rank"),
        ("words", "words", "app"),
        ("reproduce", "reproduce", "app"),
        ("bench", "bench", "bench"),
    ),
    "Audit replies": (
        ("audit", "audit", "audit"),
        ("rules", "rules", "app"),
        ("collect", "collect", "collect"),
        ("collect-train", "training", "collect_train"),
    ),
    "People": (("annotate", "annotate", "app"), ("agreement", "annotate", "agreement")),
    "Look": (("serve", "serve", "serve"), ("report", "serve", "report")),
    "Steer": (("steer", "steer", "app"), ("edit", "steer", "edit"), ("teach", "steer", "teach")),
    "Train and generate": (("stories", "stories", "app"),),
    "Weights": (("models", "models", "app"), ("data", "models", "data_app")),
    "Long runs": (("corpus", "corpus", "app"),),
    "Other tools": (
        ("mcp", "interop", "mcp"),
        ("interop", "interop", "app"),
        ("export", "interop", "export"),
    ),
}


def build_app(words: Sequence[str] = ()) -> typer.Typer:
    """Return the command tree, or only the command that a command line begins with."""
    app = typer.Typer(
        name="moralscope",
        help="Measure, explain and steer the moral values that text models carry.",
        epilog="Scores describe a model or a rule set. They are not moral advice.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    rows = [(panel, *row) for panel, some in _PANELS.items() for row in some]
    called = [row for row in rows if row[1] in words[:1]]
    for panel, name, file, taken in called or rows:
        command = getattr(import_module(f"moralscope.cli.{file}"), taken)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command)
    _flow(app)
    return app


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'moralscope.cli.root' has no attribute '{name}'")
    return build_app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moralscope {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a failure and every note.")
    ] = False,
) -> None:
    """Measure, explain and steer the moral values that text models carry."""


def _flow(tree: typer.Typer) -> None:
    """Join the lines of every help's paragraphs (typer keeps line breaks); group its options."""
    tree.info.cls = CommandGroup
    for command in tree.registered_commands:
        written = inspect.getdoc(command.callback) or ""
        command.cls = GroupedCommand
        command.help = re.sub(r"(?<!\n)\n(?!\n|Example)", " ", written)
    for group in tree.registered_groups:
        if group.typer_instance is not None:
            _flow(group.typer_instance)
