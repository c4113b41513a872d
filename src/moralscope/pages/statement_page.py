"""The report of `annotate statement`: who the people are, in the form of Ziems et al., Figure 3.

A record names no group of too few people; this page adds nothing to it.
"""

from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.charts import bars
from moralscope.pages.page import Block, Column, Page, Section, Table, keyed_table, part

_COLUMNS = {
    "label": Column("group"),
    "people": Column("people", "whole"),
    "annotations": Column("annotations", "whole"),
}
_FIRST = ("region", "leaning")  # the figures of the paper; the rest follows
_PROSE = (
    "Left bar: share of the people who gave this answer. Right bar: share of the annotations that "
    "they gave (Ziems et al. 2022, Figure 3). Groups of too few people are among the others."
)


def statement_page(plain: Plain) -> Page:
    """Lay out people by group, then the statement itself."""
    found = plain["statistics"]
    rows = rows_of(found.get("groups") or [], "'groups'")
    questions = dict.fromkeys(text(row.get("question")) for row in rows)
    ordered = sorted(questions, key=lambda name: _FIRST.index(name) if name in _FIRST else 9)
    blocks: list[Block] = []
    for name in ordered:
        blocks += _question(name, [row for row in rows if text(row.get("question")) == name])
    who = [Section("Who the annotators are", [_PROSE], blocks)] if blocks else []
    told = [_section(*pair) for pair in part(found.get("sections")).items()]
    counted = [(name, text(found.get(name))) for name in ("people", "answers")]
    prose = ["Who annotated, what, how, and with what care (Bender and Friedman 2018)."]
    return Page("Data statement", prose, counted, [*who, *told])


def _section(title: Any, lines: Any) -> Section:
    """Return a section of the statement, whose lines are Markdown of ours: words, a table."""
    given = lines if isinstance(lines, list) else [lines]
    told = [text(line).replace("**", "").replace("`", "") for line in given]
    rows = [line.strip("|").split("|") for line in told if line.startswith("|")]
    prose = [line.removeprefix("- ") for line in told if not line.startswith("|")]
    if not rows:
        return Section(text(title), prose)
    head, *body = [[cell.strip() for cell in row] for row in rows]
    cells = [row for row in body[1:] if len(row) == len(head)]
    return Section(text(title), prose, [Table("Agreement", [*map(Column, head)], cells)])


def _question(name: str, rows: list[Plain]) -> list[Block]:
    groups = [text(row.get("label") or row.get("group")) for row in rows]
    series = {
        "people": [_percent(part(row.get("share")).get("value")) for row in rows],
        "annotations": [_percent(row.get("annotation_share")) for row in rows],
    }
    title = name.replace("-", " ").capitalize()
    return [bars(title, series, groups, "%"), keyed_table(f"{title}: counts", rows, _COLUMNS)]


def _percent(value: Any) -> float:
    return 100 * (number(value, "a share") or 0.0)
