"""The report of a survey: what models would do, and what their answers hang on."""

from collections.abc import Mapping, Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.charts import GROUPS, bars, cloud, error_bars, marks, named_rows
from moralscope.pages.page import (
    Block,
    Chart,
    Column,
    Page,
    Section,
    Table,
    correlation_text,
    cut,
    keyed_table,
    part,
    rate_text,
    span_text,
)

_BIASES = {
    "order_bias": "order: first listed",
    "label_bias": "label: A",
    "yes_bias": "answer: yes",
    "wording": "wording (sd beyond noise)",
}
_MOST = 2_000


def survey_page(plain: Plain) -> Page:
    """Lay out the record of a survey."""
    models = {
        text(name): part(each) for name, each in part(plain["statistics"].get("models")).items()
    }
    kind = text(plain["config"].get("kind"))
    count = number(plain["config"].get("items"), "'items'") or 0
    title = f"{', '.join(models)}: {count:,.0f} {kind}"
    sections = _scales(plain, models) if kind == "questionnaire" else _dilemmas(plain, models)
    figures = [
        (rate_text(each.get("mass")).split(" (")[0], f"answer mass of {name}")
        for name, each in models.items()
    ]
    return Page(title, _summary(kind, models), figures, sections)


def _summary(kind: str, models: Mapping[str, Plain]) -> list[str]:
    lines = []
    for name, each in models.items():
        asked = f"{number(each.get('questions'), 'questions') or 0:,.0f} questions"
        if kind == "questionnaire":
            lines.append(
                f"{name} answered {asked}; agreement {span_text(part(each.get('agreement')))}."
            )
            continue
        flagged = [text(item).replace("_", " ") for item in each.get("flagged") or []]
        told = f"They hang on {', '.join(flagged)}." if flagged else "No bias stands out."
        lines.append(
            f"{name} answered {asked}. {told} {rate_text(each.get('mass'))} of the probability "
            "lies on a valid answer."
        )
    return lines


def _dilemmas(plain: Plain, models: Mapping[str, Plain]) -> list[Section]:
    found = plain["statistics"]
    prose = [
        "Log-odds, with intervals that hold all together at 95 %: an interval that does not reach "
        "zero is a bias. In A/B every action has every place and every label, so the two tastes "
        "are told apart. The noise floor is what a blank line in the layout changes.",
    ]
    sections = [Section("What answers hang on", prose, [_bias_chart(models), _model_table(models)])]
    rows = rows_of(plain["results"], "'results'")
    sections.append(Section("What the models would do", [], _item_blocks(rows)))
    sections += _rules(models)
    sections += _differences(found)
    return [*sections, *_replies(found)]


def _differences(found: Plain) -> list[Section]:
    differences = rows_of(found.get("comparisons") or [], "'comparisons'")
    if not differences:
        return []
    columns = {
        "pair": Column("pair"),
        "figure": Column("figure"),
        "difference": Column("second less first"),
        "p_holm": Column("p (Holm)", "number"),
    }
    shown = [
        {
            **row,
            "pair": " → ".join(text(each) for each in row.get("pair") or []),
            "difference": span_text(part(row.get("difference"))),
        }
        for row in differences
    ]
    table = keyed_table("Differences", shown, columns)
    return [Section("Models compared item by item", [], [table])]


def _bias_chart(models: Mapping[str, Plain]) -> Chart:
    traces, told, places = [], [], []
    names: list[str] = []
    place = len(models) * len(_BIASES)
    for (name, each), (colour, symbol) in zip(models.items(), GROUPS * 4, strict=False):
        points, spans = [], []
        for key, title in _BIASES.items():
            found = part(part(each.get("biases")).get(key))
            value, low, high = (number(found.get(end), key) for end in ("value", "low", "high"))
            names.append(f"{title} · {name}" if len(models) > 1 else title)
            places.append(place)
            if value is not None:
                points.append((value, float(place)))
                ends = (value if low is None else low, value if high is None else high)
                spans.append((value, *ends))
                told.append(f"{name}, {title}: {value:+.2f}")
            place -= 1
        traces.append(marks(name, points, colour, symbol, 9, error_x=error_bars(spans, colour)))
    layout = {
        "xaxis": {"title": "log-odds", "zero": True},
        "yaxis": named_rows(names, places, 0.3),
        "fixed": True,
    }
    return Chart("Biases", "; ".join(told) + ".", traces, layout, height=120 + 24 * len(names))


def _model_table(models: Mapping[str, Plain]) -> Table:
    titles = ["items", "noise floor", "turn with the order", "forms agree", "entropy (bits)"]
    titles += ["answer mass", "right action", "chosen most", "by sums"]
    rows = [
        [
            name,
            text(each.get("items")),
            f"{number(each.get('noise_floor'), 'noise') or 0:.2f}",
            rate_text(each.get("flips")),
            span_text(part(each.get("consistency"))),
            span_text(part(each.get("entropy"))),
            rate_text(each.get("mass")),
            *(
                rate_text(each.get(key)) if each.get(key) else ""
                for key in ("better", "accuracy", "accuracy_unnormalised")
            ),
        ]
        for name, each in models.items()
    ]
    return Table("Figures", [Column("model"), *map(Column, titles)], rows)


