"""Options that every computing command shares, so that they read and act the same everywhere."""

from pathlib import Path
from typing import Annotated

import typer


def _report_place(path: Path | None) -> Path | None:
    """Refuse a place that cannot hold a report before any work is done."""
    if path is not None:
        from moralscope.jobs.report import check_report_place

        check_report_place(path)
    return path


def _figure_place(path: Path | None) -> Path | None:
    if path is not None:
        from moralscope.jobs.report import check_figure_place

        check_figure_place(path)
    return path


Json = Annotated[bool, typer.Option("--json", help="Print the run record as JSON, nothing else.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Save the run record (JSON).")
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
