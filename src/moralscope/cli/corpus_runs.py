"""Corpus runs at the terminal: the bar with its rate, and the summary at the end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moralscope.axes.corpus import CorpusOptions
    from moralscope.cli.corpus_options import CorpusGiven
    from moralscope.core.records import RunRecord

_SHOWN = 5
_SHORT = 100


def run_corpus_job(
    asked: Any,
    options: "CorpusOptions",
    given: "CorpusGiven",
    *,
    json: bool,
    report: Path | None,
    show: Callable[["RunRecord"], None],
) -> "RunRecord":
    """Run a job over a corpus, or estimate it; print and draw its record."""
    from moralscope.axes.corpus import open_job, run_job
    from moralscope.axes.corpus_estimate import estimate_job
    from moralscope.cli.output import counting, emit, fetching, note

    with fetching() as progress:
        job = open_job(asked, options, progress)
    if given.dry_run:
        with counting("rows counted") as step:
            found = estimate_job(job, given.price, lambda rows: step(rows, rows))
        emit(found, json=json, path=None, show=show_estimate, report=report)
        return found
    with rows_bar() as told:
        found = run_job(job, told)
    emit(found, json=json, path=None, show=lambda record: _show(record, show), report=report)
    if not json:
        note(f"parts: {options.out}")
    return found


@contextmanager
def rows_bar() -> Iterator[Callable[[Any], None]]:
    """Show rows, rate and time left on stderr, when it is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from moralscope.cli.output import notes

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TextColumn("{task.fields[pace]}"),
        console=notes,
        transient=True,
        disable=not notes.is_terminal,
    ) as bar:
        task = bar.add_task("planning", total=None, pace="")

        def told(now: Any) -> None:
            left = "" if now.seconds_left is None else f", {duration(now.seconds_left)} left"
            failed = f", {now.failed:,} failed" if now.failed else ""
            pace = f"{now.rate:,.0f} rows/s{left}{failed}" if now.rate else ""
            bar.update(
                task, description=now.state, completed=now.rows, total=now.rows_total, pace=pace
            )

        yield told


def duration(seconds: float) -> str:
    """Write a time as h:mm:ss."""
    return str(timedelta(seconds=round(seconds)))


def show_estimate(record: "RunRecord") -> None:
    """Print what a run would take."""
    from moralscope.cli.output import out, plain_table, print_warnings

    found = record.statistics["estimate"]
    about = "" if found.exact else "about "
    table = plain_table("estimate", " ")
    table.columns[1].justify = "left"
    table.add_row("rows", f"{found.rows:,}")
    table.add_row("distinct", f"{about}{found.distinct:,} ({found.distinct_share:.0%})")
    if found.failed_share:
        table.add_row("cannot be read", f"about {found.failed_share:.1%} of the rows")
    pace = f"{1000 * found.seconds_a_row:,.2f} ms a row, {found.start_seconds:,.1f} s to start"
    table.add_row("one worker", f"{pace} (timed on {found.drawn} rows)")
    table.add_row(
        f"time with {found.workers} worker{'s' * (found.workers > 1)}",
        f"about {duration(found.seconds)} ({found.rows_a_second:,.0f} rows a second)",
    )
    table.add_row("to be written", f"about {size(found.bytes)}")
    if found.cost is not None:
        table.add_row("cost", f"about {found.cost:,.2f}")
    out.print(table)
    print_warnings(record)


def size(count: float) -> str:
    """Write bytes so that they can be read."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count:,.0f} bytes"


def _show(record: "RunRecord", show: Callable[["RunRecord"], None]) -> None:
    from moralscope.cli.output import clean, out, plain_table

    found = record.statistics["corpus"]
    resumed = f", {found.resumed_parts:,} of them there before" if found.resumed_parts else ""
    out.print(
        f"{found.rows:,} rows ({found.distinct:,} distinct) in {found.parts:,} parts{resumed}; "
        f"{duration(found.seconds)}, {found.rate:,.0f} rows a second",
        style="bold",
    )
    failed = record.statistics["failed"]
    if failed["rows"]:
        table = plain_table("failed rows", "count")
        for row in failed["reasons"][:_SHOWN]:
            table.add_row(clean(row["reason"][:_SHORT]), f"{row['rows']:,}")
        out.print(table)
    show(record)


def show_scores(record: "RunRecord") -> None:
    """Print how scores are spread, and the lowest and highest of them."""
    from moralscope.cli.output import out, print_warnings

    found = record.statistics
    scores = found["scores"]
    if scores.n:
        spread = found["quantiles"]
        out.print(
            f"mean score {scores.mean:+.3f} (sd {scores.sd:.3f}); 90 % lie between "
            f"{spread['0.05']:+.3f} and {spread['0.95']:+.3f}"
        )
        _listed("lowest", found["lowest"])
        _listed("highest", found["highest"])
    print_warnings(record)


def show_collected(record: "RunRecord") -> None:
    """Print how many replies passed each step."""
    from moralscope.cli.output import out, plain_table, print_warnings

    table = plain_table("step", "replies")
    for step in record.statistics["steps"]:
        table.add_row(step["step"], f"{step['all']:,}")
    out.print(table)
    print_warnings(record)


def _listed(title: str, rows: "Sequence[Mapping[str, Any]]") -> None:
    from moralscope.cli.output import clean, out, plain_table

    table = plain_table(title, "score", "id")
    for row in rows[:_SHOWN]:
        table.add_row(clean(row["action"][:_SHORT]), f"{row['score']:+.3f}", clean(row["id"]))
    out.print(table)
