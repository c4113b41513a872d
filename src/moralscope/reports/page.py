"""The nouns of a report: a page of sections with prose, tables and charts.

Everything here is data. Texts are raw: `html` escapes them for HTML, `assets/report.js` for Plotly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.io.record_view import NOTHING

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title and how its values are written: text, number, signed or whole.

    Examples
    --------
    >>> Column("score", "signed", digits=2).write(0.5)
    '+0.50'
    """

    title: str
    kind: str = "text"
    digits: int = 3

    def write(self, value: Any) -> str:
        """Write a value as the table shows it; what is missing is a dash."""
        if value is None or value == "":
            return NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.kind == "text" or isinstance(value, str):
            return str(value)
        if self.kind == "whole":
            return f"{value:,.0f}"
        if self.kind == "signed":
            return signed(value, self.digits)
        return f"{value:.{self.digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 3) -> str:
    """Write a number with its sign, the minus as a minus.

    Examples
    --------
    >>> signed(0.5)
    '+0.500'
    """
    return f"{value:+.{digits}f}".replace("-", MINUS)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values. Values beyond the columns are the row's details, named by `details`."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    details: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A Plotly figure in plain data, with words for who cannot see it.

    Colours are names of the style sheet (`good`, `bad`, `third`, `muted`, `ink`). A trace with
    `rows` is hovered with those rows of the page's main table. `labels` are (x, y, text or row
    of the main table) in order of importance: as many are written as fit without overlap.
    """

    title: str
    about: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height: int = 440
    labels: Sequence[tuple[float, float, str | int]] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one below the other."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Code:
    """A command, as it is typed."""

    text: str


Block = Table | Chart | Facts | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences and what is to be looked at."""

    title: str
    prose: Sequence[str] = ()
    blocks: Sequence[Block] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report. `main` is the table that charts refer to; it stands in one section too."""

    title: str
    summary: Sequence[str]
    figures: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    warnings: Sequence[str] = ()
    main: Table | None = None
    footer: str = ""
