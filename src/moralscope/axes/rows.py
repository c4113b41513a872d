"""Rows for an axis that reads more than actions: CSV or JSONL with `action`, and a norm, say.

Bad input is refused with the line that holds it, and whole: results must match the file line by
line. A column whose name is a slip of a known one is refused; any other column is not read, and
said.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.actions import MAX_ACTIONS, check_text
from moralscope.io.tables import SUFFIXES, Layout, Table, check_columns

__all__ = ["SUFFIXES", "ActionRows", "read_rows"]
_LAYOUT = Layout(lower=True, remedy="give CSV or JSONL with an 'action' column")
_NOT_A_NUMBER = "nan"  # how a missing cell looks when a table of numbers wrote it


@dataclass(frozen=True, slots=True)
class ActionRows:
    """The sentences of each row, by column, and the columns of the file that nobody reads."""

    rows: Sequence[Mapping[str, str]]
    ignored: Sequence[str] = ()


def read_rows(path: Path, columns: Sequence[str], max_rows: int = MAX_ACTIONS) -> ActionRows:
    """Read these columns of a table; an empty cell or null is a sentence not given."""
    table = Table(path, layout=_LAYOUT)
    ignored: dict[str, None] = {}
    rows: list[Mapping[str, str]] = []
    for line, cells in table.strict_rows(
        (), "write one object a line in JSONL; quote commas in CSV"
    ):
        if not rows and not table.typed:
            _unknown(table.header, columns, f"{path} line 1")
            check_columns(table.header, ["action"], f"{path} line 1", _LAYOUT.remedy)
        if len(rows) == max_rows:
            problem = f"{path} holds more than {max_rows:,} rows"
            raise InputError(problem, "score it in parts, or as a corpus with --out DIR")
        ignored.update(dict.fromkeys(_unknown(cells, columns, f"{path} line {line}")))
        rows.append(_row({name: cells.get(name) for name in columns}, str(path), line))
    if not rows:
        raise InputError(f"{path} holds no rows", _LAYOUT.remedy)
    return ActionRows(rows, tuple(ignored))


def _row(cells: Mapping[str, Any], source: str, line: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in cells.items():
        if value is None:
            continue
        if not isinstance(value, str) or value.strip().lower() == _NOT_A_NUMBER:
            raise InputError(f"{source} line {line} has no text under '{name}'", "write it as text")
        check_text(value, source, "line", line)
        if value.strip():
            found[name] = value.strip()
    if "action" not in found:
        raise InputError(f"{source} line {line} has no action", "add what is to be scored")
    return found


def _unknown(names: Iterable[str], columns: Sequence[str], where: str) -> list[str]:
    unknown = [name for name in names if name not in columns]
    for name in unknown:
        near = difflib.get_close_matches(name.lower(), columns, n=1, cutoff=0.75)
        if near:
            raise InputError(f"{where} has a column '{name[:60]}'", f"did you mean '{near[0]}'?")
    return unknown
