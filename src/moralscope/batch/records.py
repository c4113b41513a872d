"""The records of a text file one by one, with where each ends: JSON lines and CSV.

A record is found without what stands before it, so a file can be cut anywhere between two.
Does not look at columns.
"""

import csv
from collections.abc import Callable, Iterator
from typing import IO

from moralscope.batch.types import MAX_SHOWN
from moralscope.io.tables import MAX_LINE

MAX_CHARACTERS = 500_000  # of one text, and of one CSV cell: an open quote swallows no more

_TOO_LONG = f"is longer than {MAX_LINE:,} bytes"
_NOT_UTF8 = "is not UTF-8"

# how many bytes are read, how many lines, the line it stands on, cells or text, what is wrong
Record = tuple[int, int, int, list[str] | str, str | None]
Reader = Callable[[IO[bytes], int], Iterator[Record]]


def jsonl_records(stream: IO[bytes], size: int) -> Iterator[Record]:
    r"""Yield the lines of the next `size` bytes that are not blank.

    Examples
    --------
    >>> import io
    >>> [record[2:4] for record in jsonl_records(io.BytesIO(b'{}\n\n{"a": 1}'), 12)]
    [(0, '{}'), (2, '{"a": 1}')]
    """
    end = lines = 0
    while end < size and (data := stream.readline(MAX_LINE)):
        lines += 1
        end += len(data)
        if len(data) == MAX_LINE and not data.endswith(b"\n"):
            end += _rest(stream)
            yield end, lines, lines - 1, _shown(data), _TOO_LONG
            continue
        try:
            text = data.decode().strip()
        except UnicodeDecodeError:
            yield end, lines, lines - 1, _shown(data), _NOT_UTF8
            continue
        if text:
            yield end, lines, lines - 1, text, None


def csv_records(stream: IO[bytes], size: int) -> Iterator[Record]:
    r"""Yield the rows of the next `size` bytes that are not blank, as cells.

    The standard parser asks for exactly the lines that a row needs, so the place after each is
    known and a quoted line break never is a boundary.

    Examples
    --------
    >>> import io
    >>> [record[:4] for record in csv_records(io.BytesIO(b'a,"b\nc"\nd,e'), 12)]
    [(8, 2, 0, ['a', 'b\nc']), (11, 3, 2, ['d', 'e'])]
    """
    csv.field_size_limit(MAX_CHARACTERS)
    feed = _Feed(stream, size)
    reader = csv.reader(feed, strict=True)
    while True:
        feed.held, feed.reason, line = "", None, feed.lines
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            wrong = feed.reason or f"is not CSV ({error})"
            yield feed.end, feed.lines, line, _printable(feed.held), wrong
            continue
        if feed.reason:
            yield feed.end, feed.lines, line, _printable(feed.held), feed.reason
        elif cells:
            yield feed.end, feed.lines, line, cells, None


class _Feed:
    """Lines for the CSV parser, counting; holds the start of the row that is being read."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._size = stream, size
        self.end = self.lines = 0
        self.held = ""
        self.reason: str | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.end >= self._size or not (data := self._stream.readline(MAX_LINE)):
            raise StopIteration
        self.lines += 1
        self.end += len(data)
        if len(data) == MAX_LINE and not data.endswith(b"\n"):
            self.end += _rest(self._stream)
            self.reason, data = _TOO_LONG, data[:MAX_SHOWN]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            # structure is kept, so that quotes still open and close where they did
            text = data.decode("utf-8", "surrogateescape")
            self.reason = self.reason or _NOT_UTF8
        if len(self.held) < MAX_SHOWN:
            self.held += text
        return text


def _rest(stream: IO[bytes]) -> int:
    """Read to the end of a line that is too long, holding little of it."""
    count = 0
    while data := stream.readline(MAX_LINE):
        count += len(data)
        if data.endswith(b"\n"):
            break
    return count


def _shown(data: bytes) -> str:
    return data[: 4 * MAX_SHOWN].decode("utf-8", "replace").rstrip("\r\n")[:MAX_SHOWN]


def _printable(text: str) -> str:
    return _shown(text.encode("utf-8", "surrogateescape"))


READERS: dict[str, Reader] = {
    ".csv": csv_records,
    ".jsonl": jsonl_records,
    ".ndjson": jsonl_records,
}
