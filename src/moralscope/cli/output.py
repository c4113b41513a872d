"""What commands print: a record as its page, lines beside it, bars while they work."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from moralscope.core.printable import printable

if TYPE_CHECKING:
    from moralscope.cli.options import CorpusOutput, RecordOutput
    from moralscope.core.protocols import Encoder
    from moralscope.core.records import RunRecord
    from moralscope.pages.page import Page


class CleanConsole(Console):
    """A console whose texts hold nothing that a terminal obeys, whoever wrote them.

    Every print, table and bar goes through `render`; rich's own codes are segments of their own.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the pieces of what is printed, cleaned; isolates keep Arabic in its column."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text, keep="\n\u2068\u2069"), segment.style)


out = CleanConsole(highlight=False)
notes = CleanConsole(stderr=True, highlight=False)


def emit(
    record: "RunRecord",
    *,
    json: bool,
    path: Path | None,
    report: Path | None = None,
    figure: Path | None = None,
    page: "Page | None" = None,
) -> None:
    """Print a run record (as JSON or as its page); save and draw it where asked to.

    The terminal draws `page` instead, where there is one.
    """
    from moralscope.io.files import record_lines, write_record
    from moralscope.pages import page_of, write_figure, write_report
    from moralscope.pages.terminal import render

    if path is not None:
        write_record(record, path)
    if json:
        sys.stdout.writelines(record_lines(record))
        sys.stdout.flush()
    else:
        render(page or page_of(record), out)
    if report is not None:
        write_report(record, report)
    if figure is not None:
        write_figure(record, figure)
    for what, file in (("run record", path), ("report", report), ("figure", figure)):
        if file is not None and not json:
            note(f"{what}: {file}")


def emit_to(
    output: "RecordOutput | CorpusOutput", record: "RunRecord", page: "Page | None" = None
) -> None:
    """Print, save and draw a run record as the output options say."""
    places = asdict(output)
    out = places.pop("out")
    emit(record, path=None if out is None else Path(out), page=page, **places)


def require_gate(record: "RunRecord") -> None:
    """Fail where the record holds a gate that is not met."""
    gate = record.statistics.get("gate")
    if gate is not None:
        gate.require()


def print_json(value: object) -> None:
    """Print what is no run record as JSON."""
    from moralscope.core.records import to_plain

    sys.stdout.write(dumps(to_plain(value), indent=1) + "\n")


def note(line: str) -> None:
    """Print a line beside the result: on stderr, never in the way of a pipe."""
    notes.print(Text(printable(line), style="dim"), soft_wrap=True)


def starting(*loading: object, reading: object = None, quiet: bool) -> None:
    """Say which file is read and what is loaded, before the first bar; only in a terminal.

    What is None was not asked for; `quiet` is for JSON.
    """
    named = ", ".join(str(name) for name in loading if name)
    parts = [f"reading {reading}"] if reading else []
    parts += [f"loading {named}"] if named else []
    if parts and not quiet and notes.is_terminal:
        note("; ".join(parts) + " …")


def progress_bar(*columns: ProgressColumn) -> Progress:
    """Return a bar for stderr, with more columns behind it; it is silent in a pipe."""
    first = (TextColumn("{task.description}"), BarColumn())
    return Progress(*first, *columns, console=notes, transient=True, disable=not notes.is_terminal)


def open_in_browser(address: str) -> None:
    """Open a page in the user's browser; where there is none, its address was told."""
    import webbrowser

    if not webbrowser.open(address):
        note(f"no browser was found: open {address} yourself")


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on stderr while work goes on, when stderr is a terminal."""
    with progress_bar(MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task(what, total=None)

        def step(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield step


@contextmanager
def training_bar() -> Iterator[Callable[[Any], None]]:
    """Show step, loss, dev and time left on stderr while training, when stderr is a terminal."""
    with progress_bar(MofNCompleteColumn(), TextColumn("{task.fields[left]}")) as bar:
        task = bar.add_task("training", total=None, left="")

        def report(moment: Any) -> None:
            minutes, seconds = divmod(int(moment.seconds_left), 60)
            dev = f" dev {moment.dev['score']:.3f}" if moment.dev else ""
            bar.update(
                task,
                completed=moment.step,
                total=moment.steps,
                description=f"epoch {moment.epoch} loss {moment.loss:.3f}{dev}",
                left=f"{minutes}:{seconds:02d} left",
            )

        yield report


@contextmanager
def fetching() -> Iterator[Callable[[str, int, int], None]]:
    """Show bars on stderr while weights are fetched, when stderr is a terminal."""
    tasks = {}
    with progress_bar(DownloadColumn(), TimeRemainingColumn()) as bar:

        def report(label: str, done: int, total: int, /) -> None:
            if label not in tasks:
                tasks[label] = bar.add_task(label, total=total)
            bar.update(tasks[label], completed=done, total=total)

        yield report


def fetched_encoder(name: str) -> "Encoder":
    """Return an encoder; its weights are fetched under a bar where they are not here."""
    from moralscope.models.encoders import load_encoder

    with fetching() as progress:
        return load_encoder(name, progress)
