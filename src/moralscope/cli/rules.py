"""`moralscope rules`: rules of thumb, found for exchanges, linted and listed."""

from typing import TYPE_CHECKING

import typer

from moralscope.cli import rules_attributes, rules_generate, rules_stats, rules_train
from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput
from moralscope.rules.options import ExchangeInput, LintOptions, RetrieveOptions, ShowOptions

if TYPE_CHECKING:
    from moralscope.core.protocols import Encoder
    from moralscope.core.records import RunRecord
    from moralscope.rules.records import ListedRule

app = typer.Typer(
    help="Rules of thumb: find those that concern a reply, lint and list rulebooks.",
    no_args_is_help=True,
)
app.command("stats")(rules_stats.stats)
app.command("train")(rules_train.train)
app.command("generate")(rules_generate.generate)
app.command("attributes")(rules_attributes.attributes)


@app.command()
@takes
def retrieve(source: ExchangeInput, options: RetrieveOptions, output: RecordOutput) -> None:
    """Find the rules that concern a reply, or each reply of a file; none is judged.

    Example: moralscope rules retrieve --prompt "Any plans?" --reply "I'll read my ex's diary."
    """
    from moralscope.cli.output import emit_to
    from moralscope.rules.audit_files import read_exchanges
    from moralscope.rules.retrieval import retrieve

    given = read_exchanges(source)
    model = None if options.method == "random" else _encoder(options.encoder)
    emit_to(output, retrieve(given, options, model=model), _show_found)


@app.command()
@takes
def lint(options: LintOptions, output: RecordOutput) -> None:
    """Look for duplicates, contradictions, vague rules and imbalance in rulebooks.

    Example: moralscope rules lint --rulebook house.yaml --encoder minilm
    """
    from moralscope.cli.output import emit_to
    from moralscope.rules.lint import lint_rules

    model = _encoder(options.encoder) if options.encoder is not None else None
    emit_to(output, lint_rules(options, model=model), _show_lint)


@app.command()
@takes
def show(options: ShowOptions, output: RecordOutput) -> None:
    """List the rules of rulebooks, with severity and consensus.

    Example: moralscope rules show --theme privacy
    """
    from moralscope.cli.output import emit_to
    from moralscope.rules.show import show_rules

    emit_to(output, show_rules(options), _show_rules)


def _encoder(name: str) -> "Encoder":
    from moralscope.cli.output import fetching
    from moralscope.models.encoders import load_encoder

    with fetching() as progress:
        return load_encoder(name, progress)


def _show_found(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    for row in record.results:
        out.print(clean(f"{row.prompt[:200]} → {row.reply[:200]}"), style="bold", soft_wrap=True)
        for rule in row.rules:
            out.print(clean(f"  {rule.score:+.3f}  {rule.text}  [{_facts(rule)}]"), soft_wrap=True)
    print_warnings(record)


def _facts(rule: "ListedRule") -> str:
    told = [f"{name} {value:g}" for name, value in rule.scales.items() if value is not None]
    return ", ".join([*rule.foundations, *told]) or rule.source


def _show_lint(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    for found in record.results:
        score = "" if found.score is None else f" {found.score:.2f}"
        out.print(clean(f"{found.kind}{score}: {found.message}"), soft_wrap=True)
    counts = record.statistics["findings"].items()
    line = ", ".join(f"{count} {kind}" for kind, count in counts)
    rules = record.statistics["rules"]
    out.print(clean(f"{record.config['rulebook']}: {rules:,} rules; {line}"), style="bold")
    print_warnings(record)


def _show_rules(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

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
