"""Rows for the judge: CSV or JSONL with `action`, and norm, situation, intention, consequence.

Bad input is refused with the line that holds it, and whole: results must match the file line by
line. A column whose name is a slip of a known one is refused; any other column is not read, and
said.
"""

import csv
import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from moralscope.axes.judge.judge import COLUMNS
from moralscope.core.errors import InputError
from moralscope.io.actions import MAX_ACTIONS, check_text, numbered_lines

SUFFIXES = (".csv", ".jsonl", ".ndjson")
_NOT_A_NUMBER = "nan"  # how a missing cell looks when a table of numbers wrote it


@dataclass(frozen=True, slots=True)
class JudgeRows:
    """The sentences of each row, by column, and the columns of the file that nobody reads."""

    rows: Sequence[Mapping[str, str]]
    ignored: Sequence[str] = ()


def read_rows(path: Path, max_rows: int = MAX_ACTIONS) -> JudgeRows:
    """Read rows from a .csv or .jsonl file; an empty cell or null is a sentence not given."""
    remedy = "give CSV or JSONL with an 'action' column"
    reader = _csv_rows if path.suffix.lower() == ".csv" else _jsonl_rows
    ignored: dict[str, None] = {}
    rows: list[Mapping[str, str]] = []
    try:
        with path.open("rb") as stream:
            for line, cells in reader(stream, str(path)):
                if len(rows) == max_rows:
                    raise InputError(
                        f"{path} holds more than {max_rows:,} rows",
                        "judge it in parts, or raise --max-actions",
                    )
                ignored.update(dict.fromkeys(_unknown(cells, f"{path} line {line}")))
                rows.append(_row(cells, str(path), line))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})", remedy) from error
    if not rows:
        raise InputError(f"{path} holds no rows", remedy)
    return JudgeRows(rows, tuple(ignored))


def _row(cells: Mapping[str, Any], source: str, line: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in COLUMNS:
        value = cells.get(name)
        if value is None:
            continue
        if not isinstance(value, str) or value.strip().lower() == _NOT_A_NUMBER:
            raise InputError(f"{source} line {line} has no text under '{name}'", "write it as text")
        check_text(value, source, "line", line)
        if value.strip():
            found[name] = value.strip()
    if "action" not in found:
        raise InputError(f"{source} line {line} has no action", "add what is to be judged")
    return found


def _unknown(names: Iterable[str], where: str) -> list[str]:
    unknown = [name for name in names if name not in COLUMNS]
    for name in unknown:
        near = difflib.get_close_matches(name.lower(), COLUMNS, n=1, cutoff=0.75)
        if near:
            raise InputError(f"{where} has a column '{name[:60]}'", f"did you mean '{near[0]}'?")
    return unknown


def _csv_rows(stream: IO[bytes], source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader((line for _, line in numbered_lines(stream, source)), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if len(set(header)) < len(header):
            raise InputError(f"{source} line 1 names a column twice", "name each column once")
        _unknown(header, f"{source} line 1")
        if header and "action" not in header:
            names = ", ".join(header[:8])[:200]
            raise InputError(f"{source} has no column 'action' (columns: {names})", "add it")
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise InputError(
                    f"{source} line {reader.line_num} has {len(cells)} cells, the header "
                    f"{len(header)}",
                    "quote texts that hold commas",
                )
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InputError(
            f"{source} line {reader.line_num} is not CSV ({error})", "fix it"
        ) from error


def _jsonl_rows(stream: IO[bytes], source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in numbered_lines(stream, source):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{source} line {line} is not JSON", "write one object a line"
            ) from error
        if not isinstance(row, dict):
            raise InputError(f"{source} line {line} is no object", "write one object a line")
        yield line, row
