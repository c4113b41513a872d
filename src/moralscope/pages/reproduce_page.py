"""The reports of `reproduce` (the paper's figures and tables beside ours) and `words correlate`.

Signs follow the house, positive is good: the printed m of the second paper is turned.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.charts import Group, cloud, outermost, scatter
from moralscope.pages.generic_page import blocks_of, shape_text, table_of
from moralscope.pages.page import (
    Block,
    Column,
    Facts,
    Page,
    Section,
    Table,
    correlation_text,
)
from moralscope.pages.score_page import variance_chart
from moralscope.stats.summary import reproduced

_CHOICE_FIGURES = (
    ("dos", "dos, mean (sd)", "dos"),
    ("donts", "don'ts, mean (sd)", "donts"),
    ("all", "all, mean (sd)", "all"),
    ("student", "t (Student)", "t"),
    ("welch", "t (Welch)", "t"),
    ("weat_printed", "r with WEAT as printed", "r"),
    ("weat_published", "r with WEAT as published", "r"),
    ("weat_ours", "r with WEAT of our vectors", "r"),
    ("female_right", "female-biased occupations, of 10", ""),
    ("male_right", "male-biased occupations, of 10", ""),
)
_ALL = (
    "Every figure that the four papers print and we carry: the paper's value, ours, whether it "
    "came out again, and why not. Other weights than the papers' give other digits."
)
_TALLY = {
    "printed": "printed figures",
    "came_out": "came out",
    "other": "did not",
    "not_measured": "not measured",
}
_CAME_OUT = (
    "A figure came out where it has the printed digits, where the printed one lies inside our "
    "interval, or, of scores that lie around zero, where it has the same sign."
)
_UNLIKE = ("t", "p", "n")  # columns whose figures lie on scales of their own
_DENSE = 0.6  # a table with more holes than that is a list
_NUMBERS = ("ours", "low", "high", "paper")
_LISTED = ("row", "column", *_NUMBERS, "reproduced")
_CHOICE_TABLES = (
    (
        "Table 2: the paper's dos and don'ts",
        (("dos", "printed_dos"), ("don'ts", "printed_donts")),
    ),
    ("Our ten by bias", (("dos", "top_dos"), ("don'ts", "top_donts"))),
    ("Table 1: gender bias of occupations", (("female", "female"), ("male", "male"))),
)


def reproduce_page(plain: Plain) -> Page:
    """Lay out `reproduce choice`, `direction`, `stories` and `integrity`."""
    results = rows_of(plain["results"], "'results'")
    paper_name = plain["config"].get("paper")
    if paper_name == "all":
        drawn = [*_papers(plain), *_beside(results)]
        return Page("Four papers, their figures beside ours", [_ALL], [], drawn)
    if paper_name in ("stories", "integrity"):
        told = _stories(plain) if paper_name == "stories" else _integrity(plain)
        title = f"The paper “{paper_name}”, its tables beside ours"
        return Page(title, [told], [], _beside(results))
    names = [text(result.get("encoder")) for result in results]
    found = plain["statistics"].get("paper")
    paper = found if isinstance(found, dict) else {}
    sections: list[Section] = []
    for name, result in zip(names, results, strict=True):
        if "fits" in result:
            sections += _direction(name, result)
        else:
            sections += _choice(name, result, paper)
    words = plain["statistics"].get("words")
    if isinstance(words, dict):
        sections.append(Section(f"Words of {text(words.get('vectors'))}", [], blocks_of(words)))
    summary = [
        f"What the paper printed and what we find for {', '.join(names)}. These encoders are not "
        "the paper's own: signs and orders can be compared, digits hardly."
    ]
    title = f"The paper “{text(plain['config'].get('paper'))}”, its tables beside ours"
    return Page(title, summary, [], sections)


def _papers(plain: Plain) -> list[Section]:
    """Lay out how many figures of each paper came out."""
    found = plain["statistics"].get("papers")
    counts = found if isinstance(found, dict) else {}
    rows = [[name, *(row.get(key) for key in _TALLY)] for name, row in counts.items()]
    columns = [Column("paper"), *(Column(title, "whole") for title in _TALLY.values())]
    return [Section("How many came out", [_CAME_OUT], [Table("Figures", columns, rows)])]


def _stories(plain: Plain) -> str:
    experts = text(plain["config"].get("experts"))
    complete, stories = (
        number(plain["config"].get(key), f"'{key}'") or 0 for key in ("complete_stories", "stories")
    )
    return (
        f"What the paper printed and what we find with {experts}. {complete:,.0f} of "
        f"{stories:,.0f} stories have all seven sentences."
    )


def _integrity(plain: Plain) -> str:
    source = plain["config"].get("source")
    ours = f"what {text(source)} gives" if source else "nothing of ours: no corpus was given"
    return f"What the paper printed, and beside it {ours}."


def _beside(tables: Sequence[Plain]) -> list[Section]:
    """Lay out tables of numbers, ours beside the paper's, a row for each system where it has many.

    Why a figure did not come out is said once. What has no common scale is not drawn.
    """
    sections = []
    for table in tables:
        name, rows = text(table.get("name")), _rows(table, "rows")
        columns = {text(row.get("column")) for row in rows}
        several = len(columns) > 1
        named = [
            {
                "action": ", ".join([text(row.get("row")), *[text(row.get("column"))] * several]),
                **row,
            }
            for row in rows
        ]
        mixed = not columns.isdisjoint(_UNLIKE)
        chart = None if mixed else cloud(name, {"each": named}, ("paper", "ours"), fits=False)
        told = [_told(row, "paper") for row in rows]
        why = dict.fromkeys(text(row["why"]) for row in rows if row.get("why"))
        listed = [{key: row.get(key) for key in _LISTED} for row in told]
        notes = " ".join(filter(None, [_tally(told), *(f"Why not all: {each}." for each in why)]))
        wide = _wide(rows)
        if wide is not None:
            listed = [row for row in listed if row.get("ours") is not None]
        sections.append(_section(name, notes, [wide, _long(name, listed), chart]))
    return sections


def _point(row: Plain, *, several: bool) -> str:
    """Name a point of a chart; its column only where there are several."""
    name = text(row.get("row"))
    return f"{name}, {text(row.get('column'))}" if several else name


def _long(name: str, rows: Sequence[Plain]) -> Table:
    """Lay out a figure a row; columns that nobody fills are left out."""
    filled = [key for key in _LISTED if any(row.get(key) is not None for row in rows)]
    cells = [
        [_figure(row.get(key)) if key in _NUMBERS else text(row.get(key) or "") for key in filled]
        for row in rows
    ]
    kinds = {key: "number" if key in _NUMBERS else "text" for key in filled}
    titles = {"row": "figure", "reproduced": "came out"}
    return Table(name, [Column(titles.get(key, key), kinds[key]) for key in filled], cells)


def _wide(rows: Sequence[Plain]) -> Table | None:
    """Lay out the paper's table, a row for each system, ours below the paper's."""
    systems: dict[str, dict[str, Plain]] = {}
    for row in rows:
        systems.setdefault(text(row.get("row")), {})[text(row.get("column"))] = row
    columns = list(dict.fromkeys(text(row.get("column")) for row in rows))
    if len(columns) < 2 or len(rows) < _DENSE * len(systems) * len(columns):
        return None
    listed: list[list[Any]] = []
    for name, cells in systems.items():
        for whose in ("paper", "ours"):
            values = [_figure(cells.get(column, {}).get(whose)) for column in columns]
            if any(value is not None for value in values):
                listed.append([name, whose, *values])
    digits = {
        column: max(_digits(cells.get(column, {}).get("paper")) for cells in systems.values())
        for column in columns
    }
    heads = [Column("system"), Column("whose")]
    heads += [Column(column, "number", digits[column]) for column in columns]
    return Table("In the paper's layout", heads, listed)


def _digits(printed: Any) -> int:
    """Return how many digits behind the point a figure is printed with; two where none is."""
    return 2 if printed is None else len(str(printed).partition(".")[2].removesuffix("0"))


def _figure(value: Any) -> float | str | None:
    """Write out what is too small for the digits of a column."""
    found = number(value, "a figure")
    return f"{found:.1e}" if found is not None and 0 < abs(found) < 5e-4 else found


def _told(row: Plain, printed: str, sign: int = 1) -> dict[str, Any]:
    """Add whether a row reproduced: the sign, and inside our interval."""
    ours, paper, low, high = (
        number(row.get(key), f"'{key}'") for key in ("ours", printed, "low", "high")
    )
    paper = None if paper is None else sign * paper
    return {**row, "reproduced": row.get("reproduced") or reproduced(ours, paper, low, high)}


def _tally(rows: Sequence[Plain]) -> str:
    """Count the rows that reproduced."""
    known = Counter(text(row["reproduced"]) for row in rows if row.get("reproduced"))
    if not known:
        return ""
    counts = ", ".join(f"{word} {count}" for word, count in known.most_common())
    return f"Of {known.total()} printed figures: {counts}."


def _choice(encoder: str, result: Plain, paper: Plain) -> list[Section]:
    rows = [
        [title, shape_text(result.get(key)), shape_text(paper.get(printed)) if printed else "10"]
        for key, title, printed in _CHOICE_FIGURES
        if result.get(key) is not None
    ]
    columns = [Column("figure"), Column("ours"), Column("paper")]
    blocks: list[Block | None] = [Table("Figures beside the paper's", columns, rows)]
    for title, parts in _CHOICE_TABLES:
        groups = {name: [_told(row, "paper") for row in _rows(result, key)] for name, key in parts}
        blocks.append(cloud(title, groups, ("paper", "ours")))
        blocks += [table_of(f"{title}, {name}", rows) for name, rows in groups.items()]
    blocks.append(table_of("Table 3: rankings", _rows(result, "rankings")))
    return [_section(encoder, "", blocks)]


def _direction(encoder: str, result: Plain) -> list[Section]:
    blocks: list[Block | None] = []
    for key, title in (("table7", "Table 7: atomic"), ("table8", "Table 8: with context")):
        found = result.get(key)
        table = found if isinstance(found, dict) else {}
        blocks.append(_agreement(f"{title}, rank correlation with", table.get("agreement")))
        listed = {"printed": "all that the paper prints", "dos": "our top dos"}
        for side, name in (listed | {"donts": "our top don'ts"}).items():
            told = [_told(row, "bert") for row in _rows(table, side)]
            blocks.append(table_of(f"{title}, {name} by bias", told))
    fits = [_fit(encoder, fit) for fit in _rows(result, "fits")]
    return [*fits, _weat(encoder, result), _section(f"{encoder}: question/answer bias", "", blocks)]


def _fit(encoder: str, fit: Plain) -> Section:
    """Draw Table 9 and Figures 1, 3 and 4 for one direction."""
    groups = {"atomic": _rows(fit, "atomic"), "with context": _rows(fit, "contextual")}
    found = fit.get("direction")
    titles = ("moral direction (right is good)", "second axis")
    printed = ("the paper's, with BERT (sign turned)", "ours")
    blocks = [
        cloud("Figures 1 and 4: map of the actions", groups, ("ours", "y"), titles, fits=False),
        cloud("Table 9: ours against the paper's", groups, ("bert", "ours"), printed, turned=True),
        _agreement("rank correlation with the paper's", fit.get("agreement")),
        _agreement("r with WEAT,", fit.get("weat")),
        variance_chart(found if isinstance(found, dict) else {}),
        *(
            table_of(f"Table 9: {name}", [_told(row, "bert", -1) for row in rows])
            for name, rows in groups.items()
        ),
    ]
    everything = [_told(row, "bert", -1) for rows in groups.values() for row in rows]
    note = (
        "In the tables, bert and use are the printed m: below zero is good there. "
        f"{_tally(everything)}"
    )
    return _section(f"{encoder}: direction, fit {text(fit.get('fit'))}", note, blocks)


def _weat(encoder: str, result: Plain) -> Section:
    rows = _rows(result, "figure2")
    names = dict.fromkeys(text(row.get("group")) for row in rows)
    groups = {name: [row for row in rows if text(row.get("group")) == name] for name in names}
    blocks = [
        cloud("WEAT against bias", groups, ("bias", "weat")),
        cloud("WEAT against direction", groups, ("direction", "weat")),
        _agreement("r of bias with WEAT,", result.get("bias_weat")),
    ]
    return _section(f"{encoder}: Figure 2", "Solid: fit through all. Dotted: in a group.", blocks)


def _agreement(title: str, found: Any) -> Facts | None:
    if not isinstance(found, dict) or not found:
        return None
    return Facts([(f"{title} {name}", shape_text(value)) for name, value in found.items()])


def _rows(holder: Plain, key: str) -> list[Plain]:
    return rows_of(holder.get(key) or [], f"'{key}'")


def _section(title: str, note: str, blocks: Sequence[Block | None]) -> Section:
    """Leave out what is missing or empty."""
    kept = [b for b in blocks if b is not None and not (isinstance(b, Table) and not b.rows)]
    return Section(title, [note], kept)


def correlate_rows(plain: Plain) -> list[tuple[str, str, float, float]]:
    """Return (word, group, bias, association) of every word that has both."""
    found = []
    for place, row in enumerate(rows_of(plain["results"], "'results'")):
        where = f"results, row {place + 1},"
        bias, value = number(row.get("bias"), where), number(row.get("association"), where)
        if bias is not None and value is not None:
            found.append((text(row.get("word")), text(row.get("group")), bias, value))
    return found


def words_page(plain: Plain) -> Page:
    """Lay out Figure 4 of Jentzsch et al. 2019 (Figure 2 of Schramowski et al. 2019)."""
    rows = correlate_rows(plain)
    config, found = plain["config"], plain["statistics"].get("correlation")
    inner = found.get("within") if isinstance(found, dict) else None
    within: dict[str, Any] = inner if isinstance(inner, dict) else {}
    names = sorted({group for _, group, _, _ in rows}, key=lambda name: name != "dos")
    groups = []
    for name in names:
        chosen = [row for row in rows if row[1] == name]
        hover = [f"{word}\nbias {bias:+.3f}\nassociation {a:+.3f}" for word, _, bias, a in chosen]
        groups.append(Group(name, [(bias, a) for _, _, bias, a in chosen], hover))
    pairs = [(word, (bias, value)) for word, _, bias, value in rows]
    encoder, vectors = text(config.get("encoder")), text(config.get("vectors"))
    titles = (f"question/answer bias, {encoder}", f"association, {vectors}")
    labels = [(x, y, word) for word, (x, y) in outermost(pairs)]
    chart = scatter("Association against bias", groups, titles, labels=labels)
    facts = [("r, all words", correlation_text(found))]
    facts += [(f"r within {name}", correlation_text(value)) for name, value in within.items()]
    summary = [
        f"Two ways to measure one thing over {len(rows)} words: how near a word is to good words "
        f"in {vectors}, and whether {encoder} leans to yes when asked about it.",
        f"They agree with r = {correlation_text(found)}. Much of a pooled r is the distance "
        "between the groups; the r within each group, beside it, says what is left.",
    ]
    columns = [Column("word"), Column("group")]
    columns += [Column(name, "signed") for name in ("bias", "association")]
    table = Table("All words", columns, [list(row) for row in rows])
    sections = [
        Section(
            "Association against bias",
            ["Solid: fit through all. Dotted: within a group."],
            [chart, Facts(facts)],
        ),
        Section("All words", [], [table]),
    ]
    tiles = [(value.split(" ")[0].rstrip(","), name) for name, value in facts]
    return Page(f"Words: {vectors} against {encoder}", summary, tiles, sections)
