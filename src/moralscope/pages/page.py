"""The nouns of a page: what a person sees of a result, built once and drawn in four places.

A page has a headline, figures, sections with prose, tables and charts, and notes. `terminal`,
`html`, `figure` and `web` draw it. Everything here is data, and texts are raw: each renderer makes
them safe for its own medium.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.io.run_records import NOTHING

MINUS = "\N{MINUS SIGN}"
KINDS = ("text", "number", "signed", "whole", "p", "share", "range")
INTERVALS = ("interval", "signed interval", "share interval")


@dataclass(frozen=True, slots=True)
class Writing:
    """How a medium writes what every medium shows."""

    minus: str = MINUS
    nothing: str = NOTHING
    percent: str = " %"


PRINTED = Writing()
TYPED = Writing("-", "-", "%")  # in a terminal, where it may be copied into a shell or a sheet


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Examples
    --------
    >>> Column("score", "signed", digits=2).write(0.5)
    '+0.50'
    >>> Column("flagged", "share interval", digits=0).write((0.5, 0.4, 0.6))
    '50 % (40 % … 60 %)'
    """

    title: str
    kind: str = "text"
    """text, number, signed, whole, p, share; interval, signed interval, share interval; range: both
    ends alone; or bar: a number from -1 to 1 that the terminal draws around zero and reports leave
    to their charts"""
    digits: int = 3
    wide: int = 0
    """characters after which the terminal folds it"""
    brief: bool = True
    """whether the terminal shows it"""
    right: bool | None = None
    """whether the terminal puts it to the right; None: all but the first column and texts"""

    def write(self, value: Any, how: Writing = PRINTED) -> str:
        """Write a value as the table shows it; what is missing is a dash."""
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            return how.nothing
        if isinstance(value, bool):
            return "yes" if value else "no"
        if self.kind == "text" or isinstance(value, str):
            return str(value)
        if self.kind == "range":
            low, high = (Column("", "signed", self.digits).write(end, how) for end in value)
            return "" if low == how.nothing else f"{low} … {high}"
        if self.kind in INTERVALS:
            ends = _ends(value)
            inner = Column(
                self.title, self.kind.removesuffix("interval").strip() or "number", self.digits
            )
            written = [inner.write(end, how) for end in ends]
            if written[0] == how.nothing or how.nothing in written[1:]:
                return written[0]
            return f"{written[0]} ({written[1]} … {written[2]})"
        if self.kind == "p":
            return p_text(value)
        if self.kind == "whole":
            return f"{value:,.0f}"
        if self.kind == "share":
            return f"{100 * value:.{self.digits}f}{how.percent}".replace("-", how.minus)
        # Zero is added so that no minus stands before a zero.
        rounded = round(float(value), self.digits) + 0.0
        sign = "+" if self.kind == "signed" else ""
        return f"{rounded:{sign}.{self.digits}f}".replace("-", how.minus)

    def plain(self, value: Any) -> Any:
        """Return a value as JSON holds it: an interval is a list of three."""
        if self.kind in INTERVALS and value is not None and not isinstance(value, str):
            return [None if math.isnan(end) else end for end in _ends(value)]
        if self.kind == "range":
            return None if value is None or math.isnan(value[0]) else list(value)
        return None if isinstance(value, float) and not math.isfinite(value) else value


def _ends(value: Any) -> tuple[float, float, float]:
    if isinstance(value, tuple | list):
        return value[0], value[1], value[2]
    return value.value, value.low, value.high


def columns(*titles: str, kind: str = "text", digits: int = 3) -> list[Column]:
    """Return columns that are written alike."""
    return [Column(title, kind, digits) for title in titles]


def head(*parts: str | Column) -> list[Column]:
    """Return the head of a table from its titles, " | " between them, each with how it is written.

    "title: kind digits"; "title: wide 60" is a text that the terminal folds; what ends in "right"
    it puts to the right. Titles that are not ours are given as columns.

    Examples
    --------
    >>> [(column.kind, column.digits) for column in head("field | alpha: interval 2")]
    [('text', 3), ('interval', 2)]
    """
    made = []
    for part in parts:
        if isinstance(part, Column):
            made.append(part)
            continue
        for written in part.split(" | "):
            title, _, how = written.partition(": ")
            right = True if how.endswith("right") else None
            kind, _, number = how.removesuffix("right").strip().rpartition(" ")
            if not number.isdigit():
                kind, number = f"{kind} {number}".strip(), ""
            if kind == "wide":
                made.append(Column(title, wide=int(number)))
            elif kind and kind not in (*KINDS, *INTERVALS):
                raise ValueError(f"a column cannot be written as '{kind}'")
            else:
                made.append(Column(title, kind or "text", int(number or 3), right=right))
    return made


