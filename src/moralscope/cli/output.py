"""Rendering in the terminal: tables, bars, progress. Texts from users are never markup."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import bidirectional, category

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from moralscope.cli.options import RecordOutput
    from moralscope.core.records import ActionScore, RunRecord

_BAR = 12  # cells on each side of zero
_SHORT_BAR = 6  # the same where more columns stand beside it
_SHOWN = 20
GOOD, BAD = "green", "red"
_JOINERS = "\u200c\u200d"  # between letters of Hindi and Persian

out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)


def emit(
    record: "RunRecord",
    *,
    json: bool,
    path: Path | None,
    show: Callable[["RunRecord"], None] | None = None,
    report: Path | None = None,
    figure: Path | None = None,
) -> None:
    """Print a run record (as JSON or as its page); save and draw it where asked to.

    `show` is for commands whose page is not typed yet.
    """
    from moralscope.io.files import record_lines, write_record
    from moralscope.pages import page_of, write_figure, write_report
    from moralscope.pages.terminal import render

    if path is not None:
        write_record(record, path)
    if json:
        sys.stdout.writelines(record_lines(record))
        sys.stdout.flush()
    elif show is not None:
        show(record)
    else:
        render(page_of(record), out)
    if report is not None:
        write_report(record, report)
    if figure is not None:
        write_figure(record, figure)
    for what, place in (("run record", path), ("report", report), ("figure", figure)):
        if place is not None and not json:
            note(f"{what}: {place}")


def emit_to(
    output: "RecordOutput",
    record: "RunRecord",
    show: Callable[["RunRecord"], None] | None = None,
) -> None:
    """Print, save and draw a run record as the output options say."""
    from moralscope.cli.options import OutputOptions, ReportOutput

    emit(
        record,
        json=output.json,
        path=output.out,
        show=show,
        report=output.report if isinstance(output, ReportOutput) else None,
        figure=output.figure if isinstance(output, OutputOptions) else None,
    )


def note(line: str) -> None:
    """Print a line beside the result: on stderr, never in the way of a pipe."""
    notes.print(Text(line, style="dim"), soft_wrap=True)


def starting(*loading: object, reading: object = None, quiet: bool) -> None:
    """Say which file is read and what is loaded, before the first bar; only in a terminal.

    What is None was not asked for; `quiet` is for JSON.
    """
    named = ", ".join(str(name) for name in loading if name)
    parts = [f"reading {reading}"] if reading else []
    parts += [f"loading {named}"] if named else []
    if parts and not quiet and notes.is_terminal:
        note("; ".join(parts) + " …")


def correlation_rows(label: str, correlation: Any) -> list[tuple[str, str]]:
    """Lay out a correlation with its interval, and below it the same within each group."""
    span = f"({correlation.low:.2f} … {correlation.high:.2f}), n = {correlation.n}"
    rows = [(label, f"{correlation.r:.3f}{correlation.stars} {span}")]
    for group, inner in correlation.within.items():
        rows.append((f"  within {group}", f"{inner.r:+.3f}{inner.stars}, n = {inner.n}"))
    return rows


def clean(text: str) -> Text:
    """Make hostile text safe to print: no markup, no control characters, one line.

    Text that runs from right to left is isolated, so that what stands beside it keeps its place.
    """
    if text.isascii() and text.isprintable():
        return Text(text)
    shown = "".join(_shown(char) for char in text)
    if any(bidirectional(char) in ("R", "AL") for char in shown):
        shown = f"\u2068{shown}\u2069"
    return Text(shown)


def _shown(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    return " " if category(char) == "Zs" else "�"


def score_table(
    scores: Sequence["ActionScore"],
    interval: str = "95 % interval",
    ends: tuple[str, str] = ("bad", "good"),
    more: Mapping[str, Callable[[Any], str]] | None = None,
) -> Table:
    """Draw scores, best first, as bars around zero; the middle of a long list is left out.

    `more` has columns beside them by their title, and what stands there of a row.
    """
    table = Table(box=None, pad_edge=False)
    columns = more or {}
    half = _BAR if not columns else _SHORT_BAR
    table.add_column("action", overflow="fold", max_width=44)
    table.add_column(f"{ends[0].rjust(half)} {ends[1]}", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column(interval, justify="right", no_wrap=True)
    for title in columns:
        table.add_column(title, no_wrap=True)
    ordered = sorted(scores, key=lambda row: -row.score)
    scale = max((abs(row.score) for row in ordered), default=0.0) or 1.0
    hidden = len(ordered) - 2 * _SHOWN
    for number, row in enumerate(ordered):
        if hidden > 0 and _SHOWN <= number < len(ordered) - _SHOWN:
            if number == _SHOWN:
                table.add_row(f"… {hidden:,} more: --json or --out", "", "", "")
            continue
        table.add_row(
            clean(row.action),
            _bar(row.score / scale, half),
            Text(f"{row.score:+.3f}", style=GOOD if row.score > 0 else BAD),
            Text("" if isnan(row.low) else f"{row.low:+.3f} … {row.high:+.3f}", style="dim"),
            *(tell(row) for tell in columns.values()),
        )
    return table


def plain_table(
    *titles: str, title: str | None = None, rows: Iterable[Iterable["str | Text"]] = ()
) -> Table:
    """Return a table without lines: the first column to the left, numbers to the right."""
    table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(titles):
        left = number == 0 or name.strip() == titles[0]
        table.add_column(name.strip(), justify="left" if left else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _bar(share: float, cells: int) -> Text:
    """Draw -1 … 1 in half cells to the left or right of a middle line."""
    full, half = divmod(round(abs(share) * cells * 2), 2)
    if share < 0:
        body = ("╺" if half else "") + "━" * full
        return Text.assemble((body.rjust(cells), BAD), "│", " " * cells)
    body = "━" * full + ("╸" if half else "")
    return Text.assemble(" " * cells, "│", (body.ljust(cells), GOOD))


def print_warnings(record: "RunRecord") -> None:
    """Print the record's warnings under the table."""
    for line in record.warnings:
        out.print(Text(f"note: {line}", style="dim"))


def print_gate(gate: Any) -> None:
    """Print whether a gate was met, where there is one."""
    if gate is not None:
        values = ", ".join(f"{check.name} is {check.value:.4g}" for check in gate.checks)
        verdict = "met" if gate.met else "not met"
        out.print(clean(f"gate {gate.expression}: {verdict} ({values})"))


def progress_bar(*columns: ProgressColumn) -> Progress:
    """Return a bar for stderr, with more columns behind it; it is silent in a pipe."""
    first = (TextColumn("{task.description}"), BarColumn())
    quiet = not notes.is_terminal
    return Progress(*first, *columns, console=notes, transient=True, disable=quiet)


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
