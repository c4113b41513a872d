"""The report of scored things: `score`, and every command whose results have a name and a score."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any

from moralscope.axes.measured import agreement_in_words, share_in_words
from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval
from moralscope.io.record_view import (
    Plain,
    Scored,
    label_key,
    number,
    numbers,
    rows_of,
    scored,
    text,
)
from moralscope.pages.charts import (
    bars,
    cloud,
    curve,
    moral_map,
    pairs_of,
    ranked,
    rounded,
    sign_class,
)
from moralscope.pages.generic_page import blocks_of, table_of
from moralscope.pages.page import Chart, Column, Page, Section, Table, signed

_ALL = 60  # so many rows are drawn by name; of more, both ends
_END = 25
_MAX_ROWS = 20_000
_ENDS = {"moral": ("bad", "good"), "gender": ("male", "female")}
_MOVED = 50
_FIGURE = ("value", "low", "high", "n")


def ends_of(job: str, config: Mapping[str, Any]) -> tuple[str, str]:
    """Return what the two ends of the axis of a run mean.

    Examples
    --------
    >>> ends_of("score", {"axis": "choice", "template": "gender"})
    ('male', 'female')
    """
    if job == "rank":
        return "farther from the question", "nearer"
    if job == "score" and config.get("axis", "choice") != "choice":
        return _ENDS["moral"]
    return _ENDS.get(text(config.get("template", "moral")), ("negative answer", "positive answer"))


def best_first(plain: Plain) -> list[Scored]:
    """Return the scored rows from the highest to the lowest."""
    return sorted(scored(plain), key=lambda row: -row.score)


def score_page(plain: Plain) -> Page:
    """Lay out a record of scored things.

    Examples
    --------
    >>> score_page({"job": "score", "config": {"encoder": "minilm"}, "statistics": {},
    ...     "results": [{"action": "kill time", "score": 0.1}]}).title
    'How minilm scores 1 action'
    """
    rows = best_first(plain)
    points = map_points(plain, rows)
    half = _MAX_ROWS // 2
    dropped = max(0, len(rows) - _MAX_ROWS)
    kept = [*rows[:half], *rows[-half:]] if dropped else rows
    placed = [replace(row, place=place) for place, row in enumerate(kept)]
    table = _table(plain, kept, dropped)
    sections = [_ranking(plain, placed)] if placed else []
    if points:
        sections.append(_map(plain, placed, [points[row.place] for row in kept]))
    direction = plain["statistics"].get("direction")
    if isinstance(direction, dict):
        sections += _strength(direction)
    sections += _moved(plain)
    if plain["job"] != "score" and plain["statistics"]:
        figures = blocks_of(plain["statistics"])
        sections.append(Section("Figures", [], figures, folded=True))
    title = "All of them" if plain["job"] != "score" else "All actions"
    asked = "in each wording" if _is_judged(plain) else "under each prompt"
    known = placed and placed[0].prompts
    prose = [f"Open a row to see the value {asked}."] if known else []
    sections.append(Section(title, prose, [table]))
    return Page(
        _title(plain, len(rows)), _summary(plain, rows), _figures(rows), sections, main=table
    )


def noun(plain: Plain, count: int) -> str:
    """Return "20 actions", "1 word": what the record scores, counted."""
    name = label_key(plain["results"]) or "action"
    return f"{count:,} {name}" + ("" if count == 1 else "s")


def _model(config: Plain, default: str) -> str:
    names = (config.get(key) for key in ("model", "encoder", "vectors", "experts"))
    return text(next((name for name in names if name), default))


def _is_judged(plain: Plain) -> bool:
    """Tell scores of experts, whose texts are worded in several ways and asked no question."""
    return "experts" in plain["config"]


def _interval(plain: Plain) -> str:
    return "range over the wordings" if _is_judged(plain) else "95 % interval"


def _title(plain: Plain, count: int) -> str:
    config = plain["config"]
    model = _model(config, "a model")
    if plain["job"] == "rank":
        return text(config.get("question", "Ranked answers"))
    if plain["job"] != "score":
        return f"{model}, {plain['job']}: {noun(plain, count)}"
    return f"How {model} scores {noun(plain, count)}"


def _summary(plain: Plain, rows: Sequence[Scored]) -> list[str]:
    if not rows:
        return ["Nothing in this record has a score."]
    config, (bad, good) = plain["config"], ends_of(plain["job"], plain["config"])
    asked = config.get("prompts")
    model = _model(config, "the model")
    ways = f", each in {len(asked)} wordings" if isinstance(asked, list) else ""
    ways += " of a question" if ways and not _is_judged(plain) else ""
    best, worst = rows[0], rows[-1]
    lines = [
        f"{model} scored {noun(plain, len(rows))}{ways}. To the right is “{good}”, to the left "
        f"“{bad}”.",
        f"Highest: “{best.name}” ({signed(best.score)}). Lowest: “{worst.name}” "
        f"({signed(worst.score)}).",
    ]
    if "people_agreement" in plain["statistics"]:
        lines.append(f"{_agreement(plain['statistics']['people_agreement'])}.")
    missing = len(plain["results"]) - len(rows)
    if missing:
        lines.append(f"{missing:,} of {len(plain['results']):,} got no score and are not shown.")
    return lines + _sureness(rows, _interval(plain))


def _agreement(found: Any) -> str:
    """Say how well the axis agrees with people, from the plain form of a record."""
    known = {}
    for name, row in found.items() if isinstance(found, Mapping) else ():
        cells = row if isinstance(row, Mapping) else {}
        value, low, high, n = (number(cells.get(key), f"'{key}'") or 0.0 for key in _FIGURE)
        known[text(name)] = SampleInterval(value, low, high, int(n))
    told = agreement_in_words(known)
    return told[:1].upper() + told[1:]


def _sureness(rows: Sequence[Scored], interval: str) -> list[str]:
    widths = [row.high - row.low for row in rows if row.low is not None and row.high is not None]
    if not widths:
        return []
    counts = [sum(sign_class(row) == number for row in rows) for number in range(3)]
    reach = rows[0].score - rows[-1].score
    share = f", {100 * median(widths) / reach:.0f} % of the whole range" if reach > 0 else ""
    overlaps = sum(above.span[0] <= below.span[1] for above, below in pairwise(rows))
    lines = [
        f"How sure: {counts[0]:,} lie above zero with their whole {interval}, {counts[1]:,} "
        f"below, and {counts[2]:,} on both sides. It is typically "
        f"{median(widths):.3f} wide{share}."
    ]
    if len(rows) > 2:
        lines.append(
            f"In {overlaps:,} of {len(rows) - 1:,} pairs of neighbours in the ranking the "
            "intervals overlap: do not read an order into those."
        )
    return lines


def _figures(rows: Sequence[Scored]) -> list[tuple[str, str]]:
    if not rows:
        return []
    counts = [sum(sign_class(row) == number for row in rows) for number in range(3)]
    return [
        (f"{len(rows):,}", "scored"),
        (signed(rows[0].score), f"highest: {rows[0].name}"),
        (signed(rows[-1].score), f"lowest: {rows[-1].name}"),
        (" / ".join(f"{count:,}" for count in counts), "above / below / across zero"),
    ]


def _ranking(plain: Plain, rows: Sequence[Scored]) -> Section:
    ends = ends_of(plain["job"], plain["config"])
    known = rows[0].low is not None
    how = f"The bar through each mark is its {_interval(plain)}." if known else ""
    if len(rows) <= _ALL:
        return Section("Ranked scores", [how], [ranked(rows, "Ranked scores", ends)])
    prose = [f"The {_END} highest and the {_END} lowest of {len(rows):,}. {how}"]
    return Section(
        "Ranked scores",
        prose,
        [
            ranked(rows[:_END], f"The {_END} highest", ends),
            ranked(rows[-_END:], f"The {_END} lowest", ends),
            curve(rows, ends),
        ],
    )


def map_points(plain: Plain, rows: Sequence[Scored]) -> dict[int, tuple[float, float]]:
    """Return the map's points by place in the results, or nothing where there is no map."""
    drawn = plain["statistics"].get("map")
    if not isinstance(drawn, dict) or not rows:
        return {}
    points = drawn.get("points")
    if not isinstance(points, list) or len(points) != len(plain["results"]):
        raise InputError("'map' does not have a point for every result", "run the job again")
    found = {}
    for row in rows:
        pair = numbers(points[row.place], f"map, point {row.place + 1},")
        if len(pair) != 2:
            raise InputError(f"map, point {row.place + 1}, is not two numbers", "run the job again")
        found[row.place] = (pair[0], pair[1])
    return found


