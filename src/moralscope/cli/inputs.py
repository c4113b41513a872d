"""What is to be scored: given as arguments, in a file, or on stdin."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from moralscope.io.actions import ActionList


def read_given(
    given: list[str] | None,
    file: Path | None,
    what: str = "actions",
    max_actions: int = 200_000,
    other: str = "",
) -> "ActionList":
    """Return the arguments, else the file (- is stdin), else stdin when it is no terminal."""
    from moralscope.io.actions import check_actions, read_actions

    if given and file:
        raise typer.BadParameter(f"give {what} or --file, not both")
    if given:
        return check_actions(given, max_actions)
    if file is None and sys.stdin.isatty():
        raise typer.BadParameter(f"give {what}, --file FILE, or text on stdin{other}")
    if file is None or str(file) == "-":
        return read_actions(sys.stdin.buffer, max_actions)
    return read_actions(file, max_actions)
