"""Interactive charts as plain data: ranked scores, maps, scatters, clouds, bars, slopes.

Knows nothing of commands: `score_page`, `compare_page` and the others choose what is drawn.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moralscope.pages.page import Chart, Section

CLASSES = (
    ("above zero", "good", "circle"),
    ("below zero", "bad", "diamond"),
    ("interval spans zero", "muted", "circle-open"),
)
GROUPS = (
    ("good", "circle"),
    ("bad", "diamond"),
    ("third", "square"),
    ("fourth", "triangle-up"),
    ("fifth", "x"),
)
ALL_RANKED = 60  # so many rows are drawn by name; of more, both ends
_END = 25
_ROW = 21  # pixels a ranked row takes
_LEAST = 3
_Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Group:
    """Points of one colour and sign in a scatter."""

    name: str
    points: Sequence[_Point]
    hover: Sequence[str]


def marks(
    name: str, points: Sequence[_Point], colour: str, symbol: str = "", size: int = 8, **more: Any
) -> dict[str, Any]:
    """Return a trace of marks; `more` are keys of the trace, such as `hovertext` and `rows`.

    A point without a place, as old or damaged records have, is left out.
    """
    kept = [at for at, point in enumerate(points) if all(map(math.isfinite, point))]

    def of_kept(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: of_kept(item) for key, item in value.items()}
        whole = isinstance(value, list) and len(value) == len(points)
        return [value[at] for at in kept] if whole else value

    marker: dict[str, Any] = {"color": colour, "size": size}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [rounded(points[at][0]) for at in kept],
        "y": [rounded(points[at][1]) for at in kept],
        **of_kept(more),
        "marker": {**marker, "symbol": symbol} if symbol else marker,
    }


def line_marks(
    name: str, points: Sequence[_Point], colour: str, symbol: str = "", **more: Any
) -> dict[str, Any]:
    """Return a trace of marks that a line joins."""
    line = {"color": colour, "width": 2}
    return marks(name, points, colour, symbol, 7, mode="lines+markers", line=line, **more)


@dataclass(frozen=True, slots=True)
class Mark:
    """A named value with its interval: a row of a ranked chart."""

    name: str
    score: float
    row: int
    """its row in the page's main table"""
    low: float | None = None
    high: float | None = None

    @property
    def span(self) -> tuple[float, float]:
        """The interval, or the score itself where none was computed."""
        return (
            self.score if self.low is None or math.isnan(self.low) else self.low,
            self.score if self.high is None or math.isnan(self.high) else self.high,
        )


def sign_class(row: Mark) -> int:
    """Return 0 for surely above zero, 1 for surely below, 2 for undecided."""
    low, high = row.span
    return 0 if low > 0 else 1 if high < 0 else 2


def ranked(rows: Sequence[Mark], title: str, ends: tuple[str, str]) -> Chart:
    """Draw scores with their intervals, one row each, in the order given (best first)."""
    places = {id(row): len(rows) - number for number, row in enumerate(rows)}
    traces = []
    for number, (name, colour, symbol) in enumerate(CLASSES):
        chosen = [row for row in rows if sign_class(row) == number]
        if chosen:
            points = [(row.score, places[id(row)]) for row in chosen]
            kept = [row.row for row in chosen]
            bars_of = error_bars([(row.score, *row.span) for row in chosen], colour)
            traces.append(marks(name, points, colour, symbol, 9, rows=kept, error_x=bars_of))
    axis = {"title": f"← {ends[0]}      score      {ends[1]} →", "zero": True}
    band = _zero_band(rows)
    layout = {
        "xaxis": {**axis, "band": band} if any(band) else axis,
        "yaxis": named_rows([row.name for row in rows], list(places.values()), 0.2),
        "fixed": True,
    }
    about = (
        f"{len(rows)} rows from {rows[0].name} ({rows[0].score:+.3f}) "
        f"down to {rows[-1].name} ({rows[-1].score:+.3f})"
        f"{', each with its interval' * any(row.low is not None for row in rows)}."
    )
    return Chart(title, about, traces, layout, height=110 + _ROW * len(rows))


def _zero_band(rows: Sequence[Mark]) -> list[float]:
    """Return where no score can be told from zero: it ends before the first that can."""
    below = max((row.score for row in rows if sign_class(row) == 1), default=-math.inf)
    above = min((row.score for row in rows if sign_class(row) == 0), default=math.inf)
    unsure = [row.score for row in rows if sign_class(row) == 2 and below < row.score < above]
    return [rounded(min([0.0, *unsure])), rounded(max([0.0, *unsure]))]


def ranked_section(
    rows: Sequence[Mark], ends: tuple[str, str], how: str, *more: Chart
) -> list[Section]:
    """Draw ranked scores; of many both ends, and then `more`."""
    title, half = "Ranked scores", _END
    if not rows:
        return []
    if is_long := len(rows) > ALL_RANKED:
        highest = ranked(rows[:half], f"The {half} highest", ends)
        shown = [highest, ranked(rows[-half:], f"The {half} lowest", ends)]
        how = f"The {half} highest and the {half} lowest of {len(rows):,}. {how}"
    else:
        shown = [ranked(rows, title, ends)]
    if any("band" in chart.layout["xaxis"] for chart in shown):
        how = f"{how} Scores in the grey band can't be told from zero."
    return [Section(title, [how], [*shown, *(more if is_long else ())])]


