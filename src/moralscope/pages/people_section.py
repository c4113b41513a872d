"""What people say beside what the model says: agreement, and who disagrees where."""

from typing import Any

from moralscope.io.record_view import NOTHING, Plain, number, rows_of, text
from moralscope.pages.charts import Group, marks, named_rows, outermost, scatter
from moralscope.pages.page import Block, Chart, Column, Section, Table, correlation_text

_SHOWN = 30
_NAMED = 8


def people_sections(plain: Plain) -> list[Section]:
    """Draw `statistics.human`, where the record has it."""
    human = plain["statistics"].get("human")
    if not isinstance(human, dict) or not human.get("rows"):
        return []
    rows = rows_of(human["rows"], "the rows of 'human'")
    found = human.get("populations")
    populations = found if isinstance(found, dict) else {}
    ceiling = human.get("noise_ceiling")
    blocks: list[Block] = [_agreement(rows)]
    blocks += _correlations(populations, ceiling if isinstance(ceiling, dict) else {})
    prose = [
        "Each mark is an action: to the right what the model scores higher, upward what more "
        "people answer with yes."
    ]
    for key in ("unscored", "unrated"):
        left = human.get(key)
        if isinstance(left, list) and left:
            more = f" and {len(left) - _NAMED:,} more" if len(left) > _NAMED else ""
            prose.append(f"Left out, {key}: {text(left[:_NAMED])}{more}.")
    sections = [Section("Do people agree?", prose, blocks)]
    residuals = _residuals(rows)
    if residuals:
        about = (
            "How far the model's score lies from what people's yes rate would lead one to expect, "
            "in standard errors. Right: the model is kinder than people; left: harsher. "
            "Beyond 2 in either direction an action stands out."
        )
        sections.append(Section("Who disagrees where", [about], [residuals]))
    return sections


def _agreement(rows: list[Plain]) -> Chart:
    groups: dict[str, list[tuple[str, tuple[float, float]]]] = {}
    for place, row in enumerate(rows):
        where, rates = f"human, row {place + 1},", row.get("rates")
        score = number(row.get("score"), where)
        for name, value in rates.items() if isinstance(rates, dict) else ():
            rate = number(value, where)
            if rate is not None and score is not None:
                point = (score, 100 * rate)
                groups.setdefault(name, []).append((text(row.get("action")), point))
    drawn = [
        Group(
            name,
            [point for _, point in pairs],
            [f"{action}\nscore {x:+.3f}\n{name}: {y:.0f} % yes" for action, (x, y) in pairs],
        )
        for name, pairs in groups.items()
    ]
    first = next(iter(groups.values()), [])
    labels = [(x, y, action) for action, (x, y) in outermost(first, 80)]
    titles = ("score", "% of people who say yes")
    return scatter("Scores against people", drawn, titles, labels=labels)


def _correlations(populations: Plain, ceiling: Plain) -> list[Table]:
    limits = ceiling.get("sampling")
    sampling = limits if isinstance(limits, dict) else {}
    people = [Column("people"), Column("Pearson's r"), Column("Spearman's rho")]
    rows = [
        [
            name,
            correlation_text(found.get("pearson")),
            correlation_text(found.get("spearman")),
            _limit(sampling.get(name)),
        ]
        for name, found in populations.items()
        if isinstance(found, dict)
    ]
    note = "Noise ceiling: the r of a perfect score, given how few people were asked."
    columns = [*people, Column("noise ceiling of r")]
    tables = [Table("Agreement with each population", columns, rows, note=note)] if rows else []
    between = ceiling.get("between")
    pairs = [
        [text(pair.get("pair")), *(correlation_text(pair.get(k)) for k in ("pearson", "spearman"))]
        for pair in (between if isinstance(between, list) else [])
        if isinstance(pair, dict)
    ]
    return [*tables, *([Table("People with each other", people, pairs)] if pairs else [])]


def _limit(found: Any) -> str:
    if not isinstance(found, dict):
        return NOTHING
    r, low, high = (
        number(found.get(key), "'noise_ceiling'") for key in ("expected", "low", "high")
    )
    return correlation_text({"r": r, "low": low, "high": high})


def _residuals(rows: list[Plain]) -> Chart | None:
    found = []
    for place, row in enumerate(rows):
        residual = number(row.get("residual"), f"human, row {place + 1},")
        if residual is not None:
            found.append((text(row.get("action")), residual))
    if not found:
        return None
    widest = sorted(found, key=lambda item: -abs(item[1]))[:_SHOWN]
    widest.sort(key=lambda item: item[1])
    traces = []
    for name, colour, symbol, above in (
        ("model kinder than people", "good", "circle", True),
        ("model harsher than people", "bad", "diamond", False),
    ):
        places = [place for place, (_, value) in enumerate(widest) if (value >= 0) == above]
        hover = [f"{widest[p][0]}\nresidual {widest[p][1]:+.3f}" for p in places]
        points = [(widest[place][1], place) for place in places]
        traces.append(marks(name, points, colour, symbol, 9, hovertext=hover))
    layout = {
        "xaxis": {
            "title": "← model harsher      residual      model kinder →",
            "zero": True,
        },
        "yaxis": named_rows([name for name, _ in widest], list(range(len(widest))), -0.8),
        "fixed": True,
    }
    about = f"The {len(widest)} largest residuals, from {widest[0][0]} to {widest[-1][0]}."
    return Chart("Largest residuals", about, traces, layout, height=120 + 21 * len(widest))
