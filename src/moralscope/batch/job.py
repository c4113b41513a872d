"""A batch job: what a subject does with a corpus, from the first look at the input to the record.

`score`, `audit`, `collect` and `survey` each have one class of their own. All that is said here
holds for any of them: the input is opened and the models are loaded before a row is read, the
corpus is run in workers, and the record is drawn from the parts.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from moralscope.batch.block_worker import RowErrors, WorkSpec
from moralscope.batch.child import in_child
from moralscope.batch.files import shown
from moralscope.batch.folder import INNER, ROW, RunFolder
from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.batch.parts import Parts
from moralscope.batch.run import RunProgress, engine_for, run_corpus
from moralscope.batch.sources import CorpusFiles, open_corpus
from moralscope.batch.types import Outcome
from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord, Statistics, to_plain
from moralscope.io.files import write_record
from moralscope.io.tables import parse_columns
from moralscope.models.store import Progress as Fetching

Batch = Mapping[str, list[Any]]  # columns of rows, as a worker gets them
Columns = Mapping[str, str]  # our name of a column → the input's
Cell = TypeVar("Cell")
T = TypeVar("T")
_ID = "id"  # names rows in the record, where the input has it
_LOADER = "moralscope.batch.job:load_job"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a job found when it was prepared, and what its record says of it."""

    state: Any
    """What was read and fitted, for the workers: a file that changes meanwhile changes nothing,
    and no other machine needs it."""
    writes: pa.Schema
    """The columns that come out."""
    decides: Mapping[str, Any]
    """All that decides the numbers beside rows, models and columns: a run is only continued where
    it is the same."""
    config: Mapping[str, Any]
    models: Sequence[ModelRef] = ()
    warnings: Sequence[str] = ()
    statistics: Mapping[str, Any] = field(default_factory=dict)


class BatchJob(Protocol):
    """What a subject does with a corpus: prepared once, loaded in every worker, called, summed up.

    A job is pickled before it is loaded. A call gets columns and returns columns of the same
    length; rows that it cannot do are raised as `RowErrors` (see `read_each`).
    """

    name: str
    """What the record calls it."""
    columns: Columns
    """What our columns are called in the input."""
    structured: bool = False
    """Whether they may hold lists and objects, which a worker gets as JSON text."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Our names of the columns that decide a row's results."""
        ...

    @property
    def needed(self) -> tuple[str, ...]:
        """Those of them that must hold text."""
        return self.reads[:1]

    @property
    def light(self) -> bool:
        """Whether preparing loads no weights; else a process of its own does it.

        So the process that runs the corpus stays small.
        """
        return False

    @property
    def slow(self) -> bool:
        """Whether a row takes a second: then parts are small, because a kill loses a part."""
        return False

    def began(self, settings: Mapping[str, Any]) -> "BatchJob":
        """Return the job as a run began it that is continued now."""
        return self

    def prepare(self, progress: Fetching | None = None) -> Prepared:
        """Load everything once: wrong options and missing weights are told before a row is read."""
        ...

    def load(self, state: Any) -> None:
        """Load the models of a worker."""
        ...

    def __call__(self, batch: Batch) -> Mapping[str, list[Any]]:
        """Compute a batch of rows."""
        ...

    def sum_up(self, parts: Parts, prepared: Prepared, outcome: Outcome) -> Statistics:
        """Return the figures of all parts, with the outcome (`corpus`) and what `failed`."""
        ...

    def notes(self, statistics: Mapping[str, Any]) -> list[str]:
        """Return what the record has to say about the figures of all parts."""
        return []

    def theirs(self, name: str) -> str:
        """Return what a column of ours is called in the input."""
        return self.columns.get(name, name)


def load_job(job: BatchJob, state: Any) -> BatchJob:
    """Return the job with its models, for one worker."""
    loaded = copy(job)
    loaded.load(state)
    return loaded


def read_each(values: Sequence[Cell], read: Callable[[Cell], T]) -> list[T]:
    """Read every value; those that raise a ValueError are raised together, by their positions.

    Examples
    --------
    >>> read_each(["1", "2"], int)
    [1, 2]
    """
    cells: list[T] = []
    problems: dict[int, str] = {}
    for position, value in enumerate(values):
        try:
            cells.append(read(value))
        except ValueError as error:
            problems[position] = str(error)
    if problems:
        raise RowErrors(problems)
    return cells