def curve(rows: Sequence[Mark], ends: tuple[str, str]) -> Chart:
    """Draw all scores in order as one line with its band: the shape of a long list."""
    places = list(range(1, len(rows) + 1))
    band = {"type": "scatter", "mode": "lines", "x": places, "hover": False, "legend": False}
    thin = {"color": "muted", "width": 0}
    low, high = ([rounded(row.span[side]) for row in rows] for side in (0, 1))
    traces = [
        {**band, "y": low, "line": thin},
        {**band, "y": high, "line": thin, "fill": "tonexty", "fillcolor": "band"},
        {
            "type": "scatter",
            "mode": "lines",
            "name": "score",
            "x": places,
            "y": [rounded(row.score) for row in rows],
            "rows": [row.row for row in rows],
            "line": {"color": "good", "width": 2},
            "legend": False,
        },
    ]
    layout = {
        "xaxis": {"title": "place in the ranking"},
        "yaxis": {"title": f"score (up: {ends[1]})", "zero": True},
    }
    about = f"All {len(rows):,} scores from the highest to the lowest, with a band of intervals."
    return Chart("The whole list", about, traces, layout, height=320)


def moral_map(
    rows: Sequence[Mark],
    points: Sequence[_Point],
    fitting: Sequence[tuple[str, float, float]],
    titles: tuple[str, str],
) -> Chart:
    """Draw actions in two dimensions, the moral axis horizontal (Schramowski et al., Fig. 1, 4)."""
    traces: list[dict[str, Any]] = []
    if fitting:
        names, places = [name for name, _, _ in fitting], [(x, y) for _, x, y in fitting]
        traces.append(marks("fitted from", places, "muted", "cross-thin-open", 7, hovertext=names))
    pairs = list(zip(rows, points, strict=True))
    for number, (name, colour, symbol) in enumerate(CLASSES):
        chosen = [(row, point) for row, point in pairs if sign_class(row) == number]
        if chosen:
            kept = [row.row for row, _ in chosen]
            traces.append(marks(name, [at for _, at in chosen], colour, symbol, rows=kept))
    order = outermost([pair for pair in pairs if all(map(math.isfinite, pair[1]))], len(pairs))
    labels = [(rounded(x), rounded(y), row.row) for row, (x, y) in order]
    layout = {"xaxis": {"title": titles[0], "zero": True}, "yaxis": {"title": titles[1]}}
    about = f"A map of {len(rows):,} actions; horizontal: {titles[0]}, vertical: {titles[1]}."
    return Chart("Map of the actions", about, traces, layout, height=560, labels=labels)


def outermost(pairs: Sequence[tuple[Any, _Point]], limit: int = 300) -> list[tuple[Any, _Point]]:
    """Order points from the outside in, so that the telling ones are labelled first."""
    if not pairs:
        return []
    middles = [sum(point[axis] for _, point in pairs) / len(pairs) for axis in (0, 1)]
    spans = [max(abs(point[axis] - middles[axis]) for _, point in pairs) or 1.0 for axis in (0, 1)]

    def distance(pair: tuple[Any, _Point]) -> float:
        return sum(((pair[1][axis] - middles[axis]) / spans[axis]) ** 2 for axis in (0, 1))

    return sorted(pairs, key=distance, reverse=True)[:limit]


def scatter(
    title: str,
    groups: Sequence[Group],
    titles: tuple[str, str],
    *,
    fits: bool = True,
    labels: Sequence[tuple[float, float, str | int]] = (),
) -> Chart:
    """Draw points by group, with a line of least squares through all and, dotted, each group."""
    traces: list[dict[str, Any]] = []
    for index, group in enumerate(groups):
        colour, symbol = GROUPS[index % len(GROUPS)]
        if fits and len(groups) > 1:
            traces += _fit(group.points, colour, "dot", None)
        hover = list(group.hover)
        traces.append(marks(group.name, group.points, colour, symbol, hovertext=hover))
    everything = [point for group in groups for point in group.points]
    if fits:
        traces += _fit(everything, "ink", "solid", "fit through all")
    layout = {"xaxis": {"title": titles[0]}, "yaxis": {"title": titles[1]}}
    about = f"{len(everything)} points: {titles[1]} against {titles[0]}."
    return Chart(title, about, traces, layout, height=500, labels=labels)


