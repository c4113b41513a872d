"""Static figures for papers: the picture of a run as SVG, PNG or PDF, by Matplotlib.

The command decides what is drawn: ranked scores with intervals, the map of a direction, a slope
chart, or the scatter of `words correlate`. The same record gives the same SVG.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.record_view import Plain, check_plain, label_key, rows_of, text
from moralscope.reports.charts import outermost, pairs_of, sign_class
from moralscope.reports.compare_page import SHOWN, compared
from moralscope.reports.corpora_page import LINES, pairs_of_corpora, percentiles, points_of
from moralscope.reports.page import correlation_text
from moralscope.reports.reproduce_page import correlate_rows
from moralscope.reports.score_page import best_first, ends_of, map_points
from moralscope.reports.theme import palette

_GOOD, _BAD, _MUTED, _INK = (palette()[name] for name in ("good", "bad", "muted", "ink"))
_STYLES = ((_GOOD, "o", "full"), (_BAD, "D", "full"), (_MUTED, "o", "none"))
_LINES = ("good", "bad", "third", "fourth", "fifth")
_TABLES = ("stories", "integrity")  # papers whose tables are numbers beside each other
_MOST = 50
_SIDES = {(5, 0): "left", (-5, 0): "right", (0, 7): "center", (0, -8): "center"}  # of a name


def draw(record: Any, suffix: str, name: str) -> bytes:
    """Draw the figure of a plain run record in the format of `suffix`."""
    plain = check_plain(record, name)
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": "moralscope", "text.parse_math": False, "text.usetex": False}
    with rc_context(settings):
        figure = Figure(figsize=(7.0, 5.0), layout="constrained")
        FigureCanvasAgg(figure)
        _choose(plain)(figure, figure.add_subplot(), plain)
        stream = io.BytesIO()
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(stream, format=suffix.removeprefix("."), dpi=200, metadata=metadata)
    return stream.getvalue()


def _choose(plain: Plain) -> Any:
    config, statistics = plain["config"], plain["statistics"]
    known = {
        "words correlate": _scatter,
        "compare": _slopes,
        "words compare": _periods if config.get("periods") else _corpora,
        "compare runs": _before_after,
        "reproduce": _paper_tables if config.get("paper") in _TABLES else _reproduced,
    }
    if plain["job"] in known and (plain["results"] or plain["job"] == "compare"):
        return known[plain["job"]]
    if isinstance(statistics.get("direction"), dict) and statistics.get("map"):
        return _map
    if label_key(plain["results"]):
        return _ranked
    raise InputError(
        f"there is no figure for a run of '{plain['job']}'",
        "draw score, compare, rank, reproduce, words compare or words correlate; --report works "
        "for every run",
    )


def _ranked(figure: Any, axes: Any, plain: Plain) -> None:
    rows = best_first(plain)
    if len(rows) > _MOST:
        rows = [*rows[: _MOST // 2], *rows[-_MOST // 2 :]]
        axes.axhline(_MOST / 2 - 0.5, color=_MUTED, linewidth=0.6, linestyle=":")
    figure.set_size_inches(7.0, max(2.0, 1.0 + 0.2 * len(rows)))
    for place, row in enumerate(rows):
        colour, marker, fill = _STYLES[sign_class(row)]
        at = len(rows) - 1 - place
        axes.plot(row.span, (at, at), color=colour, linewidth=1.2)
        axes.plot(row.score, at, color=colour, marker=marker, fillstyle=fill, markersize=4.5)
    names = [_short(row.name) for row in reversed(rows)]
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.axvline(0, color=_MUTED, linewidth=0.8)
    bad, good = ends_of(plain["job"], plain["config"])
    axes.set_xlabel(f"← {bad}    score, {_model(plain)}    {good} →")


def _map(figure: Any, axes: Any, plain: Plain) -> None:
    figure.set_size_inches(7.5, 5.5)
    rows = best_first(plain)
    points = map_points(plain, rows)
    pairs = [(row, points[row.place]) for row in rows]
    for row, (x, y) in pairs:
        colour, marker, fill = _STYLES[sign_class(row)]
        axes.plot(x, y, color=colour, marker=marker, fillstyle=fill, markersize=4, linestyle="")
    drawn = plain["statistics"]["map"]
    axes.axvline(0, color=_MUTED, linewidth=0.8, zorder=0)
    axes.set_xlabel(text(drawn.get("x_label") or "score"))
    axes.set_ylabel(text(drawn.get("y_label") or "second axis"))
    _label(figure, axes, [(row.name, point) for row, point in pairs])


def _scatter(figure: Any, axes: Any, plain: Plain) -> None:
    rows = correlate_rows(plain)
    found = plain["statistics"].get("correlation")
    within = found.get("within") if isinstance(found, dict) else None
    for place, group in enumerate(sorted({row[1] for row in rows}, key=lambda name: name != "dos")):
        colour, marker, _ = _STYLES[place % 2]
        chosen = [row for row in rows if row[1] == group]
        inner = within.get(group) if isinstance(within, dict) else None
        axes.scatter(
            [row[2] for row in chosen],
            [row[3] for row in chosen],
            s=18,
            color=colour,
            marker=marker,
            label=f"{group}: r = {correlation_text(inner)}",
        )
    import numpy as np

    x, y = (np.array([row[place] for row in rows]) for place in (2, 3))
    if len(x) > 2 and np.ptp(x) > 0:
        slope, start = np.polyfit(x, y, 1)
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, start + slope * ends, color=_INK, linewidth=1)
    axes.set_xlabel(f"question/answer bias, {_model(plain)}")
    axes.set_ylabel(f"association (Eq. 1), {text(plain['config'].get('vectors'))}")
    axes.set_title(f"r = {correlation_text(found)}", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    _label(figure, axes, [(row[0], (row[2], row[3])) for row in rows])


def _slopes(figure: Any, axes: Any, plain: Plain) -> None:
    models, rows = compared(plain)
    if len(models) < 2 or not rows:
        raise InputError("there is nothing to compare in this run", "compare two encoders or more")
    lines = [(row.action, row.scores) for row in rows[:SHOWN]]
    _sloping(figure, axes, models, lines, "score on the common scale")


def _corpora(figure: Any, axes: Any, plain: Plain) -> None:
    """Draw the actions that moved most between the first two corpora."""
    pair, rows = next(iter(pairs_of_corpora(rows_of(plain["results"], "'results'")).items()))
    lines = [(text(row.get("action")), percentiles(row)) for row in rows[:SHOWN]]
    _sloping(figure, axes, pair, lines, "percentile of value")


def _periods(figure: Any, axes: Any, plain: Plain) -> None:
    """Draw the actions that moved most over the periods of a corpus."""
    periods = [text(name) for name in plain["config"]["periods"]]
    for place, row in enumerate(rows_of(plain["results"], "'results'")[:LINES]):
        points = points_of(row, periods)
        colour = palette()[_LINES[place % len(_LINES)]]
        dash = "-" if place < len(_LINES) else "--"
        x, y = ([point[axis] for point in points] for axis in (0, 1))
        axes.plot(x, y, dash, color=colour, marker="o", label=_short(text(row.get("action"))))
    axes.set_xticks(range(len(periods)), periods)
    axes.set_ylabel("percentile of value")
    axes.legend(frameon=False, fontsize=8)


def _sloping(
    figure: Any,
    axes: Any,
    models: Sequence[str],
    lines: Sequence[tuple[str, Sequence[float]]],
    label: str,
) -> None:
    figure.set_size_inches(7.0, max(3.5, 1.0 + 0.2 * len(lines)))
    values = [value for _, scores in lines for value in scores]
    gap = (max(values) - min(values)) / (5.5 * figure.get_size_inches()[1])
    ends = ((0, 0, "right", -6), (len(models) - 1, -1, "left", 6))
    taken: dict[str, list[float]] = {"left": [], "right": []}
    for name, scores in lines:
        paint, dash = (_GOOD, "-") if scores[-1] >= scores[0] else (_BAD, "--")
        axes.plot(scores, color=paint, linestyle=dash, marker="o", markersize=3, linewidth=1)
        for x, end, side, shift in ends:
            at = scores[end]
            if all(abs(at - other) > gap for other in taken[side]):
                taken[side].append(at)
                style = {"ha": side, "va": "center", "fontsize": 7, "textcoords": "offset points"}
                axes.annotate(_short(name, 34), (x, at), (shift, 0), **style)
    axes.set_xticks(range(len(models)), models)
    axes.set_xlim(-0.9, len(models) - 0.1)
    axes.set_ylabel(label)


def _reproduced(figure: Any, axes: Any, plain: Plain) -> None:
    """Draw a panel an encoder: the map of its direction, or Table 2 beside the paper's."""
    axes.remove()
    results = rows_of(plain["results"], "'results'")
    figure.set_size_inches(7.5, 5.0 * len(results))
    for place, result in enumerate(results):
        panel = figure.add_subplot(len(results), 1, place + 1)
        panel.set_title(text(result.get("encoder")), fontsize=10)
        fits = rows_of(result.get("fits") or [], "'fits'")
        if fits:
            parts = {"atomic": "atomic", "with context": "contextual"}
            pairs = _clouds(panel, fits[0], parts, ("ours", "y"))
            panel.set(xlabel="moral direction (right is good)", ylabel="second axis")
        else:
            parts = {"dos": "top_dos", "don'ts": "top_donts"}
            pairs = _clouds(panel, result, parts, ("paper", "ours"))
            panel.set(xlabel="bias, the paper's", ylabel="bias, ours")
        _label(figure, panel, pairs)


