"""Errors that say what is wrong and what to do about it.

Every error a user can meet is a `MoralscopeError`; the doors print it as one line,
``error: problem; remedy``, and exit with its code. Anything else is a bug of ours. A message may
quote a stranger's file: it is put on one line that a terminal can show and a log can hold.
"""

import re

from moralscope.core.printable import printable

_LONGEST = 2000  # characters of a problem or a remedy
# The password ends at the last @ before the path: people forget to quote an @ in it. One slash is
# what is left of a URL that was taken for a path.
_PASSWORD = re.compile(r"(?<=:)(/{1,2})[^\s/?#@:]*:[^\s/]*@")


def without_passwords(text: str) -> str:
    """Return a text whose URLs name no user and password."""
    return _PASSWORD.sub(r"\1…@", text)


def error_line(error: Exception, most: int = 200) -> str:
    """Return the first line of what another library says went wrong, or the error's kind."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:most]


class MoralscopeError(Exception):
    """Something failed. `exit_code` is what the command line exits with."""

    exit_code = 1

    def __init__(self, problem: str, remedy: str) -> None:
        # Whatever is said may stand in a log: a URL that somebody typed keeps its password.
        self.problem = _one_line(without_passwords(problem))
        self.remedy = _one_line(without_passwords(remedy))
        super().__init__(f"{self.problem}; {self.remedy}")

    def __reduce__(self) -> tuple[type["MoralscopeError"], tuple[str, str]]:
        """Pickle by both halves: errors travel from workers to the process that says them."""
        return type(self), (self.problem, self.remedy)


class InputError(MoralscopeError):
    """Wrong usage or bad input: the user can fix it by giving something else."""

    exit_code = 2


class UnknownName(InputError):
    """A name that no registry entry, folder or hub id answers to."""


class StoreError(MoralscopeError):
    """Weights could not be found, fetched or written."""


class ChecksumMismatch(StoreError):
    """A file is not the file its entry names: refused, never loaded."""


class LicenceNotAccepted(InputError):
    """The entry's licence asks for consent and the user has not given it."""


class MissingExtra(MoralscopeError):
    """An optional dependency is not installed; the remedy names the pip command."""

    exit_code = 2


class GateNotMet(MoralscopeError):
    """A result missed the limit that the user set for it: the work itself was done."""

    exit_code = 3


def _one_line(text: str) -> str:
    """Return a text without line breaks, control characters and half characters, within bounds."""
    return printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
