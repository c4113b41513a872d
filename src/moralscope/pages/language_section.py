"""What a report says of a language model: its answer mass and its layers."""

from collections.abc import Sequence

from moralscope.io.record_view import Plain, number, rows_of
from moralscope.pages.charts import GROUPS, marks
from moralscope.pages.page import Chart, Column, Section, keyed_table, part, rate_text

_CURVES = {
    "separation": "held-out good above bad",
    "variance": "variance of the first component",
    "r": "r with people",
}


def language_sections(plain: Plain) -> list[Section]:
    """Return the sections of a language model, none for other records."""
    found = plain["statistics"]
    sections = []
    mass = part(part(found.get("language")).get("answer_mass"))
    if mass:
        prose = [
            f"{rate_text(mass)} of the probability lies on a valid answer. The rest goes to "
            "replies that are neither a yes nor a no: the smaller the share, the less a score "
            "says about what the model would reply."
        ]
        sections.append(Section("Answer mass", prose))
    layers = part(found.get("layers"))
    rows = [dict(row) for row in rows_of(layers.get("curve") or [], "'curve'")]
    people = rows_of(layers.get("people") or [], "'people'")
    for row, each in zip(rows, people, strict=False):
        row["r"] = each.get("r")
    if len(rows) > 1:
        chosen = layers.get("chosen")
        prose = [
            f"Layer {chosen} tells good from bad actions best that were not fitted on; it was "
            "chosen by them alone. People's answers are drawn and choose nothing."
        ]
        columns = {
            "layer": Column("layer", "whole"),
            "variance": Column("variance", "number"),
            "separation": Column("good above bad", "number"),
            "stability": Column("turns by (degrees)", "number", 0),
            **({"r": Column("r with people", "signed")} if people else {}),
        }
        table = keyed_table("Layers", rows, columns)
        sections.append(Section("Where in the model", prose, [_curve(rows), table]))
    return sections


def _curve(rows: Sequence[Plain]) -> Chart:
    traces = []
    for (key, name), (colour, symbol) in zip(_CURVES.items(), GROUPS, strict=False):
        points = [
            (float(row["layer"]), value)
            for row in rows
            if (value := number(row.get(key), f"'{key}'")) is not None
        ]
        if points:
            line = {"color": colour, "width": 2}
            trace = marks(name, points, colour, symbol, 7, line=line)
            traces.append({**trace, "mode": "lines+markers"})
    layout = {"xaxis": {"title": "layer"}, "yaxis": {"title": "share, or r", "zero": True}}
    best = max(rows, key=lambda row: float(row.get("separation") or 0))
    about = (
        f"{len(rows)} layers; held-out good actions lie above bad ones most often in layer "
        f"{best['layer']} ({float(best.get('separation') or 0):.0%})."
    )
    return Chart("Over the layers", about, traces, layout, height=360)
