"""`moralscope reproduce`: the papers' tables beside ours."""

from math import isnan
from typing import TYPE_CHECKING

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import OutputOptions, ReportOutput
from moralscope.cli.output import (
    clean,
    emit_to,
    fetching,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.cli.reproduce_tables import show_choice, show_choice_end, show_direction
from moralscope.papers.options import (
    AllOptions,
    ChoiceOptions,
    EncodersOptions,
    IntegrityOptions,
    StoriesOptions,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moralscope.core.records import RunRecord
    from moralscope.papers import PaperRow, PaperTable

_ACROSS = 6  # columns of a table that fit beside each other
_DENSE = 0.6  # a table with more holes than that is a list

app = typer.Typer(help="The papers' tables beside ours.", no_args_is_help=True)


@app.callback()
def reproduce() -> None:
    """The papers' tables beside ours."""


@app.command()
@takes
def choice(options: ChoiceOptions, output: OutputOptions) -> None:
    """The Moral Choice Machine (Jentzsch et al. 2019): every table and figure, per encoder.

    Biases are sums over the prompts, as the paper prints them. WEAT values are our own on
    googlenews-26k, dos and don'ts on it and on glove-50's 400,000 words, beside the values printed
    in the papers; with MORALSCOPE_DATA also beside all published ones. The AFINN validation needs
    'pip install afinn' or MORALSCOPE_DATA.
    """
    from moralscope.papers.choice import reproduce_choice

    tell = None if output.json else show_choice
    starting(*options.encoders, quiet=output.json)
    with fetching() as progress:
        record = reproduce_choice(options=options, progress=progress, tell=tell)
    emit_to(output, record, show_choice_end)


@app.command()
@takes
def direction(options: EncodersOptions, output: OutputOptions) -> None:
    """The Moral Compass (Schramowski et al. 2019): every table and figure, per encoder.

    Projections are in standard deviations of the fitting actions, good above zero; the paper's m
    has the opposite sign. WEAT values are the printed ones, our own on googlenews-26k and, with
    MORALSCOPE_DATA, all published ones.
    """
    from moralscope.papers.direction import reproduce_direction

    tell = None if output.json else show_direction
    starting(*options.encoders, quiet=output.json)
    with fetching() as progress:
        record = reproduce_direction(options=options, progress=progress, tell=tell)
    emit_to(output, record, print_warnings)


@app.command()
@takes
def stories(options: StoriesOptions, output: OutputOptions) -> None:
    """Moral Stories (Emelin et al. 2021): data, classification and texts beside the paper's.

    Tables are printed as they are finished. With mpnet on two cores all cells take about an hour;
    --quick takes minutes.
    """
    from moralscope.papers.everything import run_stories

    tell = None if output.json else _show_numbers
    starting(options.experts, options.encoder, reading=options.stories, quiet=output.json)
    with fetching() as progress:
        record = run_stories(options, progress=progress, tell=tell)
    emit_to(output, record, print_warnings)


@app.command()
@takes
def integrity(options: IntegrityOptions, output: OutputOptions) -> None:
    """The Moral Integrity Corpus (Ziems et al. 2022): Tables 1 to 4 beside your data's.

    Without the corpus, which its authors hand out, the published figures and what is needed.
    """
    from moralscope.papers.integrity import prepare_sources, reproduce_integrity

    starting(options.experts, options.encoder, reading=options.mic, quiet=output.json)
    with fetching() as progress:
        sources = prepare_sources(options, progress)
    emit_to(output, reproduce_integrity(sources, seed=options.seed), _show_integrity)


@app.command("all")
@takes
def everything(options: AllOptions, output: ReportOutput) -> None:
    """All four papers: of every printed figure the paper's value, ours, and whether it came out.

    --report draws one page. A paper whose data or weights are not here is named, and left out.
    Moral Stories takes by far the longest: hours with mpnet on a busy machine; --quick --experts
    minilm takes about three minutes of processor time.

    Example: moralscope reproduce all --quick --experts minilm --report papers.html
    """
    from moralscope.papers.everything import reproduce_all

    tell = None if output.json else _show_numbers
    starting(*options.encoders, options.experts, quiet=output.json)
    with fetching() as progress:
        record = reproduce_all(options=options, progress=progress, tell=tell)
    emit_to(output, record, _show_summary)


def _show_summary(record: "RunRecord") -> None:
    table = plain_table("paper", "printed figures", "same sign or inside", "other", "not measured")
    for name, counts in record.statistics["papers"].items():
        cells = (counts.printed, counts.came_out, counts.other, counts.not_measured)
        table.add_row(name, *map(str, cells))
    out.print(table)
    print_warnings(record)


def _show_numbers(found: "PaperTable") -> None:
    """Print a table: no decimals for counts, three where all are shares."""
    values = [row.ours if row.paper is None else row.paper for row in found.rows]
    known = [value for value in values if value is not None]
    shares = all(abs(value) <= 1 for value in known)
    digits = 0 if all(value > 100 for value in known) else 3 if shares else 2
    _show_table(found, digits)


def _show_integrity(record: "RunRecord") -> None:
    for found in record.results:
        _show_table(found, 2)
    print_warnings(record)


def _show_table(found: "PaperTable", digits: int) -> None:
    """Print the paper's layout, a row for each system, then what was measured with its interval."""
    out.print(clean(found.name), style="bold")
    systems: dict[str, dict[str, PaperRow]] = {}
    for row in found.rows:
        systems.setdefault(row.row, {})[row.column] = row
    columns = list(dict.fromkeys(row.column for row in found.rows))
    rows: Sequence[PaperRow] = found.rows
    if len(columns) > 1 and len(found.rows) >= _DENSE * len(systems) * len(columns):
        for start in range(0, len(columns), _ACROSS):
            _show_systems(systems, columns[start : start + _ACROSS], digits)
        rows = [row for row in found.rows if row.ours is not None]
    if rows:
        _show_rows(rows, digits)
    for why in dict.fromkeys(row.why for row in found.rows if row.why):
        out.print(clean(f"why not all: {why}"), soft_wrap=True)
    out.print()


def _show_systems(
    systems: "Mapping[str, Mapping[str, PaperRow]]", columns: "Sequence[str]", digits: int
) -> None:
    table = plain_table("", "", *map(str, map(clean, columns)))
    table.columns[1].justify = "left"
    for name, cells in systems.items():
        told = [cells.get(column) for column in columns]
        paper = [_shown(row.paper, digits) if row else "" for row in told]
        ours = [_shown(row.ours, digits) if row else "" for row in told]
        if any(paper):
            table.add_row(clean(name), "paper", *paper)
        if any(ours):
            table.add_row("" if any(paper) else clean(name), "ours", *ours)
    out.print(table)


def _show_rows(rows: "Sequence[PaperRow]", digits: int) -> None:
    table = plain_table("", "column", "ours", "interval", "paper", "again")
    table.columns[1].justify = table.columns[5].justify = "left"
    named = ""
    for row in rows:
        low, high = _shown(row.low, 2), _shown(row.high, 2)
        table.add_row(
            clean("" if row.row == named else row.row),
            clean(row.column),
            _shown(row.ours, digits),
            f"{low} … {high}" if low else "",
            _shown(row.paper, digits),
            row.reproduced,
        )
        named = row.row
    out.print(table)


def _shown(value: float | None, digits: int) -> str:
    if value is None or isnan(value):
        return ""
    tiny = 0 < abs(value) < 0.5 * 10**-digits
    return f"{value:.1e}" if tiny else f"{value:,.{digits}f}"
