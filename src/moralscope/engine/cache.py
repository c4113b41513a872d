"""Embeddings on disk, keyed by model checksum and text, so a second run reads and does not compute.

One SQLite file per model: safe with many processes, every block of rows is one transaction,
every row carries a checksum of its own. It is a cache: when it cannot be read or written it
says so once and steps aside, and it never makes a run fail.
"""

import logging
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from moralscope.core.protocols import Matrix

log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, crc INTEGER NOT NULL, vector BLOB NOT NULL
)
"""
_LOOKUP = 500  # keys per SELECT; SQLite's default limit of bound values is far above
_DEFAULT_LIMIT_MB = 2048
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
    """Rows of one model. `checksum` must name everything that decides a row.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> cache = EmbeddingCache(folder, "abc", 2)
    >>> cache.put(["kill time"], np.array([[1, 2]], dtype=np.float32))
    >>> found, rows = cache.get(["kill time", "kill people"])
    >>> found.tolist(), rows[0].tolist()
    ([True, False], [1.0, 2.0])
    """

    def __init__(
        self, folder: Path, checksum: str, dimension: int, limit_mb: int | None = None
    ) -> None:
        self._path = folder / f"{checksum[:24]}-{dimension}.sqlite"
        self._dimension = dimension
        limit = limit_mb or int(os.environ.get("MORALSCOPE_CACHE_MB", _DEFAULT_LIMIT_MB))
        self._max_rows = max(1, limit * 1_000_000 // (dimension * 4 + 64))
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._failed = False

    def get(self, texts: Sequence[str]) -> tuple[np.ndarray, Matrix]:
        """Return which texts are cached, and a matrix whose found rows are filled in."""
        found = np.zeros(len(texts), dtype=bool)
        rows = np.empty((len(texts), self._dimension), dtype=np.float32)
        with self._lock:
            try:
                connection = self._open()
                if connection is not None:
                    self._read(connection, texts, found, rows)
            except sqlite3.Error as error:
                self._give_up(error)
                found[:] = False
        return found, rows

    def put(self, texts: Sequence[str], rows: Matrix) -> None:
        """Store rows in one transaction; the oldest go when the size limit is reached."""
        with self._lock:
            try:
                connection = self._open()
                if connection is not None:
                    self._write(connection, texts, rows)
            except sqlite3.Error as error:
                self._give_up(error)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _read(
        self,
        connection: sqlite3.Connection,
        texts: Sequence[str],
        found: np.ndarray,
        rows: Matrix,
    ) -> None:
        places = {text_key(text): place for place, text in enumerate(texts)}
        keys = list(places)
        for start in range(0, len(keys), _LOOKUP):
            part = keys[start : start + _LOOKUP]
            marks = ",".join("?" * len(part))
            # Only question marks are pasted into the statement; the keys are bound.
            query = f"SELECT key, crc, vector FROM vectors WHERE key IN ({marks})"  # noqa: S608
            for key, crc, vector in connection.execute(query, part):
                if len(vector) == self._dimension * 4 and zlib.crc32(vector) == crc:
                    place = places[key]
                    rows[place] = np.frombuffer(vector, dtype="<f4")
                    found[place] = True

    def _write(self, connection: sqlite3.Connection, texts: Sequence[str], rows: Matrix) -> None:
        blobs = [row.astype("<f4", copy=False).tobytes() for row in rows]
        values = [
            (text_key(text), zlib.crc32(blob), blob)
            for text, blob in zip(texts, blobs, strict=True)
        ]
        with connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (key, crc, vector) VALUES (?, ?, ?)", values
            )
            (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
            if count > self._max_rows:
                connection.execute(
                    "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY id LIMIT ?)",
                    (count - self._max_rows,),
                )

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is None and not self._failed:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                self._give_up(error)
                return None
            connection = sqlite3.connect(self._path, timeout=_PATIENCE, check_same_thread=False)
            self._connection = connection
            _set_up(connection)
        return self._connection

    def _give_up(self, error: Exception) -> None:
        """Say once that the run goes on without the cache; set a broken file aside."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        broken = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if broken and not self._failed:
            self._path.unlink(missing_ok=True)
            log.warning("the embedding cache %s was damaged; it was started anew", self._path)
        else:
            log.warning(
                "the embedding cache %s cannot be used (%s); this run goes on without it",
                self._path,
                error,
            )
        self._failed = True


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
