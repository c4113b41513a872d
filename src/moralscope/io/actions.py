"""Actions from arguments, files or a stream: plain lines, CSV or JSONL; checked before any work.

Bad input is refused with the line that holds it. The whole input must be good: a score list
that silently lacks a line would no longer match the file it came from.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from moralscope.core.errors import InputError

MAX_ACTIONS = 200_000
MAX_CHARACTERS = 10_000
_MAX_LINE_BYTES = 1 << 20
_COLUMN = "action"


@dataclass(frozen=True, slots=True)
class ActionList:
    """Actions in their order; `paraphrases` holds the other wordings of each, if any were given."""

    actions: Sequence[str]
    paraphrases: Sequence[Sequence[str]] | None = None


def check_actions(actions: Sequence[str], max_actions: int = MAX_ACTIONS) -> ActionList:
    """Check actions given by hand or by a program.

    Examples
    --------
    >>> check_actions(["kill time"]).actions
    ['kill time']
    """
    rows = ((place, action, ()) for place, action in enumerate(actions, 1))
    return _collect(rows, "actions", "number", max_actions)


def read_actions(source: Path | IO[bytes], max_actions: int = MAX_ACTIONS) -> ActionList:
    """Read a .txt, .csv or .jsonl file, or plain lines from a binary stream."""
    if not isinstance(source, Path):
        return _collect(_text_rows(source, "stdin"), "stdin", "line", max_actions)
    readers = {".csv": _csv_rows, ".jsonl": _jsonl_rows, ".ndjson": _jsonl_rows}
    reader = readers.get(source.suffix.lower(), _text_rows)
    try:
        with source.open("rb") as stream:
            return _collect(reader(stream, str(source)), str(source), "line", max_actions)
    except OSError as error:
        raise InputError(
            f"{source} cannot be read ({error.strerror})",
            "give a text file with one action a line, or CSV/JSONL with an 'action' column",
        ) from error


Row = tuple[int, str, Sequence[str]]


def _collect(rows: Iterable[Row], source: str, unit: str, max_actions: int) -> ActionList:
    actions: list[str] = []
    paraphrases: list[Sequence[str]] = []
    blank_at = 0
    for place, raw, others in rows:
        action = raw.strip()
        if not action:
            blank_at = blank_at or place  # an error, unless only blank lines follow in a file
            continue
        if blank_at:
            raise _refuse(source, unit, blank_at, "is an empty action", "remove it")
        if len(actions) == max_actions:
            raise InputError(
                f"{source} holds more than {max_actions:,} actions",
                "score it in parts, or raise --max-actions (one run record is held in memory)",
            )
        for text in (action, *others):
            check_text(text, source, unit, place)
        actions.append(action)
        paraphrases.append(tuple(others))
    if blank_at and (unit == "number" or not actions):
        raise _refuse(source, unit, blank_at, "is an empty action", "write what is to be scored")
    if not actions:
        raise InputError(f"{source} holds no actions", "give at least one, e.g. 'kill time'")
    return ActionList(actions, paraphrases if any(paraphrases) else None)


def check_text(text: str, source: str, unit: str, place: int) -> None:
    """Refuse a text that is too long or holds what is no character."""
    wrong = wrong_text(text)
    if wrong is not None:
        raise _refuse(source, unit, place, *wrong)


def wrong_text(text: str) -> tuple[str, str] | None:
    """Say what is wrong with a text and what to do about it; None where nothing is.

    Examples
    --------
    >>> wrong_text("kill time"), wrong_text("x" * 20_000)
    (None, ('has 20,000 characters', 'an action has at most 10,000'))
    """
    if len(text) > MAX_CHARACTERS:
        return f"has {len(text):,} characters", f"an action has at most {MAX_CHARACTERS:,}"
    # The second is slow and seldom needed: what can be encoded holds no half pair.
    if "\x00" in text or (not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)):
        what = "holds a character that is not text (NUL or half a surrogate pair)"
        return what, "give valid UTF-8 text"
    return None


def _refuse(source: str, unit: str, place: int, what: str, remedy: str) -> InputError:
    return InputError(f"{source} {unit} {place} {what}", remedy)


def numbered_lines(stream: IO[bytes], source: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; a line too long or not UTF-8 is refused, not repaired."""
    place = 0
    while data := stream.readline(_MAX_LINE_BYTES):
        place += 1
        if len(data) == _MAX_LINE_BYTES and not data.endswith(b"\n"):
            limit = f"an action has at most {MAX_CHARACTERS:,} characters"
            raise _refuse(source, "line", place, "has more than 1,000,000 bytes", limit)
        try:
            line = data.decode("utf-8-sig" if place == 1 else "utf-8")
        except UnicodeDecodeError as error:
            what = f"is not valid UTF-8 (byte 0x{data[error.start]:02x} at {error.start + 1})"
            raise _refuse(source, "line", place, what, "save the file as UTF-8") from error
        yield place, line


def _text_rows(stream: IO[bytes], source: str) -> Iterator[Row]:
    for place, line in numbered_lines(stream, source):
        yield place, line, ()


def _csv_rows(stream: IO[bytes], source: str) -> Iterator[Row]:
    lines = (line for _, line in numbered_lines(stream, source))
    reader = csv.reader(lines, strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if _COLUMN not in header:
            names = ", ".join(header[:8])[:200] or "none"
            raise InputError(
                f"{source} has no column '{_COLUMN}' (columns: {names})", "name the column 'action'"
            )
        column = header.index(_COLUMN)
        other = header.index("paraphrases") if "paraphrases" in header else None
        for cells in reader:
            if not cells:
                continue
            others = cells[other].split("|") if other is not None and other < len(cells) else []
            action = cells[column] if column < len(cells) else ""
            yield reader.line_num, action, [text.strip() for text in others if text.strip()]
    except csv.Error as error:
        raise _refuse(source, "line", reader.line_num, f"is not CSV ({error})", "fix it") from error


def _jsonl_rows(stream: IO[bytes], source: str) -> Iterator[Row]:
    for place, line in numbered_lines(stream, source):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # also a number of 5,000 digits
            raise _refuse(
                source, "line", place, "is not JSON", "write one object a line"
            ) from error
        action = row.get(_COLUMN) if isinstance(row, dict) else None
        if not isinstance(action, str):
            raise _refuse(source, "line", place, "has no text under 'action'", "add it")
        others = row.get("paraphrases") or []
        if not isinstance(others, list) or not all(isinstance(text, str) for text in others):
            raise _refuse(source, "line", place, "has paraphrases that are no list of texts", "fix")
        yield place, action, [text.strip() for text in others if text.strip()]