def p_text(value: Any) -> str:
    """Write a p value; what is too small to tell from nothing is not written in digits."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return NOTHING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def signed(value: float, digits: int = 3) -> str:
    """Write a number with its sign, the minus as a minus."""
    return f"{value:+.{digits}f}".replace("-", MINUS)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    """values beyond the columns are the row's details, which a report opens"""
    details: Sequence[str] = ()
    """names of the details"""
    note: str = ""
    titled: bool = False
    """whether the terminal writes the title above the table"""
    ends: int = 0
    """of a longer table the terminal shows so many rows from both ends; 0: all"""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart in plain data, with words for who cannot see it.

    `assets/charts.js` draws it in reports and on the local page, `figure.py` for papers and
    `terminal.py` with characters.
    """

    title: str
    about: str
    """what the chart shows, in words"""
    traces: Sequence[Mapping[str, Any]]
    """colours are names of `assets/theme.css` (`good`, `bad`, `third`, `muted`, `ink`); a trace
    with `rows` is hovered with those rows of the page's main table"""
    layout: Mapping[str, Any]
    height: int = 440
    labels: Sequence[tuple[float, float, str | int]] = ()
    """(x, y, text or row of the main table) in order of importance: as many are written as fit
    without overlap"""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one below the other."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Code:
    """A command, as it is typed."""

    text: str


@dataclass(frozen=True, slots=True)
class VerdictCard:
    """A verdict on one text, the same wherever it is shown."""

    status: str
    """the verdict in a few words"""
    tone: str
    """bad, good or muted"""
    gauge: tuple[str, float, float] | None
    """what is probable, how probable it is, and from where on that flags"""
    pieces: Sequence[tuple[str, str]]
    """the text in pieces, each with its mark: turns, adds, or none"""
    facts: Sequence[tuple[str, str]]
    """(name, sentence): the rule that explains it, the concern, what would change it"""
    folded: Sequence[str] = ()
    """what few need: the other rules"""


@dataclass(frozen=True, slots=True)
class ThreadTurn:
    """One turn of a conversation."""

    speaker: str
    """its place and who speaks"""
    text: str
    status: str
    """the verdict in a few words, or how it reads"""
    tone: str
    """bad, good or muted"""
    notes: Sequence[str] = ()
    """why, and what its acts do"""


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation, turn by turn."""

    turns: Sequence[ThreadTurn]
    note: str = ""


Block = Table | Chart | Facts | Code | VerdictCard | Thread


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences and what is to be looked at."""

    title: str
    prose: Sequence[str] = ()
    blocks: Sequence[Block] = ()
    folded: bool = False
    """reports fold what few need"""
    shown: str = "report"
    """report: where there is room (reports, the local page); all: in the terminal too; terminal:
    only there, where a report says it otherwise (tiles, the summary)"""
    gap: bool = False
    """whether the terminal leaves a line free above it"""


@dataclass(frozen=True, slots=True)
class Page:
    """What a person sees of a result."""

    title: str
    summary: Sequence[str] = ()
    """a report's first sentences"""
    figures: Sequence[tuple[str, str]] = ()
    """a report's tiles: (value, what it is)"""
    sections: Sequence[Section] = ()
    warnings: Sequence[str] = ()
    main: Table | None = None
    """the table that charts refer to; it stands in a section too"""
    footer: str = ""
    headline: str = ""
    """the terminal's first line; empty: it begins with its sections"""
    figure: Sequence[Chart] = ()
    """what --figure draws, one panel each; empty: the first chart"""

    @property
    def charts(self) -> Iterator[Chart]:
        """All charts in their order."""
        return (b for section in self.sections for b in section.blocks if isinstance(b, Chart))
