"""The report of `compare`: a slope chart, the largest disagreements, agreement by pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.reports.charts import rounded, slopes
from moralscope.reports.page import Chart, Column, Page, Section, Table
from moralscope.reports.people_section import correlation_text

SHOWN = 24
_WHERE = "'pairs'"


@dataclass(frozen=True, slots=True)
class Compared:
    """An action's score in every model, on the common scale of the run."""

    action: str
    scores: tuple[float, ...]
    differences: Sequence[Plain] = ()

    @property
    def spread(self) -> float:
        """How far apart the models lie."""
        return max(self.scores) - min(self.scores)


def compared(plain: Plain) -> tuple[list[str], list[Compared]]:
    """Return the models and the actions that all of them scored, most disputed first."""
    rows = rows_of(plain["results"], "'results'")
    named = plain["config"].get("encoders")
    models = [text(name) for name in named] if isinstance(named, list) else []
    found = []
    for place, row in enumerate(rows):
        where, scores = f"results, row {place + 1},", row.get("scores")
        given = scores if isinstance(scores, dict) else {}
        values = [number(given.get(model), where) for model in models]
        known = [value for value in values if value is not None]
        if known and len(known) == len(models):
            differences = rows_of(row.get("differences") or [], f"{where} 'differences'")
            found.append(Compared(text(row.get("action")), tuple(known), differences))
    return models, sorted(found, key=lambda row: -row.spread)


def slope_chart(models: Sequence[str], rows: Sequence[Compared]) -> Chart:
    """Draw the most disputed actions, one line each."""
    lines = [(row.action, row.scores, colour(row)) for row in rows[:SHOWN]]
    return slopes("Score of each action by model", models, lines)


def colour(row: Compared) -> str:
    """Return `good` where the last model is kinder than the first, else `bad`."""
    return "good" if row.scores[-1] >= row.scores[0] else "bad"


def compare_page(plain: Plain) -> Page:
    """Lay out a comparison of models on the same actions."""
    models, rows = compared(plain)
    pairs = rows_of(plain["statistics"].get("pairs") or [], _WHERE)
    sections = []
    if rows and len(models) > 1:
        note = f"Drawn are the {SHOWN} most disputed of {len(rows):,}." if len(rows) > SHOWN else ""
        prose = [
            f"Each line is an action: rising where {models[-1]} is kinder to it than {models[0]}, "
            f"falling where it is harsher. {note}",
            f"Scale: {text(plain['config'].get('scale'))}.",
        ]
        blocks = [slope_chart(models, rows)]
        sections.append(Section("Score of each action by model", prose, blocks))
    if pairs:
        sections.append(Section("Agreement of the models", [], [_agreement(pairs)]))
    method = (
        "Differences are second model less first of the widest pair, with paired 95 % intervals; "
        "p is Holm-corrected over all actions and pairs."
    )
    disputed = _differences(models, rows)
    sections.append(Section("Where they disagree most", [method], [disputed]))
    tiles = [(f"{len(rows):,}", "actions compared")]
    tiles += [(_coefficient(pair.get("pearson")), f"r, {_pair(pair)}") for pair in pairs[:3]]
    title = f"{' and '.join(models) or 'Models'} compared"
    return Page(title, _summary(plain, models, rows, pairs), tiles, sections)


def _summary(
    plain: Plain, models: Sequence[str], rows: Sequence[Compared], pairs: Sequence[Plain]
) -> list[str]:
    lines = [f"{len(rows):,} actions, scored by {len(models)} models: {', '.join(models)}."]
    for pair in pairs:
        lines.append(
            f"{_pair(pair)}: r = {correlation_text(pair.get('pearson'))}; differences that are "
            f"significant after correction: {text(pair.get('significant'))}."
        )
    if rows:
        lines.append(f"Most disputed: “{rows[0].action}”, {rows[0].spread:.2f} apart.")
    gate = plain["statistics"].get("gate")
    if isinstance(gate, dict):
        met = "met" if gate.get("met") else "not met"
        lines.append(f"The gate {text(gate.get('expression'))} was {met}.")
    return lines


def _agreement(pairs: Sequence[Plain]) -> Table:
    columns = [
        Column("models"),
        *(Column(name) for name in ("Pearson's r", "Spearman's rho", "Kendall's tau")),
        Column("mean difference", "signed"),
        Column("detectable", "number"),
        Column("significant"),
    ]
    rows = [
        [
            _pair(pair),
            *(correlation_text(pair.get(key)) for key in ("pearson", "spearman", "kendall")),
            number(pair.get("mean_difference"), _WHERE),
            number(pair.get("minimum_detectable_effect"), _WHERE),
            text(pair.get("significant")),
        ]
        for pair in pairs
    ]
    note = "Detectable: the smallest difference of one action that would be found in 80 % of cases."
    return Table("Agreement by pair of models", columns, rows, note=note)


def _differences(models: Sequence[str], rows: Sequence[Compared]) -> Table:
    columns = [
        Column("action"),
        *(Column(model, "signed", 2) for model in models),
        *(Column(name, "signed", 2) for name in ("difference", "low", "high")),
        Column("p (Holm)", "number"),
    ]
    return Table("Actions, most disputed first", columns, [_row(row) for row in rows])


def _row(row: Compared) -> list[Any]:
    keys = ("difference", "low", "high", "p_holm")
    found = [[number(one.get(key), "'differences'") for key in keys] for one in row.differences]
    widest = max(found, key=lambda values: abs(values[0] or 0.0), default=[None] * len(keys))
    return [
        row.action,
        *(rounded(score) for score in row.scores),
        *(None if value is None else rounded(value) for value in widest),
    ]


def _pair(pair: Plain) -> str:
    names = pair.get("pair")
    return " / ".join(text(name) for name in names) if isinstance(names, list) else text(names)


def _coefficient(value: Any) -> str:
    return correlation_text(value).split(" ")[0].rstrip(",")
