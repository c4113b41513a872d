"""First occurrences among rows of any number, in memory that does not grow with them.

A row's key is a hash of its texts. Keys go to one file in runs, each run grouped by the keys' first
byte; then one group after the other is read back and sorted. An index (a set, SQLite, LMDB) would
need memory or random reads that grow with the corpus; both passes here are sequential, and 256
groups keep a group of a billion keys at 100 MB. DuckDB takes half as long again and five times the
memory for ten million keys.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

KEY_BYTES = 16
_RUN = 1 << 18  # keys held before they are written
_GROUPS = 256
_ENTRY = np.dtype([("high", ">u8"), ("low", ">u8"), ("row", "<i8")])
_KEY = np.dtype([("high", ">u8"), ("low", ">u8")])

Group = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]


def row_keys(columns: Sequence[Sequence[str | None]]) -> list[bytes]:
    """Return the key of every row of these columns; nothing and empty text are two things.

    Examples
    --------
    >>> first, second, third = row_keys([["a", "a", "a"], ["", None, ""]])
    >>> first == second, first == third
    (False, True)
    """
    if len(columns) == 1:
        parts: Iterable[bytes] = map(_part, columns[0])
    else:
        parts = (b"".join(map(_part, values)) for values in zip(*columns, strict=True))
    return [blake2b(part, digest_size=KEY_BYTES).digest() for part in parts]


def block_digest(keys: Sequence[bytes], records: bytes) -> bytes:
    """Return what tells whether a block still has the texts, and the records, that it had."""
    return blake2b(b"".join([*keys, records]), digest_size=KEY_BYTES).digest()


def text_columns(table: "pa.Table", names: Sequence[str]) -> list[list[str | None]]:
    """Return the columns that decide a row's key; one that is not there holds nothing."""
    none: list[str | None] = [None] * table.num_rows
    there = table.column_names
    return [table.column(name).to_pylist() if name in there else none for name in names]


def _part(value: str | None) -> bytes:
    if value is None:
        return b"-"
    data = value.encode()
    return b"%d:%b" % (len(data), data)


class ExternalKeySort:
    """Keys as they come, numbered from 0; then which of them were there before.

    Examples
    --------
    >>> import tempfile
    >>> a, b = b"a" * 16, b"b" * 16
    >>> with tempfile.TemporaryDirectory() as folder, ExternalKeySort(Path(folder, "k")) as keys:
    ...     keys.add([b, a, b])
    ...     [(rows.tolist(), firsts.tolist()) for _, rows, firsts in keys.groups()]
    [([1], [1]), ([0, 2], [0, 0])]
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._held: list[bytes] = []
        self._rows = self._bytes = 0
        self._edges: list[NDArray[np.int64]] = []  # of each run: where its groups start

    def __enter__(self) -> "ExternalKeySort":
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._file)
        self._path.unlink(missing_ok=True)

    def __len__(self) -> int:
        """Return how many keys were added."""
        return self._rows + len(self._held)

    def add(self, keys: Sequence[bytes]) -> None:
        """Add keys in their order."""
        self._held += keys
        if len(self._held) >= _RUN:
            self._write()

    def _write(self) -> None:
        count = len(self._held)
        entries = np.empty(count, _ENTRY)
        keys = np.frombuffer(b"".join(self._held), _KEY)
        entries["high"], entries["low"] = keys["high"], keys["low"]
        entries["row"] = np.arange(self._rows, self._rows + count)
        groups = (keys["high"].astype(np.uint64) >> np.uint64(56)).astype(np.uint8)
        counts = np.bincount(groups, minlength=_GROUPS)
        # Stable: within a group rows stay in their order, so that the first like comes first below.
        data = entries[np.argsort(groups, kind="stable")].tobytes()
        edges = np.concatenate([[0], np.cumsum(counts)]) * _ENTRY.itemsize + self._bytes
        self._edges.append(edges)
        written = 0
        while written < len(data):  # one write takes 2 GB at most, and less near a full disk
            written += os.pwrite(self._file, data[written:], self._bytes + written)
        self._bytes += len(data)
        self._rows += count
        self._held = []

    def groups(self) -> Iterator[Group]:
        """Yield keys in order, in pieces, each with its number and that of its first like."""
        if self._held:
            self._write()
        for group in range(_GROUPS):
            pieces = [
                os.pread(self._file, int(edges[group + 1] - edges[group]), int(edges[group]))
                for edges in self._edges
            ]
            entries = np.frombuffer(b"".join(pieces), _ENTRY)
            if not len(entries):
                continue
            high, low = entries["high"].astype(np.uint64), entries["low"].astype(np.uint64)
            order = np.lexsort((low, high))  # keeps the order of likes: the first comes first
            high, low = high[order], low[order]
            new = np.ones(len(order), bool)
            new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
            rows = entries["row"][order].astype(np.int64)
            keys = np.empty(len(order), _KEY)
            keys["high"], keys["low"] = high, low
            yield keys, rows, rows[new][np.cumsum(new) - 1]


def key_bytes(keys: NDArray[Any]) -> Iterator[bytes]:
    """Yield keys as they were added."""
    data = keys.tobytes()
    for start in range(0, len(data), KEY_BYTES):
        yield data[start : start + KEY_BYTES]
