"""The report of `stories evaluate`: grid, norm sensitivity, calibration, confusion, mistakes."""

from collections.abc import Iterable, Sequence
from typing import Any

from moralscope.io.record_view import NOTHING, Plain, number, rows_of, text
from moralscope.pages.charts import marks
from moralscope.pages.page import Block, Chart, Column, Page, Section, Table, columns, part

_COLOURS = ("good", "bad", "third", "fourth", "muted", "ink")
_GRID = (
    *columns("setting", "split"),
    *columns("accuracy", "low", "high", kind="number"),
    Column("paper", "number", 2),
    Column("F1", "number"),
    Column("paper's F1", "number", 2),
    Column("ECE", "number"),
    Column("stories", "whole"),
)
_GRID_MORE = {
    "macro F1": Column("", "number"),
    "temperature fitted on dev": Column("", "number", 2),
    "stories seen in training, left out": Column("", "whole"),
}
_NORMS = (
    *columns("setting", "split"),
    Column("wording", "whole"),
    *columns("reversed", "low", "high", "as written", kind="number"),
    Column("share reversed", "number", 2),
    Column("swapped", "number"),
)
_PAIRED = (
    *columns("setting", "split"),
    *columns("difference", "low", "high", kind="signed"),
    *columns("only this right", "only the other", kind="whole"),
    Column("p (McNemar)", "p"),
)
_WORDS = (
    *columns("setting", "split"),
    *columns("bag of words", "expert", kind="number"),
    *columns("words for", "words against"),
)
_MISTAKES = (*columns("setting", "sentence", "right", "called"), Column("P(right)", "number"))
_MISTAKES_MORE = ("read before it", "story", "split")


def evaluate_page(plain: Plain) -> Page:
    """Lay out a record of `stories evaluate`."""
    cells = rows_of(plain["results"], "'results'")
    config = plain["config"]
    expert, part = text(config.get("experts")), text(config.get("part"))
    sections = [
        Section(
            "Accuracy and F1",
            ["Intervals are 95 % bootstraps over stories. F1 is that of the positive class."],
            [Table("Grid, beside the paper's", _GRID, [*map(_grid_row, cells)], list(_GRID_MORE))],
        ),
        *_optional(
            "Does it read the norm?",
            "The norm is reversed and the right answer with it; or it is swapped for one of "
            "another story: 'swapped' is how often the expert says that it does not concern the "
            "action. One half is chance for reversed norms.",
            Table("Norm sensitivity", _NORMS, [row for cell in cells for row in _norm_rows(cell)]),
        ),
        *_calibration(cells),
        Section("What is taken for what", [], [_confusion(cell) for cell in cells]),
        *_optional(
            f"Against {text(config.get('against'))}",
            "A positive difference: these experts are right more often.",
            Table("Paired tests", _PAIRED, list(_paired_rows(cells))),
        ),
        *_optional(
            "What single words reach",
            "A bag of words, trained on the same split. Where it comes near the expert, the "
            "expert may read words and no norm.",
            Table("Lexical shortcuts", _WORDS, list(_word_rows(cells))),
        ),
        *_optional(
            "Surest mistakes",
            "The wrong decisions that the expert was surest of. Open a row to see what was read "
            "before the sentence.",
            Table("Mistakes", _MISTAKES, list(_mistake_rows(cells)), _MISTAKES_MORE),
        ),
    ]
    counts = [_value(config, key) or 0 for key in ("stories", "complete_stories")]
    summary = [
        f"{expert} on the {part} part, {len(cells)} settings; {counts[0]:,.0f} stories were read, "
        f"{counts[1]:,.0f} with all seven sentences."
    ]
    return Page(f"Moral Stories experts: {expert}", summary, _tiles(cells), sections)


def _optional(title: str, prose: str, table: Table) -> list[Section]:
    return [Section(title, [prose], [table])] if table.rows else []


def _value(holder: Plain, *keys: str) -> float | None:
    *path, last = keys
    for key in path:
        holder = part(holder.get(key))
    return number(holder.get(last), f"'{last}'")


def _named(cell: Plain) -> list[Any]:
    return [_spaced(cell), text(cell.get("split")).replace("_", " ")]


def _spaced(cell: Plain) -> str:
    """Return the setting with spaces to break a line at."""
    return text(cell.get("task")).replace("+", " + ")


def _tiles(cells: Sequence[Plain]) -> list[tuple[str, str]]:
    found = []
    for cell in cells:
        value = _value(cell, "measured", "accuracy", "value")
        if value is not None and cell.get("split") in ("norm_distance", "all"):
            found.append((f"{value:.3f}", _spaced(cell)))
    return found[:6]


