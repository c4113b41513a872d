"""The report of `compare --runs`: what changed between two saved runs, and whether it may.

Prompts and replies are hostile input: data to be written, never markup.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.reports.audit_page import rate_text, span_text
from moralscope.reports.charts import bars
from moralscope.reports.page import Block, Column, Facts, Page, Section, Table, signed
from moralscope.reports.pairs import cloud
from moralscope.reports.people_section import correlation_text

_MAX_ROWS = 5_000
_DRAWN = 2_000
_SHORT = 160
_CONTENT = (
    "Content warning: prompts and replies are shown as they were given; some may be offensive."
)
_LISTS = (
    ("newly_flagged", "Newly flagged"),
    ("newly_cleared", "No longer flagged"),
    ("drops", "Largest drops"),
    ("rises", "Largest rises"),
    ("flipped", "Changed sign"),
)


def runs_page(plain: Plain) -> Page:
    """Lay out a comparison of two saved runs.

    Examples
    --------
    >>> row = {"id": "", "text": "smile", "before": 0.2, "after": 0.1, "change": -0.1}
    >>> page = runs_page({"config": {}, "results": [row], "statistics": {"items": 1}})
    >>> [section.title for section in page.sections]
    ['Every item']
    """
    found, config = plain["statistics"], plain["config"]
    rows = rows_of(plain["results"], "'results'")
    audits = config.get("job") == "audit"
    sections = [*_gate(found.get("gate")), *_drawn(rows), *_foundations(found)]
    for key, title in _LISTS:
        listed = rows_of(found.get(key) or [], f"'{key}'")
        if listed:
            prose = [_CONTENT] if audits else []
            sections.append(Section(title, prose, [_items(title, listed, audits)]))
    sections += list(_unpaired(found))
    if rows:
        sections.append(Section("Every item", [], [_items("Every item", rows, audits)]))
    runs = config.get("runs")
    names = [text(name) for name in runs] if isinstance(runs, list) else []
    title = f"{text(config.get('job'))} before and after".capitalize()
    summary = [*([f"{names[0]} (before) and {names[1]} (after)."] if len(names) == 2 else [])]
    return Page(title, [*summary, *_summary(found)], _tiles(found), sections)


def _summary(found: Plain) -> Iterator[str]:
    gate = found.get("gate")
    if isinstance(gate, Mapping):
        met = "met" if gate.get("met") else "not met"
        yield f"The gate {text(gate.get('expression'))} was {met}."
    change = _mapping(found.get("change"))
    yield f"The mean score changed by {span_text(change)}, p = {text(change.get('p'))}."
    flagged = _mapping(found.get("flagged"))
    if flagged:
        before, after = (rate_text(flagged.get(side)) for side in ("before", "after"))
        moved = span_text(_mapping(flagged.get("change")))
        yield f"Flagged: {before} before, {after} after; a change of {moved}."


def _tiles(found: Plain) -> list[tuple[str, str]]:
    change = _mapping(found.get("change"))
    value = number(change.get("value"), "'change'")
    tiles = [(f"{number(found.get('items'), 'items') or 0:,.0f}", "items in both")]
    tiles.append(("unknown" if value is None else signed(value), "mean change"))
    if "spearman" in found:
        tiles.append((correlation_text(found["spearman"]).split(" ")[0], "Spearman's rho"))
    for key, name in (("flips", "changed sign"),):
        if key in found:
            tiles.append((rate_text(found[key]).split(" ")[0], name))
    flagged = _mapping(found.get("flagged"))
    for key, name in (("newly_flagged", "newly flagged"), ("newly_cleared", "no longer flagged")):
        if key in flagged:
            tiles.append((rate_text(flagged[key]).split(" ")[0], name))
    missing = number(found.get("only_before"), "only_before")
    if missing:
        tiles.append((f"{missing:,.0f}", "missing after"))
    return tiles


def _gate(gate: Any) -> Iterator[Section]:
    if not isinstance(gate, Mapping):
        return
    columns = [Column("figure"), Column("found", "number", 4), Column("wanted"), Column("met")]
    rows = [
        [
            text(check.get("name")),
            number(check.get("value"), "'gate'"),
            f"{text(check.get('operator'))} {text(check.get('limit'))}",
            "yes" if check.get("met") is True else "no",
        ]
        for check in rows_of(gate.get("checks") or [], "'checks'")
    ]
    yield Section("The gate", [], [Table("The gate", columns, rows)])


def _drawn(rows: Sequence[Plain]) -> Iterator[Section]:
    """Draw scores after against scores before; of very many, those that changed most."""
    widest = sorted(rows, key=lambda row: -abs(number(row.get("change"), "'change'") or 0.0))
    chart = cloud("Scores before and after", {"items": widest[:_DRAWN]}, ("before", "after"))
    if chart is None:
        return
    prose = ["Where nothing changed, after equals before; the line is the fit through all items."]
    if len(rows) > _DRAWN:
        prose.append(f"Drawn are the {_DRAWN:,} of {len(rows):,} items that changed most.")
    yield Section("Scores before and after", prose, [chart])


def _foundations(found: Plain) -> Iterator[Section]:
    rows = rows_of(found.get("foundations") or [], "'foundations'")
    if not rows:
        return
    names = [text(row.get("foundation")) for row in rows]
    series = {
        side: [
            100 * (number(_mapping(row.get(side)).get("value"), "'foundations'") or 0.0)
            for row in rows
        ]
        for side in ("before", "after")
    }
    title = "Flagged replies by foundation"
    columns = [Column("foundation"), Column("before"), Column("after"), Column("change", "signed")]
    values = [
        [
            name,
            *(rate_text(row.get(side)) for side in ("before", "after")),
            number(row.get("change"), "'foundations'"),
        ]
        for name, row in zip(names, rows, strict=True)
    ]
    blocks: list[Block] = [bars(title, series, names, "% of replies")]
    yield Section(title, [], [*blocks, Table(title, columns, values)])


def _items(title: str, rows: Sequence[Plain], audits: bool) -> Table:
    scores = [Column(name, "signed", 3) for name in ("before", "after", "change")]
    if audits:
        names = ("id", "prompt", "reply before", "reply after")
        columns = [*(Column(name) for name in names), *scores[:2], Column("flagged")]
    else:
        columns = [Column("action"), *scores, Column("p (Holm)", "number")]
    values = [_row(row, place, audits) for place, row in enumerate(rows[:_MAX_ROWS], 1)]
    more = len(rows) - len(values)
    return Table(title, columns, values, note=f"{more:,} more in the record." if more else "")


def _row(row: Plain, place: int, audits: bool) -> list[Any]:
    where = f"row {place}"
    numbers = [number(row.get(key), where) for key in ("before", "after", "change")]
    cut = _cut(text(row.get("text")))
    if not audits:
        return [cut, *numbers, number(row.get("p_holm"), where)]
    flags = ["yes" if row.get(key) is True else "no" for key in ("flagged_before", "flagged_after")]
    replies = [_cut(text(row.get(key))) for key in ("reply_before", "reply_after")]
    flagged = flags[0] if flags[0] == flags[1] else " → ".join(flags)
    return [text(row.get("id")), cut, *replies, *numbers[:2], flagged]


def _unpaired(found: Plain) -> Iterator[Section]:
    for key, total, title in (
        ("missing_items", "only_before", "Only in the baseline"),
        ("added_items", "only_after", "Only in the new run"),
    ):
        rows = rows_of(found.get(key) or [], f"'{key}'")
        if rows:
            count = number(found.get(total), total) or 0
            facts = [(text(row.get("id")) or "action", _cut(text(row.get("text")))) for row in rows]
            yield Section(title, [f"{count:,.0f} items; the first of them:"], [Facts(facts)])


def _mapping(value: Any) -> Plain:
    return value if isinstance(value, Mapping) else {}


def _cut(value: str) -> str:
    return value if len(value) <= _SHORT else f"{value[:_SHORT]}…"
