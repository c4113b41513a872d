"""Blocks of files read: good rows as a table, bad rows with the reason.

A block is read on its own, from its place in its file. Rows that a sample leaves out are neither
good nor bad: they are not there.
"""

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from moralscope.batch.columns import check_count, to_array
from moralscope.batch.files import is_url, open_bytes
from moralscope.batch.parquet_rows import open_parquet
from moralscope.batch.types import BlockRows, FailedRow, RowBlock, SourceFile
from moralscope.core.errors import MoralscopeError
from moralscope.io.formats import FORMATS, MAX_CHARACTERS, MAX_SHOWN, Record, parse_object

MAX_BLOCK_BYTES = 64 << 20  # a block ends before it has as many rows, when they are long
RESUME = "bring it back as it was and continue with --resume"


@dataclass(frozen=True, slots=True)
class RowSample:
    """A share of the rows, drawn by their numbers: the same whoever reads them.

    Examples
    --------
    >>> sum(RowSample(0.5, seed=1).takes(row) for row in range(1000))
    502
    """

    share: float
    seed: int = 0

    def takes(self, row: int) -> bool:
        """Say whether a row takes part."""
        drawn = blake2b(b"%d:%d" % (self.seed, row), digest_size=8).digest()
        return int.from_bytes(drawn, "big") < self.share * 2**64


@dataclass(frozen=True, slots=True)
class RowNeeds:
    """What a row must hold: text under `needed`, text or nothing under `optional`."""

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    sample: RowSample | None = None
    structured: bool = False
    """Whether lists and objects under them are read, too: as JSON text."""

    @property
    def texts(self) -> set[str]:
        """The names of both."""
        return {*self.needed, *self.optional}

    def takes(self, row: int) -> bool:
        """Say whether a row takes part."""
        return self.sample is None or self.sample.takes(row)


def as_json(values: Sequence[Any]) -> list[Any]:
    """Return values with lists and objects written as JSON.

    Examples
    --------
    >>> as_json(["a", None, [1]])
    ['a', None, '[1]']
    """
    return [
        json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, list | dict)
        else value
        for value in values
    ]


@dataclass(slots=True)
class TextRows:
    """The good rows of a block of text, by column, before their types are settled."""

    columns: Mapping[str, Sequence[Any]]
    rows: list[int]
    lines: list[int]
    failed: list[FailedRow]
    digest: bytes
    json: bool = False  # whether its values have types of their own

    def settle(self, fields: Iterable[pa.Field]) -> BlockRows:
        """Return the rows as a table of these columns."""
        none = [None] * len(self.rows)
        chosen = list(fields)
        arrays = [to_array(self.columns.get(field.name, none), field) for field in chosen]
        table = pa.Table.from_arrays(arrays, schema=pa.schema(chosen))
        rows, lines = np.array(self.rows, np.int64), np.array(self.lines, np.int64)
        return BlockRows(table, rows, self.failed, lines, self.digest)


def cut_text(
    source: SourceFile, start: tuple[int, int], rows: int, limit: int | None
) -> Iterator[tuple[RowBlock, list[Record]]]:
    """Yield a text file's blocks with their records; `start` is the first number and row."""
    number, first = start
    left = source.bytes if limit is None else limit
    with open_bytes(source.url) as stream:
        stream.seek(source.start)
        records = FORMATS[source.kind].records(stream, source.bytes - source.start)
        begun, line = 0, 0
        while left > 0:
            held: list[Record] = []
            for record in islice(records, min(rows, left)):
                held.append(record)
                if record[0] - begun >= MAX_BLOCK_BYTES:
                    break
            if not held:
                return
            end, lines = held[-1][:2]
            edges = (source.start + begun, source.start + end, source.line + line)
            yield RowBlock(number, source.name, *edges, first, len(held)), held
            number, first, left = number + 1, first + len(held), left - len(held)
            begun, line = end, lines


def read_text(source: SourceFile, block: RowBlock) -> list[Record]:
    """Return a block's records, from its bytes alone."""
    size = block.stop - block.start
    with open_bytes(source.url) as stream:
        stream.seek(block.start)
        small = size <= 2 * MAX_BLOCK_BYTES  # larger is one line, of which the start is kept
        lines = io.BytesIO(stream.read(size)) if small else stream
        records = list(FORMATS[source.kind].records(lines, size))
    if len(records) != block.rows or records[-1][0] != size:
        raise changed(source.name)
    return records