def named_scatter(
    title: str,
    groups: Mapping[str, Sequence[tuple[str, float | None, float | None]]],
    titles: tuple[str, str],
    *,
    fits: bool = True,
    same: bool = False,
) -> Chart | None:
    """Draw named points by group, or nothing where fewer than three have both values.

    `same` puts both axes on one scale: what shrank is then seen to have shrunk.
    """
    drawn, pairs = [], []
    for name, rows in groups.items():
        points = [
            (label, (x, y))
            for label, x, y in rows
            if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)
        ]
        hover = [f"{label}\n{titles[0]} {x:+.3f}\n{titles[1]} {y:+.3f}" for label, (x, y) in points]
        if points:
            drawn.append(Group(name, [point for _, point in points], hover))
        pairs += points
    if len(pairs) < _LEAST:
        return None
    labels = [(x, y, label) for label, (x, y) in outermost(pairs)]
    chart = scatter(title, drawn, titles, fits=fits, labels=labels)
    return replace(chart, layout={**chart.layout, "same": True}) if same else chart


def bars(
    title: str,
    series: Mapping[str, Sequence[float]],
    names: Sequence[str],
    unit: str,
    colours: Sequence[str] = (),
) -> Chart:
    """Draw grouped bars, told apart by pattern as well as by colour."""
    patterns = ("", "/", "x", ".")
    colours = colours or [colour for colour, _ in GROUPS]
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": list(names),
            "y": [0.0 if math.isnan(value) else rounded(value) for value in values],
            "marker": {
                "color": colours[index % len(colours)],
                "pattern": {"shape": patterns[index % len(patterns)]},
            },
            "hovertext": [f"{name}: {value:.1f} {unit}" for value in values],
        }
        for index, (name, values) in enumerate(series.items())
    ]
    layout = {"xaxis": {"title": "", "type": "category"}, "yaxis": {"title": unit}}
    parts = (f"{name}: {', '.join(f'{v:.1f}' for v in vs)}" for name, vs in series.items())
    return Chart(title, f"{unit}. {'; '.join(parts)}.", traces, layout, height=340)


def slopes(
    title: str, names: Sequence[str], lines: Sequence[tuple[str, Sequence[float], str]]
) -> Chart:
    """Draw one line an item over several models: (name, a value per model, colour)."""
    last = len(names) - 1
    lines = [line for line in lines if all(map(math.isfinite, line[1]))]
    traces = []
    for item, values, colour in lines:
        hover = [f"{item}\n{name}: {v:+.2f}" for name, v in zip(names, values, strict=True)]
        dash = "solid" if colour == "good" else "dash"
        line = {"color": colour, "width": 2, "dash": dash}
        marked = marks(item, list(enumerate(values)), colour, size=6, hovertext=hover, line=line)
        traces.append({**marked, "mode": "lines+markers", "legend": False})
    layout = {
        "xaxis": {
            "title": "",
            "tickvals": list(range(len(names))),
            "names": list(names),
            "range": [-0.05, last + 0.05],
        },
        "yaxis": {"title": ""},
        "ends": [
            {"text": item, "left": rounded(values[0]), "right": rounded(values[-1])}
            for item, values, _ in lines
        ],
    }
    about = f"{len(lines)} lines over {', '.join(names)}; crossing lines are changes of order."
    return Chart(title, about, traces, layout, height=max(400, 120 + 20 * len(lines)))


def named_rows(names: Sequence[str], places: Sequence[int], low: float) -> dict[str, Any]:
    """Return the axis of a chart with one named row a mark, from `low` up."""
    return {"tickvals": places, "names": names, "range": [low, rounded(low + len(names) + 0.6)]}


def row_chart(
    title: str,
    about: str,
    traces: Sequence[Mapping[str, Any]],
    along: str | Mapping[str, Any],
    rows: Mapping[str, Any],
) -> Chart:
    """Draw marks in the named rows of `named_rows`, with `along` as the title of the other axis."""
    axis = {"title": along, "zero": True} if isinstance(along, str) else along
    layout = {"xaxis": axis, "yaxis": rows, "fixed": True}
    return Chart(title, about, traces, layout, height=120 + 24 * len(rows["names"]))


def rounded(value: float) -> float:
    """Keep five significant digits: more is never seen and makes the file larger."""
    return float(f"{value:.5g}")


def error_bars(spans: Sequence[tuple[float, float, float]], colour: str) -> dict[str, Any]:
    """Return the bars of (value, low, high)."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [rounded(high - value) for value, _, high in spans],
        "arrayminus": [rounded(value - low) for value, low, _ in spans],
        "color": colour,
        "thickness": 1.5,
        "width": 0,
    }


def _fit(
    points: Sequence[_Point], colour: str, dash: str, name: str | None
) -> list[dict[str, Any]]:
    """Return the least-squares line of y on x over the span of x, where there is one."""
    count = len(points)
    if count < 3:
        return []
    mean_x, mean_y = (sum(point[axis] for point in points) / count for axis in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread == 0:
        return []
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    ends = [min(x for x, _ in points), max(x for x, _ in points)]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name or "",
            "legend": name is not None,
            "hover": False,
            "x": [rounded(x) for x in ends],
            "y": [rounded(mean_y + slope * (x - mean_x)) for x in ends],
            "line": {"color": colour, "dash": dash, "width": 1.5},
        }
    ]
