"""The report of a steering vector's certificate: what moved as wanted, and what moved besides."""

from collections.abc import Sequence

from moralscope.io.record_view import NOTHING, Plain, number, rows_of, text
from moralscope.pages.charts import error_bars, marks, named_rows
from moralscope.pages.page import (
    Block,
    Chart,
    Column,
    Page,
    Section,
    cut,
    keyed_table,
    part,
    signed,
    span_text,
)

_COLUMNS = {
    "figure": Column("measure"),
    "n": Column("questions", "whole"),
    "plain": Column("plain", "number"),
    "steered": Column("steered", "number"),
    "moved": Column("change"),
    "effect": Column("in sd", "signed", 2),
    "p_holm": Column("p (Holm)", "p"),
    "random": Column("random vector", "signed"),
    "p_random_holm": Column("p against random (Holm)", "p"),
}


def check_page(plain: Plain) -> Page:
    """Lay out a certificate."""
    found, config = plain["statistics"], plain["config"]
    figures = part(found.get("figures"))
    rows = rows_of(plain["results"], "'results'")
    wanted = [row for row in rows if row.get("wanted")]
    besides = [row for row in rows if not row.get("wanted")]
    told = [
        (_signed(figures, "wanted"), "sd moved as wanted"),
        (_signed(figures, "collateral"), "sd of the largest collateral"),
        (_signed(figures, "kl"), "KL on held-out neutral text"),
    ]
    summary = [
        f"{text(config.get('model'))}, steered in layers {text(config.get('layers'))} by "
        f"{text(config.get('method'))}. Most collateral: {text(found.get('largest'))}.",
        "In sd: the change divided by the standard deviation of the plain model's values. The "
        "control is a random vector of equal norm in the same layers.",
    ]
    sections = [
        Section("What moved", [], [_chart(wanted, besides)]),
        Section("As wanted", [], [_table("Wanted", wanted)]),
        Section("Besides", [], [_table("Besides", besides)]),
        *_replies(found),
    ]
    return Page(f"Certificate of {text(config.get('vector'))}", summary, told, sections)


def _signed(figures: Plain, key: str) -> str:
    value = number(figures.get(key), key)
    return NOTHING if value is None else signed(value, 2)


def _table(title: str, rows: Sequence[Plain]) -> Block:
    shown = [{**row, "moved": span_text(part(row.get("change")))} for row in rows]
    return keyed_table(title, shown, _COLUMNS)


def _chart(wanted: Sequence[Plain], besides: Sequence[Plain]) -> Chart:
    rows = [*wanted, *besides]
    names = [text(row.get("figure")) for row in rows]
    places = list(range(len(rows), 0, -1))
    traces, told = [], []
    for title, some, colour, symbol in (
        ("wanted", wanted, "good", "circle"),
        ("besides", besides, "bad", "square"),
    ):
        points, spans = [], []
        for row in some:
            effect, scale = number(row.get("effect"), "effect"), _scale(row)
            if effect is None or scale is None:
                continue
            change = part(row.get("change"))
            low, high = (number(change.get(end), end) for end in ("low", "high"))
            points.append((effect, float(places[names.index(text(row.get("figure")))])))
            spans.append((effect, (low or 0.0) / scale, (high or 0.0) / scale))
            told.append(f"{text(row.get('figure'))}: {effect:+.2f} sd")
        traces.append(marks(title, points, colour, symbol, 9, error_x=error_bars(spans, colour)))
    layout = {
        "xaxis": {"title": "change in standard deviations", "zero": True},
        "yaxis": named_rows(names, places, 0.3),
        "fixed": True,
    }
    return Chart("Changes", "; ".join(told) + ".", traces, layout, height=120 + 24 * len(rows))


def _scale(row: Plain) -> float | None:
    """Return the standard deviation that turned a change into an effect."""
    change = number(part(row.get("change")).get("value"), "change")
    effect = number(row.get("effect"), "effect")
    return change / effect if change and effect else None


def _replies(found: Plain) -> list[Section]:
    rows = []
    for row in rows_of(found.get("replies") or [], "'replies'"):
        given = row.get("scores")
        scores = [number(each, "a score") for each in (given if isinstance(given, list) else [])]
        sides = ("plain", "steered", "random")
        told = {side: cut(text(row.get(side)), 400) for side in sides}
        kind = "harmless" if row.get("harmless") else "asked"
        values = dict(zip(("before", "after", "pushed"), scores, strict=False))
        rows.append({"request": text(row.get("request")), "kind": kind, **told, **values})
    if not rows:
        return []
    columns = {
        "request": Column("request"),
        "kind": Column("kind"),
        "plain": Column("plain"),
        "before": Column("audit", "signed", 2),
        "steered": Column("steered"),
        "after": Column("audit", "signed", 2),
        "random": Column("random vector"),
        "pushed": Column("audit", "signed", 2),
    }
    prose = ["Free replies of the three models, with the audit's score (-1 worst, +1 best)."]
    return [Section("Replies", prose, [keyed_table("Replies", rows, columns)], folded=True)]
