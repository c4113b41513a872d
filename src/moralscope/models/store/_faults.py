"""Turns what the operating system says about a disk into what the user can do about it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moralscope.core.errors import StoreError
from moralscope.models.store._entries import ModelEntry

_ELSEWHERE = "set MORALSCOPE_HOME to a folder"


@contextmanager
def explained(entry: ModelEntry, home: Path) -> Iterator[None]:
    """Raise `StoreError` in place of an `OSError` met while writing `entry` into `home`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            need = f"{entry.size_while_pulling / 1e6:,.0f} MB"
            problem = f"no space left in {home}: pulling {entry.name} needs {need} there"
            remedy = f"free some, or {_ELSEWHERE} with more, and pull again"
            raise StoreError(problem, remedy) from error
        why = error.strerror or error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
            problem = f"cannot write to {home} ({why})"
            raise StoreError(problem, f"{_ELSEWHERE} that you may write to") from error
        problem = f"pulling {entry.name} into {home} failed ({why})"
        raise StoreError(problem, f"look at that disk, or {_ELSEWHERE} elsewhere") from error
