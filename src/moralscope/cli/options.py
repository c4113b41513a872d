"""Options that every computing command shares, so that they read and act the same everywhere."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from moralscope.core.options import Option, Options


def _report_place(path: Path | None) -> Path | None:
    """Refuse a place that cannot hold a report before any work is done."""
    if path is not None:
        from moralscope.reports import check_report_place

        check_report_place(path)
    return path


def _record_place(path: Path | None) -> Path | None:
    if path is not None:
        from moralscope.io.files import check_writable

        check_writable(path)
    return path


def _figure_place(path: Path | None) -> Path | None:
    if path is not None:
        from moralscope.reports import check_figure_place

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
        _record_place(self.out)


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


Json = Annotated[bool, typer.Option("--json", help="Print the run record as JSON, nothing else.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", callback=_record_place, help="Save the run record (JSON)."
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        callback=_report_place,
        help="Write an interactive report: one HTML file.",
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        callback=_figure_place,
        help="Draw a figure for a paper: .svg, .png or .pdf.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Encoder = Annotated[
    str,
    typer.Option(
        "--encoder",
        "-e",
        help="minilm, mpnet, use-lite, scripted, a local folder, or a hub id (owner/name).",
    ),
]
Vectors = Annotated[
    str,
    typer.Option(
        "--vectors",
        "-v",
        help="googlenews-26k, glove-50, scripted, or a file: word2vec, fastText .vec, GloVe text, "
        "safetensors.",
    ),
]
Actions = Annotated[list[str] | None, typer.Argument(help="Actions, as they stand in a question.")]
ActionFile = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="One action a line, or CSV/JSONL with an 'action' column; - reads stdin.",
    ),
]
Axis = Annotated[
    str,
    typer.Option(
        "--axis",
        help="choice: question/answer bias; direction: projection on the moral one; judge: trained "
        "P(moral).",
    ),
]
Template = Annotated[
    str, typer.Option("--template", help="moral, gender, or a YAML/CSV file of your own.")
]
Fit = Annotated[
    str,
    typer.Option("--fit", help="How a direction is fitted: pca, or labelled (dos and don'ts)."),
]
FitActions = Annotated[
    Path | None,
    typer.Option(
        "--fit-actions",
        metavar="FILE",
        help="Fit a direction on your own actions; a 'label' column says good or bad.",
    ),
]
Dos = Annotated[
    Path | None,
    typer.Option("--dos", metavar="FILE", help="One word a line; else the papers'."),
]
Donts = Annotated[
    Path | None, typer.Option("--donts", metavar="FILE", help="The same for the don'ts.")
]
Sets = Annotated[
    str, typer.Option("--sets", help="Association sets A and B: a built-in name or a file.")
]
Stories = Annotated[
    Path | None,
    typer.Option(
        "--stories",
        metavar="FILE",
        help="Stories, one JSON object a line; else your copy of Moral Stories.",
    ),
]
