"""Files read within bounds and written whole or not at all."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from moralscope.core.errors import InputError, MoralscopeError

MAX_TEXT_BYTES = 1_000_000


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


def read_small_text(path: Path, what: str, remedy: str) -> str:
    """Read a user's small UTF-8 file; what is wrong is said in one line, by line where it can."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read ({error.strerror})", remedy) from error
    if len(data) > MAX_TEXT_BYTES:
        raise InputError(f"{what} {path} has {len(data):,} bytes", f"at most {MAX_TEXT_BYTES:,}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"{what} {path} line {line} is not valid UTF-8"
        raise InputError(problem, "save the file as UTF-8") from error
