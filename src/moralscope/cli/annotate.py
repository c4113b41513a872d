"""`moralscope annotate`: projects in which people write and judge, alone or as a team."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.options import Json, Out

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

_LOOPBACK, _PORT = "127.0.0.1", 8765
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")]
Items = Annotated[
    Path,
    typer.Option(
        "--items",
        metavar="FILE",
        help="CSV, JSONL or Parquet (what collect writes too), or the sheets of 'stories people'.",
    ),
]
Columns = Annotated[
    str | None, typer.Option("--columns", help="Columns of other names: prompt=Q,reply=A.")
]
app = typer.Typer(
    help="People: rules of thumb, ratings and stories, with tests, checks and feedback.",
    no_args_is_help=True,
)


@app.command()
def init(
    folder: Folder,
    task: Annotated[
        str,
        typer.Option(
            "--task",
            help="rule-of-thumb, attributes, filter, story-ratings, rule-ratings, story-writing or "
            "action-yes-no.",
        ),
    ],
    items: Items,
    name: Annotated[str, typer.Option("--name", help="What people read; else the folder's.")] = "",
    people: Annotated[
        int | None, typer.Option("--people", min=1, max=1000, help="People an item.")
    ] = None,
    staging: Annotated[
        int | None, typer.Option("--staging", min=0, max=1000, help="Items of the staging round.")
    ] = None,
    database: Annotated[
        str,
        typer.Option(
            "--database",
            help="postgresql://user@host/name, or env:NAME to take the URL from a variable; else "
            "SQLite in the folder.",
        ),
    ] = "",
    columns: Columns = None,
    json: Json = False,
    out: Out = None,
) -> None:
    """Make a project: one readable project.yaml, the items, and a link for its lead.

    Example: moralscope annotate init rules --task rule-of-thumb --items exchanges.csv
    """
    from moralscope.annotation.projects import InitOptions, init_project
    from moralscope.cli.output import emit, note
    from moralscope.io.columns import parse_columns

    options = InitOptions(name, database, people, staging, parse_columns(columns))
    record, lead = init_project(folder, task, items, options)
    emit(record, json=json, path=out, show=_show_init)
    note(f"serve it: moralscope annotate serve {folder}")
    note(f"then the lead opens (shown once): http://{_LOOPBACK}:{_PORT}/join#{lead.token}")


@app.command()
def serve(
    folder: Folder,
    host: Annotated[
        str, typer.Option("--host", help="Another address needs MORALSCOPE_TOKEN_SECRET.")
    ] = _LOOPBACK,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any free.")] = _PORT,
    public_url: Annotated[
        str, typer.Option("--public-url", help="What people type where a proxy stands before it.")
    ] = "",
    lead_link: Annotated[
        bool, typer.Option("--lead-link", help="Make a link for one more lead, and show it.")
    ] = False,
) -> None:
    """Serve the pages of a project until Ctrl-C; every answer is on disk before it says saved.

    Example: moralscope annotate serve rules
    """
    from moralscope.cli.output import note
    from moralscope.server.running import Place, check_installed

    check_installed()
    from moralscope.server.annotate import serve

    token = ""
    if lead_link:
        from moralscope.annotation.projects import lead_link as make_link

        token = make_link(folder).token

    def announce(address: str) -> None:
        note(f"{folder}: {address} (Ctrl-C ends it)")
        if token:
            note(f"the lead's link, shown once: {address}/join#{token}")

    serve(folder, Place(host, port, public_url), announce)


@app.command("import")
def add(
    folder: Folder,
    items: Items,
    columns: Columns = None,
    json: Json = False,
    out: Out = None,
) -> None:
    """Add items to a project, all of them or none.

    Example: moralscope annotate import rules --items more.jsonl
    """
    from moralscope.annotation.projects import add_items
    from moralscope.cli.output import emit
    from moralscope.io.columns import parse_columns

    record = add_items(folder, items, parse_columns(columns))
    emit(record, json=json, path=out, show=_show_import)


@app.command()
def export(
    folder: Folder,
    shape: Annotated[
        str,
        typer.Option(
            "--shape",
            help="jsonl, csv, parquet; mic (MIC.csv), stories, human (score --human), sheets "
            "(stories people), people (who they are, apart from answers).",
        ),
    ] = "jsonl",
    name: Annotated[str, typer.Option("--name", help="A file name; else the shape's.")] = "",
    stage: Annotated[str, typer.Option("--stage", help="main, staging or all.")] = "main",
    json: Json = False,
    out: Out = None,
) -> None:
    """Write the answers into the project's folder 'exports', under random ids.

    Example: moralscope annotate export rules --shape mic
    """
    from moralscope.annotation.projects import export_project
    from moralscope.cli.output import emit

    emit(export_project(folder, shape, name, stage), json=json, path=out, show=_show_export)


@app.command()
def status(folder: Folder, json: Json = False, out: Out = None) -> None:
    """Show how far a project is, and who did what.

    Example: moralscope annotate status rules
    """
    from moralscope.annotation.projects import project_status
    from moralscope.cli.output import emit

    emit(project_status(folder), json=json, path=out, show=_show_status)


def _show_init(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out

    found = record.statistics
    staged = found["staging_items"]
    more = f" and {staged:,} for the staging round" if staged else ""
    items = f"{_count(found['items'], 'item')}{more}"
    out.print(clean(f"{record.config['folder']}: {record.config['task']}, {items}"))
    out.print(f"{found['people_per_item']} people an item; all policies are in project.yaml")


def _show_import(record: "RunRecord") -> None:
    from moralscope.cli.output import out

    out.print(f"{_count(record.statistics['added'], 'item')} added")


def _show_export(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out

    found = record.statistics
    out.print(clean(f"{found['file']}: {_count(found['answers'], 'answer')}"), soft_wrap=True)


def _show_status(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table

    found = record.statistics
    state = " (paused)" if found["paused"] else ""
    out.print(clean(f"{record.config['name']}: {record.config['task']}{state}"), style="bold")
    out.print(
        f"{found['submitted']:,} of {found['wanted']:,} answers, {found['complete']:,} of "
        f"{found['items']:,} items complete, {found['open']:,} open, {found['to_review']:,} to "
        "review"
    )
    table = plain_table("person", "stage", "answers", "staging", "skipped", "checks", "seconds")
    for row in record.results:
        table.add_row(clean(row.person.name), row.person.stage, *_counts(row))
    if record.results:
        out.print(table)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _counts(row: Any) -> list[str]:
    seconds = "" if row.seconds is None else f"{row.seconds:.0f}"
    return [str(row.submitted), str(row.staged), str(row.skipped), str(row.failed_checks), seconds]
