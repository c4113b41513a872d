"""`moralscope report`: a saved run, looked at again."""

from pathlib import Path
from typing import Annotated

import typer

from moralscope.cli.options import Figure


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN.json", help="A run record saved with --out.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The report; by default RUN.html beside it."),
    ] = None,
    figure: Figure = None,
) -> None:
    """Draw the report of a saved run: one HTML file that needs no network.

    With --figure alone, only the figure is drawn.

    Example: moralscope report run.json --out run.html --figure run.svg
    """
    from moralscope.cli.output import note
    from moralscope.io.run_records import read_run
    from moralscope.reports import check_report_place, write_figure, write_report

    page = run.with_suffix(".html") if out is None and figure is None else out
    if page is not None:
        check_report_place(page)
    record = read_run(run)
    if page is not None:
        write_report(record, page, name=str(run))
        note(f"report: {page}")
    if figure is not None:
        write_figure(record, figure, name=str(run))
        note(f"figure: {figure}")
