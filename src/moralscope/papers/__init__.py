"""One module per paper: its printed tables beside ours (`reproduce`). Here: what tables are."""

from collections.abc import Sequence
from dataclasses import dataclass

from moralscope.core.records import Interval


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One number of a table: ours with its interval, where it has one, beside the paper's."""

    row: str
    column: str
    ours: float | None
    low: float | None
    high: float | None
    paper: float | None


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of the paper beside ours."""

    name: str
    rows: Sequence[PaperRow]


def paper_row(
    row: str, column: str, found: Interval | None, paper: float | None, scale: float = 1.0
) -> PaperRow:
    """Put a figure with its interval, or none, beside the printed one; ours is scaled.

    Examples
    --------
    >>> paper_row("BART", "share", Interval(50.0, 40.0, 60.0), 0.4, 0.01).ours
    0.5
    """
    if found is None:
        return PaperRow(row, column, None, None, None, paper)
    ours, low, high = (value * scale for value in (found.value, found.low, found.high))
    return PaperRow(row, column, ours, low, high, paper)
