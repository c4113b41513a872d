"""What can go wrong between people and their answers, as the pages tell it apart."""

from moralscope.core.errors import InputError, MoralscopeError


class NotAllowed(InputError):
    """The token, session or role does not permit this (HTTP 401 or 403)."""


class Conflict(InputError):
    """The work is no longer this person's to submit, or the id was used for something else (409).

    The text is never lost by it: the draft stays.
    """


class Paused(InputError):
    """The project or the person is paused (409)."""


class NotSaved(MoralscopeError):
    """The answer did not reach the disk: the page keeps the text and says so (503)."""
