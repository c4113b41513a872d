"""The page of `reproduce`: every figure that the papers print, and ours beside it.

Signs follow the house, positive is good: the printed m of the second paper is turned.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import NoStatistics, RunRecord, grouped
from moralscope.pages import Presentation
from moralscope.pages.charts import named_scatter
from moralscope.pages.closing import JUDGE_LIMITS
from moralscope.pages.page import Block, Column, Facts, Page, Section, Table, head
from moralscope.pages.score import variance_chart
from moralscope.pages.vocabulary import extraction_blocks
from moralscope.pages.words import correlation_text, text
from moralscope.papers import PaperRow, PaperTable
from moralscope.papers.choice import ChoiceReproduction, ChoiceStatistics
from moralscope.papers.direction import DirectionReproduction, DirectionStatistics, FitReproduction
from moralscope.papers.everything import AllStatistics, tables_of
from moralscope.papers.stories import StoriesCells
from moralscope.stats.correlation import Correlation

_CAME_OUT = (
    "A figure came out where it has the printed digits, where the printed one lies inside our "
    "interval, or, of scores that lie around zero, where it has the same sign."
)
_UNLIKE = ("t", "p", "n")  # columns whose figures lie on scales of their own
_DENSE = 0.6  # a table with more holes than that is a list
_ACROSS = 6  # columns that fit beside each other in a terminal


def reproduce_page(record: RunRecord) -> Page:
    """Lay out the tables of one paper, or of all four."""
    config, paper = record.config, record.config["paper"]
    names = text([getattr(result, "encoder", "") for result in record.results])
    sections: list[Section] = []
    if paper == "all":
        summary = (
            "Every figure that the four papers print and we carry: the paper's value, ours, "
            "whether it came out again, and why not. Other weights than the papers' give other "
            "digits."
        )
        rows = [
            [name, tally.printed, tally.came_out, tally.other, tally.not_measured]
            for name, tally in record.statistics["papers"].items()
        ]
        titles = "paper | printed figures: whole | came out: whole | did not: whole"
        table = Table("Figures", head(titles, "not measured: whole"), rows)
        sections.append(Section("How many came out", [_CAME_OUT], [table], shown="all"))
    elif paper == "stories":
        summary = (
            f"What the paper printed and what we find with {text(config.get('experts'))}. "
            f"{text(config.get('complete_stories'))} of {text(config.get('stories'))} stories have "
            "all seven sentences."
        )
    elif paper == "integrity":
        source = config.get("source")
        ours = f"what {text(source)} gives" if source else "nothing of ours: no corpus was given"
        summary = f"What the paper printed, and beside it {ours}."
    else:
        summary = (
            f"What the paper printed and what we find for {names}. These encoders are not the "
            "paper's own: signs and orders can be compared, digits hardly."
        )
    sections += [
        Section(table.name, [outcome_note(table)], table_blocks(table))
        for table in tables_of(record)
    ]
    for result in record.results:
        if isinstance(result, ChoiceReproduction):
            top = _top_table("Our ten dos and don'ts by bias", result.top_dos, result.top_donts)
            sections.append(Section(f"{result.encoder}: our ten", [], [top], shown="all"))
        elif isinstance(result, DirectionReproduction):
            sections += _direction_sections(result)
    words = record.statistics["words"] if paper == "choice" else None
    for extraction in words.extractions if words else ():
        blocks = extraction_blocks(extraction.verbs, extraction.statistics)
        sections.append(Section(f"Dos and don'ts of {extraction.vectors}", [], blocks, shown="all"))
    title = f"The paper “{paper}”, its tables beside ours"
    if paper == "all":
        title = "Four papers, their figures beside ours"
    return Page(title, [summary], sections=sections)


def terminal_page(table: PaperTable) -> Page:
    """Return one table for the terminal, which shows tables as they are finished."""
    blocks = table_blocks(table, _ACROSS)
    note = Facts([("", note) for note in (outcome_note(table),) if note])
    return Page("", sections=[Section(table.name, [], [*blocks, note], shown="all", gap=True)])


def outcome_note(table: PaperTable) -> str:
    """Count the figures that came out, and say once why others did not."""
    outcomes = Counter(row.reproduced for row in table.rows if row.reproduced)
    counts = ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common())
    whys = dict.fromkeys(row.why for row in table.rows if row.why)
    first = [f"Of {outcomes.total()} printed figures: {counts}."] if counts else []
    return " ".join([*first, *(f"Why not all: {why}." for why in whys)])


def table_blocks(table: PaperTable, across: int | None = None) -> list[Block]:
    """Lay a table out as the paper does, then a figure a row, then as a chart.

    A paper's table has a row for each system; `across` cuts it where a terminal ends, and leaves
    the chart out. What has no common scale is not drawn.
    """
    printed = [row.ours if row.paper is None else row.paper for row in table.rows]
    known = [value for value in printed if value is not None]
    behind_point = [len(str(value).partition(".")[2].rstrip("0")) for value in known]
    counts = all(value > 100 for value in known)
    digits = 0 if counts else min(3, max(2, *behind_point))

    def figure(value: float | None) -> float | str | None:
        tiny = value is not None and 0 < abs(value) < 0.5 * 10**-digits
        return f"{value:.1e}" if tiny else value

    blocks: list[Block] = []
    systems: dict[str, dict[str, PaperRow]] = {}
    for row in table.rows:
        systems.setdefault(row.row, {})[row.column] = row
    columns = list(dict.fromkeys(row.column for row in table.rows))
    rows: Sequence[PaperRow] = table.rows
    if len(columns) > 1 and len(table.rows) >= _DENSE * len(systems) * len(columns):
        rows = [row for row in table.rows if row.ours is not None]
        width = across or len(columns)
        for start in range(0, len(columns), width):
            part = columns[start : start + width]
            listed = []
            for name, cells in systems.items():
                for whose in ("paper", "ours"):
                    printed = [getattr(cells.get(column), whose, None) for column in part]
                    if any(value is not None for value in printed):
                        listed.append([name, whose, *map(figure, printed)])
            heads = [Column("system"), Column("whose")]
            heads += [Column(name, "number", digits, right=True) for name in part]
            title = table.name if across else "In the paper's layout"
            blocks.append(Table(title, heads, listed, titled=not blocks))
    if rows:
        ours = f"ours: number {digits} | interval: range 2 | paper: number {digits}"
        heads = head("figure | column", ours, "came out")
        figures = []
        for row in rows:
            span = None if row.low is None else (row.low, row.high)
            values = (figure(row.ours), span, figure(row.paper))
            figures.append([row.row, row.column, *values, row.reproduced])
        blocks.append(Table(table.name, heads, figures, titled=not blocks))
    if across is None and set(columns).isdisjoint(_UNLIKE):
        several = len(columns) > 1
        points = [
            (f"{row.row}, {row.column}" if several else row.row, row.paper, row.ours)
            for row in table.rows
        ]
        chart = named_scatter(table.name, {"figures": points}, ("paper", "ours"), fits=False)
        blocks += [chart] if chart else []
    return blocks


def _top_table(title: str, dos: Sequence[Any], donts: Sequence[Any]) -> Table:
    """Lay out our most positive and most negative actions side by side."""
    name = attrgetter("word" if dos and hasattr(dos[0], "word") else "action")
    columns = head("do | ours: signed 2 | don't | ours: signed 2")
    rows = [
        [name(do), do.ours, name(dont), dont.ours] for do, dont in zip(dos, donts, strict=False)
    ]
    return Table(title, columns, rows, titled=True)


def _direction_sections(result: DirectionReproduction) -> list[Section]:
    """Draw Table 9 and Figures 1 to 4 for every direction of an encoder."""
    sections = []
    for title, table in (("Table 7", result.table7), ("Table 8, with context", result.table8)):
        top = _top_table(f"{title}: our top ten by mean bias", table.dos, table.donts)
        facts = _correlations(f"{title}, rank correlation with", table.agreement)
        sections.append(Section(f"{result.encoder}: {title}", [], [top, facts], shown="all"))
    for fit in result.fits:
        sections += _fit_sections(result.encoder, fit)
    groups = grouped((point.group, point) for point in result.figure2)
    charts = [
        named_scatter(
            f"WEAT against {key}",
            {
                name: [(point.action, attrgetter(key)(point), point.weat) for point in points]
                for name, points in groups.items()
            },
            (key, "weat"),
        )
        for key in ("bias", "direction")
    ]
    note = "Solid: fit through all. Dotted: in a group."
    blocks = [chart for chart in charts if chart]
    return [*sections, Section(f"{result.encoder}: Figure 2", [note], blocks)]


def _fit_sections(encoder: str, fit: FitReproduction) -> list[Section]:
    direction = fit.direction
    parts = {"atomic": fit.atomic, "with context": fit.contextual}
    shares = {
        "actions": direction.explained_variance,
        "differences": direction.explained_variance_differences,
    }
    variance = [
        (
            f"Figure 3: variance explained, PCA of {name}",
            " ".join(f"{share:.1%}" for share in values[:5]) + " …",
        )
        for name, values in shares.items()
    ]
    facts = [
        *variance,
        *_correlations("Table 9, order of", fit.agreement).pairs,
        *_correlations("r with WEAT,", fit.weat).pairs,
    ]
    charts = [
        named_scatter(
            "Figures 1 and 4: map of the actions",
            {name: [(row.action, row.ours, row.y) for row in rows] for name, rows in parts.items()},
            ("moral direction (right is good)", "second axis"),
            fits=False,
        ),
        named_scatter(
            "Table 9: ours against the paper's",
            {
                name: [
                    (row.action, None if row.bert is None else -row.bert, row.ours) for row in rows
                ]
                for name, rows in parts.items()
            },
            ("the paper's, with BERT (sign turned)", "ours"),
        ),
        variance_chart(direction),
    ]
    title = f"{encoder}: direction by {direction.method} ({fit.fit})"
    return [
        Section(title, [], [Facts([("", title), *facts])], shown="terminal", gap=True),
        Section(title, [], [Facts(facts), *(chart for chart in charts if chart)]),
    ]


def _correlations(title: str, correlations: Mapping[str, Correlation]) -> Facts:
    """Write correlations; below each, that within its groups."""
    pairs = []
    for name, correlation in correlations.items():
        pairs.append((f"{title} {name}", correlation_text(correlation)))
        pairs += [
            (f"{title} {name}, within {group}", correlation_text(inner))
            for group, inner in correlation.within.items()
            if not math.isnan(inner.r)
        ]
    return Facts(pairs)


def _types(config: Mapping[str, Any]) -> tuple[Any, Any]:
    types = {
        "choice": (ChoiceReproduction, ChoiceStatistics),
        "direction": (DirectionReproduction, DirectionStatistics),
        "stories": (PaperTable, StoriesCells),
        "integrity": (PaperTable, NoStatistics),
        "all": (PaperTable, AllStatistics),
    }
    paper = config.get("paper")
    if not isinstance(paper, str) or paper not in types:
        raise InputError(
            f"the record is of no paper that we know ({text(paper)[:40]})",
            f"give a record of 'reproduce' with {', '.join(types)}",
        )
    return types[paper]


_SHOWN = Presentation(
    reproduce_page, _types, lambda config: JUDGE_LIMITS if config.get("paper") == "stories" else ()
)
PRESENTATIONS = {"reproduce": _SHOWN}
