"""The one reader of users' tables: CSV, JSONL, Parquet and plain lines, as numbered rows.

A table is read in a stream and within bounds (`Limits`); what is wrong is said as "FILE line 3 …"
with a remedy. A new format is one entry of `io.formats.FORMATS`. What columns mean is the caller's.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

from moralscope.core.errors import InputError
from moralscope.core.extras import require_extra
from moralscope.core.registry import did_you_mean, require_known
from moralscope.io.files import file_size
from moralscope.io.formats import (
    FORMATS,
    MAX_CHARACTERS,
    MAX_LINE,
    Record,
    csv_records,
    line_records,
    parse_object,
)
from moralscope.io.parquet import (
    DamagedPages,
    ParquetPages,
    most_unpacked,
    plain_rows,
    too_packed,
    unpacked_bytes,
)

MAX_PROBLEMS = 10_000
FORMS = "CSV, JSONL or Parquet"
POLICIES = ("stop", "skip")  # what to do about malformed lines
_MAX_COLUMNS = 1_000
_BATCH = 512
_NAMED = 5
_LISTED = 8
_SAVE = "save the file as UTF-8 (in Excel: CSV UTF-8)"

SUFFIXES = (*FORMATS, ".parquet")

Cells = Mapping[str, Any]
Row = tuple[int, Cells | str]  # a line's number with its cells, or what is wrong with it


@dataclass(frozen=True, slots=True)
class Limits:
    """What a table may hold; `text_only` refuses NUL and names that cannot be printed."""

    rows: int | None = None
    cell_characters: int = MAX_CHARACTERS
    file_bytes: int | None = None
    text_only: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text file is laid out."""

    lines_as: str | None = None
    """The column that a file of plain lines holds; without it such a file is refused."""
    order: tuple[str, ...] = ()
    """The columns of a CSV file whose first row need not name them."""
    delimiters: str = ""
    """What may stand between cells; the first row says which."""
    lower: bool = False
    """Whether names in a header are taken in small letters."""
    remedy: str = ""
    """What messages advise where a file is not there, or not like this."""
    others: bool = False
    """Whether rows keep the columns that the table's `columns` do not name."""


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line that cannot be used, and why.

    Examples
    --------
    >>> str(LineProblem(7, "is not JSON"))
    'line 7 is not JSON'
    """

    line: int
    what: str
    file: str = ""

    def __str__(self) -> str:
        return f"{self.file} line {self.line} {self.what}".lstrip()


class MalformedRow(Exception):
    """What is wrong with a row."""


def is_table(name: str | Path) -> bool:
    """Tell whether a file has the name of a table.

    Examples
    --------
    >>> is_table("a.csv"), is_table("a.txt")
    (True, False)
    """
    return str(name).lower().endswith(SUFFIXES)


class TableFile:
    r"""A table of a user's, read row by row.

    Parameters
    ----------
    source
        A path, a binary stream, or the text itself.
    name
        What messages call it; else the path, or stdin.
    kind
        The suffix that says what it is; else that of the path or of the name.
    columns
        Our name → the file's: rows then hold these columns only, under our names (`Layout.others`
        keeps the rest), and whoever lacks one is told of `--columns`.
    layout
        How it is laid out, where that is not as usual.
    limits
        What the table may hold.

    Attributes
    ----------
    header
        The columns, once the first row was read.
    problems
        What is wrong with which line, as far as `good_rows` was read.
    """

    def __init__(
        self,
        source: Path | IO[bytes] | str,
        *,
        name: str | None = None,
        kind: str | None = None,
        columns: Mapping[str, str] | None = None,
        layout: Layout = Layout(),  # noqa: B008 - frozen
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> None:
        self._source = source
        self.name = name or (str(source) if isinstance(source, Path) else "stdin")
        suffix = source.suffix if isinstance(source, Path) else Path(self.name).suffix
        self._kind = (kind or suffix).lower()
        self._columns = columns
        if columns is not None and layout.lower and not self.typed:
            self._columns = {ours: theirs.lower() for ours, theirs in columns.items()}
        self._layout = layout
        self._limits = limits
        self._seen = 0
        self.header: tuple[str, ...] = ()
        self.problems: list[LineProblem] = []

    @property
    def typed(self) -> bool:
        """Whether cells have types of their own; those of CSV and plain lines are all texts."""
        form = FORMATS.get(self._kind)
        return self._kind == ".parquet" or (form is not None and not form.header)

    def rows(self, required: Sequence[str] = ()) -> Iterator[Row]:
        """Yield every row: its line with its cells, or with what is wrong.

        `required` are columns that must be there, in the header or in the first object.
        """
        self._seen = 0
        remedy = self._layout.remedy or f"give {FORMS}{_with(required)}"
        if self._kind not in SUFFIXES and self._layout.lines_as is None:
            raise InputError(f"{self.name} is not a table that can be read", remedy)
        try:
            with self._opened() as stream:
                read = self._parquet if self._kind == ".parquet" else self._text
                for line, cells in read(stream, required):
                    self._seen += 1
                    if self._limits.rows is not None and self._seen > self._limits.rows:
                        raise self._too_many(self._limits.rows)
                    yield line, cells if isinstance(cells, str) else self._ours(cells)
        except OSError as error:
            problem = f"{self.name} cannot be read ({error.strerror or error})"
            raise InputError(problem, remedy) from error

    def strict_rows(
        self, required: Sequence[str] = (), remedy: str = ""
    ) -> Iterator[tuple[int, Cells]]:
        """Yield every row, or refuse the table by its first bad line."""
        for line, cells in self.rows(required):
            if isinstance(cells, str):
                advice = remedy or self._layout.remedy or "fix or delete the line"
                raise self.wrong(line, cells, _SAVE if "UTF-8" in cells else advice)
            yield line, cells

    def good_rows(self, required: Sequence[str] = ()) -> Iterator[tuple[int, Cells]]:
        """Yield the rows that can be read; the others are noted (see `check`)."""
        for line, cells in self.rows(required):
            if isinstance(cells, str):
                self.note(line, cells)
            else:
                yield line, cells

    def note(self, line: int, what: str) -> None:
        """Note a bad line; a file that is nothing but bad lines is refused."""
        self.problems.append(LineProblem(line, what))
        if len(self.problems) > MAX_PROBLEMS:
            problem = f"{self.name} has more than {MAX_PROBLEMS:,} malformed lines"
            raise InputError(problem, f"give {FORMS} with named columns")

    def check(self, remedy: str = "fix or delete these lines") -> None:
        """Refuse the table where bad lines were noted, naming the first."""
        if self.problems:
            encoded = all("UTF-8" in problem.what for problem in self.problems)
            raise InputError(name_problems(self.name, self.problems), _SAVE if encoded else remedy)

    def wrong(self, line: int, what: str, remedy: str) -> InputError:
        """Return the error that names a line of this table."""
        return InputError(f"{self.name} line {line} {what}", remedy)

    def _too_many(self, most: int) -> InputError:
        return InputError(f"{self.name} has more than {most:,} rows", "give it in parts")

    def _opened(self) -> Any:
        if isinstance(self._source, str):
            return io.BytesIO(self._source.encode("utf-8", "surrogatepass"))
        if not isinstance(self._source, Path):
            return nullcontext(self._source)
        size, limit = file_size(self._source), self._limits.file_bytes
        if limit is not None and size > limit:
            raise InputError(f"{self.name} has {size:,} bytes", f"at most {limit:,}")
        return self._source.open("rb")

    def _text(self, stream: IO[bytes], required: Sequence[str]) -> Iterator[Row]:
        form = FORMATS.get(self._kind)
        if form is None:
            for _, _, at, text, wrong in line_records(stream, whole=True, blank=True):
                yield at + 1, wrong or {str(self._layout.lines_as): text}
        elif form.header:
            records = form.records
            if self._layout.delimiters:  # spreadsheets save with what their country uses
                first = stream.readline(MAX_LINE).decode("utf-8", "replace")
                stream.seek(0)
                delimiter = max(self._layout.delimiters, key=first.count)
                records = partial(csv_records, delimiter=delimiter)
            yield from self._headed(records(stream, whole=True), required)
        else:
            for _, _, at, text, wrong in form.records(stream, whole=True):
                row = wrong or parse_object(str(text))
                if not self.header and isinstance(row, dict):
                    self.header = tuple(row)
                    self.require(required, f"{self.name} line {at + 1}")
                yield at + 1, row if isinstance(row, str) else self._checked(row)

    def _headed(self, records: Iterator[Record], required: Sequence[str]) -> Iterator[Row]:
        """Yield the rows of records whose first names the columns, or may."""
        first = next(records, None)
        if first is not None and first[4] and not self._layout.order:
            remedy = _SAVE if "UTF-8" in first[4] else "name each column in it"
            raise self.wrong(1, first[4], remedy)
        names = tuple(name.strip() for name in first[3]) if first and not first[4] else ()
        if self._layout.order:
            headed = (
                tuple(name.lower() for name in names) == self._layout.order[: len(names) or None]
            )
            self.header = self._layout.order
            widths = range(len(required), len(self._layout.order) + 1)
            records = records if headed or first is None else chain([first], records)
        else:
            self.header = tuple(name.lower() for name in names) if self._layout.lower else names
            if not names and required:
                advice = self._layout.remedy or f"give a table{_with(required)}"
                raise InputError(f"{self.name} is empty", advice)
            self._check_header()
            self.require(required, f"{self.name} line 1")
            widths = range(len(names), len(names) + 1)
        for _, _, at, cells, wrong in records:
            yield at + 1, wrong or self._cells(cells, widths)

    def _check_header(self) -> None:
        named = [name for name in self.header if name]
        if len(set(named)) < len(named):
            twice = next(name for name in named if named.count(name) > 1)
            raise self.wrong(1, f"names a column twice ('{twice[:60]}')", "name each column once")
        if self._limits.text_only:
            if not named or len(named) > _MAX_COLUMNS:
                raise self.wrong(1, "is not a header", "name the columns in line 1")
            if not all(name.isprintable() for name in named):
                raise self.wrong(1, "holds a character that is not text", "fix it")

    def _cells(self, cells: Any, widths: range) -> Cells | str:
        if len(cells) not in widths:
            wanted = f"not {widths[0]}" if self._layout.order else f"the header {widths[0]}"
            return f"has {len(cells)} cells, {wanted}"
        return self._checked(dict(zip(self.header, cells, strict=False)))

    def _checked(self, cells: Cells) -> Cells | str:
        for name, cell in cells.items():
            if not isinstance(cell, str):
                continue
            if len(cell) > self._limits.cell_characters:
                most = f"at most {self._limits.cell_characters:,}"
                return f"has {len(cell):,} characters under '{name[:40]}', {most}"
            if self._limits.text_only and "\x00" in cell:
                return f"has a character under '{name[:40]}' that is not text"
        return cells

    def _parquet(self, stream: IO[bytes], required: Sequence[str]) -> Iterator[Row]:
        require_extra("batch", "a Parquet file")
        import pyarrow as pa

        number, most = 0, self._limits.rows
        try:
            file = ParquetPages(stream, self.name)
            self.header = tuple(file.schema.names)
            self.require(required, self.name)
            if most is not None and sum(file.rows) > most:
                raise self._too_many(most)
            only, unpacked = None, 0
            if self._columns is not None and not self._layout.others:
                only = [name for name in self._columns.values() if name in self.header]
            for batch in chain.from_iterable(
                file.batches(group, _BATCH, only) for group in range(len(file.rows))
            ):
                unpacked += unpacked_bytes(batch)
                if unpacked > most_unpacked(file.size):
                    raise too_packed(self.name, file.size)
                for row in plain_rows(batch):
                    number += 1
                    yield number, row if isinstance(row, str) else self._checked(row)
        except (pa.ArrowException, DamagedPages) as error:
            line = (str(error).splitlines() or ["damaged"])[0][:160]
            remedy = f"give a Parquet file{_with(required)}"
            raise InputError(f"{self.name} is not Parquet ({line})", remedy) from error

    def require(self, required: Sequence[str], where: str) -> None:
        """Refuse a header that lacks one of these columns."""
        if self._columns is None:
            check_columns(self.header, required, where, self._layout.remedy)
            return
        for ours in required:
            theirs, called = self._columns.get(ours, ours), ours.replace("_", " ")
            if theirs not in self.header:
                for_us = "" if theirs == ours else f" for the {called}"
                raise InputError(
                    f"{where} has no column '{theirs[:60]}'{for_us} "
                    f"(columns: {_listed(self.header)})",
                    _other_delimiter(self.header)
                    or f"say which column is the {called}: --columns {ours}=NAME",
                )

    def _ours(self, cells: Cells) -> Cells:
        if self._columns is None:
            return cells
        named = {ours: cells[theirs] for ours, theirs in self._columns.items() if theirs in cells}
        taken = self._columns.values() if self._layout.others else cells
        return {name: cell for name, cell in cells.items() if name not in taken} | named


def read_header(path: Path) -> tuple[str, ...]:
    """Return the columns of a CSV file."""
    table = TableFile(path, kind=".csv", layout=Layout(remedy="name a CSV file with a header"))
    next(table.rows(), None)
    return table.header


def check_columns(
    names: Iterable[str], required: Sequence[str], where: str, remedy: str = ""
) -> None:
    """Refuse a table that lacks a required column, saying which columns it has."""
    there = list(names)
    for name in required:
        if name not in there:
            problem = f"{where} has no column '{name[:60]}' (columns: {_listed(there)})"
            advice = remedy or f"give a table{_with(required)}"
            raise InputError(problem, _other_delimiter(there) or advice)


def name_problems(name: str | Path, problems: Sequence[LineProblem]) -> str:
    """Name the first problems of a file in one line.

    Examples
    --------
    >>> name_problems("a.csv", [LineProblem(2, "has no rule")])
    'a.csv has 1 malformed line: line 2 has no rule'
    """
    named = ", ".join(f"{problem}" for problem in problems[:_NAMED])
    more = len(problems) - _NAMED
    tail = f" and {more:,} more" if more > 0 else ""
    lines = "1 malformed line" if len(problems) == 1 else f"{len(problems):,} malformed lines"
    return f"{name} has {lines}: {named}{tail}"


def _with(required: Sequence[str]) -> str:
    if not required:
        return ""
    return f" with the column{'s' * (len(required) > 1)} {', '.join(required)}"


def _other_delimiter(names: Sequence[str]) -> str:
    """Return what to do about a header that is one cell because commas don't separate it."""
    if len(names) == 1:
        for sign, called in ((";", "semicolons"), ("\t", "tabs")):
            if sign in names[0]:
                return f"the cells are separated by {called}: save the file with commas"
    return ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"{', '.join(str(name)[:40] for name in names[:_LISTED])[:200] or 'none'}{more}"


