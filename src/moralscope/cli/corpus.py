"""Commands that can run over a corpus: when they do, the bar with its rate, and the summary.

`moralscope corpus` looks after the folders that they write.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import MofNCompleteColumn, TextColumn

from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.cli.declare import takes
from moralscope.cli.options import CorpusOutput, ListingOptions
from moralscope.cli.output import (
    counting,
    emit,
    fetching,
    note,
    out,
    print_json,
    progress_bar,
    starting,
)
from moralscope.core.options import input_option

if TYPE_CHECKING:
    from moralscope.batch.job import BatchJob
    from moralscope.batch.run import RunProgress
    from moralscope.core.records import RunRecord

_SHOWN = 5

app = typer.Typer(help="Folders of corpus runs: verify.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Look after the folders that corpus runs write (score, audit, collect with --out DIR)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions(ListingOptions):
    """What is compared beside the parts."""

    inputs: Annotated[
        bool, input_option("Also compare the input files: by content if the run had --hash-inputs.")
    ] = False


@app.command()
@takes
def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The --out of a corpus run.")],
    options: VerifyOptions,
) -> None:
    """Check that a folder holds what its run wrote: every part and failed row, by checksum.

    Exits with 1 if a part was altered, is missing or was not written by the run.

    Example: moralscope corpus verify audited --inputs
    """
    from moralscope.batch.verify import verify_folder
    from moralscope.pages.terminal import clean

    check = verify_folder(folder, inputs=options.inputs)
    if options.json:
        print_json(check)
    else:
        for problem in check.problems:
            out.print(clean(problem), soft_wrap=True)
        state = "a finished run" if check.finished else "a run that is not finished"
        read = f", {check.inputs:,} inputs ({check.hashed_inputs:,} by content)"
        out.print(
            f"{check.parts:,} parts of {state}, {check.rows:,} rows, {check.failed:,} failed"
            f"{read if options.inputs else ''}: "
            + (f"{len(check.problems):,} problems" if check.problems else "all as written"),
            soft_wrap=True,
        )
    if check.problems:
        raise typer.Exit(1)


def wants_corpus(
    inputs: Sequence[str], out: str | None, options: BatchOptions, *, parquet: bool = True
) -> bool:
    """Tell a corpus run from one that keeps its results in one record.

    `parquet` says whether the command reads a Parquet file without being told of a corpus.
    """
    if options.given or len(inputs) > 1:
        return True
    if not inputs:
        return out is not None and _is_folder(out)
    from moralscope.batch.files import is_corpus
    from moralscope.io.tables import is_table

    (name,) = inputs
    if is_corpus(name) or (not parquet and name.lower().endswith(".parquet")):
        return True
    return out is not None and (_is_folder(out) or (not Path(out).suffix and is_table(name)))


def _is_folder(out: str) -> bool:
    return out.endswith(("/", "\\")) or Path(out).is_dir()


def run_over_corpus(
    job: "BatchJob", inputs: Sequence[str], options: BatchOptions, output: CorpusOutput
) -> "RunRecord":
    """Run a job over a corpus, or estimate it; print and draw its record."""
    from moralscope.batch.job import open_job, run_job

    paths = BatchPlace.given(inputs, output.out, options)
    starting(reading=", ".join(paths.inputs[:_SHOWN]), quiet=output.json)
    with fetching() as progress:
        opened = open_job(job, paths, options, progress)
    if options.dry_run:
        from moralscope.batch.estimate import estimate_job

        with counting("rows counted") as step:
            record = estimate_job(opened, lambda rows: step(rows, rows))
    else:
        with _rows_bar() as report_rows:
            record = run_job(opened, report_rows)
    emit(record, json=output.json, path=None, report=output.report)
    if not output.json and not options.dry_run:
        note(f"parts: {paths.out}")
    return record


@contextmanager
def _rows_bar() -> "Iterator[Callable[[RunProgress], None]]":
    """Show rows, rate and time left on stderr, when it is a terminal."""
    columns = (MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
    with progress_bar(*columns) as bar:
        task = bar.add_task("planning", total=None, pace="")

        def report_rows(now: "RunProgress") -> None:
            left = ""
            if now.seconds_left is not None:
                left = f", {timedelta(seconds=round(now.seconds_left))} left"
            failed = f", {now.failed:,} failed" if now.failed else ""
            pace = f"{now.rate:,.0f} rows/s{left}{failed}" if now.rate else ""
            bar.update(
                task, description=now.state, completed=now.rows, total=now.rows_total, pace=pace
            )

        yield report_rows
