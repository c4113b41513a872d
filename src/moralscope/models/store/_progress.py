"""How a pull tells its caller how far it is. Draws nothing."""

from typing import Protocol


class Progress(Protocol):
    """Called several times a second; a new `label` starts a new count."""

    def __call__(self, label: str, done_bytes: int, total_bytes: int, /) -> None: ...


def silent(_label: str, _done_bytes: int, _total_bytes: int, /) -> None:
    """Report nothing."""
