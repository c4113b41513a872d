"""Tables of a user as numbered rows: CSV, JSONL or Parquet, read in a stream within bounds.

A row that cannot be read is given as what is wrong with it: the caller refuses it by its number.
Knows nothing of what the columns mean.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from moralscope.core.errors import InputError

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")
MAX_LINE = 4_000_000  # bytes
_BATCH = 512
_NAMED = 8

Row = tuple[int, Mapping[str, Any] | str]  # a line's number with its cells, or what is wrong


@dataclass(frozen=True, slots=True)
class _Columns:
    """What is asked of a table's columns."""

    required: Sequence[str]
    remedies: Mapping[str, str] = field(default_factory=dict)
    only: Sequence[str] | None = None


def read_rows(
    path: Path,
    required: Sequence[str] = (),
    *,
    remedies: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
) -> Iterator[Row]:
    """Yield the rows of a file; its columns are those of the header, or of the first object.

    Parameters
    ----------
    path
        The suffix says what it is.
    required
        Columns that must be there.
    remedies
        What to do about a required column that is not, by its name.
    only
        Columns to read where a format can leave out others (Parquet); else all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.jsonl")
    ...     _ = path.write_text('{"item": "1"}')
    ...     list(read_rows(path, ["item"]))
    [(1, {'item': '1'})]
    """
    kind = path.suffix.lower()
    remedy = f"give CSV, JSONL or Parquet{_with(required)}"
    columns = _Columns(required, remedies or {}, only)
    try:
        if kind == ".parquet":
            yield from _parquet_rows(path, columns)
        elif kind in SUFFIXES:
            with path.open("rb") as stream:
                yield from (_csv_rows if kind == ".csv" else _jsonl_rows)(stream, path, columns)
        else:
            raise InputError(f"{path} is no table that can be read", remedy)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error})", remedy) from error


def _with(required: Sequence[str]) -> str:
    if not required:
        return ""
    return f" with the column{'s' * (len(required) > 1)} {', '.join(required)}"


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, str | None]]:
    """Yield numbered lines; None for one that is too long or not UTF-8."""
    number = 0
    while data := stream.readline(MAX_LINE):
        number += 1
        rest = data
        while len(rest) == MAX_LINE and not rest.endswith(b"\n"):
            rest, data = stream.readline(MAX_LINE), b"\xff"  # held no longer, refused below
        try:
            yield number, data.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield number, None


def _jsonl_rows(stream: IO[bytes], path: Path, columns: _Columns) -> Iterator[Row]:
    first = True
    for number, line in _lines(stream):
        if line is not None and not line.strip():
            continue
        row = _json_row(line)
        if first and isinstance(row, dict):
            check_columns(row, columns.required, f"{path} line {number}", columns.remedies)
            first = False
        yield number, row


def _json_row(line: str | None) -> Mapping[str, Any] | str:
    if line is None:
        return "is too long or not UTF-8"
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return "is not JSON"
    return row if isinstance(row, dict) else "is no object"


def _csv_rows(stream: IO[bytes], path: Path, columns: _Columns) -> Iterator[Row]:
    bad: set[int] = set()

    def decoded() -> Iterator[str]:
        for number, line in _lines(stream):
            if line is None:
                bad.add(number)
            yield "-\n" if line is None else line

    reader = csv.reader(decoded(), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise InputError(f"{path} line 1 is not CSV ({error})", "give a header") from error
    if header and len(set(header)) < len(header):
        raise InputError(f"{path} line 1 names a column twice", "name each column once")
    if header:
        check_columns(header, columns.required, str(path), columns.remedies)
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield first, f"is not CSV ({error})"
            continue
        if any(line in bad for line in range(first, reader.line_num + 1)):
            yield first, "is too long or not UTF-8"
        elif cells and len(cells) != len(header):
            yield first, f"has {len(cells)} cells, the header {len(header)}"
        elif cells:
            yield first, dict(zip(header, cells, strict=True))


def _parquet_rows(path: Path, columns: _Columns) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            check_columns(names, columns.required, str(path), columns.remedies)
            read = None if columns.only is None else [n for n in columns.only if n in names]
            for batch in file.iter_batches(batch_size=_BATCH, columns=read):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except pa.ArrowException as error:
        line = (str(error).splitlines() or ["damaged"])[0][:160]
        remedy = f"give a Parquet file{_with(columns.required)}"
        raise InputError(f"{path} is not Parquet ({line})", remedy) from error


def check_columns(
    names: Iterable[str],
    required: Sequence[str],
    where: str,
    remedies: Mapping[str, str] | None = None,
) -> None:
    """Refuse a table that lacks a required column, saying which columns it has."""
    there = list(names)
    for name in required:
        if name not in there:
            listed = ", ".join(str(each)[:40] for each in there[:_NAMED]) or "none"
            raise InputError(
                f"{where} has no column '{name[:60]}' (columns: {listed})",
                (remedies or {}).get(name) or f"give a table{_with(required)}",
            )