def changed(name: str) -> MoralscopeError:
    """Return the error of a file that is not what it was when the run was planned."""
    return MoralscopeError(f"{name} has changed since the run was planned", RESUME)


def check_unchanged(source: SourceFile) -> None:
    """Refuse a local file that was rewritten; text that has only grown has the same blocks."""
    if source.url != source.name or is_url(source.url):
        return  # unpacked by us, or far away, where asking costs as much as reading
    stat = os.stat(source.url)
    same = stat.st_size == source.bytes and str(stat.st_mtime_ns) == source.stamp
    if not same and (stat.st_size <= source.bytes or source.kind == ".parquet"):
        raise changed(source.name)


def draft(
    source: SourceFile, first: tuple[int, int], records: Iterable[Record], wanted: RowNeeds
) -> TextRows:
    """Return the rows of records by column, those that are not as wanted set aside.

    `first` is the number of the first row, and the line from which records count theirs.
    """
    headed = FORMATS[source.kind].header
    width = len(source.header)
    rows: list[Any] = []
    numbers: list[tuple[int, int]] = []
    failed: list[FailedRow] = []
    number, line = first
    digest = blake2b(digest_size=16)
    for row, (_, _, at, value, wrong) in enumerate(records, number):
        digest.update(repr(value).encode())
        if wanted.sample is not None and not wanted.sample.takes(row):
            continue
        if wrong is not None:
            cells: Any = wrong
        elif headed:
            cells = value if len(value) == width else f"has {len(value)} cells, the header {width}"
        else:
            cells = _object(str(value))
        if isinstance(cells, str):
            text = value if isinstance(value, str) else ",".join(value)
            failed.append(FailedRow(row, source.name, line + at, cells, text[:MAX_SHOWN]))
        else:
            rows.append(cells)
            numbers.append((row, line + at))
    columns: dict[str, Sequence[Any]]
    if headed:
        by_column = zip(*rows, strict=True) if rows else [()] * width
        columns = dict(zip(source.header, by_column, strict=True))
    else:
        names = dict.fromkeys(chain.from_iterable(rows))
        check_count(len(names))
        columns = {name: [row.get(name) for row in rows] for name in names}
        if wanted.structured:
            columns |= {name: as_json(columns[name]) for name in wanted.texts & columns.keys()}
    bad = _unwanted(columns, len(rows), wanted)
    for at, why in bad.items():
        cells = {name: values[at] for name, values in columns.items()}
        failed.append(FailedRow(numbers[at][0], source.name, numbers[at][1], why, _shown(cells)))
    if bad:
        numbers = [number for at, number in enumerate(numbers) if at not in bad]
        columns = {
            name: [value for at, value in enumerate(values) if at not in bad]
            for name, values in columns.items()
        }
        failed.sort(key=lambda row: row.row)
    kept, lines = [row for row, _ in numbers], [line for _, line in numbers]
    return TextRows(columns, kept, lines, failed, digest.digest(), json=not headed)


def _object(text: str) -> Mapping[str, Any] | str:
    row = parse_object(text)
    if isinstance(row, dict) and ("\\ud" in text or "\\uD" in text):
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return "holds half a character (a lone surrogate)"
    return row


def _unwanted(columns: Mapping[str, Sequence[Any]], count: int, wanted: RowNeeds) -> dict[int, str]:
    """Return the positions of rows that lack what is wanted, and why."""
    bad: dict[int, str] = {}
    for name in (*wanted.needed, *wanted.optional):
        needed = name in wanted.needed
        values = columns.get(name) or [None] * count
        kinds = set(map(type, values))
        longest = max(map(len, values), default=0) if kinds <= {str} else MAX_CHARACTERS + 1
        if longest <= MAX_CHARACTERS:
            continue
        for at, value in enumerate(values):
            why = _why_not(value, name, needed=needed)
            if why:
                bad.setdefault(at, why)
    return bad


