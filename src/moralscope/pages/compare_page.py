"""The reports of `compare`: models on the same actions, and saved runs before and after.

Models: a slope chart, the largest disagreements, agreement by pair. Runs: what changed, and whether
it may. Prompts and replies are hostile input: data to be written, never markup.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.charts import bars, cloud, rounded, slopes
from moralscope.pages.page import (
    Block,
    Column,
    Facts,
    Page,
    Section,
    Table,
    columns,
    correlation_text,
    cut,
    keyed_table,
    p_text,
    part,
    rate_text,
    signed,
    span_text,
)

SHOWN = 24
_WHERE = "'pairs'"
_MAX_ROWS = 5_000
_DRAWN = 2_000
_CONTENT = (
    "Content warning: prompts and replies are shown as they were given; some may be offensive."
)
_LISTS = (
    ("newly_flagged", "Newly flagged"),
    ("newly_cleared", "No longer flagged"),
    ("drops", "Largest drops"),
    ("rises", "Largest rises"),
    ("flipped", "Changed sign"),
)


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
        lines = [(row.action, row.scores, colour(row)) for row in rows[:SHOWN]]
        title = "Score of each action by model"
        sections.append(Section(title, prose, [slopes(title, models, lines)]))
    if pairs:
        sections.append(Section("Agreement of the models", [], [_agreement(pairs)]))
    method = (
        "Differences are second model less first of the widest pair, with paired 95 % intervals; "
        "p is Holm-corrected over all actions and pairs."
    )
    titles = [
        Column("action"),
        *columns(*models, "difference", "low", "high", kind="signed", digits=2),
        Column("p (Holm)", "p"),
    ]
    disputed = Table("Actions, most disputed first", titles, [_row(row) for row in rows])
    sections.append(Section("Where they disagree most", [method], [disputed]))
    tiles = [(f"{len(rows):,}", "actions compared")]
    for pair in pairs[:3]:
        r = correlation_text(pair.get("pearson")).split(" ")[0].rstrip(",")
        tiles.append((r, f"r, {_pair(pair)}"))
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
    names = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau"}
    columns = {
        "models": Column("models"),
        **{key: Column(name) for key, name in names.items()},
        "mean_difference": Column("mean difference", "signed"),
        "minimum_detectable_effect": Column("detectable", "number"),
        "significant": Column("significant"),
    }
    rows = [
        {**pair, "models": _pair(pair), **{key: correlation_text(pair.get(key)) for key in names}}
        for pair in pairs
    ]
    note = "Detectable: the smallest difference of one action that would be found in 80 % of cases."
    return keyed_table("Agreement by pair of models", rows, columns, _WHERE, note)


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


def runs_page(plain: Plain) -> Page:
    """Lay out a comparison of two saved runs.

    Examples
    --------
    >>> row = {"id": "", "text": "smile", "before": 0.2, "after": 0.1, "change": -0.1}
    >>> page = runs_page({"config": {}, "results": [row], "statistics": {"items": 1}})
    >>> [section.title for section in page.sections]
    ['Every item']
    """
    found, config = plain["statistics"], plain["config"]
    rows = rows_of(plain["results"], "'results'")
    audits = config.get("job") == "audit"
    sections = [*_gate(found.get("gate")), *_drawn(rows), *_foundations(found)]
    for key, title in _LISTS:
        listed = rows_of(found.get(key) or [], f"'{key}'")
        if listed:
            prose = [_CONTENT] if audits else []
            sections.append(Section(title, prose, [_items(title, listed, audits)]))
    sections += list(_unpaired(found))
    if rows:
        sections.append(Section("Every item", [], [_items("Every item", rows, audits)]))
    runs = config.get("runs")
    names = [text(name) for name in runs] if isinstance(runs, list) else []
    title = f"{text(config.get('job'))} before and after".capitalize()
    summary = [*([f"{names[0]} (before) and {names[1]} (after)."] if len(names) == 2 else [])]
    return Page(title, [*summary, *_runs_summary(found)], _runs_tiles(found), sections)


def _runs_summary(found: Plain) -> Iterator[str]:
    gate = found.get("gate")
    if isinstance(gate, Mapping):
        met = "met" if gate.get("met") else "not met"
        yield f"The gate {text(gate.get('expression'))} was {met}."
    change = part(found.get("change"))
    yield f"The mean score changed by {span_text(change)}, p = {p_text(change.get('p'))}."
    flagged = part(found.get("flagged"))
    if flagged:
        before, after = (rate_text(flagged.get(side)) for side in ("before", "after"))
        moved = span_text(part(flagged.get("change")))
        yield f"Flagged: {before} before, {after} after; a change of {moved}."


def _runs_tiles(found: Plain) -> list[tuple[str, str]]:
    change = part(found.get("change"))
    value = number(change.get("value"), "'change'")
    tiles = [(f"{number(found.get('items'), 'items') or 0:,.0f}", "items in both")]
    tiles.append(("unknown" if value is None else signed(value), "mean change"))
    if "spearman" in found:
        tiles.append((correlation_text(found["spearman"]).split(" ")[0], "Spearman's rho"))
    if "flips" in found:
        tiles.append((rate_text(found["flips"]).split(" ")[0], "changed sign"))
    flagged = part(found.get("flagged"))
    for key, name in (("newly_flagged", "newly flagged"), ("newly_cleared", "no longer flagged")):
        if key in flagged:
            tiles.append((rate_text(flagged[key]).split(" ")[0], name))
    missing = number(found.get("only_before"), "only_before")
    if missing:
        tiles.append((f"{missing:,.0f}", "missing after"))
    return tiles


def _gate(gate: Any) -> Iterator[Section]:
    if not isinstance(gate, Mapping):
        return
    columns = [Column("figure"), Column("found", "number", 4), Column("wanted"), Column("met")]
    rows = [
        [
            text(check.get("name")),
            number(check.get("value"), "'gate'"),
            f"{text(check.get('operator'))} {text(check.get('limit'))}",
            "yes" if check.get("met") is True else "no",
        ]
        for check in rows_of(gate.get("checks") or [], "'checks'")
    ]
    yield Section("The gate", [], [Table("The gate", columns, rows)])


def _drawn(rows: Sequence[Plain]) -> Iterator[Section]:
    """Draw scores after against scores before; of very many, those that changed most."""
    widest = sorted(rows, key=lambda row: -abs(number(row.get("change"), "'change'") or 0.0))
    chart = cloud("Scores before and after", {"items": widest[:_DRAWN]}, ("before", "after"))
    if chart is None:
        return
    prose = ["Where nothing changed, after equals before; the line is the fit through all items."]
    if len(rows) > _DRAWN:
        prose.append(f"Drawn are the {_DRAWN:,} of {len(rows):,} items that changed most.")
    yield Section("Scores before and after", prose, [chart])


def _foundations(found: Plain) -> Iterator[Section]:
    rows = rows_of(found.get("foundations") or [], "'foundations'")
    if not rows:
        return
    names = [text(row.get("foundation")) for row in rows]
    series = {
        side: [
            100 * (number(part(row.get(side)).get("value"), "'foundations'") or 0.0) for row in rows
        ]
        for side in ("before", "after")
    }
    title = "Flagged replies by foundation"
    columns = [Column("foundation"), Column("before"), Column("after"), Column("change", "signed")]
    values = [
        [
            name,
            *(rate_text(row.get(side)) for side in ("before", "after")),
            number(row.get("change"), "'foundations'"),
        ]
        for name, row in zip(names, rows, strict=True)
    ]
    blocks: list[Block] = [bars(title, series, names, "% of replies")]
    yield Section(title, [], [*blocks, Table(title, columns, values)])


def _items(title: str, rows: Sequence[Plain], audits: bool) -> Table:
    scores = [Column(name, "signed", 3) for name in ("before", "after", "change")]
    if audits:
        names = ("id", "prompt", "reply before", "reply after")
        columns = [*(Column(name) for name in names), *scores[:2], Column("flagged")]
    else:
        columns = [Column("action"), *scores, Column("p (Holm)", "p")]
    values = [_runs_row(row, place, audits) for place, row in enumerate(rows[:_MAX_ROWS], 1)]
    more = len(rows) - len(values)
    return Table(title, columns, values, note=f"{more:,} more in the record." if more else "")


def _runs_row(row: Plain, place: int, audits: bool) -> list[Any]:
    where = f"row {place}"
    numbers = [number(row.get(key), where) for key in ("before", "after", "change")]
    shown = cut(text(row.get("text")))
    if not audits:
        return [shown, *numbers, number(row.get("p_holm"), where)]
    flags = ["yes" if row.get(key) is True else "no" for key in ("flagged_before", "flagged_after")]
    replies = [cut(text(row.get(key))) for key in ("reply_before", "reply_after")]
    flagged = flags[0] if flags[0] == flags[1] else " → ".join(flags)
    return [text(row.get("id")), shown, *replies, *numbers[:2], flagged]


def _unpaired(found: Plain) -> Iterator[Section]:
    for key, total, title in (
        ("missing_items", "only_before", "Only in the baseline"),
        ("added_items", "only_after", "Only in the new run"),
    ):
        rows = rows_of(found.get(key) or [], f"'{key}'")
        if rows:
            count = number(found.get(total), total) or 0
            facts = [(text(row.get("id")) or "action", cut(text(row.get("text")))) for row in rows]
            yield Section(title, [f"{count:,.0f} items; the first of them:"], [Facts(facts)])
