"""Errors that say what is wrong and what to do about it.

Every error a user can meet is a `MoralscopeError`; the doors print it as one line,
``error: problem; remedy``, and exit with its code. Anything else is a bug of ours.
"""


class MoralscopeError(Exception):
    """Something failed. `exit_code` is what the command line exits with.

    Examples
    --------
    >>> str(MoralscopeError("the disk is full", "free 90 MB and pull again"))
    'the disk is full; free 90 MB and pull again'
    """

    exit_code = 1

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy

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


class GateNotMet(MoralscopeError):
    """A result missed the limit that the user set for it: the work itself was done."""

    exit_code = 3
