"""Exchanges from files: CSV, JSONL or Parquet, checked whole first and then read in a stream.

Bad lines are refused by number before any model is asked: results must match the file row by row.
Only the columns for prompt, reply and id are read; `--columns` says what they are called. Texts
that are no replies stand in a column `text`: they are replies of which no prompt is read.
"""

import io
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TypeVar

from moralscope.core.errors import InputError
from moralscope.io import tables
from moralscope.io.tables import Cells, TableFile, is_table
from moralscope.rules.options import ExchangeInput
from moralscope.rules.records import Exchange

Some = TypeVar("Some")
COLUMNS = ("prompt", "reply", "id")
MAX_CHARACTERS = 500_000  # of one text
_TEXTS = ("text", "id")
_NEEDED = ("prompt", "reply")
_REMEDY = "give CSV, JSONL or Parquet with the columns prompt and reply (with --texts: text)"


def parse_columns(text: str | None, *, texts: bool = False) -> dict[str, str]:
    """Read `--columns`: ours=theirs, by commas. Texts are read as replies without a prompt.

    Examples
    --------
    >>> parse_columns("text=body", texts=True)
    {'reply': 'body', 'id': 'id'}
    """
    known = _TEXTS if texts else COLUMNS
    columns = {name: name for name in known} | tables.parse_columns(text, known)
    if len(set(columns.values())) < len(columns):
        raise InputError("--columns names a column twice", "name each column once")
    return {"reply" if name == "text" else name: theirs for name, theirs in columns.items()}


@dataclass(frozen=True, slots=True)
class ExchangeFile:
    """A checked file of exchanges: its length is known, its rows are read when asked for."""

    path: Path
    columns: Mapping[str, str]
    rows: int

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[Exchange]:
        table = TableFile(self.path, columns=self.columns)
        for number, (line, cells) in enumerate(table.rows(_needed(self.columns)), 1):
            row = cells if isinstance(cells, str) else _exchange(cells, self.columns, number)
            if isinstance(row, str):
                raise InputError(f"{self.path} line {line} {row}", "it changed: run it again")
            yield row


def open_exchanges(path: Path, columns: Mapping[str, str] | None = None) -> ExchangeFile:
    """Check a file of exchanges to its end and return it, or refuse it by its bad lines."""
    if not is_table(path):
        raise InputError(f"{path} is not a file that audit reads", _REMEDY)
    names = columns or parse_columns(None)
    rows = sum(1 for _ in _checked(TableFile(path, columns=names), names))
    if not rows:
        raise InputError(f"{path} holds no rows", _REMEDY)
    return ExchangeFile(path, names, rows)


def one_exchange(prompt: str | None, reply: str) -> list[Exchange]:
    """Return the exchange of a command line, within the bounds of a file's."""
    for name, value in (("prompt", prompt or ""), ("reply", reply)):
        if len(value) > MAX_CHARACTERS:
            limit = f"at most {MAX_CHARACTERS:,} can be read"
            raise InputError(f"the {name} has {len(value):,} characters", limit)
    return [Exchange(prompt or "", reply)]


def read_stream(stream: IO[bytes], columns: Mapping[str, str]) -> list[Exchange]:
    """Read exchanges from a pipe: JSON lines, or CSV where the first character is no brace."""
    text = stream.read()
    kind = ".jsonl" if text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".csv"
    table = TableFile(io.BytesIO(text), name="stdin", kind=kind, columns=columns)
    exchanges = list(_checked(table, columns))
    if not exchanges:
        raise InputError("stdin holds no rows", _REMEDY)
    return exchanges


def read_exchanges(
    source: ExchangeInput, *, texts: bool = False
) -> "ExchangeFile | list[Exchange]":
    """Return the exchanges or texts that a command line names: one, or a checked file."""
    names = parse_columns(source.columns, texts=texts)
    if str(source.file) == "-":
        return read_stream(sys.stdin.buffer, names)
    if source.file is not None:
        return open_exchanges(source.file, names)
    return one_exchange(source.prompt, source.reply or "")


def blocks(rows: Iterable[Some], size: int) -> Iterator[list[Some]]:
    """Yield rows in lists of `size`."""
    stream = iter(rows)
    while block := list(islice(stream, size)):
        yield block


def _needed(columns: Mapping[str, str]) -> list[str]:
    return [name for name in _NEEDED if name in columns]


def _checked(table: TableFile, columns: Mapping[str, str]) -> Iterator[Exchange]:
    """Yield the exchanges of a table; at its end, refuse it by its bad lines."""
    for number, (line, cells) in enumerate(table.good_rows(_needed(columns)), 1):
        row = _exchange(cells, columns, number)
        if isinstance(row, str):
            table.note(line, row)
        else:
            yield row
    table.check()


def _exchange(cells: Cells, columns: Mapping[str, str], number: int) -> Exchange | str:
    """Return an exchange, or what is wrong with the row."""
    for name in _needed(columns):
        value = cells.get(name)
        if not isinstance(value, str):
            return f"has no text under '{columns[name][:60]}'"
        if len(value) > MAX_CHARACTERS:
            return f"has {len(value):,} characters under '{columns[name][:60]}'"
    key = cells.get("id")
    is_named = isinstance(key, str | int) and not isinstance(key, bool) and str(key).strip()
    name = str(key)[:200] if is_named else str(number)
    return Exchange(cells["prompt"] if "prompt" in columns else "", cells["reply"], name)
