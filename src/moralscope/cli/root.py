"""The command tree: one file per command group, heavy imports only inside commands."""

import inspect
import re
from typing import Annotated

import typer

from moralscope.cli import (
    agreement,
    annotate,
    audit,
    collect,
    compare,
    demo,
    edit,
    models,
    rank,
    report,
    reproduce,
    rules,
    score,
    serve,
    stories,
    words,
)
from moralscope.version import __version__

app = typer.Typer(
    name="moralscope",
    help="Measure, explain and steer the moral values that text models carry.",
    epilog="Scores describe a model or a rule set. They are not moral advice.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moralscope {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a failure and every note.")
    ] = False,
) -> None:
    """Measure, explain and steer the moral values that text models carry."""


app.command("demo", rich_help_panel="Start here")(demo.demo)
app.command("score", rich_help_panel="Measure")(score.score)
app.command("compare", rich_help_panel="Measure")(compare.compare)
app.command("rank", rich_help_panel="Measure")(rank.rank)
app.add_typer(words.app, name="words", rich_help_panel="Measure")
app.add_typer(reproduce.app, name="reproduce", rich_help_panel="Measure")
app.add_typer(stories.app, name="stories", rich_help_panel="Train and generate")
app.command("audit", rich_help_panel="Audit replies")(audit.audit)
app.add_typer(rules.app, name="rules", rich_help_panel="Audit replies")
app.command("collect", rich_help_panel="Audit replies")(collect.collect)
app.command("collect-train", rich_help_panel="Audit replies")(collect.collect_train)
app.add_typer(annotate.app, name="annotate", rich_help_panel="People")
app.command("agreement", rich_help_panel="People")(agreement.agreement)
app.command("serve", rich_help_panel="Look")(serve.serve)
app.command("report", rich_help_panel="Look")(report.report)
app.command("edit", rich_help_panel="Steer")(edit.edit)
app.command("teach", rich_help_panel="Steer")(edit.teach)
app.add_typer(models.app, name="models", rich_help_panel="Weights")
app.add_typer(models.data_app, name="data", rich_help_panel="Weights")


def _flow(tree: typer.Typer) -> None:
    """Join the lines of every help's paragraphs: typer would keep the source's line breaks."""
    for command in tree.registered_commands:
        written = inspect.getdoc(command.callback) or ""
        command.help = re.sub(r"(?<!\n)\n(?!\n|Example)", " ", written)
    for group in tree.registered_groups:
        if group.typer_instance is not None:
            _flow(group.typer_instance)


_flow(app)
