"""Formats of tables that are text: a file as records, one by one, with where each ends.

A format is one entry of `FORMATS`: `io.tables` reads a file by it, `batch` cuts a corpus by it. A
record is found without what stands before it, so a file can be cut anywhere between two. Of a line
that is too long only the start is held. Does not look at columns.
"""

import codecs
import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final

MAX_LINE: Final = 4_000_000  # bytes
MAX_CHARACTERS: Final = 500_000  # of one cell: an open quote swallows no more
MAX_SHOWN: Final = 2_000  # characters of a bad record that are held
_decode = json.JSONDecoder().raw_decode  # twice as fast as json.loads on short lines
_TOO_LONG = f"has more than {MAX_LINE:,} bytes"

# How many bytes are read, how many lines, the line it stands on, cells or text, what is wrong.
Record = tuple[int, int, int, list[str] | str, str | None]


def line_records(
    stream: IO[bytes], size: int = sys.maxsize, *, whole: bool = False, blank: bool = False
) -> Iterator[Record]:
    r"""Yield the lines of the next `size` bytes.

    Parameters
    ----------
    stream, size
        From where, and how far: a file can be cut anywhere between two records.
    whole
        The stream begins at the start of a file: a byte order mark is skipped. A byte that is not
        UTF-8 is named by its place, which a corpus does not do: it counts lines by reason.
    blank
        Whether lines without text are yielded too, and others as they stand.

    Examples
    --------
    >>> import io
    >>> [record[2:4] for record in line_records(io.BytesIO(b'{}\n\n{"a": 1}'), 12)]
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
        if whole and lines == 1:
            data = data.removeprefix(codecs.BOM_UTF8)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            yield end, lines, lines - 1, _shown(data), _not_utf8(error, whole)
            continue
        if blank:
            yield end, lines, lines - 1, text.rstrip("\r\n"), None
        elif text := text.strip():
            yield end, lines, lines - 1, text, None


def csv_records(
    stream: IO[bytes], size: int = sys.maxsize, *, whole: bool = False, delimiter: str = ","
) -> Iterator[Record]:
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
    lines = _CsvLines(stream, size, whole)
    reader = csv.reader(lines, strict=True, delimiter=delimiter)
    while True:
        lines.held, lines.wrong, line = "", None, lines.count
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            wrong = lines.wrong or f"isn't valid CSV: {_csv_problem(str(error))}"
            yield lines.end, lines.count, line, _printable(lines.held), wrong
            continue
        if lines.wrong:
            yield lines.end, lines.count, line, _printable(lines.held), lines.wrong
        elif cells:
            yield lines.end, lines.count, line, cells, None


class _CsvLines:
    """Lines for the CSV parser, counting; holds the start of the row that is being read."""

    def __init__(self, stream: IO[bytes], size: int, whole: bool) -> None:
        self._stream, self._size, self._whole = stream, size, whole
        self.end = self.count = 0
        self.held = ""
        self.wrong: str | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.end >= self._size or not (data := self._stream.readline(MAX_LINE)):
            raise StopIteration
        self.count += 1
        self.end += len(data)
        if len(data) == MAX_LINE and not data.endswith(b"\n"):
            self.end += _rest(self._stream)
            self.wrong, data = _TOO_LONG, data[:MAX_SHOWN]
        if self._whole and self.count == 1:
            data = data.removeprefix(codecs.BOM_UTF8)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            # structure is kept, so that quotes still open and close where they did
            text = data.decode("utf-8", "surrogateescape")
            self.wrong = self.wrong or _not_utf8(error, self._whole)
        if len(self.held) < MAX_SHOWN:
            self.held += text
        return text


def _csv_problem(error: str) -> str:
    """Say what the standard parser means."""
    known = {
        "unexpected end": "a quote is never closed",
        "field larger": f"a cell has more than {MAX_CHARACTERS:,} characters (an open quote?)",
        "new-line character": "a line ends in a carriage return alone",
        "expected after": "text follows a closing quote (inside quotes, write a quote twice)",
    }
    return next((words for start, words in known.items() if start in error), error)


def _not_utf8(error: UnicodeDecodeError, exact: bool) -> str:
    if not exact:
        return "is not UTF-8"
    return f"is not valid UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start + 1})"


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


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a text file is cut into records, and whether the first of them names the columns."""

    records: Callable[..., Iterator[Record]]
    header: bool


FORMATS: Mapping[str, TextFormat] = {
    ".csv": TextFormat(csv_records, header=True),
    ".jsonl": TextFormat(line_records, header=False),
    ".ndjson": TextFormat(line_records, header=False),
}


def parse_object(text: str) -> dict[str, Any] | str:
    """Return the object that a line of JSON without blanks around it holds, or what is wrong.

    Examples
    --------
    >>> parse_object('{"a": 1}'), parse_object("[1]"), parse_object('{"a": ')
    ({'a': 1}, 'is not an object', 'is not JSON (cut short?)')
    """
    try:
        row, end = _decode(text)
    except (ValueError, RecursionError):  # also a number of 5,000 digits
        end = -1
    if end != len(text):
        cut = text.startswith("{") and not text.endswith("}")
        return f"is not JSON{' (cut short?)' * cut}"
    return row if isinstance(row, dict) else "is not an object"
