"""The report of `agreement`: coefficients with intervals, split items, who the annotators are.

Items are hostile input: data to be written, never markup. A record names no person and no leaning
of too few; this page adds nothing to it.
"""

from collections.abc import Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.charts import bars, error_bars, marks, named_rows
from moralscope.pages.page import (
    Block,
    Chart,
    Column,
    Page,
    Section,
    Table,
    keyed_table,
    more_note,
    part,
)

_MAX_ROWS = 5_000
_ENDS = ("value", "low", "high")
_FIELDS = [
    *(Column(name) for name in ("field", "level")),
    *(Column(name, "whole") for name in ("items", "answers", "people")),
    *(Column(name, "number", 2) for name in ("alpha", "low", "high", "kappa")),
    Column("which kappa"),
    Column("pairs that agree", "number", 2),
]
_ICC = {
    "field": Column("field"),
    "form": Column("form"),
    **{key: Column(key, "number", 2) for key in _ENDS},
    "f": Column("F", "number", 2),
    **{key: Column(key, "whole") for key in ("df1", "df2")},
    "p": Column("p", "p"),
}
_ITEMS = [
    *(Column(name) for name in ("item", "field")),
    Column("answers", "whole"),
    Column("apart", "number", 2),
    Column("distribution"),
]
_SPLITS = {
    **{key: Column(key) for key in ("item", "field", "value", "first", "second")},
    "first_mean": Column("mean of first", "number", 2),
    "second_mean": Column("mean of second", "number", 2),
    "difference": Column("difference", "signed", 2),
    "p": Column("p", "p"),
    "corrected": Column("p corrected", "number", 4),
    "first_people": Column("people of first", "whole"),
    "second_people": Column("people of second", "whole"),
}


def agreement_page(plain: Plain) -> Page:
    """Lay out agreement and disagreement.

    Examples
    --------
    >>> row = {"item": "1", "field": "ok", "answers": 2, "disagreement": 1.0, "counts": {"yes": 1}}
    >>> page = agreement_page({"config": {}, "statistics": {"people": 2}, "results": [row]})
    >>> [section.title for section in page.sections]
    ['Every item']
    """
    found = plain["statistics"]
    items = rows_of(plain["results"], "'results'")
    fields = rows_of(found.get("fields") or [], "'fields'")
    main = _items("Every item", items, {})
    sections = [
        *_coefficients(fields),
        *_split(found),
        *_annotators(found),
        *_groups(found),
        Section("Every item", ["How often each value was given, and how far apart."], [main]),
    ]
    people = number(found.get("people"), "'people'") or 0
    units = len({text(row.get("item")) for row in items})
    summary = [
        f"{people:,.0f} people judged {units:,} items in {len(fields):,} fields. Agreement is how "
        "alike people judge; where they part, their answers are kept as they are."
    ]
    tiles = [(f"{people:,.0f}", "people"), (f"{units:,}", "items")]
    for row in fields[:4]:
        value = number(part(row.get("alpha")).get("value"), "'alpha'")
        if value is not None:
            tiles.append((f"{round(value, 2) + 0.0:.2f}", f"alpha, {text(row.get('field'))}"))
    return Page("Agreement between people", summary, tiles, sections, main=main)


def _coefficients(fields: Sequence[Plain]) -> list[Section]:
    if not fields:
        return []
    blocks: list[Block] = []
    chart = _intervals(fields)
    if chart:
        blocks.append(chart)
    blocks.append(Table("Coefficients", _FIELDS, [_field_row(row) for row in fields]))
    forms = [
        {"field": row.get("field"), **form}
        for row in fields
        for form in rows_of(row.get("icc") or [], "icc")
    ]
    if forms:
        blocks.append(keyed_table("Intraclass correlation", forms, _ICC, "'icc'"))
    prose = [
        "Krippendorff's alpha is 1 where all agree and 0 where they agree as by chance; kappa is "
        "for labels, the intraclass correlation for numbers. Intervals are 95 %, over items."
    ]
    return [Section("How far people agree", prose, blocks)]


def _field_row(row: Plain) -> list[Any]:
    which = next((name for name in ("cohen", "fleiss") if part(row.get(name))), "")
    return [
        text(row.get("field")),
        text(row.get("level")),
        *(number(row.get(key), f"'{key}'") for key in ("items", "answers", "people")),
        *(number(part(row.get("alpha")).get(end), "'alpha'") for end in _ENDS),
        number(part(row.get(which)).get("value"), "'kappa'"),
        {"cohen": "Cohen", "fleiss": "Fleiss"}.get(which, ""),
        number(part(row.get("percent")).get("value"), "'percent'"),
    ]


