"""A whole run over a corpus: plan, compute, join, write; and again from where it was stopped.

Parts are written strictly in order of blocks, so that the results of a text are always there when
a later block repeats it. Time is measured by the monotonic clock: a clock that jumps changes
nothing. Knows nothing of what is computed.
"""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from moralscope.batch.block_worker import BlockResult, WorkSpec, load_named
from moralscope.batch.folder import GO_ON, RunFolder, part_schema
from moralscope.batch.options import ENGINES, BatchOptions
from moralscope.batch.plan import make_plan
from moralscope.batch.plan_file import RunPlan
from moralscope.batch.sources import CorpusFiles
from moralscope.batch.types import Outcome, RowBlock, Task
from moralscope.core.errors import MoralscopeError
from moralscope.core.records import values_of
from moralscope.version import __version__

_PAUSE = 0.5  # seconds between two reports
_SPACE = 1.5  # bytes of output and plan for a byte of input, at worst
_HELD = 32 << 20  # bytes of early results held in memory


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Where a run stands; `_run/progress.json` holds the same names.

    Examples
    --------
    >>> RunProgress("running", rows=500, rows_total=1000, rate=100.0).seconds_left
    5.0
    """

    state: str  # planning, running, finished, stopped or failed
    rows: int = 0  # done, the failed ones with them
    rows_total: int | None = None
    failed: int = 0
    parts: int = 0
    parts_total: int | None = None
    rate: float = 0.0  # rows a second in this session

    @property
    def seconds_left(self) -> float | None:
        """Return how long the rest takes at this rate; None until it is known."""
        if self.rows_total is None or not self.rate:
            return None
        return max(0.0, (self.rows_total - self.rows) / self.rate)


Report = Callable[[RunProgress], None]


class ProgressReporter:
    """Tells now and then, not for every part; a change of state is told at once."""

    def __init__(self, out: RunFolder, report: Report | None) -> None:
        self._out = out
        self._report = report
        self._now = RunProgress("planning")
        self._last_state: str | None = None  # state
        self._next = 0.0

    @property
    def summary(self) -> str:
        """Return where the run stands, in words."""
        if self._now.parts_total is None:
            return f"{self._now.rows:,} rows were planned"
        return f"{self._now.parts:,} of {self._now.parts_total:,} parts are finished"

    def update(self, now: RunProgress) -> None:
        """Say where the run stands."""
        self._now = now
        if now.state == self._last_state and time.monotonic() < self._next:
            return
        self._last_state = now.state
        self._next = time.monotonic() + _PAUSE
        updated = datetime.now(UTC).isoformat(timespec="seconds")
        plain = {**asdict(now), "seconds_left": now.seconds_left, "updated": updated}
        self._out.write_progress(plain)
        if self._report is not None:
            self._report(now)

    def end(self, state: str) -> None:
        """Say how a run ended that did not finish; a full disk must not hide why."""
        with contextlib.suppress(MoralscopeError):
            self.update(replace(self._now, state=state))


class Engine(Protocol):
    """Computes tasks somewhere. Made with the options of the run."""

    def run(
        self, tasks: Iterable[Task], corpus: CorpusFiles, spec: WorkSpec
    ) -> Generator[BlockResult, None, None]:
        """Yield results in any order, taking few tasks ahead; closing it ends its workers."""
        ...


class RunStopped(MoralscopeError):
    """The user stopped the run; what is finished stays."""


def run_corpus(
    corpus: CorpusFiles,
    spec: WorkSpec,
    folder: Path,
    options: BatchOptions,
    *,
    settings: Mapping[str, Any],
    report: Report | None = None,
) -> Outcome:
    """Compute a corpus into a folder of Parquet parts; with `resume`, only what is missing.

    Parameters
    ----------
    spec
        The work. The columns it reads decide its results: rows that repeat them are joined.
    folder
        New, empty, or with this very run in it (`resume`).
    settings
        All that decides the results beside the rows, as plain values: kept in the manifest, and
        asked to be the same on resume.
    """
    engine = engine_for(options)
    identity = {  # what must be the same when a run is continued
        "version": __version__,
        "hash_inputs": options.hash_inputs,
        "fingerprint": corpus.fingerprint,
        "work": spec.factory,
        "reads": list(spec.reads),
        "settings": dict(settings),
        **values_of(options, "block_rows", "call_rows", "limit", "sample", "seed"),
    }
    with RunFolder(folder, resume=options.resume) as out:
        resumed = out.check(identity)
        reporter = ProgressReporter(out, report)
        try:
            with contextlib.closing(_plan(corpus, spec, options, out, reporter)) as plan:
                if not resumed:
                    out.begin(identity, corpus.inputs)
                return _Run(plan, plan.bind(corpus), spec, out, reporter).through(engine)
        except KeyboardInterrupt:
            reporter.end("stopped")
            raise RunStopped(f"stopped; {reporter.summary}", "continue with --resume") from None
        except sqlite3.Error as error:
            reporter.end("failed")
            raise MoralscopeError(f"{out.plan} could not be used ({error})", GO_ON) from error
        except BaseException:
            reporter.end("failed")
            raise


def engine_for(options: BatchOptions) -> Engine:
    """Return the engine that the options name; one that is not installed is refused."""
    engine: Engine = load_named(ENGINES[options.engine_name])(options)
    return engine


def _plan(
    corpus: CorpusFiles,
    spec: WorkSpec,
    options: BatchOptions,
    out: RunFolder,
    reporter: ProgressReporter,
) -> RunPlan:
    """Open the plan of a run that began, make it for a new one."""
    if out.manifest() is not None and out.plan.exists():
        return RunPlan(out.plan)
    if options.limit is None:  # with a limit it is not known how many bytes will be read
        share = 1.0 if options.sample is None else options.sample
        out.check_space(int(corpus.bytes * share * _SPACE))
    out.plan.unlink(missing_ok=True)
    return make_plan(
        corpus,
        spec.reads,
        out.plan,
        options,
        report=lambda rows, _bytes: reporter.update(RunProgress("planning", rows)),
    )


class _Run:
    """The second pass: results come in any order, parts go out in order."""

    def __init__(
        self,
        plan: RunPlan,
        corpus: CorpusFiles,
        spec: WorkSpec,
        out: RunFolder,
        reporter: ProgressReporter,
    ) -> None:
        self._plan = plan
        self._corpus = corpus
        self._spec = spec
        self._out = out
        self._reporter = reporter
        self._schema = part_schema(corpus.schema, spec.writes)
        self._parts = out.finished()
        self._resumed = len(self._parts)
        self._blocks: dict[int, RowBlock] = {}  # given out and not yet written
        self._began = time.monotonic()
        self._rows = 0  # written in this session, failed ones too
        self._now = RunProgress(
            "running",
            rows=sum(part.rows + part.failed for part in self._parts.values()),
            rows_total=plan.rows,
            failed=sum(part.failed for part in self._parts.values()),
            parts_total=plan.blocks,
        )

    def through(self, engine: Engine) -> Outcome:
        """Compute and write all that is missing."""
        blocks = [number for number in range(self._plan.blocks) if number not in self._parts]
        self._tell("running")
        missing, early = iter(blocks), _Early(self._out)
        expected = next(missing, None)
        if expected is not None:
            with contextlib.closing(engine.run(self._tasks(), self._corpus, self._spec)) as stream:
                for done in stream:
                    if done.number in self._blocks:  # an engine may send a block twice
                        early.put(done)
                    while expected is not None and expected in early:
                        self._write(early.pop(expected))
                        expected = next(missing, None)
        if expected is not None:
            raise RuntimeError(f"the engine ended before block {expected} was done")
        parts = [self._parts[number] for number in sorted(self._parts)]
        self._out.finish(parts)
        self._tell("finished")
        seconds = time.monotonic() - self._began
        return Outcome(
            rows=sum(part.rows for part in parts),
            distinct=self._plan.distinct,
            failed=sum(part.failed for part in parts),
            parts=len(parts),
            seconds=seconds,
            resumed_parts=self._resumed,
            rate=self._rows / seconds if seconds > 0 else 0.0,
        )

    def _tasks(self) -> Iterator[Task]:
        for task in self._plan.tasks():
            if task.block.number not in self._parts:
                self._blocks[task.block.number] = task.block
                yield task

    def _write(self, done: BlockResult) -> None:
        read = self._corpus.read(self._blocks.pop(done.number))
        computed = done.table()
        self._plan.keep(done.number, read, computed, done.failed)
        completed = self._plan.complete(done.number, read, computed, done.failed)
        if completed is None:
            problem = f"{self._out.plan} has lost results of earlier parts"
            raise MoralscopeError(problem, "start again in another --out")
        # The rows that worked: as read, as computed, with their numbers.
        positions = completed.positions
        table = read.table
        if len(positions) < table.num_rows:
            table = table.take(pa.array(positions))
        rows = pa.array(read.rows[positions].astype(np.int64, copy=False))
        columns = [*table.columns, *completed.results.columns, rows]
        table = pa.Table.from_arrays(columns, schema=self._schema)
        part = self._out.write_part(done.number, table, completed.failed)
        self._parts[done.number] = part
        self._rows += part.rows + part.failed
        self._now = replace(
            self._now,
            rows=self._now.rows + part.rows + part.failed,
            failed=self._now.failed + part.failed,
        )
        self._tell("running")

    def _tell(self, state: str) -> None:
        seconds = time.monotonic() - self._began
        self._now = replace(
            self._now,
            state=state,
            parts=len(self._parts),
            rate=round(self._rows / seconds, 2) if seconds > 0 else 0.0,
        )
        self._reporter.update(self._now)


class _Early:
    """Results that came before their turn: few in memory, the rest on disk."""

    def __init__(self, out: RunFolder) -> None:
        self._out = out
        self._waiting: dict[int, tuple[BlockResult, Path | None]] = {}
        self._bytes = 0

    def __contains__(self, number: int) -> bool:
        return number in self._waiting

    def put(self, done: BlockResult) -> None:
        if self._bytes + len(done.results) <= _HELD:
            self._bytes += len(done.results)
            self._waiting[done.number] = done, None
        else:
            path = self._out.set_aside(done.number, done.results)
            self._waiting[done.number] = replace(done, results=b""), path

    def pop(self, number: int) -> BlockResult:
        done, path = self._waiting.pop(number)
        if path is None:
            self._bytes -= len(done.results)
            return done
        done = replace(done, results=path.read_bytes())
        path.unlink()
        return done
