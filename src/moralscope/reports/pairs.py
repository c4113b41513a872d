"""Two values of each row against each other: ours and the paper's, before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from moralscope.io.record_view import Plain, text
from moralscope.reports.charts import Group, outermost, scatter
from moralscope.reports.page import Chart

_NAMES = ("action", "word", "text", "name", "answer")
_LEAST = 3


def cloud(
    title: str,
    groups: Mapping[str, Sequence[Plain]],
    keys: tuple[str, str],
    titles: tuple[str, str] | None = None,
    *,
    fits: bool = True,
    turned: bool = False,
) -> Chart | None:
    """Draw rows by two of their values, or nothing where fewer than three rows have both.

    `turned` changes the sign of the horizontal value (the second paper's m is negative for good).

    Examples
    --------
    >>> rows = [{"word": "joy", "paper": 1.0, "ours": 2.0}] * 3
    >>> cloud("Table 2", {"dos": rows}, ("paper", "ours")).title
    'Table 2'
    >>> cloud("Table 2", {"dos": rows}, ("before", "after")) is None
    True
    """
    drawn, pairs = [], []
    for name, rows in groups.items():
        found = pairs_of(rows, keys)
        if turned:
            found = [(label, (-x, y)) for label, (x, y) in found]
        hover = [f"{label}\n{keys[0]} {x:+.3f}\n{keys[1]} {y:+.3f}" for label, (x, y) in found]
        if found:
            drawn.append(Group(name, [point for _, point in found], hover))
        pairs += found
    if len(pairs) < _LEAST:
        return None
    labels = [(x, y, label) for label, (x, y) in outermost(pairs)]
    chart = scatter(title, drawn, titles or keys, fits=fits, labels=labels)
    if keys[0] != "before":
        return chart
    # One scale for both: what shrank is then seen to have shrunk.
    return replace(chart, layout={**chart.layout, "same": True})


def pairs_of(rows: Sequence[Plain], keys: tuple[str, str]) -> list[tuple[str, tuple[float, float]]]:
    """Return (name, point) of every row that has a name and both values.

    Examples
    --------
    >>> pairs_of([{"word": "joy", "x": 1, "y": 2.5}, {"word": "war", "x": None}], ("x", "y"))
    [('joy', (1.0, 2.5))]
    """
    found = []
    for row in rows:
        x, y = (row.get(key) for key in keys)
        if isinstance(x, int | float) and isinstance(y, int | float):
            name = next((text(row[key]) for key in _NAMES if key in row), "")
            if name:
                found.append((name, (float(x), float(y))))
    return found
