"""One registry for every name a user may type, with did-you-mean errors."""

import difflib
from collections.abc import Iterable
from typing import Any

from moralscope.core.errors import UnknownName


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


class Registry:
    """Things by kind and name: ``registry.add("encoder", "minilm", factory)``.

    Examples
    --------
    >>> shelf = Registry()
    >>> shelf.add("encoder", "minilm", 1)
    >>> shelf.get("encoder", "minilm")
    1
    """

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Any]] = {}

    def add(self, kind: str, name: str, entry: Any) -> None:
        """Register `entry`; a second entry of the same kind and name is a bug."""
        shelf = self._entries.setdefault(kind, {})
        if name in shelf:
            raise ValueError(f"{kind} '{name}' is registered twice")
        shelf[name] = entry

    def get(self, kind: str, name: str) -> Any:
        """Return the entry, or raise `UnknownName` with the nearest known name."""
        shelf = self._entries.get(kind, {})
        if name not in shelf:
            raise UnknownName(f"there is no {kind} '{name}'", did_you_mean(name, shelf))
        return shelf[name]

    def names(self, kind: str) -> list[str]:
        """Return the names of one kind, sorted."""
        return sorted(self._entries.get(kind, {}))


registry = Registry()
