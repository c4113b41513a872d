"""Exchanges from files: CSV, JSONL or Parquet, checked whole first and then read in a stream.

Bad lines are refused by number before any model is asked: results must match the file row by row.
Only the columns for prompt, reply and id are read; `--columns` says what they are called.
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
from moralscope.io.tables import Cells, Table, is_table
from moralscope.rules.options import ExchangeInput
from moralscope.rules.records import Exchange

Some = TypeVar("Some")
COLUMNS = ("prompt", "reply", "id")
MAX_CHARACTERS = 500_000  # of one text
_NEEDED = ("prompt", "reply")
_REMEDY = "give CSV, JSONL or Parquet with the columns prompt and reply"


def parse_columns(text: str | None) -> dict[str, str]:
    """Read `--columns`: ours=theirs, by commas.

    Examples
    --------
    >>> parse_columns("prompt=Q, reply=A")
    {'prompt': 'Q', 'reply': 'A', 'id': 'id'}
    """
    found = {name: name for name in COLUMNS} | tables.parse_columns(text, COLUMNS)
    if len(set(found.values())) < len(found):
        raise InputError("--columns names a column twice", "name each column once")
    return found


@dataclass(frozen=True, slots=True)
class ExchangeFile:
    """A checked file of exchanges: its length is known, its rows are read when asked for."""

    path: Path
    columns: Mapping[str, str]
    rows: int

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[Exchange]:
        for number, (line, cells) in enumerate(_table(self.path, self.columns).rows(_NEEDED), 1):
            found = cells if isinstance(cells, str) else _exchange(cells, self.columns, number)
            if isinstance(found, str):
                raise InputError(f"{self.path} line {line} {found}", "it changed: run it again")
            yield found


def open_exchanges(path: Path, columns: Mapping[str, str] | None = None) -> ExchangeFile:
    """Check a file of exchanges to its end and return it, or refuse it by its bad lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.jsonl")
    ...     _ = path.write_text('{"prompt": "Hi!", "reply": "Hello."}')
    ...     [each.reply for each in open_exchanges(path)]
    ['Hello.']
    """
    chosen = columns or parse_columns(None)
    table = _table(path, chosen)
    rows = 0
    for line, cells in table.good_rows(_NEEDED):
        rows += 1
        wrong = _exchange(cells, chosen, rows)
        if isinstance(wrong, str):
            table.note(line, wrong)
    table.check()
    if not rows:
        raise InputError(f"{path} holds no rows", _REMEDY)
    return ExchangeFile(path, chosen, rows)


def one_exchange(prompt: str | None, reply: str) -> list[Exchange]:
    """Return the exchange of a command line, within the bounds of a file's.

    Examples
    --------
    >>> one_exchange(None, "Hello.")
    [Exchange(prompt='', reply='Hello.', id='')]
    """
    for name, value in (("prompt", prompt or ""), ("reply", reply)):
        if len(value) > MAX_CHARACTERS:
            limit = f"at most {MAX_CHARACTERS:,} can be read"
            raise InputError(f"the {name} has {len(value):,} characters", limit)
    return [Exchange(prompt or "", reply)]


def read_stream(stream: IO[bytes], columns: Mapping[str, str]) -> list[Exchange]:
    r"""Read exchanges from a pipe: JSON lines, or CSV where the first character is no brace.

    Examples
    --------
    >>> import io
    >>> read_stream(io.BytesIO(b"prompt,reply\nHi!,Hello.\n"), parse_columns(None))
    [Exchange(prompt='Hi!', reply='Hello.', id='1')]
    """
    text = stream.read()
    kind = ".jsonl" if text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ".csv"
    table = Table(io.BytesIO(text), name="stdin", kind=kind, columns=columns)
    found: list[Exchange] = []
    for line, cells in table.good_rows(_NEEDED):
        one = _exchange(cells, columns, len(found) + 1)
        if isinstance(one, str):
            table.note(line, one)
        else:
            found.append(one)
    table.check()
    if not found:
        raise InputError("stdin holds no rows", _REMEDY)
    return found


def read_exchanges(source: ExchangeInput) -> "ExchangeFile | list[Exchange]":
    """Return the exchanges that a command line names: a file, opened and checked, or one.

    Examples
    --------
    >>> read_exchanges(ExchangeInput(reply="Hello."))
    [Exchange(prompt='', reply='Hello.', id='')]
    """
    names = parse_columns(source.columns)
    if str(source.file) == "-":
        return read_stream(sys.stdin.buffer, names)
    if source.file is not None:
        return open_exchanges(source.file, names)
    return one_exchange(source.prompt, source.reply or "")


def blocks(rows: Iterable[Some], size: int) -> Iterator[list[Some]]:
    """Yield rows in lists of `size`.

    Examples
    --------
    >>> [len(block) for block in blocks("abcde", 2)]
    [2, 2, 1]
    """
    stream = iter(rows)
    while block := list(islice(stream, size)):
        yield block


def _exchange(cells: Cells, columns: Mapping[str, str], number: int) -> Exchange | str:
    """Return an exchange, or what is wrong with the row."""
    for name in _NEEDED:
        value = cells.get(name)
        if not isinstance(value, str):
            return f"has no text under '{columns[name][:60]}'"
        if len(value) > MAX_CHARACTERS:
            return f"has {len(value):,} characters under '{columns[name][:60]}'"
    given = cells.get("id")
    known = isinstance(given, str | int) and not isinstance(given, bool) and str(given).strip()
    return Exchange(cells["prompt"], cells["reply"], str(given)[:200] if known else str(number))


def _table(path: Path, columns: Mapping[str, str]) -> Table:
    if not is_table(path):
        raise InputError(f"{path} is no file that audit reads", _REMEDY)
    return Table(path, columns=columns)
