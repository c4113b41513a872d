"""A page's charts as a static figure for a paper: SVG, PNG or PDF, by Matplotlib.

Draws the same `Chart` as reports and the local page do. The same page gives the same SVG.
"""

import io
import re
from functools import cache
from typing import Any

from moralscope.core.errors import InputError
from moralscope.pages.html import asset
from moralscope.pages.page import Chart, Page

_MARKERS = {
    "circle": ("o", "full"),
    "circle-open": ("o", "none"),
    "diamond": ("D", "full"),
    "square": ("s", "full"),
    "triangle-up": ("^", "full"),
    "x": ("x", "full"),
    "cross-thin-open": ("+", "none"),
}
_DASHES = {"dot": ":", "dash": "--", "solid": "-"}
_HATCHES = ("", "///", "xxx", "...")
_OFFSETS = {(5, 0): "left", (-5, 0): "right", (0, 7): "center", (0, -8): "center"}  # of a name
_MOST_LABELS = 60
_INCHES = 72  # pixels of a chart on screen that make an inch on paper


def draw(page: Page, suffix: str) -> bytes:
    """Draw the charts of a page in the format of `suffix`: those it names, else its first."""
    charts = list(page.figure) or list(page.charts)[:1]
    if not charts:
        raise InputError(
            "there is no figure for this run", "it has no chart; --report works for every run"
        )
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": "moralscope", "text.parse_math": False, "text.usetex": False}
    heights = [max(2.0, chart.height / _INCHES * 0.75) for chart in charts]
    with rc_context(settings):
        figure = Figure(figsize=(7.0, sum(heights)), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(charts), 1, squeeze=False, height_ratios=heights)[:, 0]
        for chart, axes in zip(charts, panels, strict=True):
            if len(charts) > 1:
                axes.set_title(chart.title, fontsize=10)
            _draw(figure, axes, chart, page)
        stream = io.BytesIO()
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(stream, format=suffix.removeprefix("."), dpi=200, metadata=metadata)
    return stream.getvalue()


def _draw(figure: Any, axes: Any, chart: Chart, page: Page) -> None:
    """Draw one chart as `assets/charts.js` does."""
    colours, layout = palette(), chart.layout
    bars = [trace for trace in chart.traces if trace["type"] == "bar"]
    for index, trace in enumerate(bars):
        width = 0.76 / len(bars)
        left = [at + 0.12 + (index + 0.5) * width for at in range(len(trace["x"]))]
        colour = colours[trace["marker"]["color"]]
        style = {"facecolor": "none" if index % 2 else colour, "edgecolor": colour}
        axes.bar(
            left, trace["y"], width * 0.9, label=trace["name"], hatch=_HATCHES[index % 4], **style
        )
        axes.set_xticks(
            [at + 0.5 for at in range(len(trace["x"]))],
            [_short(str(x), 24) for x in trace["x"]],
            fontsize=8,
        )
    before: Any = None
    for trace in chart.traces:
        if trace["type"] == "bar":
            continue
        x, y, line, mode = trace["x"], trace["y"], trace.get("line", {}), trace["mode"]
        label = trace.get("name") if trace.get("legend", True) and trace.get("name") else None
        if trace.get("fill") and before is not None:
            axes.fill_between(x, before["y"], y, color=colours["good"], alpha=0.15, linewidth=0)
        spans = trace.get("error_x")
        if spans:
            errors = (spans["arrayminus"], spans["array"])
            axes.errorbar(
                x, y, xerr=errors, fmt="none", ecolor=colours[spans["color"]], linewidth=1.2
            )
        if "lines" in mode and line.get("width", 2) > 0:
            dash = _DASHES[line.get("dash", "solid")]
            named = None if "markers" in mode else label
            axes.plot(
                x, y, dash, color=colours[line["color"]], linewidth=1.1, label=named, zorder=1
            )
        if "markers" in mode:
            marker = trace["marker"]
            symbol, fill = _MARKERS[marker.get("symbol", "circle")]
            style = {"color": colours[marker["color"]], "fillstyle": fill, "linestyle": ""}
            axes.plot(x, y, marker=symbol, markersize=0.5 * marker["size"], label=label, **style)
        before = trace
    sides = (("xaxis", axes.set_xticks, axes.set_xlim), ("yaxis", axes.set_yticks, axes.set_ylim))
    for name, put, limit in sides:
        axis = layout.get(name, {})
        if "range" in axis:
            limit(*axis["range"])
        if "names" in axis:
            put(list(axis["tickvals"]), [_short(str(name)) for name in axis["names"]], fontsize=8)
    if layout["xaxis"].get("band"):
        axes.axvspan(*layout["xaxis"]["band"], color=colours["muted"], alpha=0.15, lw=0)
    if layout["xaxis"].get("zero"):
        axes.axvline(0, color=colours["muted"], linewidth=0.8, zorder=0)
    if layout["yaxis"].get("zero"):
        axes.axhline(0, color=colours["muted"], linewidth=0.8, zorder=0)
    axes.set_xlabel(layout["xaxis"].get("title", "").replace("      ", "    "))
    axes.set_ylabel(layout["yaxis"].get("title", ""))
    if layout.get("ends"):
        _name_ends(axes, chart)
    if layout.get("same"):
        axes.axline((0, 0), slope=1, color=colours["muted"], linewidth=0.8, linestyle=":")
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(frameon=False, fontsize=8)
    if chart.labels:
        _name_points(figure, axes, chart, page)


def _name_ends(axes: Any, chart: Chart) -> None:
    """Write the names at both ends of a slope chart; of those that would overlap, the first."""
    ends = chart.layout["ends"]
    last = len(chart.layout["xaxis"]["names"]) - 1
    values = [end[side] for end in ends for side in ("left", "right")]
    gap = (max(values) - min(values)) * 14 / chart.height
    for side, at, align, shift in (("left", 0, "right", -6), ("right", last, "left", 6)):
        taken: list[float] = []
        for end in ends:
            if all(abs(end[side] - other) > gap for other in taken):
                taken.append(end[side])
                style = {"ha": align, "va": "center", "fontsize": 7, "textcoords": "offset points"}
                axes.annotate(_short(end["text"], 34), (at, end[side]), (shift, 0), **style)
    axes.set_xlim(-0.9, last + 0.9)


def _name_points(figure: Any, axes: Any, chart: Chart, page: Page) -> None:
    """Name points in their order of importance, as far as no name covers another or a mark."""
    figure.draw_without_rendering()
    points = [
        (x, y)
        for trace in chart.traces
        if "markers" in trace.get("mode", "")
        for x, y in zip(trace["x"], trace["y"], strict=True)
    ]
    dots = axes.transData.transform(points)
    taken: list[Any] = []
    for x, y, which in chart.labels[:_MOST_LABELS]:
        name = page.main.rows[which][0] if isinstance(which, int) and page.main else str(which)
        for offset, side in _OFFSETS.items():
            style = {"ha": side, "va": "center", "fontsize": 7, "textcoords": "offset points"}
            note = axes.annotate(_short(name), (x, y), offset, **style)
            box, frame = note.get_window_extent(), axes.get_window_extent()
            inside = frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)
            free = not any(box.overlaps(other) for other in taken)
            if inside and free and not any(box.contains(*dot) for dot in dots):
                taken.append(box)
                break
            note.remove()


def _short(name: str, size: int = 42) -> str:
    line = "".join(char if char.isprintable() else " " for char in name)
    return line if len(line) <= size else f"{line[: size - 1]}…"


@cache
def palette() -> dict[str, str]:
    """Return the light colours by name."""
    return dict(re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]+),", asset("theme.css")))
