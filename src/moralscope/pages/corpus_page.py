"""The report of a run over a corpus: its figures, the rows at the ends, what failed, its pace.

The rows themselves are in the parts; a record holds what is true of all of them. Texts are hostile
input: data to be written, never markup.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any

from moralscope.io.record_view import Plain, number, numbers, rows_of, text
from moralscope.pages.charts import bars
from moralscope.pages.page import (
    Block,
    Column,
    Facts,
    Page,
    Section,
    keyed_table,
    part,
    signed,
)

_TITLES = {
    "score": "Scores of a corpus",
    "audit": "Audit of a corpus",
    "collect": "Replies collected over a corpus",
}
_CONTENT = "Content warning: texts are shown as they were given; some may be offensive."
_SHORT = 300


def corpus_page(plain: Plain) -> Page:
    """Lay out a run over a corpus.

    Examples
    --------
    >>> found = {"corpus": {"rows": 2, "distinct": 1, "failed": 0}, "failed": {"rows": 0}}
    >>> page = corpus_page({"job": "score", "config": {"corpus": {}}, "statistics": found})
    >>> page.title, page.figures[0]
    ('Scores of a corpus', ('2', 'rows'))
    """
    found = plain["statistics"]
    title = _TITLES.get(text(plain["job"]), "A run over a corpus")
    if isinstance(found.get("estimate"), Mapping):
        return _estimate(title, found["estimate"])
    run = part(found.get("corpus"))
    sections = [
        *_spread(found),
        *_ends(found),
        *_steps(found),
        *_failed(part(found.get("failed"))),
        Section("The run", [], [Facts(list(_pace(run)))]),
    ]
    return Page(title, [_summary(plain, run)], _tiles(found, run), sections)


def _summary(plain: Plain, run: Plain) -> str:
    corpus = part(plain["config"].get("corpus"))
    where = f" from {text(corpus.get('inputs'))}" if corpus.get("inputs") else ""
    into = (
        f" The rows with their results are in {text(corpus['out'])}." if corpus.get("out") else ""
    )
    return (
        f"{_whole(run.get('rows'))} rows{where}, {_whole(run.get('distinct'))} of them distinct: "
        f"each distinct text was computed once.{into}"
    )


def _tiles(found: Plain, run: Plain) -> list[tuple[str, str]]:
    tiles = [(_whole(run.get(name)), name) for name in ("rows", "distinct", "failed")]
    if "kept" in found:
        tiles.append((_whole(found.get("kept")), "kept"))
    mean = number(part(found.get("scores")).get("mean"), "'scores'")
    if mean is not None:
        tiles.append((signed(mean), "mean score"))
    return tiles


def _spread(found: Plain) -> Iterator[Section]:
    drawn = part(found.get("histogram"))
    if not drawn:
        return
    edges = numbers(drawn.get("edges"), "'histogram'")
    counts = numbers(drawn.get("counts"), "'histogram'")
    labels = [signed((low + high) / 2) for low, high in pairwise(edges)]
    title = "How the scores are spread"
    chart = bars(title, {"rows": counts[: len(labels)]}, labels, "rows")
    quantiles = [
        (f"{100 * float(share):g} % lie below", text(None) if at is None else signed(at))
        for share, value in part(found.get("quantiles")).items()
        if share.replace(".", "", 1).isdigit()
        for at in [number(value, "'quantiles'")]
    ]
    blocks: list[Block] = [chart, *([Facts(quantiles)] if quantiles else [])]
    yield Section(title, ["Each bar is named by the middle of its scores."], blocks)


def _ends(found: Plain) -> Iterator[Section]:
    for key, title in (("lowest", "Lowest scores"), ("highest", "Highest scores")):
        rows = rows_of(found.get(key) or [], f"'{key}'")
        if not rows:
            continue
        signs = {name: Column(name, "signed") for name in ("score", "low", "high")}
        columns = {"id": Column("id"), **signs, "action": Column("action", most=_SHORT)}
        table = keyed_table(title, rows, columns, f"'{key}'")
        yield Section(title, [_CONTENT, "Each text once."], [table])


def _steps(found: Plain) -> Iterator[Section]:
    rows = rows_of(found.get("steps") or [], "'steps'")
    if rows:
        columns = {"step": Column("step"), "all": Column("replies left", "whole")}
        yield Section("Steps", [], [keyed_table("Steps", rows, columns, "'steps'")])


def _failed(found: Plain) -> Iterator[Section]:
    rows = rows_of(found.get("reasons") or [], "'failed'")
    if rows:
        columns = {"reason": Column("reason", most=_SHORT), "rows": Column("rows", "whole")}
        prose = ["They are in no part; _run/failed.jsonl names each with its file and line."]
        table = keyed_table("Rows that failed", rows, columns, "'failed'")
        yield Section("Rows that failed", prose, [table])


def _pace(run: Plain) -> Iterator[tuple[str, str]]:
    seconds, rate = (number(run.get(name), "'corpus'") for name in ("seconds", "rate"))
    yield "parts", _whole(run.get("parts"))
    yield "parts that were there before", _whole(run.get("resumed_parts"))
    yield "time", text(None) if seconds is None else _time(seconds)
    yield "rows a second", text(None) if rate is None else f"{rate:,.0f}"


def _estimate(title: str, found: Plain) -> Page:
    facts = [(name.replace("_", " "), text(value)) for name, value in found.items()]
    seconds = number(found.get("seconds"), "'estimate'")
    lead = "" if seconds is None else f"It would take about {_time(seconds)}."
    return Page(
        f"{title}: an estimate",
        [f"Nothing was computed or written. {lead}".strip()],
        [(_whole(found.get("rows")), "rows"), (_whole(found.get("distinct")), "distinct")],
        [Section("What a run would take", [], [Facts(facts)])],
    )


def _whole(value: Any) -> str:
    found = number(value, "the run")
    return text(None) if found is None else f"{found:,.0f}"


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(min(seconds, 1e12))))