def _item_blocks(rows: Sequence[Plain]) -> list[Block]:
    shown = []
    for row in rows[:_MOST]:
        chances = [number(each, "a likelihood") or 0.0 for each in row.get("likelihoods") or []]
        actions = [text(each) for each in row.get("actions") or []]
        best = max(range(len(chances)), key=lambda at: chances[at], default=0)
        shown.append(
            {
                **row,
                "chosen": cut(actions[best], 90) if actions else "",
                "likelihood": chances[best] if chances else None,
                "situation": cut(text(row.get("situation")), 110),
            }
        )
    columns = {
        "model": Column("model"),
        "situation": Column("situation"),
        "chosen": Column("likeliest action"),
        "likelihood": Column("likelihood", "number", 2),
        "entropy": Column("entropy", "number", 2),
        "consistency": Column("forms agree", "number", 2),
        "order_bias": Column("order", "signed", 2),
        "flips": Column("turns", "number", 2),
        "mass": Column("mass", "number", 2),
    }
    more = len(rows) - len(shown)
    note = f"{more:,} more are in the run record." if more > 0 else ""
    return [keyed_table("Dilemmas", shown, columns, note=note)]


def _rules(models: Mapping[str, Plain]) -> list[Section]:
    tables: list[Block] = []
    for name, each in models.items():
        rows = [
            {
                "rule": row.get("rule"),
                "rate": rate_text(row.get("rate")),
                "items": part(row.get("rate")).get("n"),
                "p_holm": row.get("p_holm"),
            }
            for row in rows_of(each.get("rules") or [], "'rules'")
        ]
        if rows:
            columns = {
                "rule": Column("rule"),
                "rate": Column("broken"),
                "items": Column("items", "whole"),
                "p_holm": Column("p against a coin (Holm)", "number"),
            }
            tables.append(keyed_table(name, rows, columns))
    prose = ["How often an action that breaks a rule is chosen where another action keeps it."]
    return [Section("Rules broken", prose, tables)] if tables else []


def _replies(found: Plain) -> list[Section]:
    rows = [dict(row) for row in rows_of(found.get("say_rate_do") or [], "'say_rate_do'")]
    if not rows:
        return []
    for row in rows:
        row["name"] = row["text"] = cut(text((row.get("reply") or [""])[0]), 160)
    gaps = [
        {
            "model": name,
            "pair": " and ".join(text(each) for each in gap.get("pair") or []),
            "r": correlation_text(gap.get("correlation")),
            "true": gap.get("disattenuated"),
        }
        for name, each in part(found.get("replies")).items()
        for gap in rows_of(part(each).get("gaps") or [], "'gaps'")
    ]
    prose = [
        "Say is the log-odds of the right action, rate how much more the model agrees that it is "
        "right, do the audit's score of its free replies. Without noise: r divided by the root of "
        "both reliabilities.",
    ]
    columns = {
        "model": Column("model"),
        "pair": Column("pair"),
        "r": Column("r"),
        "true": Column("without noise", "signed", 2),
    }
    table_columns = {
        "model": Column("model"),
        "text": Column("reply"),
        "say": Column("say", "signed", 2),
        "rate": Column("rate", "signed", 2),
        "do": Column("do", "signed", 2),
        "flagged": Column("flagged", "whole"),
    }
    chart = cloud("Saying and doing", {"dilemmas": rows}, ("say", "do"), ("say", "do"))
    blocks: list[Block] = [keyed_table("Together", gaps, columns)]
    blocks += [chart] if chart else []
    blocks.append(keyed_table("Replies", rows[:_MOST], table_columns))
    return [Section("Say, rate, do", prose, blocks)]


def _scales(plain: Plain, models: Mapping[str, Plain]) -> list[Section]:
    names: dict[str, None] = {}
    series: dict[str, list[float]] = {}
    for name, each in models.items():
        rows = rows_of(each.get("subscales") or [], "'subscales'")
        names.update(dict.fromkeys(text(row.get("subscale")) for row in rows))
        series[name] = [
            100 * (number(part(row.get("agreement")).get("value"), "agreement") or 0)
            for row in rows
        ]
    blocks: list[Block] = [bars("Agreement by subscale", series, list(names), "%")] if names else []
    figures: list[list[Any]] = [
        [
            name,
            *(span_text(part(each.get(key))) for key in ("agreement", "acquiescence", "numbering")),
        ]
        for name, each in models.items()
    ]
    titles = ("model", "agreement", "agrees with both sides by", "hangs on the numbering by")
    blocks.append(Table("Figures", list(map(Column, titles)), figures))
    columns = {
        "model": Column("model"),
        "statement": Column("statement", most=140),
        "subscale": Column("subscale"),
        "agreement": Column("agreement", "number", 2),
        "low": Column("low", "number", 2),
        "high": Column("high", "number", 2),
        "forward": Column("as it stands", "number", 2),
        "negated": Column("negated", "number", 2),
    }
    rows = rows_of(plain["results"], "'results'")[:_MOST]
    blocks.append(keyed_table("Statements", rows, columns))
    prose = ["Agreement from 0 to 1: the expected value over the scale, forwards and negated."]
    agreed = Section("How far the models agree", prose, blocks)
    return [agreed, *_differences(plain["statistics"])]
