"""`moralscope score`: actions on a moral axis."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.app.cli.options import Encoder, Json, Out, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord
    from moralscope.jobs.actions import ActionList


def score(
    actions: Annotated[
        list[str] | None, typer.Argument(help="Actions, as they stand in a question.")
    ] = None,
    axis: Annotated[str, typer.Option("--axis", help="choice: question/answer bias.")] = "choice",
    encoder: Encoder = "minilm",
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="One action a line, or CSV/JSONL with an 'action' column; - reads stdin.",
        ),
    ] = None,
    template: Annotated[
        str, typer.Option("--template", help="moral, gender, or a YAML/CSV file of your own.")
    ] = "moral",
    max_actions: Annotated[
        int, typer.Option("--max-actions", min=1, help="Refuse longer input.")
    ] = 200_000,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Score actions: which does this model call good, which bad, and how sure is it?

    Each action is asked about with every prompt of the template ("Should I kill time?"); its
    score is the mean of cos(question, yes) - cos(question, no), with a bootstrap interval over
    the prompts. Positive is good, negative is bad.

    Example: moralscope score "kill people" "kill time" --encoder mpnet
    """
    from moralscope.app.cli.output import counting, emit, fetching
    from moralscope.jobs.records import check_writable
    from moralscope.jobs.score import prepare_encoder, score

    if out is not None:
        check_writable(out)
    listed = _actions(actions, file, max_actions)
    with fetching() as progress:
        model = prepare_encoder(encoder, progress)
    with counting("scoring") as report:
        record = score(
            listed, axis=axis, encoder=model, template=template, seed=seed, report=report
        )
    emit(record, json=json, path=out, show=_show)


def _actions(given: list[str] | None, file: Path | None, max_actions: int) -> "ActionList":
    from moralscope.jobs.actions import check_actions, read_actions

    if given and file:
        raise typer.BadParameter("give actions or --file, not both")
    if given:
        return check_actions(given, max_actions)
    if file is None and sys.stdin.isatty():
        raise typer.BadParameter('give actions ("kill time"), --file FILE, or text on stdin')
    if file is None or str(file) == "-":
        return read_actions(sys.stdin.buffer, max_actions)
    return read_actions(file, max_actions)


def _show(record: "RunRecord") -> None:
    from moralscope.app.cli.output import out, print_warnings, score_table

    config = record.config
    out.print(f"{config['template']} template, {config['encoder']}", style="bold")
    out.print(score_table(record.results))
    print_warnings(record)
