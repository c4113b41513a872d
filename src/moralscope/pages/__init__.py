"""What a person sees of a result: one `Page` a command, drawn in four places.

A command has one module here. It says, by the name of the job, of which classes a record's results
and statistics are (`types`) and how its page is built (`build`):

    PRESENTATIONS = {"rank": Presentation(rank_page, (RankedAnswer, NoStatistics))}

`terminal`, `html`, `figure` and `web` draw pages and know no command, so a new chart or table is a
change of one file. Pages are built from typed records: new ones as they are, saved ones through
`read_record`. Nothing is computed here that is not in the record.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.extras import require_extra
from moralscope.core.records import ModelRef, RunRecord, to_plain
from moralscope.io.files import check_writable, write_whole
from moralscope.io.run_records import check_record
from moralscope.pages.page import Page

FIGURES = (".svg", ".png", ".pdf")
_REPORTS = (".html", ".htm")
# The jobs of each module. A record of a corpus has a job of its own: "score corpus".
_JOBS = {
    "agreement": ("agreement",),
    "annotation": (
        *("annotate init", "annotate import", "annotate export", "annotate status"),
        *("annotate statement", "annotate decide", "annotate decisions", "annotate adjudicate"),
    ),
    "audit": ("audit", "audit corpus"),
    "bench": ("bench",),
    "collect": ("collect", "collect corpus"),
    "chain": ("chain", "generate", "stories metrics"),
    "conversation": ("audit conversations", "audit conversations corpus"),
    "compare": ("compare", "compare languages", "compare runs", "compare watch"),
    "corpora": ("words compare",),
    "corpus_scores": (
        *("score corpus", "score estimate"),
        *("audit estimate", "audit conversations estimate", "collect estimate", "survey estimate"),
    ),
    "evaluate": ("stories evaluate",),
    "rank": ("rank",),
    "reproduce": ("reproduce",),
    "rules": (
        *("rules retrieve", "rules generate", "rules attributes", "rules lint"),
        *("rules check", "rules show", "rules stats", "rules learn", "rules warrant"),
    ),
    "score": ("score",),
    "steer": ("edit", "steer check", "steer make", "teach"),
    "stories": ("stories norms", "stories reverse", "stories split", "stories stats"),
    "survey": ("survey", "survey corpus"),
    "training": ("collect-train", "rules train", "train"),
    "vocabulary": ("words associate", "words correlate", "words extract", "words validate"),
}
_MODULES = {job: module for module, jobs in _JOBS.items() for job in jobs}


@dataclass(frozen=True, slots=True)
class Presentation:
    """How records of one job are read and shown."""

    build: Callable[[RunRecord], Page]
    types: tuple[Any, Any] | Callable[[Mapping[str, Any]], tuple[Any, Any]]
    """the classes of a result and of the statistics, or how to tell from the record's config"""
    limits: tuple[str, ...] | Callable[[Mapping[str, Any]], tuple[str, ...]] = ()
    """what the results do not mean, or how to tell from the config: the last section of a report"""


def presentation(job: str, config: Mapping[str, Any]) -> Presentation | None:
    """Return how a job is shown; None for one that has no page of its own."""
    corpus = config.get("corpus")
    name = job
    if isinstance(corpus, Mapping):
        name = f"{job} estimate" if corpus.get("dry_run") else f"{job} corpus"
    if name not in _MODULES:
        return None
    module = importlib.import_module(f"moralscope.pages.{_MODULES[name]}")
    known: Mapping[str, Presentation] = module.PRESENTATIONS
    return known[name]


def read_record(plain: Any, name: str = "the run record") -> RunRecord:
    """Return a saved record in its typed form."""
    checked = check_record(plain, name)
    shown = presentation(checked["job"], checked["config"])
    types = shown.types if shown else (Any, Any)
    result, statistics = types(checked["config"]) if callable(types) else types
    return RunRecord(
        checked["job"],
        seed=checked["seed"] if isinstance(checked.get("seed"), int) else 0,
        config=checked["config"],
        models=decode(list[ModelRef], checked["models"], name),
        results=decode(list[result], checked["results"], name),  # type: ignore[valid-type]
        statistics=decode(statistics, checked["statistics"], name),
        warnings=[str(line) for line in checked["warnings"]],
        version=str(checked.get("version") or ""),
        created=str(checked.get("created") or ""),
    )


def page_of(record: RunRecord) -> Page:
    """Build the page of a typed record: the command's own, and the end that every page has."""
    from moralscope.pages.closing import closing_sections
    from moralscope.pages.generic import generic_page

    record = replace(record, config=to_plain(record.config))
    shown = presentation(record.job, record.config)
    page = shown.build(record) if shown else generic_page(record)
    limits = shown.limits if shown else ()
    closing = closing_sections(record, limits(record.config) if callable(limits) else limits)
    return replace(
        page,
        sections=[*page.sections, *closing],
        warnings=list(record.warnings),
        footer=f"moralscope {record.version} · {record.created}",
    )


def report_html(record: RunRecord | Any, name: str = "the run record") -> str:
    """Return the report of a run record, or of its plain form, as one HTML document."""
    from moralscope.pages.html import render

    return render(build_page(record, name))


def figure_bytes(record: RunRecord | Any, suffix: str, name: str = "the run record") -> bytes:
    """Return a static figure (.svg, .png or .pdf); the same record gives the same SVG."""
    from moralscope.pages.figure import draw

    return draw(build_page(record, name), suffix)


def view(record: RunRecord | Any, name: str = "the run record") -> dict[str, Any]:
    """Return what the local page draws of a record."""
    from moralscope.pages.web import view as page_view

    return page_view(build_page(record, name))


def build_page(record: RunRecord | Any, name: str = "the run record") -> Page:
    """Build the page of a run record or of its plain form."""
    return page_of(record if isinstance(record, RunRecord) else read_record(record, name))


def check_report_place(path: Path) -> None:
    """Refuse a place for a report before any work is done."""
    if path.suffix.lower() not in _REPORTS:
        raise InputError(f"{path} is not an HTML file", "end its name in .html")
    check_writable(path)


def check_figure_place(path: Path) -> None:
    """Refuse a place for a figure before any work is done."""
    if path.suffix.lower() not in FIGURES:
        raise InputError(f"{path} is not a figure file", f"end its name in {', '.join(FIGURES)}")
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
    ...     write_report(score(["kill time"], encoder="scripted"), str(path))
    ...     "kill time" in path.read_text("utf-8")
    True
    """
    path = Path(path)  # people give texts, too
    check_report_place(path)
    write_whole(path, [report_html(record, name).encode()])


def write_figure(record: RunRecord | Any, path: Path, *, name: str = "the run record") -> None:
    """Write the static figure of a run record: .svg, .png or .pdf."""
    check_figure_place(path)
    write_whole(path, [figure_bytes(record, path.suffix.lower(), name)])
