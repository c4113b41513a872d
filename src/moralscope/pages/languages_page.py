"""The report of `compare --language en,de,…`: checks, ranking or refusal, and every action."""

from collections.abc import Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.page import (
    Column,
    Facts,
    Page,
    Section,
    Table,
    columns,
    correlation_text,
    part,
    span_text,
)

_CHECKS = (
    "Each language beside the first. Configural: the same order. Metric: the same unit. Scalar: "
    "actions keep their places after linear alignment."
)


def languages_page(plain: Plain) -> Page:
    """Lay out one model in several languages."""
    config, found = plain["config"], plain["statistics"]
    names = [text(code) for code in config.get("languages") or ()]
    results = rows_of(plain["results"], "'results'")
    ranking = part(found.get("ranking"))
    refused = text(ranking.get("refused") or "")
    told = (
        refused or "All checks hold, so languages are ranked by their level above neutral actions."
    )
    summary = [
        f"{text(config.get('model'))} was asked about {len(results):,} actions in "
        f"{', '.join(names)}.",
        f"{told[:1].upper()}{told[1:]}.",
    ]
    checks = rows_of(found.get("checks") or [], "'checks'")
    sections = [Section("Are languages measured alike?", [_CHECKS], [_checks(checks)])]
    levels = rows_of(ranking.get("levels") or [], "'levels'")
    if levels:
        pairs = [(text(row.get("language")), _level(row)) for row in levels]
        sections.append(Section("Levels", ["Mean score above neutral actions."], [Facts(pairs)]))
    sections.append(Section("All actions", [], [_actions(results, names)]))
    return Page("One model, several languages", summary, [], sections)


def _level(row: Plain) -> str:
    return span_text({**row, "value": row.get("level")})


def _checks(rows: Sequence[Plain]) -> Table:
    cells = []
    for row in rows:
        fails = [text(name) for name in row.get("fails") or ()]
        cells.append(
            [
                text(row.get("language")),
                correlation_text(row.get("r")),
                span_text(part(row.get("slope"))),
                number(row.get("residual"), "'residual'"),
                f"{text(row.get('differ'))} of {text(row.get('of'))}",
                ", ".join(fails) or "nothing",
            ]
        )
    heads = [*columns("language", "r", "slope"), Column("residual", "number", 2)]
    return Table("Checks", [*heads, *columns("actions that differ", "fails")], cells)


def _actions(rows: Sequence[Plain], names: Sequence[str]) -> Table:
    first, *others = names
    heads = columns("label", *names)
    heads += columns(*(f"score, {code}" for code in names), kind="signed")
    for code in others:
        heads += [Column(f"{code} less {first}", "signed", 2), Column(f"{code} differs")]
    cells: list[list[Any]] = []
    for row in rows:
        texts, scores = part(row.get("texts")), part(row.get("scores"))
        line: list[Any] = [text(row.get("label") or ""), *(text(texts.get(c)) for c in names)]
        line += [number(scores.get(code), "a score") for code in names]
        for code in others:
            one = part(part(row.get("differences")).get(code))
            differs = "yes" if one.get("differs") else "no"
            line += [number(one.get("difference"), "a difference"), differs]
        cells.append(line)
    return Table(
        "All actions", heads, cells, note="Differences are aligned, in standard deviations."
    )
