"""Options that every computing command shares, so that they read and act the same everywhere."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.core.errors import InputError
from moralscope.core.options import Options, output_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moralscope.io.actions import ActionList


Json = Annotated[bool, output_option("Print the run record as JSON, nothing else.")]
Report = Annotated[
    Path | None, output_option("Write an interactive report: one HTML file.", metavar="FILE")
]
Figure = Annotated[
    Path | None, output_option("Draw a figure for a paper: .svg, .png or .pdf.", metavar="FILE")
]


def _check_places(report: Path | None = None, figure: Path | None = None) -> None:
    """Refuse places that cannot hold a report or a figure before any work is done."""
    if report is not None or figure is not None:
        from moralscope.pages import check_figure_place, check_report_place

        if report is not None:
            check_report_place(report)
        if figure is not None:
            check_figure_place(figure)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOutput(Options):
    """Where the run record goes: for commands that nothing is drawn of.

    Places that cannot be written are refused here, before any work is done.
    """

    json: Json = False
    out: Annotated[Path | None, output_option("Save the run record (JSON).", metavar="FILE")] = None

    def __post_init__(self) -> None:
        if self.out is not None:
            from moralscope.io.files import check_writable

            check_writable(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutput(RecordOutput):
    """Where the run record and its report go."""

    report: Report = None

    def __post_init__(self) -> None:
        RecordOutput.__post_init__(self)
        _check_places(self.report)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions(ReportOutput):
    """Where the run record goes, and what is drawn from it: the same for most commands."""

    figure: Figure = None

    def __post_init__(self) -> None:
        ReportOutput.__post_init__(self)
        _check_places(figure=self.figure)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusOutput(Options):
    """Where the run record goes, or the parts of a corpus: a text, since a folder may end in /."""

    json: Json = False
    out: Annotated[
        str | None,
        output_option(
            "Save the run record (JSON). A folder makes it a corpus run, in Parquet files.",
            metavar="FILE|DIR",
        ),
    ] = None
    report: Report = None

    def __post_init__(self) -> None:
        _check_places(self.report)

    def check_file(self) -> None:
        """Refuse a place where the one run record cannot go, before any work is done."""
        if self.out is not None:
            from moralscope.io.files import check_writable

            check_writable(Path(self.out))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOutput(CorpusOutput):
    """The same, with a figure of the scores."""

    figure: Figure = None

    def __post_init__(self) -> None:
        _check_places(self.report, self.figure)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingOptions(Options):
    """How a list is printed."""

    json: Annotated[bool, output_option("Print it as JSON, nothing else.")] = False


def input_flag(name: str, help: str, metavar: str = "FILE", short: str = "") -> Any:
    """Return a flag of one command alone, for what it reads."""
    names = (name, short) if short else (name,)
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel="Input")


Actions = Annotated[list[str] | None, typer.Argument(help="Actions, as in 'Should I …?'")]
ActionFile = Annotated[
    Path | None,
    input_flag(
        "--file",
        "One action per line, or CSV/JSONL with an 'action' column; - reads stdin.",
        short="-f",
    ),
]
Columns = Annotated[
    str | None, input_flag("--columns", "What your columns are called: action=text.", "NAME=COLUMN")
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
