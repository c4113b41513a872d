"""One module per paper: its printed tables beside ours (`reproduce`). Here: what tables are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from moralscope.core.records import Interval
from moralscope.stats.summary import reproduced

UNSIGNED = ("sd", "t", "p", "cosine", "n")  # columns whose sign says nothing


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One number of a table: ours with its interval, where it has one, beside the paper's.

    `reproduced` says whether the paper's figure came out again, `why` why it did not.
    """

    row: str
    column: str
    ours: float | None
    low: float | None
    high: float | None
    paper: float | None
    reproduced: str = ""
    why: str = ""


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


def told(table: PaperTable, *, other: str, missing: str, signed: bool = False) -> PaperTable:
    """Say of every row whether the paper's figure came out again, and why not.

    Equal is what has the printed figure's digits, as many as its column prints.

    Parameters
    ----------
    table
        The rows.
    other
        Why a figure may differ: other weights, less data.
    missing
        Why a figure is not there.
    signed
        The figures lie around zero, so that a sign that came out again says something. A row that
        says already whether it came out is left as it is.

    Examples
    --------
    >>> rows = [PaperRow("r", "all", 0.6, 0.5, 0.7, 0.8), PaperRow("r", "dos", None, None, None, 1)]
    >>> found = told(PaperTable("Figure 2", rows), other="another encoder", missing="no vectors")
    >>> [(row.reproduced, row.why) for row in found.rows]
    [('outside the interval', 'another encoder'), ('not measured', 'no vectors')]
    """
    rows = []
    digits: dict[str, int] = {}
    for row in table.rows:
        digits[row.column] = max(digits.get(row.column, 0), _digits(row.paper))
    for row in table.rows:
        outcome = row.reproduced or _outcome(row, digits[row.column], signed=signed)
        same = outcome in ("", "equal", "inside the interval")
        why = "" if same else missing if outcome == "not measured" else other
        rows.append(replace(row, reproduced=outcome, why=why))
    return replace(table, rows=rows)


def _digits(value: float | None) -> int:
    """Return how many digits behind the point a printed figure has."""
    return 0 if value is None else len(str(value).partition(".")[2].rstrip("0"))


def _outcome(row: PaperRow, digits: int, *, signed: bool) -> str:
    if row.paper is None:
        return ""
    found = reproduced(row.ours, row.paper, row.low, row.high)
    if not found:
        return "not measured"
    if row.ours is not None and round(row.ours, digits) == row.paper:
        return "equal"
    if found == "inside the interval" or (signed and row.column not in UNSIGNED):
        return found
    return "differs" if row.low is None else "outside the interval"
