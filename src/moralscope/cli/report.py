"""`moralscope report`: a saved run, looked at again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.cli.declare import takes
from moralscope.cli.output import note
from moralscope.core.options import Option, Options


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(Options):
    """Which run is drawn, and where to."""

    run: Annotated[
        Path, Option("A run record saved with --out.", metavar="RUN.json", argument=True)
    ]
    out: Annotated[
        Path | None, Option("The report; by default RUN.html beside it.", metavar="FILE")
    ] = None
    figure: Annotated[
        Path | None, Option("Draw a figure for a paper: .svg, .png or .pdf.", metavar="FILE")
    ] = None


@takes
def report(options: ReportOptions) -> None:
    """Draw the report of a saved run: one HTML file that needs no network.

    With --figure alone, only the figure is drawn.

    Example: moralscope report run.json --out run.html --figure run.svg
    """
    from moralscope.io.files import read_run
    from moralscope.reports import (
        check_figure_place,
        check_report_place,
        write_figure,
        write_report,
    )

    run, figure = options.run, options.figure
    page = run.with_suffix(".html") if options.out is None and figure is None else options.out
    if figure is not None:
        check_figure_place(figure)
    if page is not None:
        check_report_place(page)
    record = read_run(run)
    if page is not None:
        write_report(record, page, name=str(run))
        note(f"report: {page}")
    if figure is not None:
        write_figure(record, figure, name=str(run))
        note(f"figure: {figure}")
