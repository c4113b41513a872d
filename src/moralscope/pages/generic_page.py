"""The report of any command: tables as tables, what has a known shape written out."""

from collections.abc import Mapping, Sequence
from typing import Any

from moralscope.io.record_view import NOTHING, Plain, text
from moralscope.pages.charts import cloud
from moralscope.pages.page import (
    MINUS,
    Block,
    Chart,
    Column,
    Facts,
    Page,
    Section,
    Table,
    correlation_text,
    p_text,
)

_MAX_ROWS = 5_000
_MAX_CELLS = 12


def generic_page(plain: Plain) -> Page:
    """Lay out a record of a command that has no page of its own."""
    job, results = plain["job"], plain["results"]
    sections = []
    if _nested(results):
        for place, result in enumerate(results):
            name = text(result.get("encoder") or result.get("name") or f"result {place + 1}")
            sections.append(Section(name, [], blocks_of(result)))
    elif results:
        rows = [row for row in results if isinstance(row, dict)]
        blocks: list[Block] = [*_charts("Results", rows), table_of("Results", results)]
        sections.append(Section("Results", [], blocks))
    if plain["statistics"]:
        folded = bool(sections)  # the only thing there is stays open
        sections.append(Section("Figures", [], blocks_of(plain["statistics"]), folded=folded))
    count = len(results)
    summary = [f"A run of “{job}” with {count:,} result{'' if count == 1 else 's'}."]
    return Page(f"moralscope {job}", summary, [], sections)


def blocks_of(value: Mapping[str, Any]) -> list[Block]:
    """Lay out a mapping: short values as facts, lists of rows as tables, the rest below."""
    facts: list[tuple[str, str]] = []
    blocks: list[Block] = []
    for key, item in value.items():
        title = _title(key)
        if isinstance(item, list) and item and all(isinstance(row, dict) for row in item):
            blocks += [table_of(title, item), *_charts(title, item)]
        elif isinstance(item, dict) and not _known(item):
            blocks += [_titled(title, block) for block in blocks_of(item)]
        else:
            facts.append((title, shape_text(item)))
    return [*([Facts(facts)] if facts else []), *blocks]


def table_of(title: str, rows: Sequence[Any]) -> Table:
    """Lay out rows of any shape; inner mappings become text."""
    if not all(isinstance(row, dict) for row in rows):
        return Table(title, [Column("value")], [[shape_text(row)] for row in rows[:_MAX_ROWS]])
    keys = list(dict.fromkeys(key for row in rows[:_MAX_ROWS] for key in row))[:_MAX_CELLS]
    columns = [Column(_title(key), _kind([row.get(key) for row in rows])) for key in keys]
    values = [
        [
            row.get(key) if column.kind != "text" else shape_text(row.get(key))
            for key, column in zip(keys, columns, strict=True)
        ]
        for row in rows[:_MAX_ROWS]
    ]
    more = len(rows) - len(values)
    return Table(title, columns, values, note=f"{more:,} more in the run record." if more else "")


def shape_text(value: Any) -> str:
    """Write a value of any shape; correlations, summaries and tests in their own way.

    Examples
    --------
    >>> shape_text({"n": 50, "mean": 0.5, "sd": 0.1})
    '+0.500 (sd 0.100), n = 50'
    """
    if isinstance(value, dict) and "r" in value:
        inner = value.get("within")
        groups = inner.items() if isinstance(inner, dict) else ()
        parts = [correlation_text(value)]
        parts += [f"within {name}: {correlation_text(found)}" for name, found in groups]
        return "; ".join(parts)
    if _numeric(value, "mean", "sd"):
        return f"{value['mean']:+.3f} (sd {value['sd']:.3f}), n = {text(value.get('n'))}".replace(
            "-", MINUS
        )
    if _numeric(value, "t", "p"):
        found = f"t = {value['t']:.2f}{text(value.get('stars') or '')}, p = {p_text(value['p'])}"
        return found.replace("-", MINUS)
    if isinstance(value, dict | list) and not value:
        return NOTHING
    return text(value)


def _nested(results: Sequence[Any]) -> bool:
    """Tell results that are whole tables each (one per encoder) from rows."""
    return bool(results) and all(
        isinstance(row, dict)
        and any(isinstance(v, list) and v and isinstance(v[0], dict) for v in row.values())
        for row in results
    )


def _charts(title: str, rows: Sequence[Plain]) -> list[Chart]:
    """Draw rows that have two values worth comparing, one chart for each axis they name."""
    axes = dict.fromkeys(text(row.get("axis", "")) for row in rows)
    found = []
    for axis in axes:
        groups: dict[str, list[Plain]] = {}
        for row in rows:
            if text(row.get("axis", "")) == axis:
                groups.setdefault(text(row.get("group", "each")), []).append(row)
        for keys in (("paper", "ours"), ("before", "after")):
            name = f"{title}{', ' if axis else ''}{axis}: {keys[1]} against {keys[0]}"
            found.append(cloud(name, groups, keys))
    return [chart for chart in found if chart]


def _known(value: Any) -> bool:
    return "r" in value or _numeric(value, "mean", "sd") or _numeric(value, "t", "p")


def _numeric(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(k), int | float) for k in keys)


def _kind(values: Sequence[Any]) -> str:
    known = [value for value in values if value is not None]
    if not known or any(isinstance(v, bool) or not isinstance(v, int | float) for v in known):
        return "text"
    if all(isinstance(value, int) for value in known):
        return "whole"
    return "signed" if any(value < 0 for value in known) else "number"


def _title(key: str) -> str:
    return key.replace("_", " ")


def _titled(title: str, block: Block) -> Block:
    if isinstance(block, Table):
        return Table(
            f"{title}: {block.title}", block.columns, block.rows, block.details, block.note
        )
    if isinstance(block, Facts):
        return Facts([(f"{title}: {name}", value) for name, value in block.pairs])
    return block
