"""What framings do to scores: how often an action changes its side, and by which rewording."""

from collections.abc import Mapping

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.page import Column, Section, Table

_SHOWN = 2000  # rewordings in the table


def framing_sections(plain: Plain) -> list[Section]:
    """Draw `statistics.framings`, where the record has it."""
    found = plain["statistics"].get("framings")
    if not isinstance(found, Mapping) or not found.get("rows"):
        return []
    return [
        Section(
            "Does the wording decide?",
            [
                "Each action, put otherwise: its side of zero should stay, and change under a "
                f"negation. {_flips(found)}"
            ],
            [_figures(found), _rows(found)],
        )
    ]


def _flips(found: Plain) -> str:
    flips = found.get("flips")
    cells = flips if isinstance(flips, Mapping) else {}
    value, low, high, n = (number(cells.get(k), "'flips'") for k in ("value", "low", "high", "n"))
    if value is None or low is None or high is None:
        return ""
    worst = text(found.get("worst", "")).replace("_", " ")
    span = f"{100 * low:.0f} … {100 * high:.0f} %"
    return f"{100 * value:.1f} % of {n or 0:.0f} rewordings flip ({span}); worst: {worst}."


def _figures(found: Plain) -> Table:
    rows: list[list[str | float | None]] = []
    each = found.get("framings")
    for name, figures in each.items() if isinstance(each, Mapping) else ():
        cells = figures if isinstance(figures, Mapping) else {}
        changed = cells.get("changed")
        shares = changed if isinstance(changed, Mapping) else {}
        share = number(shares.get("value"), "'changed'")
        should = "should change" if cells.get("turns") else "should stay"
        n, mean = number(shares.get("n"), "'n'"), number(cells.get("mean_change"), "'mean_change'")
        rows.append([text(name).replace("_", " "), should, share and 100 * share, n, mean])
    columns = [
        Column("framing"),
        Column("side"),
        Column("changed, %", "number", 0),
        Column("of", "number", 0),
        Column("mean change", "signed"),
    ]
    return Table("Framings", columns, rows)


def _rows(found: Plain) -> Table:
    listed = rows_of(found["rows"], "the rows of 'framings'")
    widest = sorted(listed, key=lambda row: -abs(number(row.get("change"), "'change'") or 0))
    values: list[list[str | float | None]] = [
        [
            text(row.get("action")),
            text(row.get("framing")).replace("_", " "),
            text(row.get("text")),
            number(row.get("score"), "'score'"),
            number(row.get("change"), "'change'"),
            "changed" if row.get("changed") else "",
        ]
        for row in widest[:_SHOWN]
    ]
    names = ("action", "framing", "as it was asked")
    columns = [*map(Column, names), Column("score", "signed"), Column("change", "signed")]
    return Table("Rewordings, the largest change first", [*columns, Column("side")], values)
