"""Rows of a CSV file that may be damaged: every bad line is named, the good ones are yielded.

Sizes are bounded: of a line or a cell too long only the beginning is ever held. Knows nothing of
what the columns mean.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean

MAX_LINE_BYTES = 1 << 20
MAX_CHARACTERS = 20_000  # of one cell
MAX_ROWS = 1_000_000
MAX_PROBLEMS = 10_000
MAX_COLUMNS = 1_000
POLICIES = ("stop", "skip")
_NAMED = 5


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line that cannot be used, and why.

    Examples
    --------
    >>> str(LineProblem(7, "is not UTF-8 (byte 3)"))
    'line 7 is not UTF-8 (byte 3)'
    """

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line} {self.what}"


class MalformedRow(Exception):
    """What is wrong with a row."""


@dataclass(slots=True)
class CsvSource:
    """A file being read: its header, the rows counted and the problems met so far."""

    path: Path
    header: tuple[str, ...] = ()
    rows: int = 0
    problems: list[LineProblem] = field(default_factory=list)
    _bad: dict[int, str] = field(default_factory=dict)

    def add(self, line: int, what: str) -> None:
        """Note a problem; a file that is nothing but problems is refused."""
        self.problems.append(LineProblem(line, what))
        if len(self.problems) > MAX_PROBLEMS:
            raise InputError(
                f"{self.path} has more than {MAX_PROBLEMS:,} malformed lines",
                "give a CSV file with a header in line 1",
            )

    def read(self, columns: Mapping[str, str], needed: tuple[str, ...]) -> "Iterator[_Row]":
        """Yield (line, cells by our name); `columns` says which of theirs is which of ours."""
        try:
            with self.path.open("rb") as stream:
                yield from self._read(stream, columns, needed)
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read ({error.strerror})", "name a CSV file"
            ) from error

    def check(self, malformed: str, remedy: str) -> None:
        """Raise when there were problems and the policy is to stop."""
        if self.problems and malformed == "stop":
            raise InputError(told(self.path, self.problems), remedy)

    def _read(
        self, stream: IO[bytes], columns: Mapping[str, str], needed: tuple[str, ...]
    ) -> "Iterator[_Row]":
        reader = csv.reader(self._lines(stream), strict=True)
        self.header = self._header(reader)
        places = _places(self.path, self.header, columns, needed)
        while True:
            first = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                self.add(first, f"is not CSV ({error})")
                continue
            if not cells:
                continue
            wrong = self._wrong(cells, first, reader.line_num)
            if wrong:
                self.add(first, wrong)
                continue
            self.rows += 1
            if self.rows > MAX_ROWS:
                raise InputError(f"{self.path} has more than {MAX_ROWS:,} rows", "give it in parts")
            yield first, {name: cells[place] for name, place in places.items()}

    def _header(self, reader: Iterator[list[str]]) -> tuple[str, ...]:
        try:
            header = tuple(name.strip() for name in next(reader, []))
        except csv.Error as error:
            raise InputError(f"{self.path} line 1 is not CSV ({error})", "give a header") from error
        if 1 in self._bad:
            raise InputError(f"{self.path} line 1 {self._bad[1]}", "save the file as UTF-8 CSV")
        if not all(name.isprintable() for name in header):
            raise InputError(f"{self.path} line 1 holds a character that is not text", "mend it")
        if not any(header) or len(header) > MAX_COLUMNS:
            raise InputError(f"{self.path} has no header in line 1", "name its columns there")
        return header

    def _wrong(self, cells: list[str], first: int, last: int) -> str:
        """Say what is wrong with a row's form, if anything."""
        for line in range(first, last + 1):
            if line in self._bad:
                return self._bad.pop(line)
        if len(cells) != len(self.header):
            return f"has {len(cells)} cells, the header {len(self.header)}"
        for name, cell in zip(self.header, cells, strict=True):
            if len(cell) > MAX_CHARACTERS:
                return f"has {len(cell):,} characters under '{name[:40]}', not {MAX_CHARACTERS:,}"
            if "\x00" in cell:
                return f"has a character under '{name[:40]}' that is not text"
        return ""

    def _lines(self, stream: IO[bytes]) -> Iterator[str]:
        """Yield decoded lines; one that cannot be is noted, and what stands for it is yielded."""
        number = 0
        while line := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            rest = line
            while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
                rest = stream.readline(MAX_LINE_BYTES + 1)
            if len(line) > MAX_LINE_BYTES:
                self._bad[number] = f"has more than {MAX_LINE_BYTES:,} bytes"
                yield "-\n"
                continue
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                self._bad[number] = f"is not UTF-8 (byte {error.start + 1})"
                yield line.decode("utf-8", "replace")


_Row = tuple[int, dict[str, str]]


def column_names(
    official: Mapping[str, str], given: Mapping[str, str] | None, path: Path
) -> dict[str, str]:
    """Return our name → theirs: the official columns, changed where the user says otherwise.

    Examples
    --------
    >>> column_names({"prompt": "Q", "reply": "A"}, {"prompt": "question"}, Path("mine.csv"))
    {'prompt': 'question', 'reply': 'A'}
    """
    for name in given or {}:
        if name not in official:
            raise InputError(f"{path} has no use for '{name[:60]}'", did_you_mean(name, official))
    return {**official, **(given or {})}


def told(path: Path, problems: list[LineProblem]) -> str:
    """Name the first problems in one line.

    Examples
    --------
    >>> told(Path("a.csv"), [LineProblem(2, "has no rule")])
    'a.csv has 1 malformed line: line 2 has no rule'
    """
    named = ", ".join(f"{problem}" for problem in problems[:_NAMED])
    more = len(problems) - _NAMED
    tail = f" and {more:,} more" if more > 0 else ""
    lines = "1 malformed line" if len(problems) == 1 else f"{len(problems):,} malformed lines"
    return f"{path} has {lines}: {named}{tail}"


def _places(
    path: Path, header: tuple[str, ...], columns: Mapping[str, str], needed: tuple[str, ...]
) -> dict[str, int]:
    if len(set(header)) < len(header):
        raise InputError(f"{path} line 1 names a column twice", "name each column once")
    for name in needed:
        if columns[name] not in header:
            raise InputError(
                f"{path} has no column '{columns[name][:60]}' for the {name.replace('_', ' ')} "
                f"(columns: {', '.join(header)[:200]})",
                f"say which column it is: {name}=NAME",
            )
    return {name: header.index(theirs) for name, theirs in columns.items() if theirs in header}
