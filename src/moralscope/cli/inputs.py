"""What is to be scored: given as arguments, in a file, or on stdin."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from moralscope.core.errors import InputError

if TYPE_CHECKING:
    from moralscope.io.actions import ActionList


def read_given(
    given: list[str] | None,
    file: Path | None,
    what: str = "actions",
    other: str = "",
) -> "ActionList":
    """Return the arguments, else the file (- is stdin), else stdin when it is no terminal."""
    from moralscope.io.actions import check_actions, read_actions

    if given and file:
        raise InputError(f"{what} and --file were given", f"give {what} or --file, not both")
    if given:
        return check_actions(given)
    if file is None and sys.stdin.isatty():
        remedy = f"give {what}, --file FILE, or text on stdin{other}"
        raise InputError(f"no {what} were given", remedy)
    if file is None or str(file) == "-":
        return read_actions(sys.stdin.buffer)
    return read_actions(file)
