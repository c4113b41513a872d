"""Reports and figures of run records, new or read from a file, written whole or not at all."""

from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import RunRecord, to_plain
from moralscope.io.files import write_whole
from moralscope.io.run_records import check_writable
from moralscope.reports import FIGURES, figure_bytes, report_html

_PAGES = (".html", ".htm")


def check_report_place(path: Path) -> None:
    """Refuse a place for a report before any work is done."""
    if path.suffix.lower() not in _PAGES:
        raise InputError(f"{path} is no HTML file", "end its name in .html")
    check_writable(path)


def check_figure_place(path: Path) -> None:
    """Refuse a place for a figure before any work is done."""
    if path.suffix.lower() not in FIGURES:
        raise InputError(f"{path} is no figure file", f"end its name in {', '.join(FIGURES)}")
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
