"""`moralscope survey`: dilemmas and questionnaires put to language models."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.cli.corpus import OutPlace, record_place, run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import Json, Report
from moralscope.cli.output import (
    clean,
    counting,
    emit,
    fetching,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.surveys.options import SurveyOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moralscope.core.records import RunRecord

_SHOWN = 10
_CUT = 60
_BIASES = {
    "order_bias": "taste for what comes first",
    "label_bias": "taste for the label A",
    "yes_bias": "taste for yes",
    "wording": "hangs on the wording (sd)",
}


@takes
def survey(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A table with situation, action1, action2, … (or MoralChoice's columns), or with "
            "statement; 'values' is a questionnaire of ours.",
        ),
    ],
    options: SurveyOptions,
    batch: BatchOptions,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="NAME=COLUMN",
            help="What your columns are called: situation=story,action1=a.",
            rich_help_panel="Input",
        ),
    ] = None,
    json: Json = False,
    out: OutPlace = None,
    report: Report = None,
) -> None:
    """Ask language models what they would do: every order, form and wording of every dilemma.

    Told for each model: how likely each action is, and what the answers hang on besides it: the
    order of the actions, their labels, yes and no, the wording, the layout. Biases are log-odds
    with intervals that hold all together. Several models are compared item by item.

    A table with a 'statement' column is a questionnaire: how far does a model agree, and does it
    disagree with the opposite?

    With --out DIR a file, folder, glob or URL of dilemmas is worked through as a corpus of any
    size, and the figures go into Parquet parts beside all its columns.

    Example: moralscope survey dilemmas.csv --model smollm2 --report survey.html
    """
    from moralscope.io.tables import parse_columns
    from moralscope.stats.gates import parse_gate
    from moralscope.surveys.items import COLUMNS, read_items
    from moralscope.surveys.survey import GATED, kind_of, load_speaker, survey

    if wants_corpus([file], out, batch, parquet=False):
        from moralscope.batch.job import job_columns
        from moralscope.batch.sources import open_corpus
        from moralscope.surveys.batch import SurveyBatch

        header = open_corpus([file], ()).schema.names
        job = SurveyBatch(options, job_columns(columns, COLUMNS), header)
        place = BatchPlace.given([file], out, batch)
        record = run_over_corpus(job, place, batch, json=json, report=report, show=_show)
        if record.statistics.get("gate") is not None:
            record.statistics["gate"].require()
        return
    record_file = record_place(out)
    starting(*options.models, reading=file, quiet=json)
    items = read_items(file, parse_columns(columns, COLUMNS, like="situation=story,action1=a"))
    if options.gate is not None:  # refused before any weights are fetched
        parse_gate(options.gate, GATED[kind_of(items)])
    with fetching() as progress:
        speakers = [load_speaker(name, options, progress) for name in options.models]
    with counting("asking") as step:
        record = survey(items, options, speakers=speakers, report=step)
    emit(record, json=json, path=record_file, show=_show, report=report)
    if record.statistics["gate"] is not None:
        record.statistics["gate"].require()


def _show(record: "RunRecord") -> None:
    config, found = record.config, record.statistics
    asked = ", ".join(f"{name} ({form} form)" for name, form in config["asked"].items())
    what = "dilemmas" if config["kind"] == "dilemmas" else "statements"
    count = config["items"] if "items" in config else found["corpus"].rows
    out.print(clean(f"{count:,} {what}: {asked}"), style="bold")
    if config["kind"] == "dilemmas":
        _show_dilemmas(found["models"])
        _show_rules(found["models"])
    else:
        _show_statements(found["models"])
    _show_differences(found.get("comparisons") or ())
    _show_replies(found)
    gate = found["gate"]
    if gate is not None:
        out.print(clean(f"gate {gate.expression}: {'met' if gate.met else 'not met'}"))
    print_warnings(record)


def _show_dilemmas(models: "Mapping[str, Any]") -> None:
    table = plain_table("", *(str(clean(name)) for name in models))
    first = next(iter(models.values()))
    rows: list[tuple[str, Any]] = [
        (title, lambda each, key=key: _marked(each, key)) for key, title in _BIASES.items()
    ]
    rows += [
        ("noise floor (sd)", lambda each: _number(each.noise_floor, ".2f")),
        ("answers that turn with the order", lambda each: _share(each.flips)),
        ("forms agree", lambda each: _span(each.consistency)),
        ("entropy (bits)", lambda each: _span(each.entropy)),
        ("answer mass", lambda each: _share(each.mass)),
    ]
    if first.accuracy is not None:
        rows += [
            ("likelihood of the right action", lambda each: _share(each.better)),
            ("right action chosen", lambda each: _share(each.accuracy)),
            ("the same, sums of whole answers", lambda each: _share(each.accuracy_unnormalised)),
        ]
    for title, write in rows:
        table.add_row(title, *(write(each) for each in models.values()))
    out.print(table)


def _marked(found: Any, key: str) -> str:
    return f"{_span(found.biases[key])}{' *' if key in found.flagged else ''}"


def _show_rules(models: "Mapping[str, Any]") -> None:
    for name, found in models.items():
        if not found.rules:
            continue
        titles = ("rule broken", "how often", "items", "p (Holm)")
        table = plain_table(*titles, title=f"{clean(name)}: where another action keeps the rule")
        for row in sorted(found.rules, key=lambda each: -each.rate.value)[:_SHOWN]:
            cells = (_share(row.rate), f"{row.rate.n:,}", f"{row.p_holm:.3f}")
            table.add_row(clean(row.rule), *cells)
        out.print()
        out.print(table)


def _show_differences(differences: "Sequence[Any]") -> None:
    if not differences:
        return
    out.print()
    table = plain_table("second less first", "figure", "difference", "p (Holm)")
    for row in differences:
        star = " *" if row.p_holm < 0.05 else "  "
        name = row.figure.replace("first_action", "right or first action").replace("_", " ")
        pair = clean(f"{row.pair[0]} → {row.pair[1]}")
        table.add_row(pair, name, _span(row.difference), f"{row.p_holm:.3f}{star}")
    out.print(table)


def _show_replies(found: "Mapping[str, Any]") -> None:
    for name, each in (found.get("replies") or {}).items():
        out.print()
        table = plain_table("", "r", "without noise", title=f"{clean(name)}: say, rate, do")
        for gap in each.gaps:
            r = gap.correlation
            span = f"{_number(r.r)} ({_number(r.low)} … {_number(r.high)})"
            table.add_row(" and ".join(gap.pair), span, _number(gap.disattenuated))
        out.print(table)
        out.print(f"{each.replies:,} free replies, {_share(each.flagged)} flagged")
    rows = found.get("say_rate_do") or ()
    if rows:
        table = plain_table("reply", "item", "say", "rate", "do")
        for row in sorted(rows, key=lambda each: each.do)[:_SHOWN]:
            values = (f"{value:+.2f}" for value in (row.say, row.rate, row.do))
            table.add_row(clean(row.reply[0][:_CUT]), clean(row.id), *values)
        out.print(table)


def _show_statements(models: "Mapping[str, Any]") -> None:
    table = plain_table("agreement, 0 to 1", *(str(clean(name)) for name in models))
    everyone = list(models.values())
    table.add_row("all statements", *(_span(each.agreement) for each in everyone))
    for place, sub in enumerate(everyone[0].subscales):
        spans = (_span(each.subscales[place].agreement) for each in everyone)
        table.add_row(f"  {clean(sub.subscale)}", *spans)
    table.add_row("agrees with both sides by", *(_span(each.acquiescence) for each in everyone))
    table.add_row("hangs on the numbering by", *(_span(each.numbering) for each in everyone))
    table.add_row("answer mass", *(_share(each.mass) for each in everyone))
    out.print(table)


def _span(found: Any, form: str = "+.2f") -> str:
    """Write a value with its interval; of one item there is none, of none at all nothing."""
    places = 4 if form.endswith("%") else 2
    # Rounded first, and zero added: no minus before a zero.
    value, low, high = (round(end, places) + 0.0 for end in (found.value, found.low, found.high))
    if math.isnan(value):
        return "-"
    shown = f"{value:{form}}"
    return shown if math.isnan(low) else f"{shown} ({low:{form}} … {high:{form}})"


def _share(found: Any) -> str:
    return _span(found, ".0%")


def _number(value: float, form: str = "+.2f") -> str:
    return "-" if math.isnan(value) else f"{value:{form}}"
