"""Embeddings on disk, keyed by model checksum and text, so a second run reads and does not compute.

One SQLite file per model: safe with many processes, every block of rows is one transaction, every
row carries a checksum over its text's key and its numbers. A file grows to a limit of megabytes
(MORALSCOPE_CACHE_MB, for each model); then the rows written longest ago go. It is a cache: a
damaged file is set aside and started anew; one that cannot be used costs a warning, never the run.
"""

import contextlib
import logging
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Matrix

log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, crc INTEGER NOT NULL, vector BLOB NOT NULL
)
"""
_LOOKUP = 500  # keys per SELECT; SQLite's default limit of bound values is far above
_LIMIT = "MORALSCOPE_CACHE_MB"
_PAGE = 4096  # bytes: SQLite lays whole rows into pages
_PATIENCE = 30.0  # seconds to wait for another process


def text_key(text: str) -> bytes:
    """Return the key of a text; lone surrogates are texts too.

    Examples
    --------
    >>> text_key("kill time") == text_key("kill time"), len(text_key(""))
    (True, 16)
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class EmbeddingCache:
    """Rows of one model. `checksum` must name everything that decides a row."""

    def __init__(
        self, folder: Path, checksum: str, dimension: int, limit_mb: int | None = None
    ) -> None:
        self._path = folder / f"{checksum[:24]}-{dimension}.sqlite"
        self._dimension = dimension
        if limit_mb is None:
            limit = os.environ.get(_LIMIT, "").strip() or "2048"
            if not (limit.isascii() and limit.isdigit() and int(limit) > 0):
                raise InputError(
                    f"{_LIMIT}={limit[:40]} is not a number of megabytes",
                    "give a whole number, e.g. 2048",
                )
            limit_mb = int(limit)
        self._max_rows = max(1, limit_mb * 1_000_000 // row_bytes(dimension))
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._owner = os.getpid()
        self._opened = 0  # which file it was that was opened
        self._restarted = self._failed = False

    def get(self, texts: Sequence[str]) -> tuple[np.ndarray, Matrix]:
        """Return which texts are cached, and a matrix whose rows of those are filled in."""
        cached = np.zeros(len(texts), dtype=bool)
        rows = np.empty((len(texts), self._dimension), dtype=np.float32)
        indices = {text_key(text): index for index, text in enumerate(texts)}
        keys = list(indices)
        with self._lock:
            try:
                connection = self._open()
                if connection is None:
                    return cached, rows
                for start in range(0, len(keys), _LOOKUP):
                    part = keys[start : start + _LOOKUP]
                    marks = ",".join("?" * len(part))
                    # Only question marks are pasted into the statement; the keys are bound.
                    query = f"SELECT key, crc, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608
                    for key, crc, vector in connection.execute(query, part):
                        if len(vector) == self._dimension * 4 and _check(key, vector) == crc:
                            rows[indices[key]] = np.frombuffer(vector, dtype="<f4")
                            cached[indices[key]] = True
            except sqlite3.Error as error:
                self._give_up(error)
                cached[:] = False
        return cached, rows

    def put(self, texts: Sequence[str], rows: Matrix) -> None:
        """Store rows in one transaction; the oldest go when the size limit is reached."""
        keys = [text_key(text) for text in texts]
        blobs = [row.astype("<f4", copy=False).tobytes() for row in rows]
        values = [(key, _check(key, blob), blob) for key, blob in zip(keys, blobs, strict=True)]
        oldest = "SELECT id FROM vectors ORDER BY id LIMIT ?"
        with self._lock:
            try:
                connection = self._open()
                if connection is None:
                    return
                with connection:
                    connection.executemany(
                        "INSERT OR REPLACE INTO vectors (key, crc, vector) VALUES (?, ?, ?)", values
                    )
                    (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
                    if count > self._max_rows:
                        connection.execute(
                            f"DELETE FROM vectors WHERE id IN ({oldest})",  # noqa: S608
                            (count - self._max_rows,),
                        )
            except sqlite3.Error as error:
                self._give_up(error)

    def fill(self, texts: Sequence[str], compute: Callable[[list[str]], Matrix]) -> Matrix:
        """Return the rows of texts: those that are kept, and computed ones, which are kept now."""
        cached, rows = self.get(texts)
        # A text that stands twice is cached at one of its indices only.
        missing: list[int] = np.flatnonzero(~cached).tolist()
        if missing:
            new = [texts[index] for index in missing]
            rows[missing] = compute(new)
            self.put(new, rows[missing])
        return rows

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection | None:
        if self._owner != os.getpid():  # a connection must not cross a fork
            self._connection, self._owner = None, os.getpid()
        if self._connection is None and not self._failed:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                if not self._path.exists():  # it holds what people asked: for its owner only
                    os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            except OSError as error:
                self._give_up(error)
                return None
            connection = sqlite3.connect(self._path, timeout=_PATIENCE, check_same_thread=False)
            self._connection = connection
            self._opened = _inode(self._path)
            _set_up(connection)
        return self._connection

    def _give_up(self, error: Exception) -> None:
        """Set a broken file aside and start anew, once; else go on without a cache. Say so."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        broken = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if broken and not self._restarted:
            self._restarted = True
            if _inode(self._path) == self._opened:  # no other process has done so already
                # A log that outlives its file would be played into the new one.
                for path in (self._path, *(Path(f"{self._path}-{end}") for end in ("wal", "shm"))):
                    with contextlib.suppress(OSError):
                        path.unlink(missing_ok=True)
            log.warning("the embedding cache %s was damaged; it was started afresh", self._path)
            return
        log.warning(
            "the embedding cache %s cannot be used (%s); this run continues without it",
            self._path,
            error,
        )
        self._failed = True


def row_bytes(dimension: int) -> int:
    """Return what a row takes on disk: as many whole rows as fit share a page."""
    size = dimension * 4 + 40
    room = _PAGE - 40
    taken = _PAGE // (room // size) if size <= room else _PAGE * -(-size // room)
    return taken + 64  # its line in the index of keys


def _check(key: bytes, vector: bytes) -> int:
    """Return a checksum that a row has with its own key only."""
    return zlib.crc32(vector, zlib.crc32(key))


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _set_up(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging; SQLite does not wait by itself when many start at once."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(_SCHEMA)
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
