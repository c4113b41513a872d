"""A page in the terminal: its headline, the sections that are short enough, its notes.

Texts from users are never markup.
"""

import math
from io import StringIO
from textwrap import wrap
from typing import cast
from unicodedata import bidirectional

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from moralscope.core.printable import printable
from moralscope.pages.page import (
    TYPED,
    Chart,
    Column,
    Facts,
    Page,
    Table,
    Thread,
    VerdictCard,
    head,
)
from moralscope.pages.words import cut

GOOD, BAD = "green", "red"
_BAR, _SHORT_BAR = 12, 6  # cells on each side of zero; the same where more columns stand beside it
_CHART_ROWS = 30
_SHORT_TEXT = 18  # characters of a text that is not broken where room is short
_GAUGE = 20  # cells of a probability


def render(page: Page, out: Console) -> None:
    """Print a page."""
    if page.headline:
        out.print(clean(page.headline), style="bold")
    for section in page.sections:
        if section.shown == "report":
            continue
        if section.gap:
            out.print()
        if section.shown == "terminal" or not section.blocks:
            for line in section.prose:
                out.print(clean(line))
        for block in section.blocks:
            if isinstance(block, Table):
                if block.rows:
                    out.print(drawn_table(block, out.width))
            elif isinstance(block, Chart):
                _chart(block, out)
            elif isinstance(block, Facts):
                for name, value in block.pairs:
                    out.print(clean(f"{name}: {value}" if name else value))
            elif isinstance(block, VerdictCard):
                _card(block, out)
            elif isinstance(block, Thread):
                _thread(block, out)
            else:
                out.print(clean(block.text), soft_wrap=True)
    for line in page.warnings:
        out.print(Text(f"note: {line}", style="dim"))


def drawn_table(table: Table, width: int = 0) -> RichTable:
    """Draw a table without lines: texts to the left, numbers to the right.

    Where it is wider than `width`, titles of numbers and of short texts take several lines: they
    would take the room of long texts, whose words would break.
    """
    title = table.title if table.titled else None
    drawn = RichTable(
        box=None,
        pad_edge=False,
        title=title and clean(title),
        title_justify="left",
        title_style="bold",
    )
    shown = [index for index, column in enumerate(table.columns) if column.brief]
    half = _BAR if len(shown) <= 4 else _SHORT_BAR
    cells = [[_cell(table.columns[at], row[at], half) for at in shown] for row in table.rows]
    columns = list(zip(*cells, strict=True)) or [()] * len(shown)
    widest = [max((cell.cell_len for cell in column), default=0) for column in columns]
    titles = [len(table.columns[at].title) for at in shown]
    is_tight = 0 < width < sum(map(max, titles, widest)) + 2 * (len(shown) - 1)
    for index, room in zip(shown, widest, strict=True):
        column = table.columns[index]
        heading, right = column.title, column.right
        if column.kind == "bar":  # "bad|good" stands above both sides of zero
            before, _, after = heading.partition("|")
            heading = f"{before.rjust(half)} {after}"
        if right is None:
            right = index > 0 and column.kind not in ("text", "bar")
        title_text = clean(heading)
        is_narrow = column.kind != "text" or (is_tight and room <= _SHORT_TEXT)
        if is_tight and is_narrow and column.kind != "bar":
            most = max([room, *map(len, heading.split())])
            title_text = Text("\n".join(wrap(title_text.plain, most)))
        drawn.add_column(
            title_text,
            justify="right" if right else "left",
            overflow="fold",
            max_width=column.wide or None,
            no_wrap=is_narrow,
        )
    hidden = len(table.rows) - 2 * table.ends if table.ends else 0
    for index, row in enumerate(cells):
        if hidden > 0 and table.ends <= index < len(table.rows) - table.ends:
            if index == table.ends:
                drawn.add_row(f"… {hidden:,} more: --json or --out")
            continue
        drawn.add_row(*row)
    return drawn


def _cell(column: Column, value: object, half: int) -> Text:
    if column.kind == "bar" and isinstance(value, int | float):
        return bar(float(value), half)
    written = clean("" if value == "" else column.write(value, TYPED))
    if column.kind == "signed" and isinstance(value, int | float) and not math.isnan(value):
        written.stylize(GOOD if value > 0 else BAD)
    if column.kind == "range":
        written.stylize("dim")
    return written


