"""The page of `words compare`: what moved between corpora, or along the periods of one."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from moralscope.core.records import RunRecord, grouped
from moralscope.pages import Presentation
from moralscope.pages.charts import GROUPS, marks, slopes
from moralscope.pages.page import Chart, Column, Facts, Page, Section, Table, columns, head
from moralscope.pages.words import text, texts
from moralscope.words.compare import CorporaStatistics, PeriodsStatistics
from moralscope.words.comparison import ActionDifference
from moralscope.words.trajectories import Trajectory

_DRAWN = 24  # actions in a chart of two corpora
_LINES = 8  # in a chart of periods
_MOVERS = 12  # actions that a terminal shows of two corpora
_TRAJECTORIES = 20
_NAMED = 12
_BLOCKS = "▁▂▃▄▅▆▇█"
_SCALE = "Scale: percentile of value among the words that all share (up is good)."


def compare_page(record: RunRecord) -> Page:
    """Lay out a comparison of corpora, or of the periods of one."""
    return _periods_page(record) if record.config.get("periods") else _corpora_page(record)


def _corpora_page(record: RunRecord) -> Page:
    sizes = [
        f"{text(corpus.get('name'))}: {_count(corpus.get('words'))} words in "
        f"{_count(corpus.get('files'))} files"
        for corpus in record.config.get("corpora") or ()
        if isinstance(corpus, Mapping)
    ]
    results: Sequence[ActionDifference] = record.results
    sections = [Section("", sizes, shown="terminal")]
    pairs = (((row.first.corpus, row.second.corpus), row) for row in results)
    for pair, rows in grouped(pairs).items():
        sections += _pair_sections(pair, rows)
    agreement = record.statistics.agreement
    lists = [
        (f"{label} ({len(words)})", ", ".join(words[:_NAMED]) + " …" * (len(words) > _NAMED))
        for label, words in (
            ("dos in all", agreement.dos),
            ("don'ts in all", agreement.donts),
            ("a do in one, a don't in another", agreement.divergent),
        )
    ]
    facts = Facts([(label, words or "none") for label, words in lists])
    sections.append(Section("What they share", [], [facts], shown="all"))
    actions = len({row.action for row in record.results})
    summary = [f"How {len(sizes) or 2} corpora value {actions:,} actions. {'; '.join(sizes)}."]
    changed = (f"{record.statistics.changed:,}", "differences beyond their interval")
    return Page("Corpora compared", summary, [(f"{actions:,}", "actions"), changed], sections)


def _pair_sections(pair: tuple[str, str], rows: Sequence[ActionDifference]) -> list[Section]:
    first, second = pair
    title = f"From {first} to {second}"
    lines = [
        (row.action, [row.first.percentile, row.second.percentile], row.change)
        for row in rows[:_DRAWN]
        if math.isfinite(row.first.percentile + row.second.percentile)
    ]
    coloured = [(name, ends, "good" if change >= 0 else "bad") for name, ends, change in lines]
    chart = slopes(title, pair, coloured)
    heads = head(
        "action",
        *columns(*pair, kind="number", digits=0),
        "change: signed 0 | 95 % interval: range 0 right | displaced: number 2",
        Column(f"near it in {first}"),
        Column(f"near it in {second}"),
    )

    def values(row: ActionDifference, near: int) -> list[Any]:
        figures = (row.first.percentile, row.second.percentile, row.change, (row.low, row.high))
        beside = (", ".join(side.neighbours[:near]) for side in (row.first, row.second))
        return [row.action, *figures, row.displacement, *beside]

    about = f"biggest movers, {first} to {second} (percentiles of value)"
    movers = Table(about, heads, [values(row, 3) for row in rows[:_MOVERS]], titled=True)
    table = Table(f"Actions, from {first} to {second}", heads, [values(row, 5) for row in rows])
    prose = f"{_SCALE} Drawn are the {len(lines)} that moved most, beyond their noise."
    return [Section(title, [prose], [chart, table]), Section(title, [], [movers], shown="terminal")]


def _periods_page(record: RunRecord) -> Page:
    periods = texts(record.config["periods"])
    rows: Sequence[Trajectory] = record.results
    traces = []
    for number, row in enumerate(rows[:_LINES]):
        known = [
            point
            for point in row.points
            if point.period in periods and math.isfinite(point.percentile)
        ]
        points = [(float(periods.index(point.period)), point.percentile) for point in known]
        hover = [f"{row.action}\n{point.period}: {point.percentile:.0f}" for point in known]
        colour, symbol = GROUPS[number % len(GROUPS)]
        dash = "solid" if number < len(GROUPS) else "dash"
        line = {"color": colour, "width": 2, "dash": dash}
        trace = marks(row.action, points, colour, symbol, hovertext=hover, line=line)
        traces.append({**trace, "mode": "lines+markers"})
    axis = {
        "title": "",
        "names": periods,
        "tickvals": list(range(len(periods))),
        "range": [-0.2, len(periods) - 0.8],
    }
    chart = Chart(
        f"{periods[0]} to {periods[-1]}",
        f"{len(traces)} actions over {len(periods)} periods.",
        traces,
        {"xaxis": axis, "yaxis": {"title": "percentile of value"}, "fixed": True},
        height=460,
    )
    heads = head(
        "action | trajectory | first: number 0 | last: number 0 | change: signed 0",
        "95 % interval: range 0 right",
    )
    values = []
    for row in rows:
        percentiles = {point.period: point.percentile for point in row.points}
        line_of = sparkline([percentiles.get(period) for period in periods])
        ends = [row.points[0].percentile, row.points[-1].percentile] if row.points else [None] * 2
        values.append([row.action, line_of, *ends, row.change, (row.low, row.high)])
    table = Table("Actions over time", heads, values)
    title = f"percentile of value, {periods[0]} … {periods[-1]}"
    short = Table(title, heads, values[:_TRAJECTORIES], titled=True)
    hidden = len(rows) - _TRAJECTORIES
    more = [("", f"… {hidden:,} more actions: --json or --out")] if hidden > 0 else []
    prose = f"{_SCALE} Drawn are the {len(traces)} that moved most, beyond their noise."
    summary = [f"How {len(rows):,} actions are valued over {len(periods)} periods."]
    in_brief = Section("", [], [short, Facts(more)], shown="terminal")
    sections = [Section(chart.title, [prose], [chart, table]), in_brief]
    return Page("A corpus over time", summary, sections=sections)


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else text(value)


def sparkline(percentiles: Sequence[float | None]) -> str:
    """Draw percentiles as blocks, a dot where there is none."""
    top = len(_BLOCKS) - 1
    return "".join(
        "·" if value is None else _BLOCKS[min(top, max(0, round(value / 100 * top)))]
        for value in percentiles
    )


_OVER_TIME, _IN_PAIRS = (Trajectory, PeriodsStatistics), (ActionDifference, CorporaStatistics)
_SHOWN = Presentation(compare_page, lambda c: _OVER_TIME if c.get("periods") else _IN_PAIRS)
PRESENTATIONS = {"words compare": _SHOWN}
