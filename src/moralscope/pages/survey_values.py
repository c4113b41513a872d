"""What a survey says of values and of people: priorities, populations, models compared."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from moralscope.core.records import Interval
from moralscope.pages.charts import GROUPS, error_bars, marks, named_rows, row_chart
from moralscope.pages.page import MINUS, Block, Chart, Column, Section, Table, head
from moralscope.surveys.priorities import LEAST_ITEMS
from moralscope.surveys.statistics import ModelDifference
from moralscope.surveys.survey import SurveyStatistics

_NOTHING = 0.2  # log-odds
_SHOWN = 10  # rows that the terminal lists
_UNKNOWN = Interval(math.nan, math.nan, math.nan)
_SPAN = Column("", "signed interval", 2)


def span_chart(
    title: str, models: Mapping[str, Mapping[str, Interval]], rows: Sequence[str]
) -> Chart:
    """Return a chart of log-odds with intervals: a row each, models side by side in it."""
    traces, words, places = [], [], []
    names: list[str] = []
    extents: list[float] = []
    count = len(models)
    for at, ((name, spans_of), (colour, symbol)) in enumerate(
        zip(models.items(), GROUPS * 4, strict=False)
    ):
        points: list[tuple[float, float]] = []
        spans: list[tuple[float, float, float]] = []
        for row, label in enumerate(rows):
            span = spans_of.get(label) or _UNKNOWN
            height = (len(rows) - row) * count - at
            names.append(f"{label} · {name}" if count > 1 else label)
            places.append(height)
            if not math.isnan(span.value):
                points.append((span.value, float(height)))
                low, high = (span.value if math.isnan(e) else e for e in (span.low, span.high))
                spans.append((span.value, low, high))
                extents += [abs(low), abs(high)]
                words.append(f"{name}, {label}: {span.value:+.2f}")
        traces.append(marks(name, points, colour, symbol, 9, error_x=error_bars(spans, colour)))
    axis: dict[str, Any] = {"title": "log-odds", "zero": True}
    if max(extents, default=0.0) < _NOTHING:  # what is nothing should look like nothing
        axis["range"] = [-_NOTHING, _NOTHING]
    return row_chart(title, "; ".join(words) + ".", traces, axis, named_rows(names, places, 0.3))


def priority_sections(statistics: SurveyStatistics) -> list[Section]:
    """Return which values the models put first, as a table and a chart."""
    models = statistics.priorities
    if not models:
        return []
    strengths = {
        name: {one.value: one.strength for one in model.values} for name, model in models.items()
    }
    values = list(dict.fromkeys(value for some in strengths.values() for value in some))
    columns = [Column("value"), Column("items", "whole"), *(Column(n, right=True) for n in models)]
    rows = [
        [
            value,
            max(some[value].n for some in strengths.values() if value in some),
            *(_SPAN.write(some.get(value)) for some in strengths.values()),
        ]
        for value in values
    ]
    prose = [
        "Bradley-Terry strengths in log-odds, without what order, label and yes add: how much more "
        "likely an action becomes that upholds the value, or that does not break the rule. "
        "Intervals hold for all values of a model together at 95 %."
    ]
    left_out = sorted({name for model in models.values() for name in model.left_out})
    if left_out:
        prose.append(f"In fewer than {LEAST_ITEMS} items, so not shown: {', '.join(left_out)}.")
    blocks: list[Block] = [Table("Strengths", columns, rows)]
    if statistics.priority_differences:
        blocks.append(differences_table(statistics.priority_differences))
    return [
        Section("Values the models put first", prose, blocks, shown="all", gap=True),
        Section("Value priorities", [], [span_chart("Value priorities", strengths, values)]),
    ]


def people_sections(statistics: SurveyStatistics) -> list[Section]:
    """Return how far the models are from populations."""
    models = statistics.people
    if not models:
        return []
    blocks: list[Block] = []
    prose = [
        "The distance is the mean difference between the model's shares and a population's, with "
        "its interval over items; farther by: than the nearest population (p: Holm). Surer: the "
        "share of items where the model's share is further from one half than people's."
    ]
    for name, model in models.items():
        columns = head(
            "population | distance: interval 2 | items: whole",
            "farther by: signed interval 2 | p: p | surer: share interval 0",
        )
        rows = [
            [p.population, p.distance, p.distance.n, p.farther, p.p_holm, p.surer]
            for p in model.populations
        ]
        alike = " or ".join(model.nearest)
        blocks.append(Table(f"{name}: nearest to {alike}", columns, rows, titled=True))
        columns = head("item: wide 30 | population: wide 20 | model: share 0 | people: share 0")
        cells = [[one.id, one.population, one.model, one.people] for one in model.surer]
        if cells:
            title = f"{name}: where it is surer than people"
            blocks.append(Table(title, columns, cells, titled=True, ends=_SHOWN))
    return [Section("Whose judgment", prose, blocks, shown="all", gap=True)]


def differences_table(differences: Sequence[ModelDifference]) -> Table:
    """Return each pair of models, figure by figure."""
    columns = head(
        Column(f"second {MINUS} first", wide=40),
        "figure: wide 24 | difference: signed interval 2 | p (Holm): p",
    )
    rows = []
    for row in differences:
        figure = row.figure.replace("first_action", "right or first action").replace("_", " ")
        rows.append([" → ".join(row.pair), figure, row.difference, row.p_holm])
    return Table("Differences item by item", columns, rows)
