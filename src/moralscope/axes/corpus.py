"""Any batch job over a corpus: files, folders and globs, here or on Ray, into a folder of parts.

`score`, `audit` and `collect` differ in what they prepare (`jobs.corpus_prepare`), in what a worker
does (`jobs.corpus_works`) and in their figures (`jobs.corpus_figures`); reading, planning, running
and writing are the workshop's (`engine.corpus`) and the same for all.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from moralscope.axes import corpus_figures as figures
from moralscope.axes import corpus_prepare as preparing
from moralscope.axes.corpus_prepare import Prepared
from moralscope.axes.options import AXES, ScoreOptions
from moralscope.batch.child import in_child
from moralscope.batch.finding import shown
from moralscope.batch.folder import INNER, ROW, RunFolder
from moralscope.batch.progress import Progress
from moralscope.batch.running import ENGINES, Outcome, RunOptions, run_corpus
from moralscope.batch.sources import Corpus, open_corpus
from moralscope.batch.working import load_named
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.io.run_records import write_record
from moralscope.io.tables import parse_columns
from moralscope.models.store import Progress as Fetching
from moralscope.rules.audit import check_options as check_audit
from moralscope.rules.audit_statistics import figures as gate_figures
from moralscope.rules.options import AuditOptions, CollectOptions
from moralscope.stats.gates import check_gate, parse_gate

__all__ = ["CorpusJob", "CorpusOptions", "RunOptions", "ScoreOptions", "open_job", "run_job"]

Report = Callable[[Progress], None]
SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")
_PACKED = (".gz", ".zst")
_SCRIPTED = "scripted"
_COLUMNS = {
    **{name: kind.columns for name, kind in AXES.items()},
    "audit": preparing.AUDIT_COLUMNS,
    "collect": preparing.COLLECT_COLUMNS,
}
_LISTED = ("action", "prompt", "reply", "id")  # columns that the record lists rows by


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """What is read, where the parts go, and how it is run.

    Examples
    --------
    >>> CorpusOptions(("logs/*.jsonl",), Path("audited")).run.engine
    'local'
    """

    inputs: tuple[str, ...]
    out: Path | None = None  # None: only an estimate can be made
    columns: Mapping[str, str] = field(default_factory=dict)  # ours → theirs
    run: RunOptions = field(default_factory=RunOptions)


@dataclass(frozen=True, slots=True)
class CorpusJob:
    """A job whose input was opened and whose models were loaded once."""

    prepared: Prepared
    corpus: Corpus
    options: CorpusOptions
    gate: str | None = None


def is_corpus(given: str, *, tables: Sequence[str] = SUFFIXES) -> bool:
    """Tell whether an input can only be read as a corpus: a folder, a glob, a URL, a packed file.

    Examples
    --------
    >>> [is_corpus(name) for name in ("logs/*.jsonl", "s3://bucket/logs", "a.csv.gz", "a.csv")]
    [True, True, True, False]
    """
    packed = any(given.lower().endswith(f"{one}{other}") for one in tables for other in _PACKED)
    whole = Path(given)
    pattern = any(char in given for char in "*?[") and not whole.exists()
    return "://" in given or pattern or packed or whole.is_dir()


def is_table(given: str) -> bool:
    """Tell whether a file has the name of a table.

    Examples
    --------
    >>> is_table("a.csv"), is_table("a.txt")
    (True, False)
    """
    return given.lower().endswith(SUFFIXES)


def parse_corpus_columns(text: str | None, job: str) -> dict[str, str]:
    """Read `--columns` of a corpus run: ours=theirs, by commas. `job` is an axis, audit or collect.

    Examples
    --------
    >>> parse_corpus_columns("action=reply", "choice")
    {'action': 'reply'}
    """
    return parse_columns(text, (*_COLUMNS[job], "id"), like="action=reply")


def open_job(
    asked: ScoreOptions | AuditOptions | CollectOptions,
    options: CorpusOptions,
    progress: Fetching | None = None,
) -> CorpusJob:
    """Open the input, look at the folder, load the models once: all that can fail early.

    Parameters
    ----------
    asked
        What to do: score, audit, or ask chatbots and filter.
    options
        Input, output and engine.
    progress
        Told of weights as they are fetched.
    """
    _check_engine(options.run)
    if options.out is not None and options.out.exists():
        began = _look_at(options.out, options.run.resume)
        if began and isinstance(asked, ScoreOptions):  # as it began, so it goes on
            asked = replace(asked, batch_tokens=began.get("batch_tokens"), calibrate=False)
    job, prepare, arguments, light = _asked(asked, options.columns)
    gate = asked.gate if isinstance(asked, AuditOptions) else None
    names = [options.columns.get(name, name) for name in _COLUMNS[job]]
    needed = names if job == "audit" else names[:1]
    scratch = _scratch(options.out) if options.out is not None else None
    corpus = open_corpus(
        options.inputs,
        needed,
        optional=[each for each in names if each not in needed],
        scratch=scratch,
    )
    prepared: Prepared = (
        prepare(*arguments) if light else in_child(prepare, *arguments, progress=progress)
    )
    return CorpusJob(prepared, corpus, _sized(asked, options), gate)


def run_job(job: CorpusJob, report: Report | None = None) -> RunRecord:
    """Run a job into its folder and return the record, which also lies there.

    With `options.run.resume` only what is missing is computed. The record is drawn from the parts.
    """
    options, prepared = job.options, job.prepared
    if options.out is None:
        raise InputError("there is no folder for the parts", "give --out DIR")
    outcome = run_corpus(
        job.corpus,
        prepared.spec,
        options.out,
        options.run,
        settings=prepared.settings,
        report=report,
    )
    shutil.rmtree(_scratch(options.out), ignore_errors=True)
    record = _record(job, options.out, outcome)
    write_record(record, options.out / INNER / "record.json")
    return record


def _asked(
    asked: ScoreOptions | AuditOptions | CollectOptions,
    columns: Mapping[str, str],
) -> tuple[str, Callable[..., Prepared], tuple[Any, ...], bool]:
    """Return the job, what prepares it, with what, and whether that needs no weights."""
    if isinstance(asked, AuditOptions):
        check_audit(asked)
        models = {asked.experts, asked.encoder_name}
        models |= {asked.generator} if asked.revise else set()
        models |= {asked.writer} if asked.generate else set()
        return "audit", preparing.prepare_audit, (asked, columns), models == {_SCRIPTED}
    if isinstance(asked, CollectOptions):
        light = set(asked.bots) == {_SCRIPTED} and (
            asked.filters in ("none", _SCRIPTED) or asked.encoder == _SCRIPTED
        )
        return "collect", preparing.prepare_collect, (asked, columns), light
    light = (asked.experts or asked.encoder) == _SCRIPTED
    return asked.axis, preparing.prepare_score, (asked, columns), light


def _sized(asked: Any, options: CorpusOptions) -> CorpusOptions:
    """Give work that writes texts smaller parts: a row takes a second, and a kill loses a part."""
    writes = isinstance(asked, CollectOptions) or (
        isinstance(asked, AuditOptions) and (asked.revise or asked.generate)
    )
    if not writes:
        return options
    return replace(options, run=replace(options.run, block_rows=256, call_rows=16))


def _scratch(folder: Path) -> Path:
    """Return where packed files are unpacked: whoever can read the parts can read these, too."""
    return folder / INNER / "unpacked"


def _check_engine(run: RunOptions) -> None:
    """Refuse an engine that is not there before anything is read or loaded."""
    if run.engine not in ENGINES:
        problem = f"there is no engine '{run.engine[:60]}'"
        raise UnknownName(problem, did_you_mean(run.engine, ENGINES))
    load_named(ENGINES[run.engine])(run)


def _look_at(folder: Path, resume: bool) -> Mapping[str, Any]:
    """Return the settings of a run that is there; refuse the folder before any model is loaded."""
    with RunFolder(folder, resume=resume) as held:
        manifest = held.manifest()
        if manifest is not None and not resume:
            raise InputError(
                f"{folder} has a run already", "go on with --resume or give another --out"
            )
    settings = (manifest or {}).get("settings")
    return settings if isinstance(settings, dict) else {}


def _record(job: CorpusJob, folder: Path, outcome: Outcome) -> RunRecord:
    prepared = job.prepared
    found = _figures(job, folder)
    failed = figures.failed_rows(folder)
    statistics = {**found, **prepared.found, "corpus": outcome, "failed": failed}
    if prepared.job == "audit":
        gate = parse_gate(job.gate, gate_figures(found, None)) if job.gate else None
        statistics |= {
            "against": None,
            "seconds": outcome.seconds,
            "gate": check_gate(gate, {"": gate_figures(found, None)}) if gate else None,
        }
    if prepared.job == "collect":
        statistics["forms"] = {prepared.found["chatbot"]: prepared.config["form"]}
    return RunRecord(
        prepared.job,
        seed=job.options.run.seed,
        config={**prepared.config, "corpus": describe_corpus(job)},
        models=list(prepared.models),
        results=[],
        statistics=statistics,
        warnings=[*prepared.warnings, *_notes(failed, outcome)],
    )


def describe_corpus(job: CorpusJob) -> dict[str, Any]:
    """Return what a record says of the corpus and of how it was run."""
    run, out = job.options.run, job.options.out
    return {
        "inputs": [shown(each) for each in job.options.inputs],
        "files": len(job.corpus.files),
        "bytes": job.corpus.bytes,
        "out": str(out) if out is not None else None,
        "columns": dict(job.options.columns),
        "engine": run.engine,
        "workers": run.workers,
        "limit": run.limit,
        "sample": run.sample,
    }


def _figures(job: CorpusJob, folder: Path) -> dict[str, Any]:
    prepared = job.prepared
    taken = {*prepared.spec.writes.names, ROW}
    given = {name: prepared.columns.get(name, name) for name in _LISTED}
    ours = {name: f"input_{each}" if each in taken else each for name, each in given.items()}
    if prepared.job == "audit":
        return figures.audit_figures(folder, ours, prepared.spec.options["limits"])
    if prepared.job == "collect":
        return figures.collect_figures(folder, prepared.found["chatbot"])
    return figures.score_figures(folder, ours)


def _notes(failed: Mapping[str, Any], outcome: Outcome) -> list[str]:
    if not failed["rows"]:
        return []
    total = failed["rows"] + outcome.rows
    return [
        f"{failed['rows']:,} of {total:,} rows failed: they are in _run/failed.jsonl, with reasons"
    ]
