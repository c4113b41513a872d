"""The plan of a run: blocks, the first occurrence of every text, and results that repeats await.

One SQLite file. It is made in one pass (`plan.py`); during the run it keeps the results of
texts that later blocks repeat, and nothing else. One thread at a time.
"""

import json
import sqlite3
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from moralscope.batch.dedupe import block_digest, row_keys, text_columns
from moralscope.batch.reading import RowSample, changed
from moralscope.batch.sources import CorpusFiles
from moralscope.batch.types import POSITION, BlockRows, FailedRow, JoinedBlock, RowBlock, Task
from moralscope.core.decode import decode
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.io.formats import MAX_SHOWN

FORMAT = "moralscope.plan/3"
_LOOKUP = 8_000  # keys a question
_PAGE = 64  # tasks held at once


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite says about a plan into one line."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if "full" in str(error) or "I/O" in str(error):
            problem = f"{path} could not be written ({error})"
            raise MoralscopeError(problem, "free some space and continue with --resume") from error
        remedy = "delete the output folder and start again"
        raise MoralscopeError(f"{path} is damaged ({error})", remedy) from error


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What decides a plan beside the files: asked to be the same when a run is continued."""

    texts: tuple[str, ...]
    block_rows: int
    limit: int | None
    sample: float | None
    seed: int


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """How much there is to do."""

    rows: int  # that take part, bad ones too
    distinct: int  # to compute: the others repeat their texts
    failed: int  # that cannot be read
    blocks: int


class RunPlan:
    """What is to be done, block by block, and what the plan was made with (`settings`)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise MoralscopeError(f"{path} is not there", "start the run again without --resume")
        with sqlite_errors(path):
            self._base = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA journal_mode=TRUNCATE")
            self._base.execute("PRAGMA synchronous=FULL")
            about = dict(self._base.execute("SELECT name, value FROM about"))
            self._files = dict(self._base.execute("SELECT id, name FROM files"))
        if about.get("format") != FORMAT:
            raise InputError(f"{path} is a plan of another version", "start again in a new folder")
        counts = decode(PlanCounts, json.loads(about["counts"]), str(path))
        self.rows, self.distinct = counts.rows, counts.distinct
        self.failed, self.blocks = counts.failed, counts.blocks
        self.settings = decode(PlanSettings, json.loads(about["settings"]), str(path))
        self._last: tuple[BlockRows | None, list[bytes]] = (None, [])
        self.fingerprint: str = about["fingerprint"]
        self.schema: pa.Schema = pa.ipc.read_schema(pa.py_buffer(b64decode(about["schema"])))

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def bind(self, corpus: CorpusFiles) -> CorpusFiles:
        """Return the corpus as planned: with the columns of all its rows, and its sample.

        Raises
        ------
        InputError
            The files are not those that were planned.
        """
        if corpus.fingerprint != self.fingerprint:
            raise InputError(
                "the inputs have changed since the run was planned",
                "give the same files, or start again in a new folder",
            )
        share, seed = self.settings.sample, self.settings.seed
        wanted = replace(corpus.wanted, sample=None if share is None else RowSample(share, seed))
        return replace(corpus, schema=self.schema, wanted=wanted, planned=True)

    def tasks(self) -> Iterator[Task]:
        """Yield every block with its own rows, in order."""
        last = -1
        query = "SELECT * FROM blocks WHERE number > ? ORDER BY number LIMIT ?"
        while True:
            with sqlite_errors(self.path):
                page = self._base.execute(query, (last, _PAGE)).fetchall()
            if not page:
                return
            for number, file, start, stop, line, first, rows, positions, texts in page:
                block = RowBlock(number, self._files[file], start, stop, line, first, rows)
                yield Task(block, positions, texts)
            last = page[-1][0]

    def keep(
        self, number: int, block: BlockRows, computed: pa.Table, failed: Sequence[FailedRow]
    ) -> None:
        """Keep the results that later blocks await; to be called before the part is in place.

        Parameters
        ----------
        number, block
            The block and its rows.
        computed
            Results of its own rows that worked, with their `_position` in the table of rows.
        failed
            Rows that failed in computing; others among them are left alone.
        """
        keys = self._keys(block)
        with sqlite_errors(self.path):
            query = "SELECT texts FROM blocks WHERE number = ?"
            planned = self._base.execute(query, (number,)).fetchone()[0]
        if planned != block_digest(keys, block.digest):  # its size may be the same
            raise changed(self._file_of(number))
        positions = computed.column(POSITION).to_numpy()
        results = {keys[at]: index for index, at in enumerate(positions)}
        reasons = {keys[at]: why for at, why in _by_position(block, failed).items()}
        awaited = [key for key, *_ in self._awaited([*results, *reasons])]
        if not awaited:
            return
        worked = [key for key in awaited if key in results]
        kept = _taken(computed.drop_columns(POSITION), [results[key] for key in worked])
        rows = [json.dumps(list(row.values()), ensure_ascii=False) for row in kept.to_pylist()]
        updates: list[tuple[str | None, str | None, bytes]] = [
            (row, None, key) for row, key in zip(rows, worked, strict=True)
        ]
        updates += [(None, reasons[key], key) for key in awaited if key not in results]
        updates.sort(key=itemgetter(2))
        with sqlite_errors(self.path):
            self._base.execute("BEGIN IMMEDIATE")
            query = "UPDATE awaited SET result = ?, reason = ? WHERE key = ?"
            self._base.executemany(query, updates)
            self._base.execute("COMMIT")

    def complete(
        self, number: int, block: BlockRows, computed: pa.Table, failed: Sequence[FailedRow]
    ) -> JoinedBlock | None:
        """Return the results of every row of a block; None while an earlier block's are missing.

        A row whose text failed earlier fails with the same reason.
        """
        keys = self._keys(block)
        positions = computed.column(POSITION).to_numpy()
        results = {keys[at]: index for index, at in enumerate(positions)}
        reasons = {keys[at]: why for at, why in _by_position(block, failed).items()}
        others = [key for key in dict.fromkeys(keys) if key not in results and key not in reasons]
        repeated: list[str] = []
        known = self._awaited(others)
        if len(known) < len(others):
            raise ValueError(f"block {number} has own rows without result or reason")
        for key, result, why in known:
            if result is not None:
                results[key] = computed.num_rows + len(repeated)
                repeated.append(result)
            elif why is not None:
                reasons[key] = why
            else:
                return None
        table = computed.drop_columns(POSITION)
        if repeated:
            names = table.schema.names
            rows = [dict(zip(names, json.loads(result), strict=True)) for result in repeated]
            table = pa.concat_tables([table, pa.Table.from_pylist(rows, schema=table.schema)])
        worked = [at for at, key in enumerate(keys) if key in results]
        taken = _taken(table, [results[keys[at]] for at in worked]).combine_chunks()
        every = {row.row: row for row in (*block.failed, *failed)}  # each once, by row
        texts = [name for name in self.settings.texts if name in block.table.column_names]
        for at, key in enumerate(keys):
            row = int(block.rows[at])
            if key not in results and row not in every:
                text = next((str(block.table.column(name)[at]) for name in texts), "")
                line, file = int(block.lines[at]), self._file_of(number)
                every[row] = FailedRow(row, file, line, reasons[key], text[:MAX_SHOWN])
        return JoinedBlock(taken, np.array(worked, np.int32), [every[row] for row in sorted(every)])

    def _file_of(self, number: int) -> str:
        with sqlite_errors(self.path):
            query = "SELECT file FROM blocks WHERE number = ?"
            return str(self._files[self._base.execute(query, (number,)).fetchone()[0]])

    def _keys(self, block: BlockRows) -> list[bytes]:
        if self._last[0] is block:
            return self._last[1]
        keys = row_keys(text_columns(block.table, self.settings.texts))
        self._last = (block, keys)  # a block is kept and completed one after the other
        return keys

    def _awaited(self, keys: Sequence[bytes]) -> list[tuple[bytes, str | None, str | None]]:
        """Return those of the keys that later blocks repeat, with what is known of them."""
        known: list[tuple[bytes, str | None, str | None]] = []
        with sqlite_errors(self.path):
            for start in range(0, len(keys), _LOOKUP):
                piece = keys[start : start + _LOOKUP]
                marks = ",".join("?" * len(piece))
                query = f"SELECT key, result, reason FROM awaited WHERE key IN ({marks})"  # noqa: S608 - marks only
                known += self._base.execute(query, piece).fetchall()
        return known


def _by_position(block: BlockRows, failed: Sequence[FailedRow]) -> dict[int, str]:
    """Return the reasons of failed rows by their position, of those in the table."""
    if not failed or not len(block.rows):
        return {}
    positions: NDArray[np.int64] = np.searchsorted(block.rows, [row.row for row in failed])
    return {
        int(at): row.reason
        for at, row in zip(positions, failed, strict=True)
        if at < len(block.rows) and block.rows[at] == row.row
    }


def _taken(table: pa.Table, rows: list[int]) -> pa.Table:
    return table.take(np.array(rows, np.int64))  # an empty list would have no type
