"""Actions from arguments, files or a stream: plain lines, CSV or JSONL; checked before any work.

Bad input is refused with the line that holds it. The whole input must be good: a score list
that silently lacks a line would no longer match the file it came from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from moralscope.core.errors import InputError
from moralscope.io.tables import Cells, Layout, TableFile, is_table

MAX_ACTIONS = 200_000
MAX_CHARACTERS = 100_000
_FIX = "write one object per line in JSONL; quote texts that hold commas in CSV"
_COLUMN = "action"
_LAYOUT = Layout(
    lines_as=_COLUMN,
    lower=True,
    remedy="give a text file with one action per line, or CSV/JSONL with an 'action' column",
)


Row = tuple[int, str, Sequence[str]]  # line or number, action, paraphrases


@dataclass(frozen=True, slots=True)
class ActionList:
    """Actions in their order; `paraphrases` holds the other wordings of each, if any were given."""

    actions: Sequence[str]
    paraphrases: Sequence[Sequence[str]] | None = None


def check_actions(actions: Sequence[str]) -> ActionList:
    """Check actions given by hand or by a program."""
    rows = ((number, action, ()) for number, action in enumerate(actions, 1))
    return _collect(rows, "actions", "number", MAX_ACTIONS)


def read_actions(
    source: Path | IO[bytes],
    max_actions: int = MAX_ACTIONS,
    columns: Mapping[str, str] | None = None,
) -> ActionList:
    """Read a file of plain lines, CSV, JSONL or Parquet, or plain lines from a binary stream.

    `columns` says what a table calls the action and its paraphrases.
    """
    names = None
    if columns is not None and isinstance(source, Path) and is_table(source):
        names = {_COLUMN: _COLUMN, "paraphrases": "paraphrases", **columns}
    elif columns:
        raise InputError("plain lines have no columns", "leave --columns out, or give a table")
    table = TableFile(source, layout=_LAYOUT, columns=names)

    def row(line: int, cells: Cells) -> Row:
        action = cells.get(_COLUMN)
        if not isinstance(action, str):
            raise table.wrong(line, f"has no text under '{_COLUMN}'", "add it")
        others = cells.get("paraphrases") or []
        if isinstance(others, str) and not table.typed:
            others = others.split("|")
        if not isinstance(others, list) or not all(isinstance(text, str) for text in others):
            raise table.wrong(line, "has paraphrases that are no list of texts", "fix it")
        return line, action, [text.strip() for text in others if text.strip()]

    rows = (row(line, cells) for line, cells in table.strict_rows([_COLUMN], _FIX))
    return _collect(rows, table.name, "line", max_actions)


def _collect(rows: Iterable[Row], source: str, unit: str, max_actions: int) -> ActionList:
    actions: list[str] = []
    paraphrases: list[Sequence[str]] = []
    blank_at = 0
    for number, raw, others in rows:
        action = raw.strip()
        if not action:
            blank_at = blank_at or number  # an error, unless only blank lines follow in a file
            continue
        if blank_at:
            raise _refuse(source, unit, blank_at, "is an empty action", "remove it")
        if len(actions) == max_actions:
            raise InputError(
                f"{source} holds more than {max_actions:,} actions",
                "score it as a corpus with --out DIR (one run record is held in memory)",
            )
        for text in (action, *others):
            check_text(text, source, unit, number)
        actions.append(action)
        paraphrases.append(tuple(others))
    if blank_at and (unit == "number" or not actions):
        raise _refuse(source, unit, blank_at, "is an empty action", "write what is to be scored")
    if not actions:
        raise InputError(f"{source} holds no actions", "give at least one, e.g. 'kill time'")
    return ActionList(actions, paraphrases if any(paraphrases) else None)


def check_text(text: str, source: str, unit: str, number: int) -> None:
    """Refuse a text that is too long or holds what is no character."""
    wrong = wrong_text(text)
    if wrong is not None:
        raise _refuse(source, unit, number, *wrong)


def wrong_text(text: str) -> tuple[str, str] | None:
    """Say what is wrong with a text and what to do about it; None where nothing is.

    Examples
    --------
    >>> wrong_text("kill time"), wrong_text("x" * 200_000)
    (None, ('has 200,000 characters', 'an action has at most 100,000'))
    """
    if len(text) > MAX_CHARACTERS:
        return f"has {len(text):,} characters", f"an action has at most {MAX_CHARACTERS:,}"
    # The second is slow and seldom needed: what can be encoded holds no half pair.
    if "\x00" in text or (not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)):
        what = "holds a character that is not text (NUL or half a surrogate pair)"
        return what, "give valid UTF-8 text"
    return None


def _refuse(source: str, unit: str, number: int, what: str, remedy: str) -> InputError:
    return InputError(f"{source} {unit} {number} {what}", remedy)
