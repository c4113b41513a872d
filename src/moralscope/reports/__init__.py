"""Reports and figures, drawn from run records alone, so that old runs can be redrawn.

`report_html` makes the interactive page, `figure_bytes` a static figure for a paper. Both take the
plain form of a record (what JSON holds) and compute nothing new. `write_report` and `write_figure`
write them, whole or not at all.
"""

from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.extras import require_extra
from moralscope.core.records import RunRecord, to_plain
from moralscope.io.files import check_writable, write_whole

FIGURES = (".svg", ".png", ".pdf")
_PAGES = (".html", ".htm")

__all__ = [
    "FIGURES",
    "check_figure_place",
    "check_report_place",
    "figure_bytes",
    "report_html",
    "write_figure",
    "write_report",
]


def report_html(plain: Any, name: str = "the run record") -> str:
    """Return the report of a plain run record as one HTML document.

    Examples
    --------
    >>> record = {"schema": "moralscope.run/1", "job": "score", "config": {},
    ...           "results": [{"action": "<b>", "score": 0.1}]}
    >>> report_html(record).startswith("<!doctype html>")
    True
    """
    from moralscope.reports.build import build_page
    from moralscope.reports.html import render

    return render(build_page(plain, name))


def figure_bytes(plain: Any, suffix: str, name: str = "the run record") -> bytes:
    """Return a static figure (.svg, .png or .pdf); the same record gives the same SVG."""
    from moralscope.reports.figures import draw

    return draw(plain, suffix, name)


def check_report_place(path: Path) -> None:
    """Refuse a place for a report before any work is done."""
    if path.suffix.lower() not in _PAGES:
        raise InputError(f"{path} is no HTML file", "end its name in .html")
    check_writable(path)


def check_figure_place(path: Path) -> None:
    """Refuse a place for a figure before any work is done."""
    if path.suffix.lower() not in FIGURES:
        raise InputError(f"{path} is no figure file", f"end its name in {', '.join(FIGURES)}")
    require_extra("figures", "a figure")
    check_writable(path)


def write_report(record: RunRecord | Any, path: Path, *, name: str = "the run record") -> None:
    """Write the HTML report of a run record, or of its plain form.

    Examples
    --------
    >>> import tempfile
    >>> from moralscope.axes.score import score
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     write_report(score(["kill time"], encoder="scripted"), path)
    ...     "kill time" in path.read_text("utf-8")
    True
    """
    check_report_place(path)
    write_whole(path, [report_html(_plain(record), name).encode()])


def write_figure(record: RunRecord | Any, path: Path, *, name: str = "the run record") -> None:
    """Write the static figure of a run record: .svg, .png or .pdf."""
    check_figure_place(path)
    write_whole(path, [figure_bytes(_plain(record), path.suffix.lower(), name)])


def _plain(record: RunRecord | Any) -> Any:
    return to_plain(record) if isinstance(record, RunRecord) else record
