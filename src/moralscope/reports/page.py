"""The nouns of a report (a page of sections with prose, tables and charts), and shared writing.

Everything here is data. Texts are raw: `html` escapes them for HTML, the scripts set them as
textContent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.io.record_view import NOTHING, Plain, number, text

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title and how its values are written: text, number, signed, whole or p.

    `most` is the number of characters that `keyed_table` keeps of a text; 0 keeps all.

    Examples
    --------
    >>> Column("score", "signed", digits=2).write(0.5)
    '+0.50'
    """

    title: str
    kind: str = "text"
    digits: int = 3
    most: int = 0

    def write(self, value: Any) -> str:
        """Write a value as the table shows it; what is missing is a dash."""
        if value is None or value == "":
            return NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.kind == "text" or isinstance(value, str):
            return str(value)
        plain = f"{value:.{self.digits}f}".replace("-", MINUS)
        known = {"whole": f"{value:,.0f}", "signed": signed(value, self.digits), "p": p_text(value)}
        return known.get(self.kind, plain)


def columns(*titles: str, kind: str = "text", digits: int = 3) -> list[Column]:
    """Return columns that are written alike.

    Examples
    --------
    >>> [column.kind for column in columns("low", "high", kind="signed")]
    ['signed', 'signed']
    """
    return [Column(title, kind, digits) for title in titles]


def p_text(value: Any) -> str:
    """Write a p value; what is too small to tell from nothing is not written in digits.

    Examples
    --------
    >>> p_text(3e-9), p_text(0.0213)
    ('<0.001', '0.021')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NOTHING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


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
    """A chart in plain data (`assets/charts.js` draws it), with words for who cannot see it.

    Colours are names of `assets/theme.css` (`good`, `bad`, `third`, `muted`, `ink`). A trace with
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
    """A heading, sentences and what is to be looked at; what few need is folded."""

    title: str
    prose: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    folded: bool = False


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


def part(value: Any) -> Plain:
    """Return a mapping as it is; nothing, where there is none."""
    return value if isinstance(value, Mapping) else {}


def cut(value: str, most: int = 160) -> str:
    """Shorten a text to the characters that a cell shows."""
    return value if len(value) <= most else f"{value[:most]}…"


def more_note(count: int) -> str:
    """Say how many rows are in the run record only."""
    return f"{count:,} more in the run record." if count > 0 else ""


def keyed_table(
    title: str,
    rows: Sequence[Plain],
    columns: Mapping[str, Column],
    where: str = "",
    note: str = "",
) -> Table:
    """Lay rows out by their keys: numbers where the column is of numbers, else text.

    Examples
    --------
    >>> keyed_table("Steps", [{"step": "a", "all": 3}], {"step": Column("step")}).rows
    [['a']]
    """

    def cell(row: Plain, key: str, column: Column) -> Any:
        if column.kind != "text":
            return number(row.get(key), where or title)
        found = text(row.get(key))
        return cut(found, column.most) if column.most else found

    values = [[cell(row, key, column) for key, column in columns.items()] for row in rows]
    return Table(title, list(columns.values()), values, note=note)


def correlation_text(found: Any) -> str:
    """Write a correlation: r, stars, interval, n.

    Examples
    --------
    >>> correlation_text({"r": 0.7, "stars": "***", "low": 0.5, "high": 0.8, "n": 56})
    '0.70*** (0.50 … 0.80), n = 56'
    """
    if not isinstance(found, dict) or not isinstance(found.get("r"), int | float):
        return NOTHING
    low, high = found.get("low"), found.get("high")
    numeric = isinstance(low, int | float) and isinstance(high, int | float)
    span = f" ({low:.2f} … {high:.2f})" if numeric else ""
    count = f", n = {found['n']}" if "n" in found else ""
    return f"{found['r']:.2f}{text(found.get('stars') or '')}{span}{count}".replace("-", MINUS)


def rate_text(share: Any) -> str:
    """Write a share with its interval."""
    value, low, high = (number(part(share).get(key), "a share") for key in ("value", "low", "high"))
    if value is None:
        return "an unknown share"
    span = "" if low is None or high is None else f" ({low:.1%} to {high:.1%})"
    return f"{value:.1%}{span}"


def span_text(found: Plain) -> str:
    """Write a change with its interval."""
    value, low, high = (number(found.get(key), "a change") for key in ("value", "low", "high"))
    if value is None or low is None or high is None:
        return text(value)
    return f"{signed(value)} ({signed(low)} to {signed(high)})"
