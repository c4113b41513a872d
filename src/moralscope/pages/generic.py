"""The page of a record whose job has no page of its own: tables of what it holds.

Such records come from other versions; they are plain, and nothing is known of their shape.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from moralscope.core.records import RunRecord, to_plain
from moralscope.io.run_records import text
from moralscope.pages.page import Block, Column, Facts, Page, Section, Table
from moralscope.pages.words import more_note, plural

_MAX_ROWS = 5_000
_MAX_CELLS = 12


def generic_page(record: RunRecord) -> Page:
    """Lay out any record."""
    results, statistics = to_plain(record.results), to_plain(record.statistics)
    sections = [Section("Results", [], [_table("Results", results)])] if results else []
    if statistics:
        folded = bool(sections)  # the only thing there is stays open
        sections.append(Section("Figures", [], _blocks(statistics), folded=folded))
    summary = [f"A run of “{record.job}” with {plural(len(results), 'result')}."]
    return Page(f"moralscope {record.job}", summary, [], sections, headline=summary[0])


def _blocks(value: Mapping[str, Any], before: str = "") -> list[Block]:
    """Lay out a mapping: short values as facts, lists of rows as tables, the rest below."""
    facts: list[tuple[str, str]] = []
    blocks: list[Block] = []
    for key, item in value.items():
        title = before + key.replace("_", " ")
        if isinstance(item, list) and item and all(isinstance(row, Mapping) for row in item):
            blocks.append(_table(title, item))
        elif isinstance(item, Mapping) and any(
            isinstance(v, Mapping | list) for v in item.values()
        ):
            blocks += _blocks(item, f"{title}: ")
        else:
            facts.append((title, text(item)))
    return [*([Facts(facts)] if facts else []), *blocks]


def _table(title: str, rows: Sequence[Any]) -> Table:
    shown = [row if isinstance(row, Mapping) else {"value": row} for row in rows[:_MAX_ROWS]]
    keys = list(dict.fromkeys(key for row in shown for key in row))[:_MAX_CELLS]
    columns = []
    for key in keys:
        values = [row[key] for row in shown if row.get(key) is not None]
        numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        whole = all(isinstance(number, int) for number in numbers)
        kind = (
            "text" if not numbers or len(numbers) < len(values) else "whole" if whole else "signed"
        )
        columns.append(Column(key.replace("_", " "), kind))
    pairs = list(zip(keys, columns, strict=True))
    cells = [
        [row.get(key) if column.kind != "text" else text(row.get(key)) for key, column in pairs]
        for row in shown
    ]
    return Table(title, columns, cells, note=more_note(len(rows) - len(shown)))
