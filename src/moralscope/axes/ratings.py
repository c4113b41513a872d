"""People's ratings from a CSV file: how many said yes and how many no, in each population.

The whole file must be good: what is wrong is named with its line, nothing is repaired.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.tables import Layout, TableFile

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
    return _checked(TableFile(path, kind=".csv", layout=_LAYOUT))


def parse_ratings(text: str, source: str) -> Ratings:
    r"""Check the text of a file of ratings.

    Examples
    --------
    >>> parse_ratings("action,yes,no\nlie,1,9\n", "ratings.csv").counts["lie"]
    {'people': (1, 9)}
    """
    return _checked(TableFile(text, name=source, kind=".csv", layout=_LAYOUT))


def _checked(table: TableFile) -> Ratings:
    counts: dict[str, Counts] = {}
    lines: dict[str, int] = {}
    repeated = []
    columns: dict[str, tuple[str, str]] = {}
    for line, cells in table.strict_rows(["action"], "fix it; quote actions that hold a comma"):
        columns = columns or _columns(table)
        if not any(cell.strip() for cell in cells.values()):
            continue
        action = cells["action"].strip()
        if not action:
            raise table.wrong(line, "has no action", "write it, or remove the line")
        rated: dict[str, tuple[int, int]] = {}
        for population, pair in columns.items():
            numbers = []
            for name in pair:
                text = cells[name].strip()
                if not _COUNT.fullmatch(text):
                    what = f"has {name} = '{text[:20]}'" if text else f"has no {name}"
                    raise table.wrong(line, what, "give a whole number of people, 0 or more")
                numbers.append(int(text))
            if not any(numbers):
                what = f"has no raters ({' + '.join(pair)} is 0)"
                raise table.wrong(line, what, "remove the line; a rate needs one rater at least")
            rated[population] = numbers[0], numbers[1]
        if action not in counts:
            counts[action], lines[action] = rated, line
        elif counts[action] == rated:
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


def _columns(table: TableFile) -> dict[str, tuple[str, str]]:
    """Return the yes and no columns of each population."""
    columns: dict[str, tuple[str, str]] = {}
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
        columns[population] = pair
    if not columns:
        raise table.wrong(1, "has no columns 'yes' and 'no'", _FORMAT)
    return columns
