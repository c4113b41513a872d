"""Names that a user may type: an unknown one is refused with the nearest known one."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from moralscope.core.errors import UnknownName

T = TypeVar("T")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the nearest known one, and all of them.

    Examples
    --------
    >>> did_you_mean("minlm", ["minilm", "mpnet"])
    "did you mean 'minilm'? known: minilm, mpnet"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"{hint}known: {', '.join(names)}"


def require_known(name: str, known: Collection[str], problem: str) -> None:
    """Raise `UnknownName` with the nearest known name where `name` is none of them."""
    if name not in known:
        raise UnknownName(problem, did_you_mean(name, known))


def look_up(kind: str, name: str, entries: Mapping[str, T]) -> T:
    """Return an entry by its name, or raise `UnknownName` with the nearest known name."""
    require_known(name, entries, f"there is no {kind} '{name}'")
    return entries[name]
