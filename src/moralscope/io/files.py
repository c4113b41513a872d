"""Files written whole or not at all, and cells that a spreadsheet cannot run."""

import contextlib
import csv
import io
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from moralscope.core.errors import MoralscopeError

SHEET_SCHEMA = "moralscope.sheet/1"
# A spreadsheet runs a cell that begins so as a formula; the full-width forms too.
_FORMULA = re.compile("^'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write beside the file first, then put it in its place: a full disk leaves no half file."""
    half = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with half.open("wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())
        half.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        raise MoralscopeError(
            f"{path} could not be written ({error.strerror})",
            "free some space or choose another place; computed rows are cached",
        ) from error


def csv_bytes(rows: Iterable[Iterable[Any]], encoding: str = "utf-8") -> bytes:
    r"""Write rows as CSV.

    Examples
    --------
    >>> csv_bytes([["a", 1], ["b, c", None]])
    b'a,1\r\n"b, c",\r\n'
    """
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(rows)
    return stream.getvalue().encode(encoding)


def escape_cell(text: str) -> str:
    """Keep a spreadsheet from running a text: an apostrophe goes before = + - @.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell("Jo waits."), restore_cell(escape_cell("'=1+1"))
    ("'=1+1", 'Jo waits.', "'=1+1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def restore_cell(text: str) -> str:
    """Undo `escape_cell`."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
