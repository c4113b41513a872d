"""Writing a file whole or not at all."""

import contextlib
import os
from pathlib import Path

from moralscope.core.errors import MoralscopeError


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the file first, then put it in its place: a full disk leaves no half file."""
    half = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with half.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        half.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        raise MoralscopeError(
            f"{path} could not be written ({error.strerror})",
            "free some space or choose another place",
        ) from error