def _map(plain: Plain, rows: Sequence[Scored], points: Sequence[tuple[float, float]]) -> Section:
    drawn = plain["statistics"]["map"]
    rows_fitted = rows_of(drawn.get("fitting") or [], "'fitting' of the map")
    fitting = [(name, x, y) for name, (x, y) in pairs_of(rows_fitted, ("x", "y"))]
    titles = (text(drawn.get("x_label") or "score"), text(drawn.get("y_label") or "second axis"))
    prose = [
        "Left and right is the moral axis; up and down is the strongest other difference between "
        "the actions, which has no moral meaning. Labels that would overlap are left out: hover, "
        "or zoom in, to see more."
    ]
    return Section("Map of the actions", prose, [moral_map(rows, points, fitting, titles)])


def variance_chart(direction: Plain) -> Chart | None:
    """Draw Figure 3 of Schramowski et al. 2019: variance of the actions and of differences."""
    series = {}
    for key, name in (
        ("explained_variance", "actions"),
        ("explained_variance_differences", "differences"),
    ):
        shares = numbers(direction.get(key) or [], f"'{key}'")
        if shares:
            series[name] = [100 * share for share in shares]
    if not series:
        return None
    names = [str(number) for number in range(1, max(map(len, series.values())) + 1)]
    return bars("Explained variance by component", series, names, "% of variance")


