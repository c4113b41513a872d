"""The report of `words compare`: what moved between corpora, or along the periods of one."""

from collections.abc import Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.charts import GROUPS, marks, slopes
from moralscope.pages.generic_page import blocks_of
from moralscope.pages.page import Chart, Column, Page, Section, Table, columns, part

SHOWN = 24  # actions in a chart of two corpora
LINES = 8  # in a chart of periods
_SCALE = "percentile of value among the words that all share (up is good)"


def corpora_page(plain: Plain) -> Page:
    """Lay out a comparison of corpora, or of the periods of one.

    Examples
    --------
    >>> value = {"corpus": "a", "percentile": 20.0, "neighbours": ["war"]}
    >>> row = {"action": "steal", "first": value, "second": {**value, "corpus": "b"},
    ...        "change": 0.0, "low": -1.0, "high": 1.0}
    >>> page = corpora_page({"config": {}, "statistics": {}, "results": [row]})
    >>> [section.title for section in page.sections]
    ['From a to b']
    """
    rows = rows_of(plain["results"], "'results'")
    if plain["config"].get("periods"):
        return _periods_page(plain, rows)
    sections = [_moved(pair, chosen) for pair, chosen in pairs_of_corpora(rows).items()]
    if plain["statistics"]:
        sections.append(Section("Figures", [], blocks_of(plain["statistics"]), folded=True))
    listed = rows_of(plain["config"].get("corpora") or [], "'corpora'")
    sizes = [
        f"{text(each.get('name'))}: {number(each.get('words'), 'words') or 0:,.0f} words"
        for each in listed
    ]
    actions = len({text(row.get("action")) for row in rows})
    summary = [f"How {len(listed) or 2} corpora value {actions:,} actions. {'; '.join(sizes)}."]
    return Page("Corpora compared", summary, [(f"{actions:,}", "actions")], sections)


def pairs_of_corpora(rows: Sequence[Plain]) -> dict[tuple[str, str], list[Plain]]:
    """Return the rows of each pair of corpora, the biggest movers first."""
    found: dict[tuple[str, str], list[Plain]] = {}
    for row in rows:
        names = [text(part(row.get(side)).get("corpus")) for side in ("first", "second")]
        found.setdefault((names[0], names[1]), []).append(row)
    return found


def percentiles(row: Plain) -> list[float]:
    """Return an action's percentiles in the two corpora."""
    sides = (part(row.get(side)).get("percentile") for side in ("first", "second"))
    return [number(value, "'percentile'") or 0.0 for value in sides]


def points_of(row: Plain, periods: Sequence[str]) -> list[tuple[float, float]]:
    """Return (place of the period, percentile) of an action over time."""
    points = rows_of(row.get("points") or [], "'points'")
    places = {name: float(place) for place, name in enumerate(periods)}
    return [
        (places[text(each.get("period"))], number(each.get("percentile"), "'points'") or 0.0)
        for each in points
        if text(each.get("period")) in places
    ]


def _moved(pair: tuple[str, str], rows: Sequence[Plain]) -> Section:
    title = f"From {pair[0]} to {pair[1]}"
    lines = [(text(row.get("action")), percentiles(row)) for row in rows[:SHOWN]]
    chart = slopes(
        title, pair, [(name, at, "good" if at[1] >= at[0] else "bad") for name, at in lines]
    )
    near = [Column(f"near it in {name}") for name in pair]
    titles = [Column("action"), *columns(*pair, kind="number", digits=0)]
    titles += [*columns("change", "low", "high", kind="signed", digits=0), *near]
    values = [_moved_row(row) for row in rows]
    prose = [f"Scale: {_SCALE}. Drawn are the {len(lines)} that moved most, beyond their noise."]
    return Section(title, prose, [chart, Table(f"Actions, {title.lower()}", titles, values)])


def _moved_row(row: Plain) -> list[Any]:
    changes = [number(row.get(key), f"'{key}'") for key in ("change", "low", "high")]
    near = [part(row.get(side)).get("neighbours") for side in ("first", "second")]
    words = [text(each[:5] if isinstance(each, list) else each) for each in near]
    return [text(row.get("action")), *percentiles(row), *changes, *words]


def _periods_page(plain: Plain, rows: Sequence[Plain]) -> Page:
    periods = [text(name) for name in plain["config"]["periods"]]
    traces = []
    for place, row in enumerate(rows[:LINES]):
        name, points = text(row.get("action")), points_of(row, periods)
        colour, symbol = GROUPS[place % len(GROUPS)]
        hover = [f"{name}\n{periods[int(x)]}: {y:.0f}" for x, y in points]
        line = {"color": colour, "width": 2, "dash": "solid" if place < len(GROUPS) else "dash"}
        made = marks(name, points, colour, symbol, hovertext=hover, line=line)
        traces.append({**made, "mode": "lines+markers"})
    places = list(range(len(periods)))
    axis = {"title": "", "names": periods, "tickvals": places, "range": [-0.2, len(periods) - 0.8]}
    layout = {"xaxis": axis, "yaxis": {"title": "percentile of value"}, "fixed": True}
    title = f"{periods[0]} to {periods[-1]}"
    about = f"{len(traces)} actions over {len(periods)} periods."
    chart = Chart(title, about, traces, layout, height=460)
    named = ["first", "last", "change", "low", "high"]
    titles = [Column("action"), *columns(*named, kind="number", digits=0)]
    values = []
    for row in rows:
        found = points_of(row, periods)
        ends = [found[0][1], found[-1][1]] if found else [None, None]
        changes = [number(row.get(key), f"'{key}'") for key in ("change", "low", "high")]
        values.append([text(row.get("action")), *ends, *changes])
    prose = [f"Scale: {_SCALE}. Drawn are the {len(traces)} that moved most, beyond their noise."]
    table = Table("Actions over time", titles, values)
    summary = [f"How {len(rows):,} actions are valued over {len(periods)} periods."]
    return Page("A corpus over time", summary, [], [Section(title, prose, [chart, table])])
