"""The plan of a run: blocks, the first occurrence of every text, and results that repeats await.

One SQLite file. It is made in one pass (`plan.py`); during the run it keeps the results of
texts that later blocks repeat, and nothing else. One thread at a time.
"""

import json
import sqlite3
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from moralscope.batch.dedupe import keys_digest, row_keys, text_columns
from moralscope.batch.reading import Sample, changed
from moralscope.batch.sources import Corpus
from moralscope.batch.types import POSITION, Block, BlockRows, FailedRow, JoinedBlock, Task
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.io.formats import MAX_SHOWN

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "moralscope.plan/2"
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


class Plan:
    """What is to be done, block by block.

    Attributes
    ----------
    rows
        Rows that take part, bad ones too.
    distinct
        Rows to compute: the others repeat their texts.
    failed
        Rows that cannot be read.
    settings
        What the plan was made with.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

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
        counts = json.loads(about["counts"])
        self.rows, self.distinct, self.failed, self.blocks = (
            int(counts[name]) for name in ("rows", "distinct", "failed", "blocks")
        )
        self.settings: dict[str, Any] = json.loads(about["settings"])
        self._last: tuple[BlockRows | None, list[bytes]] = (None, [])
        self.fingerprint: str = about["fingerprint"]
        self.schema: pa.Schema = pa.ipc.read_schema(pa.py_buffer(b64decode(about["schema"])))

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def bind(self, corpus: Corpus) -> Corpus:
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
        share, seed = self.settings["sample"], self.settings["seed"]
        return corpus.planned_with(self.schema, None if share is None else Sample(share, seed))

    def tasks(self) -> Iterator[Task]:
        """Yield every block with its own rows, in order."""
        last = -1
        while page := self._page(last):
            for number, file, start, stop, line, first, rows, own, texts in page:
                block = Block(number, self._files[file], start, stop, line, first, rows)
                yield Task(block, own, texts)
            last = page[-1][0]

    def _page(self, last: int) -> list[tuple[Any, ...]]:
        with sqlite_errors(self.path):
            query = "SELECT * FROM blocks WHERE number > ? ORDER BY number LIMIT ?"
            return self._base.execute(query, (last, _PAGE)).fetchall()

    def keep(
        self, number: int, found: BlockRows, own: "pa.Table", failed: Sequence[FailedRow]
    ) -> None:
        """Keep the results that later blocks await; to be called before the part is in place.

        Parameters
        ----------
        number
            Of the block.
        found
            Its rows.
        own
            Results of its own rows that worked, with their `_position` in the table of rows.
        failed
            Rows that failed in computing; others among them are left alone.
        """
        keys = self._keys(found)
        self._check_texts(number, keys)
        positions = own.column(POSITION).to_numpy()
        places = {keys[at]: index for index, at in enumerate(positions)}
        reasons = {keys[at]: why for at, why in _by_position(found, failed).items()}
        awaited = [key for key, *_ in self._awaited([*places, *reasons])]
        if not awaited:
            return
        worked = [key for key in awaited if key in places]
        kept = _taken(own.drop_columns(POSITION), [places[key] for key in worked])
        rows = [json.dumps(list(row.values()), ensure_ascii=False) for row in kept.to_pylist()]
        updates: list[tuple[str | None, str | None, bytes]] = [
            (row, None, key) for row, key in zip(rows, worked, strict=True)
        ]
        updates += [(None, reasons[key], key) for key in awaited if key not in places]
        updates.sort(key=itemgetter(2))
        with sqlite_errors(self.path):
            self._base.execute("BEGIN IMMEDIATE")
            query = "UPDATE awaited SET result = ?, reason = ? WHERE key = ?"
            self._base.executemany(query, updates)
            self._base.execute("COMMIT")

    def complete(
        self, number: int, found: BlockRows, own: "pa.Table", failed: Sequence[FailedRow]
    ) -> JoinedBlock | None:
        """Return the results of every row of a block; None while an earlier block's are missing.

        A row whose text failed earlier fails with the same reason.
        """
        keys = self._keys(found)
        positions = own.column(POSITION).to_numpy()
        own_failed = _by_position(found, failed)
        places = {keys[at]: index for index, at in enumerate(positions)}
        reasons = {keys[at]: why for at, why in own_failed.items()}
        others = [key for key in dict.fromkeys(keys) if key not in places and key not in reasons]
        repeated: list[str] = []
        known = self._awaited(others)
        if len(known) < len(others):
            raise ValueError(f"block {number} has own rows without result or reason")
        for key, result, why in known:
            if result is not None:
                places[key] = own.num_rows + len(repeated)
                repeated.append(result)
            elif why is not None:
                reasons[key] = why
            else:
                return None
        worked = [at for at, key in enumerate(keys) if key in places]
        results = _joined(own.drop_columns(POSITION), repeated)
        taken = _taken(results, [places[keys[at]] for at in worked]).combine_chunks()
        bad = {at: reasons[key] for at, key in enumerate(keys) if key not in places}
        return JoinedBlock(
            taken, np.array(worked, np.int32), self._all_failed(number, found, bad, failed)
        )

    def _all_failed(
        self, number: int, found: BlockRows, bad: Mapping[int, str], failed: Sequence[FailedRow]
    ) -> list[FailedRow]:
        """Return every failed row of a block once, by row."""
        every = {each.row: each for each in (*found.failed, *failed)}
        for at, why in bad.items():
            row = int(found.rows[at])
            if row not in every:
                text = next((str(found.table.column(name)[at]) for name in self._there(found)), "")
                line = int(found.lines[at])
                every[row] = FailedRow(row, self._file_of(number), line, why, text[:MAX_SHOWN])
        return [every[row] for row in sorted(every)]

    def _file_of(self, number: int) -> str:
        with sqlite_errors(self.path):
            query = "SELECT file FROM blocks WHERE number = ?"
            return str(self._files[self._base.execute(query, (number,)).fetchone()[0]])

    def _check_texts(self, number: int, keys: Sequence[bytes]) -> None:
        """Refuse a block whose texts are not those that were planned: its size may be the same."""
        with sqlite_errors(self.path):
            query = "SELECT texts FROM blocks WHERE number = ?"
            planned = self._base.execute(query, (number,)).fetchone()[0]
        if planned != keys_digest(keys):
            raise changed(self._file_of(number))

    def _there(self, found: BlockRows) -> list[str]:
        return [name for name in self.settings["texts"] if name in found.table.column_names]

    def _keys(self, found: BlockRows) -> list[bytes]:
        if self._last[0] is found:
            return self._last[1]
        keys = row_keys(text_columns(found.table, self.settings["texts"]))
        self._last = (found, keys)  # a block is kept and completed one after the other
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


def _by_position(found: BlockRows, failed: Sequence[FailedRow]) -> dict[int, str]:
    """Return the reasons of failed rows by their position, of those in the table."""
    if not failed or not len(found.rows):
        return {}
    at: NDArray[np.int64] = np.searchsorted(found.rows, [each.row for each in failed])
    return {
        int(place): each.reason
        for place, each in zip(at, failed, strict=True)
        if place < len(found.rows) and found.rows[place] == each.row
    }


def _taken(table: "pa.Table", places: list[int]) -> "pa.Table":
    return table.take(np.array(places, np.int64))  # an empty list would have no type


def _joined(own: "pa.Table", repeated: Sequence[str]) -> "pa.Table":
    import pyarrow as pa

    if not repeated:
        return own
    rows = [dict(zip(own.schema.names, json.loads(each), strict=True)) for each in repeated]
    return pa.concat_tables([own, pa.Table.from_pylist(rows, schema=own.schema)])
