"""People's ratings from a CSV file: how many said yes and how many no, in each population.

The whole file must be good: what is wrong is named with its line, nothing is repaired.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError

ONE_POPULATION = "people"
POOLED = "pooled"
_COUNT = re.compile(r"[0-9]{1,9}")
_FORMAT = "write a CSV file with the columns action, yes, no (or amt_yes, amt_no, …)"
Counts = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Ratings:
    """Yes and no counts of each action in each population, in the order of the file."""

    source: str
    populations: tuple[str, ...]
    counts: Mapping[str, Counts]
    warnings: tuple[str, ...] = ()


def read_ratings(path: Path) -> Ratings:
    """Read and check a file of ratings; what is wrong is named with its line."""
    return parse_ratings(_text(path), str(path))


def parse_ratings(text: str, source: str) -> Ratings:
    r"""Check the text of a file of ratings.

    Examples
    --------
    >>> parse_ratings("action,yes,no\nlie,1,9\n", "ratings.csv").counts["lie"]
    {'people': (1, 9)}
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        columns = _columns(header, source)
        rows = list(_data_rows(reader, header, columns, source))
    except csv.Error as error:
        raise _wrong(source, reader.line_num, f"is not CSV ({error})", "fix it") from error
    if not rows:
        raise InputError(f"{source} holds no rated actions", _FORMAT)
    counts: dict[str, Counts] = {}
    lines: dict[str, int] = {}
    repeated = []
    for line, action, found in rows:
        if action not in counts:
            counts[action], lines[action] = found, line
        elif counts[action] == found:
            repeated.append(line)
        else:
            raise InputError(
                f"{source} lines {lines[action]} and {line} give '{action[:60]}' different counts",
                "keep one of them, or add them up",
            )
    note = f"{source} repeats {len(repeated)} actions with the same counts (first: line "
    notes = (f"{note}{repeated[0]}): each was used once",) if repeated else ()
    return Ratings(source, tuple(columns), counts, notes)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})", _FORMAT) from error
    if not data.strip():
        raise InputError(f"{path} is empty", _FORMAT)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"is not valid UTF-8 (byte 0x{data[error.start]:02x})"
        raise _wrong(str(path), line, what, "save the file as UTF-8") from error


def _columns(header: Sequence[str], source: str) -> dict[str, tuple[int, int]]:
    """Return the places of the yes and no columns of each population."""
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise _wrong(source, 1, f"has two columns '{twice}'", "name each column once")
    if "action" not in header:
        names = ", ".join(header[:8])[:200]
        raise _wrong(source, 1, f"has no column 'action' (columns: {names})", _FORMAT)
    found: dict[str, tuple[int, int]] = {}
    for name in header:
        match = re.fullmatch(r"(?:(.+)_)?(yes|no)", name)
        if match is None:
            continue
        prefix = f"{match[1]}_" if match[1] else ""
        missing = next((p for p in (f"{prefix}yes", f"{prefix}no") if p not in header), None)
        if missing is not None:
            raise _wrong(source, 1, f"has a column '{name}' but no '{missing}'", "add it")
        population = match[1] or ONE_POPULATION
        if population == POOLED:
            what = f"has a population '{POOLED}', which means all of them together"
            raise _wrong(source, 1, what, "rename its columns")
        found[population] = header.index(f"{prefix}yes"), header.index(f"{prefix}no")
    if not found:
        raise _wrong(source, 1, "has no columns 'yes' and 'no'", _FORMAT)
    return found


def _data_rows(
    reader: Iterator[list[str]], header: Sequence[str], columns: Counts, source: str
) -> Iterator[tuple[int, str, Counts]]:
    place = header.index("action")
    for cells in reader:
        line = getattr(reader, "line_num", 0)
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            what = f"has {len(cells)} cells where the header has {len(header)}"
            raise _wrong(source, line, what, "fix it; quote actions that hold a comma")
        action = cells[place].strip()
        if not action:
            raise _wrong(source, line, "has no action", "write it, or remove the line")
        found = {}
        for name, (yes, no) in columns.items():
            counts = [_count(cells[at], header[at], source, line) for at in (yes, no)]
            if not any(counts):
                what = f"has no raters ({header[yes]} + {header[no]} is 0)"
                raise _wrong(source, line, what, "remove the line; a rate needs one rater at least")
            found[name] = counts[0], counts[1]
        yield line, action, found


def _count(cell: str, column: str, source: str, line: int) -> int:
    text = cell.strip()
    if _COUNT.fullmatch(text):
        return int(text)
    what = f"has {column} = '{text[:20]}'" if text else f"has no {column}"
    raise _wrong(source, line, what, "give a whole number of people, 0 or more")


def _wrong(source: str, line: int, what: str, remedy: str) -> InputError:
    return InputError(f"{source} line {line} {what}", remedy)