def _strength(direction: Plain) -> list[Section]:
    chart = variance_chart(direction)
    if chart is None:
        return []
    verdict = {True: "It stands out.", False: "It does not stand out: read scores with care."}
    stands = direction.get("stands_out")
    shares = numbers(direction.get("explained_variance") or [], "'explained_variance'")
    prose = [
        (f"The first component carries {shares[0]:.0%} of the variance. " if shares else "")
        + (verdict[stands] if isinstance(stands, bool) else ""),
        "Compare Figure 3 of Schramowski et al. 2019.",
    ]
    others = ("explained_variance", "explained_variance_differences")
    facts = {key: value for key, value in direction.items() if key not in others}
    blocks = [chart, *blocks_of(facts)]
    return [Section("How strong is the direction", prose, blocks, folded=True)]


def _moved(plain: Plain) -> list[Section]:
    """Draw what a run changed, where its rows have a score before (`teach`)."""
    rows = rows_of(plain["results"], "'results'")
    chart = cloud("Scores after against before", {"each": rows}, ("before", "score"), fits=False)
    if chart is None:
        return []
    widest = sorted(rows, key=lambda row: -abs(number(row.get("change"), "'change'") or 0))[:_MOVED]
    keys = ("action", "before", "score", "change")
    table = table_of("Moved most", [{key: row.get(key) for key in keys} for row in widest])
    return [Section("What moved", [], [chart, table])]


def _table(plain: Plain, rows: Sequence[Scored], dropped: int) -> Table:
    largest = max((abs(row.score) for row in rows), default=1.0)
    digits = 1 if largest >= 100 else 2 if largest >= 10 else 3 if largest >= 0.1 else 4
    count = max((len(row.prompts) for row in rows), default=0)
    asked = plain["config"].get("prompts")
    named = [text(item) for item in asked] if isinstance(asked, list) else []
    prompts = named if len(named) == count else [f"prompt {n}" for n in range(1, count + 1)]
    more = _judged_columns(plain)
    if more:  # phrases and sentences have other wordings
        prompts = [f"wording {n}" + ", scored" * (n == 1) for n in range(1, count + 1)]
    values = [
        [
            row.name,
            rounded(row.score),
            None if row.low is None else rounded(row.low),
            None if row.high is None else rounded(row.high),
            *_judged_cells(plain["results"][row.place], more),
            *(None if value is None else rounded(value) for value in row.prompts),
        ]
        for row in rows
    ]
    name = label_key(plain["results"]) or "action"
    columns = [Column(name), *(Column(t, "signed", digits) for t in ("score", "low", "high"))]
    columns += more.values()
    note = f"{dropped:,} in the middle are in the run record only." if dropped else ""
    return Table("Scores", columns, values, prompts, note)


def _judged_columns(plain: Plain) -> dict[str, Column]:
    """Return what only a judge says of an action: who would agree, P(moral), what it read."""
    if not _is_judged(plain):
        return {}
    found = {
        "people_yes": Column("people"),
        "probability": Column("P(moral)", "number"),
        "verdict": Column("verdict"),
        "task": Column("read"),
    }
    return {
        key: column
        for key, column in found.items()
        if any(row.get(key) is not None for row in plain["results"])
    }


def _judged_cells(row: Plain, columns: Mapping[str, Column]) -> Iterator[str | float | None]:
    for key, column in columns.items():
        value = row.get(key)
        if key == "people_yes":
            names = (key, f"{key}_low", f"{key}_high")
            found = [number(row.get(name), f"'{name}'") for name in names]
            yield share_in_words(*(math.nan if each is None else each for each in found))
        elif column.kind == "number":
            yield number(value, f"'{key}'")
        else:
            yield text(value).replace("+", " + ")
