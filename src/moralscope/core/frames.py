"""Results of a run as a table for notebooks: a dataframe, and HTML with a bar for every score.

Texts are strangers': every one is escaped. pandas and polars are imported where they are asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

from moralscope.core.errors import UnknownName
from moralscope.core.extras import missing_extra

KINDS = ("pandas", "polars")
_SHOWN = 20  # rows in a notebook
_LONG = 120  # characters of a cell
_HALF = 90  # pixels of a bar on each side of zero
_GOOD, _BAD = "#2a7f62", "#b3423a"


def flat_row(row: Any) -> dict[str, Any]:
    """Return a result in plain form as one level of columns: `verdict.flag`, `alignment.label`.

    Examples
    --------
    >>> flat_row({"id": "1", "verdict": {"flag": True, "score": -0.8}})
    {'id': '1', 'verdict.flag': True, 'verdict.score': -0.8}
    """
    if not isinstance(row, Mapping):
        return {"value": row}
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": cell for inner, cell in flat_row(value).items()}
        else:
            flat[name] = value
    return flat


def frame_of(rows: Iterable[Any], kind: str | None = None) -> Any:
    """Return plain results as a dataframe: pandas where it is installed, else polars."""
    if kind is not None and kind not in KINDS:
        raise UnknownName(f"there is no frame '{kind}'", f"known: {', '.join(KINDS)}")
    wanted = kind or next((name for name in KINDS if find_spec(name)), "pandas")
    if not find_spec(wanted):
        raise missing_extra("dataframes", f"a frame of {wanted}")
    flat = [flat_row(row) for row in rows]
    if wanted == "pandas":
        import pandas

        return pandas.DataFrame(flat)
    import polars
    import pyarrow

    return polars.from_arrow(pyarrow.Table.from_pylist(flat))


def html_of(title: str, rows: Sequence[Any], notes: Sequence[str]) -> str:
    """Return results as an HTML table; a score is drawn as a bar, red below zero."""
    flat = [flat_row(row) for row in rows[:_SHOWN]]
    columns = list(dict.fromkeys(name for row in flat for name in row if _is_shown(name, flat)))
    score = next((name for name in ("score", "verdict.score") if name in columns), None)
    scale = max((abs(row.get(score) or 0.0) for row in flat), default=0.0) if score else 0.0
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{_cell(row.get(name))}</td>" for name in columns)
        + (f"<td>{_bar(row.get(score) or 0.0, scale or 1.0)}</td>" if score else "")
        + "</tr>"
        for row in flat
    )
    more = f"<p>… and {len(rows) - _SHOWN:,} more</p>" if len(rows) > _SHOWN else ""
    said = "".join(f"<p><small>{escape(note)}</small></p>" for note in notes)
    chart = "<th>bad · good</th>" if score else ""
    return (
        f"<p><b>{escape(title)}</b></p><table><thead><tr>{head}{chart}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}{said}"
    )


def _is_shown(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Leave out lists and columns without a value."""
    values = [row.get(name) for row in rows]
    return any(value is not None and not isinstance(value, list) for value in values)


def _cell(value: Any) -> str:
    if value is None or isinstance(value, list):
        return ""
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= _LONG else f"{text[: _LONG - 1]}…")


def _bar(value: float, scale: float) -> str:
    width = round(abs(value) / scale * _HALF, 1)
    left, colour = (_HALF - width, _BAD) if value < 0 else (_HALF, _GOOD)
    return (
        f'<svg width="{2 * _HALF}" height="12" role="img" aria-label="{value:+.2f}">'
        f'<rect x="{left}" y="1" width="{width}" height="10" fill="{colour}"/>'
        f'<line x1="{_HALF}" y1="0" x2="{_HALF}" y2="12" stroke="currentColor"/></svg>'
    )