def _why_not(value: Any, name: str, *, needed: bool) -> str | None:
    if value is None:
        return f"has nothing under '{name[:60]}'" if needed else None
    if isinstance(value, bytes):
        return f"is not UTF-8 under '{name[:60]}'"
    if not isinstance(value, str):
        return f"has no text under '{name[:60]}'"
    if len(value) > MAX_CHARACTERS:
        return f"has {len(value):,} characters under '{name[:60]}', at most {MAX_CHARACTERS:,}"
    return None


def cut_parquet(
    source: SourceFile, start: tuple[int, int], rows: int, limit: int | None
) -> Iterator[RowBlock]:
    """Yield a Parquet file's blocks; `start` is the first number and row."""
    number, first = start
    count = open_parquet(source.url, source.stamp).rows
    count = count if limit is None else min(count, limit)
    for begin in range(0, count, rows):
        end = min(begin + rows, count)
        yield RowBlock(number, source.name, begin, end, begin + 1, first + begin, end - begin)
        number += 1


def read_parquet(
    source: SourceFile, block: RowBlock, schema: pa.Schema, wanted: RowNeeds
) -> BlockRows:
    """Return a block's rows; those of a damaged row group are failed rows."""
    file = open_parquet(source.url, source.stamp)
    if block.stop > file.rows:
        raise changed(source.name)
    table, damaged = file.read(block.start, block.stop)
    shift = block.first - block.start  # from a row's number in the file to that in the corpus
    numbers = np.arange(block.start, block.stop)
    failed = []
    for low, high, why in damaged:
        numbers = numbers[(numbers < low) | (numbers >= high)]
        failed += [FailedRow(n + shift, source.name, n + 1, why, "") for n in range(low, high)]
    if wanted.sample:
        taken = np.array([wanted.takes(int(number) + shift) for number in numbers], bool)
        table, numbers = table.filter(taken), numbers[taken]
        failed = [row for row in failed if wanted.takes(row.row)]
    arrays = []
    for field in schema:
        if field.name not in table.column_names:
            arrays.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table.column(field.name)
        if wanted.structured and field.name in wanted.texts and pa.types.is_nested(column.type):
            column = pa.array(as_json(column.to_pylist()), pa.string())
        if column.type != field.type:
            try:
                column = column.cast(field.type, safe=False)
            except pa.ArrowNotImplementedError:  # a dictionary within a list, of views, …
                column = pa.array(column.to_pylist(), field.type)
        arrays.append(column)
    table = pa.Table.from_arrays(arrays, schema=schema)
    bad = _unwanted_arrow(table, wanted)
    for at, why in bad.items():
        number = int(numbers[at])
        try:
            text = _shown(table.slice(at, 1).to_pylist()[0])
        except (ValueError, OverflowError):  # Python has no such date
            text = _shown({})
        failed.append(FailedRow(number + shift, source.name, number + 1, why, text))
    if bad:
        good = np.setdiff1d(np.arange(len(numbers)), list(bad))
        table, numbers = table.take(good), numbers[good]
    failed.sort(key=lambda row: row.row)
    numbers = numbers.astype(np.int64)
    return BlockRows(table, numbers + shift, failed, numbers + 1)


def _unwanted_arrow(table: pa.Table, wanted: RowNeeds) -> dict[int, str]:
    bad: dict[int, str] = {}
    for name in (*wanted.needed, *wanted.optional):
        if name not in table.column_names:
            continue
        column, needed = table.column(name), name in wanted.needed
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            column = column.cast(pa.binary())
        else:
            longest = pc.max(pc.binary_length(column)).as_py() or 0
            if not (column.null_count and needed) and longest <= MAX_CHARACTERS:
                continue
        for at, value in enumerate(column.to_pylist()):
            if isinstance(value, bytes):  # what is not UTF-8 stays bytes: it is no text
                with suppress(UnicodeDecodeError):
                    value = value.decode()  # noqa: PLW2901
            why = _why_not(value, name, needed=needed)
            if why:
                bad.setdefault(at, why)
    return bad


def _shown(cells: Mapping[str, Any]) -> str:
    short = {
        name: value[:MAX_SHOWN] if isinstance(value, str) else value
        for name, value in cells.items()
        if value is not None
    }
    return json.dumps(short, ensure_ascii=False, default=str)[:MAX_SHOWN]
