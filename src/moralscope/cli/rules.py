"""`moralscope rules`: rules of thumb, found and written for exchanges, linted, listed, counted."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli import training
from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import (
    clean,
    counting,
    emit_to,
    fetching,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.rules.options import (
    AnnotationInput,
    AttributesInput,
    AttributesOptions,
    CheckInput,
    CheckOptions,
    ExchangeInput,
    GenerateOptions,
    LintOptions,
    RetrieveOptions,
    ShowOptions,
    StatsOptions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moralscope.core.protocols import Encoder
    from moralscope.core.records import RunRecord
    from moralscope.rules.records import ListedRule

app = typer.Typer(
    help="Rules of thumb: find those that concern a reply, lint and list rulebooks.",
    no_args_is_help=True,
)
Best = Annotated[
    Path | None,
    typer.Option(
        "--best",
        metavar="FILE.jsonl",
        rich_help_panel="Output",
        help="Write the best rule of each, for 'reproduce integrity --generated'.",
    ),
]


@app.command()
@takes
def stats(source: AnnotationInput, options: StatsOptions, output: ReportOutput) -> None:
    """Count annotations; show how attributes are distributed and how far people agree.

    Figure 2 and section 4 of Ziems et al. 2022, beside the paper's. The texts may offend.

    Example: moralscope rules stats MIC.csv --malformed skip
    """
    from moralscope.io.tables import parse_columns
    from moralscope.rules.annotations import stats

    columns = parse_columns(source.columns)
    emit_to(output, stats(source.file, options, columns=columns), _show_stats)


app.command("train")(training.rules_train)


@app.command()
@takes
def generate(
    source: ExchangeInput, options: GenerateOptions, output: RecordOutput, best: Best = None
) -> None:
    """Write rules of thumb for a reply, or for each reply of a file; none is judged.

    Example: moralscope rules generate --prompt "Any plans?" --reply "I'll read my ex's diary."
    """
    from moralscope.io.files import check_writable
    from moralscope.rules import rule_writer as job
    from moralscope.rules.exchanges import read_exchanges

    if best is not None:
        check_writable(best)
    starting(options.generator, reading=source.file, quiet=output.json)
    given = read_exchanges(source)
    with fetching() as progress:
        ready = job.prepare_writing(options, progress)
    with counting("exchanges") as report:
        record = job.generate_rules(given, options, ready=ready, report=report)
    if best is not None:
        job.write_best(record, best)
    emit_to(output, record, _show_written)


@app.command()
@takes
def attributes(source: AttributesInput, options: AttributesOptions, output: RecordOutput) -> None:
    """Estimate foundations, severity and consensus of rules, and how replies stand to them.

    Example: moralscope rules attributes --rule "It is wrong to lie." --experts my-experts
    """
    from moralscope.io.tables import parse_columns
    from moralscope.rules import attributes as job

    starting(options.experts, reading=source.file, quiet=output.json)
    if source.file is not None:
        asked = job.read_rule_queries(source.file, parse_columns(source.columns))
    else:
        asked = job.rule_queries(source.rule, source.prompt, source.reply)
    with fetching() as progress:
        ready = job.prepare_attributes(options.experts, progress)
    emit_to(output, job.attributes(asked, options, models=ready), _show_attributes)


@app.command()
@takes
def retrieve(source: ExchangeInput, options: RetrieveOptions, output: RecordOutput) -> None:
    """Find the rules that concern a reply, or each reply of a file; none is judged.

    Example: moralscope rules retrieve --prompt "Any plans?" --reply "I'll read my ex's diary."
    """
    from moralscope.rules.exchanges import read_exchanges
    from moralscope.rules.retrieval import retrieve

    needed = None if options.method == "random" else options.encoder
    starting(needed, reading=source.file, quiet=output.json)
    given = read_exchanges(source)
    model = None if options.method == "random" else _encoder(options.encoder)
    emit_to(output, retrieve(given, options, model=model), _show_found)


@app.command()
@takes
def lint(options: LintOptions, output: RecordOutput) -> None:
    """Look for duplicates, contradictions, vague rules and imbalance in rulebooks.

    Example: moralscope rules lint --rulebook house.yaml --encoder minilm
    """
    from moralscope.rules.show import lint_rules

    model = _encoder(options.encoder) if options.encoder is not None else None
    emit_to(output, lint_rules(options, model=model), _show_lint)


@app.command()
@takes
def check(source: CheckInput, options: CheckOptions, output: RecordOutput) -> None:
    """Find rules that contradict each other, overlap, never fire or fire on everything.

    Rules are compared with each other and tried on replies; each finding comes with the exchange
    that shows it.

    Example: moralscope rules check house.yaml --replies replies.jsonl
    """
    from moralscope.rules import check as job
    from moralscope.rules.exchanges import open_exchanges, parse_columns
    from moralscope.rules.rulebook import load_layers

    given = None
    starting(options.experts, reading=source.replies, quiet=output.json)
    if source.replies is not None:
        given = open_exchanges(source.replies, parse_columns(source.columns))
    book = load_layers(options.rulebooks)
    with fetching() as progress:
        models = job.prepare_check(options, book, progress)
    record = job.check_rules(options, replies=given, book=book, models=models)
    emit_to(output, record, _show_check)


@app.command()
@takes
def show(options: ShowOptions, output: RecordOutput) -> None:
    """List the rules of rulebooks, with severity and consensus.

    Example: moralscope rules show --theme privacy
    """
    from moralscope.rules.show import show_rules

    emit_to(output, show_rules(options), _show_rules)


def _encoder(name: str) -> "Encoder":
    from moralscope.models.encoders import load_encoder

    with fetching() as progress:
        return load_encoder(name, progress)


def _show_found(record: "RunRecord") -> None:
    for row in record.results:
        out.print(clean(f"{row.prompt[:200]} → {row.reply[:200]}"), style="bold", soft_wrap=True)
        for rule in row.rules:
            out.print(clean(f"  {rule.score:+.3f}  {rule.text}  [{_facts(rule)}]"), soft_wrap=True)
    print_warnings(record)


def _facts(rule: "ListedRule") -> str:
    told = [f"{name} {value:g}" for name, value in rule.scales.items() if value is not None]
    return ", ".join([*rule.foundations, *told]) or rule.source


def _show_lint(record: "RunRecord") -> None:
    for found in record.results:
        score = "" if found.score is None else f" {found.score:.2f}"
        out.print(clean(f"{found.kind}{score}: {found.message}"), soft_wrap=True)
    counts = record.statistics["findings"].items()
    line = ", ".join(f"{count} {kind}" for kind, count in counts)
    rules = record.statistics["rules"]
    out.print(clean(f"{record.config['rulebook']}: {rules:,} rules; {line}"), style="bold")
    print_warnings(record)


def _show_check(record: "RunRecord") -> None:
    for found in record.results:
        out.print(clean(f"{found.kind}: {found.message}"), soft_wrap=True)
        if found.reply is not None:
            shown = f"{found.prompt[:200]} → {found.reply[:200]}" if found.prompt else found.reply
            out.print(clean(f"  shown by: {shown}"), style="dim", soft_wrap=True)
        if found.wins is not None:
            out.print(clean(f"  wins: {found.wins}"), style="dim", soft_wrap=True)
    told = record.statistics
    line = ", ".join(f"{count} {kind}" for kind, count in told["findings"].items())
    name = record.config["rulebook"]
    about = f"{name}: {told['rules']:,} rules on {told['replies']:,} replies; {line}"
    out.print(clean(about), style="bold")
    print_warnings(record)


def _show_rules(record: "RunRecord") -> None:
    theme = None
    for rule in record.results:
        if rule.theme != theme:
            theme = rule.theme
            out.print(clean(theme or "no theme"), style="bold")
        out.print(clean(f"  {rule.text}  [{_facts(rule)}]"), soft_wrap=True)
    found = record.statistics["foundations"].items()
    shares = ", ".join(f"{name} {count}" for name, count in found)
    name = record.config["rulebook"]
    out.print(clean(f"{name}: {len(record.results):,} rules; first foundation: {shares}"))
    print_warnings(record)


def _show_stats(record: "RunRecord") -> None:
    sizes = record.statistics["counts"]
    unit = "situations" if record.config["kind"] == "social-chem" else "exchanges"
    out.print(
        f"{sizes.annotations:,} annotations of {sizes.exchanges:,} {unit} "
        f"({sizes.prompts:,} prompts), {sizes.rules:,} different rules",
        style="bold",
    )
    out.print(
        f"annotations an exchange: {sizes.per_exchange:.2f}; words a rule: {sizes.words:.1f}; "
        f"repeated rules: {sizes.repeated_rules:,}; revised replies: {sizes.revised:,}"
    )
    table = plain_table("attribute", "value", "annotations", "share", "paper", "reply disagrees")
    shares = record.statistics["paper"]["shares"]
    for bar in record.results:
        wrong = "" if bar.disagree is None else f"{bar.disagree:.0%}"
        paper = f"{shares[bar.value]:.0%}" if bar.value in shares else ""
        table.add_row(bar.attribute, bar.value, f"{bar.count:,}", f"{bar.share:.1%}", paper, wrong)
    out.print(table)
    found, printed = record.statistics, record.statistics["paper"]["reliability"]
    _show_reliability("agreement about one rule", found["reliability_same_rule"], printed)
    title = "agreement about one exchange, each with a rule of their own"
    _show_reliability(title, found["reliability_own_rules"], {})
    split = found["split"]
    if split is not None:
        whose = "the file's own" if split["official"] else "ours, 80-10-10"
        counts = ", ".join(f"{part} {count:,}" for part, count in split["exchanges"].items())
        out.print(f"by part ({whose}): {counts}")
    print_warnings(record)


def _show_reliability(title: str, rows: "Sequence[Any]", printed: Any) -> None:
    if not rows:
        return
    table = plain_table(
        "attribute", "units", "alpha", "interval", "paper", "ICC(1, k)", "paper ", title=title
    )
    for row in rows:
        paper = printed.get(row.attribute, {})
        table.add_row(
            row.attribute,
            f"{row.units:,}",
            _number(row.alpha),
            f"{_number(row.low)} … {_number(row.high)}" if _number(row.low) else "",
            _number(paper.get("alpha")),
            _number(row.icc),
            _number(paper.get("ICC(1, k)")),
        )
    out.print(table)


def _number(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.2f}"


def _show_written(record: "RunRecord") -> None:
    for row in record.results:
        out.print(clean(f"{row.prompt[:200]} → {row.reply[:200]}"), style="bold", soft_wrap=True)
        if row.refusal:
            out.print(clean(f"  no rules: {row.refusal}"), soft_wrap=True)
        for rule in row.rules:
            named = sorted(rule.foundations, key=lambda name: -rule.foundations[name])[:1]
            numbers = rule.scales.items()
            told = [f"{name} {value:.1f}" for name, value in numbers if value is not None]
            facts = f"{rule.evidence}: {', '.join([*named, *told])}" if told else rule.evidence
            out.print(clean(f"  {rule.score:+.3f}  {rule.text}  [{facts}]"), soft_wrap=True)
        for left in row.left_out:
            out.print(clean(f"  left out: {left.text[:200]} ({left.reason})"), soft_wrap=True)
    print_warnings(record)


def _show_attributes(record: "RunRecord") -> None:
    for row in record.results:
        out.print(clean(row.rule[:300]), style="bold", soft_wrap=True)
        if row.reply is not None:
            out.print(clean(f"  {row.alignment}: {row.reply[:200]}"), soft_wrap=True)
        chances = ", ".join(f"{name} {value:.2f}" for name, value in row.probabilities.items())
        if row.foundations is not None:
            out.print(f"  {', '.join(row.foundations) or 'no foundation'} ({chances})")
        for name, value in row.scales.items():
            if value is not None:
                out.print(f"  {name} {value:.1f}")
    print_warnings(record)