def job_columns(text: str | None, reads: Sequence[str]) -> dict[str, str]:
    """Read `--columns` of a corpus run: ours=theirs, by commas."""
    return parse_columns(text, (*reads, _ID), like="action=reply")


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job whose input was opened and whose models were loaded once."""

    job: BatchJob
    prepared: Prepared
    corpus: CorpusFiles
    paths: BatchPlace
    options: BatchOptions

    @property
    def spec(self) -> WorkSpec:
        """What workers are to do."""
        reads = tuple(self.job.theirs(name) for name in self.job.reads)
        options = {"job": self.job, "state": self.prepared.state}
        return WorkSpec(_LOADER, options, reads, self.prepared.writes)

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the numbers, as plain values."""
        models, columns = list(self.prepared.models), dict(self.job.columns)
        plain: dict[str, Any] = to_plain(
            {"job": self.job.name, **self.prepared.decides, "models": models, "columns": columns}
        )
        return plain

    def record(self, statistics: Statistics, warnings: Sequence[str]) -> RunRecord:
        """Return a record of this job."""
        prepared, options = self.prepared, self.options
        corpus = {
            "inputs": [shown(name) for name in self.paths.inputs],
            "files": len(self.corpus.files),
            "bytes": self.corpus.bytes,
            "out": str(self.paths.out) if self.paths.out is not None else None,
            "columns": dict(self.job.columns),
            "engine": options.engine_name,
            "workers": options.workers,
            "limit": options.limit,
            "sample": options.sample,
            **({"dry_run": True} if options.dry_run else {}),
        }
        config, models = {**prepared.config, "corpus": corpus}, list(prepared.models)
        return RunRecord(
            self.job.name, options.seed, config, models, [], statistics, list(warnings)
        )


def open_job(
    job: BatchJob,
    paths: BatchPlace,
    options: BatchOptions | None = None,
    progress: Fetching | None = None,
) -> OpenJob:
    """Open the input, look at the folder, load the models once: all that can fail early."""
    options = options or BatchOptions()
    engine_for(options)  # one that is not installed is told before anything is read
    if paths.out is not None and paths.out.exists():
        with RunFolder(paths.out, resume=options.resume) as folder:
            manifest = folder.manifest()
        if manifest is not None:
            if not options.resume:
                problem = f"{paths.out} has a run already"
                raise InputError(problem, "continue with --resume or give another --out")
            job = job.began(manifest.settings)
            options = replace(options, hash_inputs=options.hash_inputs or manifest.hash_inputs)
    corpus = open_corpus(
        paths.inputs,
        [job.theirs(name) for name in job.needed],
        optional=[job.theirs(name) for name in job.reads if name not in job.needed],
        scratch=_scratch(paths.out) if paths.out is not None else None,
        hashed=options.hash_inputs,
        structured=job.structured,
    )
    prepared = job.prepare(progress) if job.light else in_child(job.prepare, progress=progress)
    if job.slow:
        options = replace(options, block_rows=256, call_rows=16)
    return OpenJob(job, prepared, corpus, paths, options)


def run_job(opened: OpenJob, report: Callable[[RunProgress], None] | None = None) -> RunRecord:
    """Run a job into its folder and return the record, which also lies there.

    With `options.resume` only what is missing is computed. The record is drawn from the parts.
    """
    job, prepared, out = opened.job, opened.prepared, opened.paths.out
    if out is None:
        raise InputError("there is no folder for the parts", "give --out DIR")
    spec = opened.spec
    outcome = run_corpus(
        opened.corpus, spec, out, opened.options, settings=opened.settings, report=report
    )
    shutil.rmtree(_scratch(out), ignore_errors=True)
    taken = {*spec.writes.names, ROW}
    names = {name: job.theirs(name) for name in (*job.reads, _ID)}
    parts = Parts(out, {n: f"input_{name}" if name in taken else name for n, name in names.items()})
    failed = parts.failed()
    statistics = job.sum_up(parts, prepared, outcome)
    warnings = [*prepared.warnings, *job.notes(statistics)]
    if failed.rows:
        total = failed.rows + outcome.rows
        warnings.append(
            f"{failed.rows:,} of {total:,} rows failed: they are in _run/failed.jsonl, with reasons"
        )
    record = opened.record(statistics, warnings)
    path = out / INNER / "record.json"
    # What was finished before keeps the record of the run that made it, with its times.
    if outcome.resumed_parts < outcome.parts or not path.is_file():
        write_record(record, path)
    return record


def _scratch(folder: Path) -> Path:
    """Return where packed files are unpacked: whoever can read the parts can read these, too."""
    return folder / INNER / "unpacked"
