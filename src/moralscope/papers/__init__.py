"""One module per paper: its printed tables beside ours (`reproduce`). Here: what tables are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from moralscope.core.records import Interval

if TYPE_CHECKING:
    from moralscope.stats.correlation import Correlation

UNSIGNED = ("sd", "t", "p", "cosine", "n")  # columns whose sign says nothing


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One number of a table: ours with its interval, where it has one, beside the paper's."""

    row: str
    column: str
    ours: float | None
    low: float | None
    high: float | None
    paper: float | None
    reproduced: str = ""  # whether the paper's figure came out again
    why: str = ""  # it did not


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of the paper beside ours."""

    name: str
    rows: Sequence[PaperRow]


ShowTable = Callable[[PaperTable], None]


def paper_row(
    row: str,
    column: str,
    ours: "Interval | Correlation | float | None",
    paper: float | None,
    scale: float = 1.0,
) -> PaperRow:
    """Put a figure, with its interval where it has one, beside the printed one; ours is scaled.

    Examples
    --------
    >>> paper_row("BART", "share", Interval(50.0, 40.0, 60.0), 0.4, 0.01).ours
    0.5
    """
    if ours is None:
        return PaperRow(row, column, None, None, None, paper)
    if isinstance(ours, int | float):
        return PaperRow(row, column, ours if scale == 1 else ours * scale, None, None, paper)
    value = ours.value if isinstance(ours, Interval) else ours.r
    return PaperRow(row, column, value * scale, ours.low * scale, ours.high * scale, paper)


def correlation_rows(
    row: str, column: str, ours: "Correlation | None", paper: float | None
) -> list[PaperRow]:
    """Return a pooled r and, below it, the r within each group: no pooled r goes out alone."""
    within = ours.within if ours else {}
    inner = [paper_row(f"{row}, within {name}", column, r, None) for name, r in within.items()]
    return [paper_row(row, column, ours, paper), *inner]


def with_outcomes(
    table: PaperTable, *, other: str, missing: str, signed: bool = False
) -> PaperTable:
    """Say of every row whether the paper's figure came out again, and why not.

    Equal is what has the printed figure's digits, as many as its column prints.

    Parameters
    ----------
    table
        The rows. One that says already whether it came out is left as it is.
    other
        Why a figure may differ: other weights, less data.
    missing
        Why a figure is not there.
    signed
        The figures lie around zero, so that a sign that came out again says something.
    """
    from moralscope.stats.summary import reproduced  # brings numpy, which --help does without

    digits: dict[str, int] = {}  # behind the point, in each column of the paper
    for row in table.rows:
        printed = "" if row.paper is None else str(row.paper).partition(".")[2].rstrip("0")
        digits[row.column] = max(digits.get(row.column, 0), len(printed))
    rows = []
    for row in table.rows:
        outcome = row.reproduced
        if not outcome and row.paper is not None:
            sign = reproduced(row.ours, row.paper, row.low, row.high)
            if not sign:
                outcome = "not measured"
            elif row.ours is not None and round(row.ours, digits[row.column]) == row.paper:
                outcome = "equal"
            elif sign == "inside the interval" or (signed and row.column not in UNSIGNED):
                outcome = sign
            else:
                outcome = "differs" if row.low is None else "outside the interval"
        same = outcome in ("", "equal", "inside the interval")
        why = "" if same else missing if outcome == "not measured" else other
        rows.append(replace(row, reproduced=outcome, why=why))
    return replace(table, rows=rows)


def encoder_table(name: str, rows: Sequence[PaperRow], encoder: str, papers: str) -> PaperTable:
    """Return a table of one encoder beside the paper's, which had other weights."""
    return with_outcomes(
        PaperTable(f"{name} ({encoder})", rows),
        other=f"other weights: {encoder}, the paper's {papers}",
        missing="no word vectors (googlenews-26k), or the published values are not at hand",
        signed=True,
    )
