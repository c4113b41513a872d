"""`moralscope data`: the data sets that users bring."""

from typing import Annotated

import typer

from moralscope.cli.options import Json

app = typer.Typer(
    help="Data sets you bring (MORALSCOPE_DATA): list, where, verify.", no_args_is_help=True
)


@app.command("list")
def list_(json: Json = False) -> None:
    """List every data set moralscope reads, with licence and state."""
    from moralscope.cli.output import out, plain_table
    from moralscope.models.store.data_cards import list_data

    statuses = list_data()
    if json:
        _print_json(statuses)
        return
    table = plain_table("name", "licence", "state", "source")
    for row in statuses:
        table.add_row(row.name, row.licence, row.state, row.source)
    out.print(table)


@app.command()
def where(
    name: Annotated[str, typer.Argument(help="A data set, by the names of 'data list'.")],
    json: Json = False,
) -> None:
    """Say where a data set comes from, under which terms, and where its files go."""
    from moralscope.cli.output import clean, out
    from moralscope.models.store.data_cards import where_data

    row = where_data(name)
    if json:
        _print_json(row)
        return
    for key in ("about", "source", "licence", "citation", "folder", "state", "notes"):
        out.print(clean(f"{key + ':':<10}{getattr(row, key)}"), soft_wrap=True)


@app.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets; all, if none.")] = None,
    json: Json = False,
) -> None:
    """Check the files of the named data sets by checksum (all present ones, if none is named)."""
    from moralscope.cli.output import out
    from moralscope.models.store.data_cards import verify_data

    statuses = verify_data(names or [])
    if json:
        _print_json(statuses)
        return
    for row in statuses:
        out.print(f"{row.name}: {row.state}, {row.files:,} files in {row.folder}", soft_wrap=True)


def _print_json(rows: object) -> None:
    from json import dumps

    from moralscope.core.records import to_plain

    typer.echo(dumps(to_plain(rows), indent=1))
