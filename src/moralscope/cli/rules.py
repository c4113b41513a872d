"""`moralscope rules`: rules of thumb, found for exchanges, linted and listed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli import rules_attributes, rules_generate, rules_stats, rules_train
from moralscope.cli.options import Encoder, Json, Out, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord
    from moralscope.rules.show import ListedRule

app = typer.Typer(
    help="Rules of thumb: find those that concern a reply, lint and list rulebooks.",
    no_args_is_help=True,
)
app.command("stats")(rules_stats.stats)
app.command("train")(rules_train.train)
app.command("generate")(rules_generate.generate)
app.command("attributes")(rules_attributes.attributes)

Rulebooks = Annotated[
    list[str] | None,
    typer.Option(
        "--rulebook",
        metavar="FILE",
        help="Rules of your own (YAML, CSV, plain lines); again for more, over it; 'moralscope' "
        "is ours.",
    ),
]


@app.command()
def retrieve(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="CSV, JSONL or Parquet with prompt and reply."),
    ] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", help="What the person asked.")] = None,
    reply: Annotated[str | None, typer.Option("--reply", help="What the chatbot said.")] = None,
    rulebook: Rulebooks = None,
    encoder: Encoder = "minilm",
    top: Annotated[int, typer.Option("--top", min=1, max=50, help="Rules a reply.")] = 5,
    method: Annotated[
        str,
        typer.Option("--method", help="rules, or a baseline of the paper: sbert, random."),
    ] = "rules",
    known: Annotated[
        Path | None,
        typer.Option("--known", metavar="FILE", help="For sbert: annotated exchanges (MIC.csv)."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="What they are called: prompt=Q,reply=A.")
    ] = None,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Find the rules that concern a reply, or each reply of a file; none is judged.

    Example: moralscope rules retrieve --prompt "Any plans?" --reply "I'll read my ex's diary."
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.models.encoders.prepare import prepare_encoder
    from moralscope.rules import show as job
    from moralscope.rules.audit_files import one_exchange, open_exchanges, parse_columns

    options = job.RetrieveOptions(tuple(rulebook or ()), top, method, known, seed)
    job.check_options(options)
    if (file is None) == (reply is None) or (file is not None and prompt is not None):
        raise typer.BadParameter("give FILE, or --prompt and --reply, not both")
    names = parse_columns(columns)
    given = open_exchanges(file, names) if file else one_exchange(prompt, reply or "")
    model = None
    if method != "random":
        with fetching() as progress:
            model = prepare_encoder(encoder, progress)
    record = job.retrieve(given, options, encoder=model)
    emit(record, json=json, path=out, show=_show_found)


@app.command()
def lint(
    rulebook: Rulebooks = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", "-e", help="Compare meanings too, e.g. minilm; else words."),
    ] = None,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Look for duplicates, contradictions, vague rules and imbalance in rulebooks.

    Example: moralscope rules lint --rulebook house.yaml --encoder minilm
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.models.encoders.prepare import prepare_encoder
    from moralscope.rules.show import lint_rules

    model = None
    if encoder is not None:
        with fetching() as progress:
            model = prepare_encoder(encoder, progress)
    record = lint_rules(rulebook or (), encoder=model, seed=seed)
    emit(record, json=json, path=out, show=_show_lint)


@app.command()
def show(
    rulebook: Rulebooks = None,
    theme: Annotated[str, typer.Option("--theme", help="Only this theme, e.g. privacy.")] = "",
    foundation: Annotated[
        str,
        typer.Option(
            "--foundation", help="Only care, fairness, liberty, loyalty, authority or sanctity."
        ),
    ] = "",
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """List the rules of rulebooks, with severity and consensus.

    Example: moralscope rules show --theme privacy
    """
    from moralscope.cli.output import emit
    from moralscope.rules.show import show_rules

    record = show_rules(rulebook or (), theme=theme, foundation=foundation, seed=seed)
    emit(record, json=json, path=out, show=_show_rules)


def _show_found(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    for row in record.results:
        out.print(clean(f"{row.prompt[:200]} → {row.reply[:200]}"), style="bold", soft_wrap=True)
        for rule in row.rules:
            out.print(clean(f"  {rule.score:+.3f}  {rule.text}  [{_facts(rule)}]"), soft_wrap=True)
    print_warnings(record)


def _facts(rule: "ListedRule") -> str:
    numbers = (("severity", rule.severity), ("consensus", rule.consensus))
    told = [f"{name} {value:g}" for name, value in numbers if value is not None]
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