def bar(share: float, cells: int) -> Text:
    """Draw -1 … 1 in half cells to the left or right of a middle line."""
    full, half = divmod(round(abs(share) * cells * 2), 2)
    if share < 0:
        body = ("╺" if half else "") + "━" * full
        return Text.assemble((body.rjust(cells), BAD), "│", " " * cells)
    body = "━" * full + ("╸" if half else "")
    return Text.assemble(" " * cells, "│", (body.ljust(cells), GOOD))


def _chart(chart: Chart, out: Console) -> None:
    """Draw bars and named rows with characters; of other charts, say what they show."""
    out.print(clean(chart.title), style="bold")
    axis = chart.layout.get("yaxis", {})
    names = dict(zip(axis.get("tickvals", ()), axis.get("names", ()), strict=False))
    values: list[tuple[float, str, str, float]] = []  # (height, series, name, value)
    for trace in chart.traces:
        title = str(trace.get("name", ""))
        for index, (x, y) in enumerate(zip(trace["x"], trace["y"], strict=True)):
            if trace["type"] == "bar":
                values.append((float(-index), title, str(x), float(y)))
            elif y in names:
                values.append((float(y), "", names[y], float(x)))
    rows = [row[1:] for row in sorted(values, key=lambda row: -row[0])]
    if not rows:
        out.print(clean(chart.about))
        return
    largest = max((abs(value) for *_, value in rows), default=0.0) or 1.0
    many = len({series for series, *_ in rows}) > 1
    columns = head(*([Column("", wide=24)] if many else []), ": wide 44 | |: bar | : number")
    cells = [
        [*([series] if many else []), name, value / largest, value] for series, name, value in rows
    ]
    out.print(drawn_table(Table(chart.title, columns, cells, ends=_CHART_ROWS)))


def gauge_line(name: str, value: float, limit: float) -> str:
    """Draw a probability beside its limit in characters.

    Examples
    --------
    >>> gauge_line("reads as bad", 0.83, 0.7)
    'reads as bad 0.83 ▕██████████████|███   ▏ limit 0.70'
    """
    cells = ["█" if at < round(value * _GAUGE) else " " for at in range(_GAUGE)]
    cells.insert(min(_GAUGE, round(limit * _GAUGE)), "|")
    return f"{name} {value:.2f} ▕{''.join(cells)}▏ limit {limit:.2f}"


def _card(card: VerdictCard, out: Console) -> None:
    """Print a verdict; marked words are bold, and stand in brackets where there is no colour."""
    out.print(clean(card.status), style="bold")
    if card.gauge is not None:
        out.print(Text(gauge_line(*card.gauge), style=BAD if card.tone == "bad" else ""))
    text = Text()
    for piece, mark in card.pieces:
        if mark:
            text.append("[", "dim")
        shown = clean(piece)
        shown.stylize(f"bold {BAD}" if mark == "turns" else "bold" if mark else "")
        text.append_text(shown)
        if mark:
            text.append("]", "dim")
    out.print(text)
    for name, line in card.facts:
        out.print(Text.assemble((f"{name}: ", "dim"), clean(line)))
    if card.folded:
        out.print(Text("Other rules:", style="dim"))
    for line in card.folded:
        out.print(Text.assemble("- ", clean(line)))


def _thread(thread: Thread, out: Console) -> None:
    """Print a conversation; a turn that goes wrong is marked, and only there it is said why."""
    for turn in thread.turns:
        is_bad = turn.tone == "bad"
        mark, style = ("▶", BAD) if is_bad else (" ", "")
        out.print(Text.assemble(f"{mark} ", (turn.speaker, "dim"), "  ", (turn.status, style)))
        for line in (cut(turn.text), *(turn.notes if is_bad else ())):
            out.print(Padding(clean(line), (0, 0, 0, 4)))
    if thread.note:
        out.print(clean(thread.note))


def card_text(card: VerdictCard) -> str:
    """Return a verdict card as plain text, marked words in brackets."""
    out = Console(file=StringIO(), width=100, color_system=None)
    _card(card, out)
    return cast(StringIO, out.file).getvalue()


def clean(text: str) -> Text:
    """Make hostile text safe to print: no markup, no control characters, one line.

    Text that runs from right to left is isolated, so that what stands beside it keeps its place.
    """
    shown = printable(text)
    if any(bidirectional(char) in ("R", "AL") for char in shown):
        shown = f"\u2068{shown}\u2069"
    return Text(shown)