def _grid_row(cell: Plain) -> list[Any]:
    more = (
        _value(cell, "measured", "f1_macro", "value"),
        _value(cell, "calibration", "temperature"),
        _value(cell, "seen"),
    )
    return [
        *_named(cell),
        *(_value(cell, "measured", "accuracy", end) for end in ("value", "low", "high")),
        _value(cell, "paper_accuracy"),
        _value(cell, "measured", "f1", "value"),
        _value(cell, "paper_f1"),
        _value(cell, "measured", "ece"),
        _value(cell, "measured", "stories"),
        *(column.write(value) for column, value in zip(_GRID_MORE.values(), more, strict=True)),
    ]


def _norm_rows(cell: Plain) -> Iterable[list[Any]]:
    for found in rows_of(cell.get("reversed") or [], "'reversed'"):
        variant = _value(found, "variant") or 0
        yield [
            *_named(cell),
            variant + 1,
            *(_value(found, "accuracy", end) for end in ("value", "low", "high")),
            _value(found, "original", "value"),
            _value(found, "coverage"),
            None if variant else _value(cell, "swapped", "rejected", "value"),
        ]


def _paired_rows(cells: Sequence[Plain]) -> Iterable[list[Any]]:
    for cell in cells:
        found = part(cell.get("against"))
        if found:
            yield [
                *_named(cell),
                *(_value(found, "difference", end) for end in ("value", "low", "high")),
                _value(found, "only_second"),
                _value(found, "only_first"),
                _value(found, "p"),
            ]


def _word_rows(cells: Sequence[Plain]) -> Iterable[list[Any]]:
    for cell in cells:
        found = part(cell.get("shortcut"))
        if found:
            sides = (
                rows_of(found.get(key) or [], f"'{key}'")
                for key in ("for_positive", "for_negative")
            )
            yield [
                *_named(cell),
                _value(found, "accuracy", "value"),
                _value(cell, "measured", "accuracy", "value"),
                *(", ".join(text(each.get("word")) for each in side) or NOTHING for side in sides),
            ]


def _mistake_rows(cells: Sequence[Plain]) -> Iterable[list[Any]]:
    for cell in cells:
        for found in rows_of(cell.get("mistakes") or [], "'mistakes'"):
            setting, split = _named(cell)
            yield [
                setting,
                *(text(found.get(key)) for key in ("target", "right", "called")),
                _value(found, "probability"),
                text(found.get("grounding") or None),
                text(found.get("id")),
                split,
            ]


def _calibration(cells: Sequence[Plain]) -> list[Section]:
    """Draw a reliability diagram for each split: accuracy against confidence, a line a task."""
    blocks: list[Block] = []
    for split in dict.fromkeys(text(cell.get("split")) for cell in cells):
        chosen = [cell for cell in cells if text(cell.get("split")) == split]
        traces = [trace for place, cell in enumerate(chosen) if (trace := _line(cell, place))]
        if traces:
            about = f"Share of right decisions against confidence on {split}, {len(traces)} lines."
            layout = {
                "xaxis": {"title": "confidence"},
                "yaxis": {"title": "share of right decisions"},
            }
            blocks.append(
                Chart(f"Reliability, {split}", about, [_DIAGONAL, *traces], layout, height=420)
            )
    prose = "On the dotted line a probability can be taken at its word; below it, it is too sure."
    return [Section("Calibration", [prose], blocks)] if blocks else []


def _line(cell: Plain, place: int) -> dict[str, Any] | None:
    bins = rows_of(part(cell.get("measured")).get("reliability") or [], "'reliability'")
    points = [
        (_value(each, "confidence"), _value(each, "accuracy"), each.get("n")) for each in bins
    ]
    known = [(x, y, n) for x, y, n in points if x is not None and y is not None]
    if not known:
        return None
    name = text(cell.get("task"))
    colour = _COLOURS[place % len(_COLOURS)]
    hover = [f"{name}: {y:.2f} right at {x:.2f}, {text(n)} samples" for x, y, n in known]
    line = {"color": colour, "width": 2}
    return {
        **marks(name, [(x, y) for x, y, _ in known], colour, hovertext=hover, line=line),
        "mode": "lines+markers",
        "marker": {"color": colour, "size": 7},
    }


_DIAGONAL = {
    "type": "scatter",
    "mode": "lines",
    "name": "as sure as right",
    "hover": False,
    "x": [0.5, 1.0],
    "y": [0.5, 1.0],
    "line": {"color": "muted", "dash": "dot", "width": 1.5},
}


def _confusion(cell: Plain) -> Table:
    found = part(cell.get("confusion"))
    named, counts = found.get("labels"), found.get("counts")
    labels = [text(label) for label in named] if isinstance(named, list) else []
    rows = counts if isinstance(counts, list) else []
    return Table(
        f"{text(cell.get('task'))}, {text(cell.get('split'))}: rows are right, columns called",
        [Column("right"), *(Column(label, "whole") for label in labels)],
        [
            [label, *(number(value, "'counts'") for value in row)]
            for label, row in zip(labels, rows, strict=False)
            if isinstance(row, list)
        ],
    )