def _paper_tables(figure: Any, axes: Any, plain: Plain) -> None:
    """Draw ours against the paper's, a sign a table."""
    everything: list[tuple[str, tuple[float, float]]] = []
    for place, table in enumerate(rows_of(plain["results"], "'results'")):
        rows = [
            {"name": f"{text(row.get('row'))}, {text(row.get('column'))}", **row}
            for row in rows_of(table.get("rows") or [], "'rows'")
        ]
        pairs = [pair for pair in pairs_of(rows, ("paper", "ours")) if max(map(abs, pair[1])) <= 1]
        if pairs:
            colour = palette()[_LINES[place % len(_LINES)]]
            x, y = ([point[axis] for _, point in pairs] for axis in (0, 1))
            name = _short(text(table.get("name")), 36)
            axes.scatter(x, y, s=14, color=colour, marker="oDs^v"[place % 5], label=name)
            everything += pairs
    if not everything:
        raise InputError("this run has no share of ours beside one of the paper's", "give the data")
    axes.axline((0, 0), slope=1, color=_MUTED, linewidth=0.8, linestyle=":")
    axes.set(xlabel="the paper's", ylabel="ours")
    axes.legend(frameon=False, fontsize=6)
    _label(figure, axes, everything)


def _before_after(figure: Any, axes: Any, plain: Plain) -> None:
    """Draw every item at its score before and after."""
    rows = rows_of(plain["results"], "'results'")
    pairs = pairs_of(rows, ("before", "after"))
    for (x, y), colour, marker in ((at, *_side(at)) for _, at in pairs):
        axes.plot(x, y, color=colour, marker=marker, markersize=4, linestyle="")
    axes.axline((0, 0), slope=1, color=_MUTED, linewidth=0.8, linestyle=":")
    axes.set(xlabel="score before", ylabel="score after")
    _label(figure, axes, pairs)


