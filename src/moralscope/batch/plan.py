"""Plans made: one pass over the corpus, in memory that does not grow with it.

The keys of texts lie in files beside it that go at the end (`dedupe.py`). The plan has another name
until it is whole: half a plan is no plan.
"""

import json
import os
import sqlite3
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from moralscope.batch.columns import JsonColumns
from moralscope.batch.dedupe import ExternalKeySort, block_digest, key_bytes, row_keys, text_columns
from moralscope.batch.folder import sync_folder
from moralscope.batch.options import BatchOptions
from moralscope.batch.plan_file import FORMAT, PlanCounts, PlanSettings, RunPlan, sqlite_errors
from moralscope.batch.reading import RowSample, TextRows
from moralscope.batch.schema_probe import whole_schema
from moralscope.batch.sources import CorpusFiles
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.options import chosen_options

_CACHE_KB = 32 * 1024
_ZEROS = 1 << 20
# SQLite, because results are read and written by key while the run goes on, by one process, and
# must survive its death; deduplicating itself does not use it (see `dedupe.py`).
_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE blocks (
    number INTEGER PRIMARY KEY, file INTEGER NOT NULL, start INTEGER NOT NULL,
    stop INTEGER NOT NULL, line INTEGER NOT NULL, first INTEGER NOT NULL,
    rows INTEGER NOT NULL, own BLOB NOT NULL, texts BLOB NOT NULL
);
CREATE TABLE awaited (key BLOB PRIMARY KEY, result TEXT, reason TEXT) WITHOUT ROWID;
"""

Report = Callable[[int, int], None]  # rows and bytes so far


def make_plan(
    corpus: CorpusFiles,
    texts: Sequence[str],
    path: Path,
    options: BatchOptions | None = None,
    report: Report | None = None,
    **keywords: Any,
) -> RunPlan:
    r"""Make a plan: number the rows, find first occurrences of texts, settle the columns.

    Rows alike in the columns `texts` are computed once. Of the options, rows a block, limit, sample
    and seed are used.
    """
    options = chosen_options(BatchOptions, options, keywords)
    if not set(texts) <= corpus.wanted.texts:
        raise ValueError(f"{texts} are not all needed or optional columns")
    if options.sample is not None:
        sample = RowSample(options.sample, options.seed)
        corpus = replace(corpus, wanted=replace(corpus.wanted, sample=sample))
    settings = PlanSettings(
        tuple(texts), options.block_rows, options.limit, options.sample, options.seed
    )
    half = path.with_name(f"{path.name}.half")
    try:
        with (
            sqlite_errors(path),
            _new(half) as base,
            ExternalKeySort(path.with_name(f"{path.name}.keys")) as spool,
        ):
            counts, starts, schema = _pass(corpus, settings, (base, spool), report)
            with _flags(path.with_name(f"{path.name}.own"), len(spool)) as is_first:
                distinct = _find_first_occurrences(base, spool, starts, is_first)
                for number, (low, high) in enumerate(pairwise(starts)):
                    positions = np.flatnonzero(is_first[low:high]).astype(np.int32)
                    query = "UPDATE blocks SET own = ? WHERE number = ?"
                    base.execute(query, (positions.tobytes(), number))
            about = {
                "format": FORMAT,
                "fingerprint": corpus.fingerprint,
                "settings": json.dumps(asdict(settings)),
                "counts": json.dumps(asdict(replace(counts, distinct=distinct))),
                "schema": b64encode(schema.serialize().to_pybytes()).decode(),
            }
            base.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            base.execute("COMMIT")
        with half.open("rb") as stream:  # so that it is there after a power cut too
            os.fsync(stream.fileno())
        half.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        problem = f"{path} could not be written ({error.strerror or error})"
        raise MoralscopeError(problem, "free some space and start again") from error
    finally:
        half.unlink(missing_ok=True)
    return RunPlan(path)


@contextmanager
def _new(path: Path) -> Iterator[sqlite3.Connection]:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        # nothing is lost with it: a death here means planning again
        for pragma in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KB}"):
            base.execute(f"PRAGMA {pragma}")
        base.executescript(_TABLES)
        base.execute("BEGIN")
        yield base


@contextmanager
def _flags(path: Path, count: int) -> Iterator[NDArray[np.bool_]]:
    """Give one flag a row, on disk."""
    try:
        with path.open("wb") as stream:  # written out: a full disk must say so here, not kill later
            for start in range(0, count + 1, _ZEROS):
                stream.write(bytes(min(_ZEROS, count + 1 - start)))
        yield np.memmap(path, np.bool_, "r+")
    finally:
        path.unlink(missing_ok=True)


def _pass(
    corpus: CorpusFiles,
    settings: PlanSettings,
    stores: tuple[sqlite3.Connection, ExternalKeySort],
    report: Report | None,
) -> tuple[PlanCounts, NDArray[np.int64], pa.Schema]:
    """Read everything once; return how much there is, where blocks start, and the columns."""
    base, spool = stores
    files = {file.name: number for number, file in enumerate(corpus.files)}
    base.executemany("INSERT INTO files VALUES (?, ?)", [(n, name) for name, n in files.items()])
    rows, failed, columns, starts = 0, 0, JsonColumns(), array("q", [0])
    for block, read in corpus.scan(settings.block_rows, settings.limit):
        if isinstance(read, TextRows):
            if read.json:
                columns.see(read.columns)
            none = [None] * len(read.rows)
            keys = row_keys([read.columns.get(name) or none for name in settings.texts])
        else:
            keys = row_keys(text_columns(read.table, settings.texts))
        spool.add(keys)
        starts.append(len(spool))
        where = (block.start, block.stop, block.line, block.first, block.rows)
        row = (block.number, files[block.file], *where, b"", block_digest(keys, read.digest))
        base.execute("INSERT INTO blocks VALUES (?,?,?,?,?,?,?,?,?)", row)
        rows += len(read.rows) + len(read.failed)
        failed += len(read.failed)
        if report:
            report(rows, corpus.bytes_before(block))
    if not rows:
        raise InputError("the inputs have no rows", "give files with rows, or a larger --sample")
    counts = PlanCounts(rows=rows, distinct=0, failed=failed, blocks=len(starts) - 1)
    return counts, np.array(starts, np.int64), whole_schema(corpus.fixed, columns)


def _find_first_occurrences(
    base: sqlite3.Connection,
    spool: ExternalKeySort,
    starts: NDArray[np.int64],
    flags: NDArray[np.bool_],
) -> int:
    """Flag first occurrences, note the keys that later blocks repeat; return how many are first.

    Only those keys get a place for a result: a repeat within its own block finds it in memory, and
    of a corpus without repeats nothing is kept at all.
    """
    distinct = 0
    for keys, rows, firsts in spool.groups():
        is_first = rows == firsts
        flags[rows[is_first]] = True
        distinct += int(is_first.sum())
        blocks = np.searchsorted(starts, rows, "right")
        later = blocks != np.searchsorted(starts, firsts, "right")
        awaited = np.isin(firsts[is_first], firsts[later])
        # keys come in order, so the table grows at its end only
        query = "INSERT INTO awaited (key) VALUES (?)"
        base.executemany(query, ((key,) for key in key_bytes(keys[is_first][awaited])))
    return distinct