def _intervals(fields: Sequence[Plain]) -> Chart | None:
    """Draw alpha of each field with its interval."""
    found = []
    for row in fields:
        ends = [number(part(row.get("alpha")).get(end), "'alpha'") for end in _ENDS]
        if ends[0] is not None:
            value = ends[0]
            low, high = (value if end is None else end for end in ends[1:])
            found.append((text(row.get("field")), value, low, high))
    if not found:
        return None
    found.sort(key=lambda each: each[1])
    points = [(value, float(place)) for place, (_, value, _, _) in enumerate(found)]
    hover = [f"{name}\nalpha {v:.2f} ({a:.2f} … {b:.2f})" for name, v, a, b in found]
    spans = error_bars([(value, low, high) for _, value, low, high in found], "good")
    trace = marks("alpha", points, "good", size=9, hovertext=hover, error_x=spans, legend=False)
    layout = {
        "xaxis": {"title": "Krippendorff's alpha", "zero": True},
        "yaxis": named_rows([name for name, *_ in found], list(range(len(found))), -0.8),
        "fixed": True,
    }
    about = f"Alpha of {len(found)} fields, from {found[0][0]} to {found[-1][0]}, with intervals."
    return Chart("Alpha by field", about, [trace], layout, height=130 + 24 * len(found))


def _items(title: str, rows: Sequence[Plain], texts: Plain) -> Table:
    values = [
        [
            text(row.get("item")),
            text(row.get("field")),
            number(row.get("answers"), f"{title}, row {place + 1},"),
            number(row.get("disagreement"), f"{title}, row {place + 1},"),
            _counts(row),
            *([text(texts.get(text(row.get("item"))) or None)] if texts else []),
        ]
        for place, row in enumerate(rows[:_MAX_ROWS])
    ]
    note = more_note(len(rows) - len(values))
    return Table(title, _ITEMS, values, ("text",) if texts else (), note)


def _split(found: Plain) -> list[Section]:
    rows = rows_of(found.get("most_split") or [], "'most_split'")
    if not rows:
        return []
    prose = [
        "Apart is the mean distance of two answers to the item, from 0 (all the same) to 1. "
        "Content warning: items are shown as they were given; some may be offensive."
    ]
    table = _items("Most split items", rows, part(found.get("texts")))
    return [Section("What people disagree on", prose, [table])]


def _annotators(found: Plain) -> list[Section]:
    rows = rows_of(found.get("leanings") or [], "'leanings'")
    if not rows:
        return []
    names = [text(row.get("leaning")) for row in rows]
    people = [_percent(part(row.get("share")).get("value")) for row in rows]
    written = [_percent(row.get("annotation_share")) for row in rows]
    series = {"people": people, "annotations": written}
    blocks: list[Block] = [bars("Leanings of people and of annotations", series, names, "%")]
    weights = rows_of(found.get("foundations") or [], "'foundations'")
    if weights:
        blocks += _weights(weights)
    prose = [
        "What people said of themselves (Ziems et al. 2022, Figures 3 and 4). Leanings of too few "
        "people are among the others."
    ]
    return [Section("Who the annotators are", prose, blocks)]


def _weights(rows: Sequence[Plain]) -> list[Block]:
    foundations = list(dict.fromkeys(text(row.get("foundation")) for row in rows))
    means = {
        (text(row.get("leaning")), text(row.get("foundation"))): number(row.get("mean"), "'mean'")
        for row in rows
    }
    leanings = dict.fromkeys(leaning for leaning, _ in means)
    series = {
        leaning: [means.get((leaning, foundation)) or 0.0 for foundation in foundations]
        for leaning in leanings
    }
    columns = {key: Column(key) for key in ("leaning", "foundation")}
    columns |= {key: Column(key, "number", 2) for key in ("mean", "low", "high")}
    columns["people"] = Column("people", "whole")
    title = "Weight of each foundation by leaning"
    return [
        bars(title, series, foundations, "mean weight, 1 to 5"),
        keyed_table(title, rows, columns),
    ]


def _groups(found: Plain) -> list[Section]:
    blocks: list[Block] = []
    within = rows_of(found.get("within") or [], "'within'")
    if within:
        columns = {key: Column(key) for key in ("field", "leaning")}
        columns["people"] = Column("people", "whole")
        ends = zip(_ENDS, ("alpha", "low", "high"), strict=True)
        columns |= {key: Column(name, "number", 2) for key, name in ends}
        columns["answers"] = Column("answers")
        shown = [{**row, **part(row.get("alpha")), "answers": _counts(row)} for row in within]
        blocks.append(keyed_table("Agreement within leanings", shown, columns))
    for key, title in (
        ("field_splits", "Leanings over all items"),
        ("item_splits", "Items that split leanings"),
    ):
        rows = rows_of(found.get(key) or [], f"'{key}'")
        if rows:
            shown = [
                {**row, "item": row.get("item") or "all", "value": row.get("value") or None}
                for row in rows
            ]
            blocks.append(keyed_table(title, shown, _SPLITS))
    prose = [
        "Means of people's answers; for labels the share who chose the value. p comes from "
        "permutations of people between the two leanings, corrected for everything compared: "
        "below 0.05 the difference would be rare if leaning did not matter."
    ]
    return [Section("Which items split whom", prose, blocks)] if blocks else []


def _counts(row: Plain) -> str:
    pairs = part(row.get("counts")).items()
    return ", ".join(f"{value}: {text(count)}" for value, count in pairs)


def _percent(value: Any) -> float:
    return 100 * (number(value, "a share") or 0.0)