def parse_pairs(text: str | None, option: str, like: str) -> dict[str, str]:
    """Read an option of the form name=value, by commas; None has none.

    Examples
    --------
    >>> parse_pairs("severity=ordinal, rule=text", "--levels", "FIELD=LEVEL")
    {'severity': 'ordinal', 'rule': 'text'}
    """
    pairs: dict[str, str] = {}
    for part in text.split(",") if text is not None else ():
        if pairs and not part.strip():
            continue  # a comma at the end
        name, sign, value = (word.strip() for word in part.partition("="))
        if not sign or not name or not value or name in pairs:
            raise InputError(f"{option} has '{part.strip()[:60]}'", f"write it like {like}")
        pairs[name] = value
    return pairs


def parse_columns(
    text: str | None, known: Sequence[str] = (), *, like: str = "prompt=Q,reply=A"
) -> dict[str, str]:
    """Read `--columns`: our name of a column and the file's; `known` are the names we have."""
    columns = parse_pairs(text, "--columns", like)
    for ours in columns:
        if known and ours not in known:
            raise InputError(f"--columns has '{ours[:60]}'", did_you_mean(ours, known))
    if len(set(columns.values())) < len(columns):
        raise InputError("--columns names a column twice", f"write it like {like}")
    return columns


def rename_columns(
    official: Mapping[str, str], chosen: Mapping[str, str] | None, path: Path
) -> dict[str, str]:
    """Return our name → theirs: the official columns, changed where the user says otherwise.

    Examples
    --------
    >>> rename_columns({"prompt": "Q", "reply": "A"}, {"prompt": "question"}, Path("mine.csv"))
    {'prompt': 'question', 'reply': 'A'}
    """
    for name in chosen or {}:
        require_known(name, official, f"{path} has no use for '{name[:60]}'")
    return {**official, **(chosen or {})}