def _side(at: tuple[float, float]) -> tuple[str, str]:
    return (_GOOD, "o") if at[1] >= at[0] else (_BAD, "D")


def _clouds(
    panel: Any, holder: Plain, parts: Mapping[str, str], keys: tuple[str, str]
) -> list[tuple[str, tuple[float, float]]]:
    everything = []
    for (paint, marker, _), (name, key) in zip(_STYLES, parts.items(), strict=False):
        pairs = pairs_of(rows_of(holder.get(key) or [], f"'{key}'"), keys)
        x, y = ([point[axis] for _, point in pairs] for axis in (0, 1))
        panel.scatter(x, y, s=14, color=paint, marker=marker, label=name)
        everything += pairs
    panel.legend(frameon=False, fontsize=8)
    return everything


def _label(figure: Any, axes: Any, pairs: Sequence[tuple[str, tuple[float, float]]]) -> None:
    """Name the outermost points as far as no name covers another."""
    figure.draw_without_rendering()
    dots = axes.transData.transform([point for _, point in pairs]) if pairs else []
    taken: list[Any] = []
    for name, point in outermost(pairs, 60):
        for offset, side in _SIDES.items():
            style = {"ha": side, "va": "center", "fontsize": 7, "textcoords": "offset points"}
            note = axes.annotate(_short(name), point, offset, **style)
            box, frame = note.get_window_extent(), axes.get_window_extent()
            inside = frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)
            free = not any(box.overlaps(other) for other in taken)
            if inside and free and not any(box.contains(x, y) for x, y in dots):
                taken.append(box)
                break
            note.remove()


def _model(plain: Plain) -> str:
    return text(plain["config"].get("encoder") or plain["config"].get("vectors") or "model")


def _short(name: str, size: int = 42) -> str:
    return name if len(name) <= size else f"{name[: size - 1]}…"
