"""Options that every computing command shares, so that they read and act the same everywhere."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.core.errors import InputError
from moralscope.core.options import Option, Options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moralscope.io.actions import ActionList


def _report_place(path: Path | None) -> Path | None:
    """Refuse a place that cannot hold a report before any work is done."""
    if path is not None:
        from moralscope.pages import check_report_place

        check_report_place(path)
    return path


def _figure_place(path: Path | None) -> Path | None:
    if path is not None:
        from moralscope.pages import check_figure_place

        check_figure_place(path)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOutput(Options):
    """Where the run record goes: for commands that nothing is drawn of.

    Places that cannot be written are refused here, before any work is done.
    """

    json: Annotated[bool, Option("Print the run record as JSON, nothing else.", group="Output")] = (
        False
    )
    out: Annotated[
        Path | None, Option("Save the run record (JSON).", metavar="FILE", group="Output")
    ] = None

    def __post_init__(self) -> None:
        if self.out is not None:
            from moralscope.io.files import check_writable

            check_writable(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutput(RecordOutput):
    """Where the run record and its report go."""

    report: Annotated[
        Path | None,
        Option("Write an interactive report: one HTML file.", metavar="FILE", group="Output"),
    ] = None

    def __post_init__(self) -> None:
        RecordOutput.__post_init__(self)
        _report_place(self.report)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions(ReportOutput):
    """Where the run record goes, and what is drawn from it: the same for most commands."""

    figure: Annotated[
        Path | None,
        Option("Draw a figure for a paper: .svg, .png or .pdf.", metavar="FILE", group="Output"),
    ] = None

    def __post_init__(self) -> None:
        ReportOutput.__post_init__(self)
        _figure_place(self.figure)


Json = Annotated[
    bool,
    typer.Option(
        "--json",
        metavar="",
        help="Print the run record as JSON, nothing else.",
        rich_help_panel="Output",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        rich_help_panel="Output",
        metavar="FILE",
        callback=_report_place,
        help="Write an interactive report: one HTML file.",
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        rich_help_panel="Output",
        metavar="FILE",
        callback=_figure_place,
        help="Draw a figure for a paper: .svg, .png or .pdf.",
    ),
]
Actions = Annotated[list[str] | None, typer.Argument(help="Actions, as in 'Should I …?'")]
ActionFile = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        rich_help_panel="Input",
        metavar="FILE",
        help="One action per line, or CSV/JSONL with an 'action' column; - reads stdin.",
    ),
]


Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAME=COLUMN",
        rich_help_panel="Input",
        help="What your columns are called: action=text.",
    ),
]


def read_given(
    texts: list[str] | None,
    file: Path | None,
    what: str = "actions",
    other: str = "",
    columns: "Mapping[str, str] | None" = None,
) -> "ActionList":
    """Return the arguments, else the file (- is stdin), else stdin when it is no terminal.

    `columns` says what the file calls its columns; {} where it may be said and was not.
    """
    from moralscope.io.actions import check_actions, read_actions

    if texts and file:
        raise InputError(f"{what} and --file were given", f"give {what} or --file, not both")
    if texts:
        return check_actions(texts)
    if file is None and sys.stdin.isatty():
        remedy = f"give {what}, --file FILE, or text on stdin{other}"
        raise InputError(f"no {what} were given", remedy)
    source = sys.stdin.buffer if file is None or str(file) == "-" else file
    return read_actions(source, columns=columns)
