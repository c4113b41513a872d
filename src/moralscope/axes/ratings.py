"""People's ratings from a CSV file: how many said yes and how many no, in each population.

The whole file must be good: what is wrong is named with its line, nothing is repaired.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.tables import Cells, Layout, Table

ONE_POPULATION = "people"
POOLED = "pooled"
_COUNT = re.compile(r"[0-9]{1,9}")
_FORMAT = "write a CSV file with the columns action, yes, no (or amt_yes, amt_no, …)"
_LAYOUT = Layout(lower=True, remedy=_FORMAT)
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
    return _checked(Table(path, kind=".csv", layout=_LAYOUT))


def parse_ratings(text: str, source: str) -> Ratings:
    r"""Check the text of a file of ratings.

    Examples
    --------
    >>> parse_ratings("action,yes,no\nlie,1,9\n", "ratings.csv").counts["lie"]
    {'people': (1, 9)}
    """
    return _checked(Table(text, name=source, kind=".csv", layout=_LAYOUT))


def _checked(table: Table) -> Ratings:
    counts: dict[str, Counts] = {}
    lines: dict[str, int] = {}
    repeated = []
    columns: dict[str, tuple[str, str]] = {}
    for line, cells in table.strict_rows(["action"], "fix it; quote actions that hold a comma"):
        columns = columns or _columns(table)
        if not any(cell.strip() for cell in cells.values()):
            continue
        action, found = _row(line, cells, columns, table)
        if action not in counts:
            counts[action], lines[action] = found, line
        elif counts[action] == found:
            repeated.append(line)
        else:
            raise InputError(
                f"{table.name} lines {lines[action]} and {line} give '{action[:60]}' "
                "different counts",
                "keep one of them, or add them up",
            )
    if not counts:
        _columns(table)
        raise InputError(f"{table.name} holds no rated actions", _FORMAT)
    note = f"{table.name} repeats {len(repeated)} actions with the same counts (first: line "
    notes = (f"{note}{repeated[0]}): each was used once",) if repeated else ()
    return Ratings(table.name, tuple(columns), counts, notes)


def _columns(table: Table) -> dict[str, tuple[str, str]]:
    """Return the yes and no columns of each population."""
    found: dict[str, tuple[str, str]] = {}
    for name in table.header:
        match = re.fullmatch(r"(?:(.+)_)?(yes|no)", name)
        if match is None:
            continue
        prefix = f"{match[1]}_" if match[1] else ""
        pair = f"{prefix}yes", f"{prefix}no"
        missing = next((one for one in pair if one not in table.header), None)
        if missing is not None:
            raise table.wrong(1, f"has a column '{name}' but no '{missing}'", "add it")
        population = match[1] or ONE_POPULATION
        if population == POOLED:
            what = f"has a population '{POOLED}', which means all of them together"
            raise table.wrong(1, what, "rename its columns")
        found[population] = pair
    if not found:
        raise table.wrong(1, "has no columns 'yes' and 'no'", _FORMAT)
    return found


def _row(
    line: int, cells: Cells, columns: Mapping[str, tuple[str, str]], table: Table
) -> tuple[str, Counts]:
    action = cells["action"].strip()
    if not action:
        raise table.wrong(line, "has no action", "write it, or remove the line")
    found = {}
    for population, (yes, no) in columns.items():
        counts = [_count(cells[name], name, table, line) for name in (yes, no)]
        if not any(counts):
            what = f"has no raters ({yes} + {no} is 0)"
            raise table.wrong(line, what, "remove the line; a rate needs one rater at least")
        found[population] = counts[0], counts[1]
    return action, found


def _count(cell: str, column: str, table: Table, line: int) -> int:
    text = cell.strip()
    if _COUNT.fullmatch(text):
        return int(text)
    what = f"has {column} = '{text[:20]}'" if text else f"has no {column}"
    raise table.wrong(line, what, "give a whole number of people, 0 or more")
