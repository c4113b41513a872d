"""`moralscope audit`: which rules of thumb a chatbot's replies keep or break."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.corpus_options import (
    CorpusGiven,
    DryRun,
    Engine,
    Gpus,
    Limit,
    OutPlace,
    Price,
    RayAddress,
    Resume,
    Sample,
    Workers,
    corpus_options,
    record_place,
    wants_corpus,
)
from moralscope.cli.options import Json, Report, Seed

if TYPE_CHECKING:
    from rich.table import Table

    from moralscope.core.records import RunRecord

_MARKS = {"disagree": "breaks", "agree": "keeps", "neither": "does not concern"}
_SHORT = 100


def audit(
    file: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="CSV, JSONL or Parquet with prompt and reply; several, a folder, a glob or a URL "
            "are a corpus.",
        ),
    ] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", help="What the person asked.")] = None,
    reply: Annotated[str | None, typer.Option("--reply", help="What the chatbot said.")] = None,
    rulebook: Annotated[
        list[str] | None,
        typer.Option(
            "--rulebook",
            metavar="FILE",
            help="Rules of your own (YAML or CSV); again for more, over it; 'moralscope' is ours.",
        ),
    ] = None,
    experts: Annotated[
        str,
        typer.Option("--experts", help="mpnet, minilm, scripted, or a folder of trained experts."),
    ] = "mpnet",
    encoder: Annotated[
        str | None, typer.Option("--encoder", "-e", help="What finds rules; else the same base.")
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, max=50, help="Rules asked about a reply.")
    ] = 5,
    revise: Annotated[
        bool, typer.Option("--revise", help="Also write a better reply for each flagged one.")
    ] = False,
    generator: Annotated[
        str, typer.Option("--generator", help="What writes it: smollm2, a folder, openai:MODEL.")
    ] = "smollm2",
    generate: Annotated[
        bool, typer.Option("--generate", help="Also write rules for each exchange.")
    ] = False,
    writer: Annotated[
        str, typer.Option("--writer", help="What writes rules: rules, a folder, scripted.")
    ] = "rules",
    exact: Annotated[
        bool, typer.Option("--exact", help="Compute in 32 bits: on a CPU 8 are usual and faster.")
    ] = False,
    gate: Annotated[
        str | None,
        typer.Option(
            "--gate", metavar="EXPR", help='Exit with 3 unless it holds, e.g. "flagged<=0.02".'
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="Another bot's replies to the prompts."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="What they are called: prompt=Q,reply=A.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Other thresholds (TOML).")
    ] = None,
    json: Json = False,
    out: OutPlace = None,
    report: Report = None,
    seed: Seed = 0,
    resume: Resume = False,
    engine: Engine = None,
    workers: Workers = None,
    limit: Limit = None,
    sample: Sample = None,
    dry_run: DryRun = False,
    ray_address: RayAddress = None,
    gpus: Gpus = None,
    price: Price = None,
) -> None:
    """Audit replies: rules they keep or break, how severe, how many would agree, and a verdict.

    Several rules, even conflicting ones, apply at once; the verdict rests on the worst broken one.
    Where no rule applies, or the text is not English, it abstains. Nothing leaves this machine.

    With --out DIR the input is worked through as a corpus of any size, and the verdicts go into
    Parquet parts beside all its columns.

    Example: moralscope audit replies.jsonl --gate "flagged<=0.02" --report audit.html
    """
    from moralscope.cli.output import counting, emit, fetching
    from moralscope.rules import audit as job

    options = job.AuditOptions(
        tuple(rulebook or ()),
        experts,
        encoder,
        top,
        revise,
        generator,
        generate,
        writer,
        exact,
        config,
        gate,
        seed,
    )
    job.check_options(options, paired=against is not None)
    inputs = list(file or ())
    wanted = CorpusGiven(engine, workers, limit, sample, dry_run, ray_address, gpus, price, resume)
    if wants_corpus(inputs, out, wanted):
        if against is not None or prompt is not None or reply is not None:
            raise typer.BadParameter("--against, --prompt and --reply go with one run record")
        _over_corpus(options, inputs, out, wanted, columns, (json, report))
        return
    place = record_place(out)
    given = _given(Path(inputs[0]) if inputs else None, prompt, reply, columns)
    other = _given(against, None, None, columns) if against else None
    with fetching() as progress:
        models = job.prepare_auditor(options, progress)
    with counting("replies") as step:
        record = job.audit(given, options, models=models, against=other, report=step)
    emit(record, json=json, path=place, show=show_audit, report=report)
    if record.statistics["gate"] is not None:
        record.statistics["gate"].require()


def _over_corpus(
    asked: Any,
    inputs: list[str],
    out: str | None,
    given: CorpusGiven,
    columns: str | None,
    rest: tuple[bool, Path | None],
) -> None:
    from moralscope.axes.corpus import parse_corpus_columns
    from moralscope.cli.corpus_runs import run_corpus_job

    json, report = rest
    names = parse_corpus_columns(columns, "audit")
    options = corpus_options(inputs, out, given, names, asked.seed)
    found = run_corpus_job(asked, options, given, json=json, report=report, show=show_audit)
    if found.statistics.get("gate") is not None:
        found.statistics["gate"].require()


def _given(file: Path | None, prompt: str | None, reply: str | None, columns: str | None) -> Any:
    """Return the file, opened and checked, or the one exchange of the command line."""
    from moralscope.rules.audit_files import one_exchange, open_exchanges, parse_columns

    names = parse_columns(columns)
    if file is not None:
        if prompt is not None or reply is not None:
            raise typer.BadParameter("give FILE, or --prompt and --reply, not both")
        return open_exchanges(file, names)
    if reply is None:
        raise typer.BadParameter("give FILE, or --prompt and --reply")
    return one_exchange(prompt, reply)


def show_audit(record: "RunRecord") -> None:
    """Draw one reply in full, several as figures."""
    from moralscope.cli.output import out, print_warnings

    if len(record.results) == 1:
        _show_one(record.results[0])
    else:
        _show_many(record)
    paired, gate = record.statistics["against"], record.statistics["gate"]
    if paired:
        out.print(_paired(paired))
    if gate is not None:
        values = ", ".join(f"{check.name} is {check.value:.4g}" for check in gate.checks)
        out.print(f"gate {'met' if gate.met else 'not met'}: {values}", markup=False)
    print_warnings(record)


def _show_one(row: Any) -> None:
    from moralscope.cli.output import BAD, GOOD, clean, out, plain_table

    table = plain_table("reply", "rule ", "P", "severity", "consensus", "foundations", "evidence")
    table.columns[1].justify = "left"
    for rule in row.rules:
        named = [name for name, value in rule.foundations.items() if value >= 0.5]
        label = rule.alignment.label
        style = {"disagree": BAD, "agree": GOOD}.get(label, "dim")
        table.add_row(
            f"[{style}]{_MARKS[label]}[/]",
            clean(rule.text),
            f"{rule.alignment.probabilities[label]:.2f}",
            *("" if value is None else f"{value:.1f}" for value in (rule.severity, rule.consensus)),
            ", ".join(named),
            rule.evidence,
        )
    out.print(table)
    word = "flagged" if row.verdict.flag else "not flagged"
    style = BAD if row.verdict.flag else GOOD
    out.print(f"{word}, score {row.verdict.score:+.2f}", style=style)
    out.print(clean(row.verdict.reason))
    if row.revised_reply is not None:
        out.print(f"revised reply (by {row.revised_by}):", style="bold")
        out.print(clean(row.revised_reply))


def _show_many(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table

    found = record.statistics
    rate, none = found["flagged"], found["abstained"]
    out.print(
        f"{rate.value:.1%} of {rate.n:,} replies flagged ({rate.low:.1%} … {rate.high:.1%}), "
        f"no verdict on {none.value:.1%}; mean score {found['score']['mean']:+.3f}",
        style="bold",
    )
    table = plain_table("foundation", "flagged", "share")
    for row in found["foundations"]:
        table.add_row(row["foundation"], f"{row['flagged']:,}", f"{row['share']:.1%}")
    out.print(table)
    if found["rules"]:
        table = plain_table("most broken rules", "broken", "kept")
        for row in found["rules"][:10]:
            table.add_row(clean(row["rule"]), f"{row['broken']:,}", f"{row['kept']:,}")
        out.print(table)
    if found["worst"]:
        table = plain_table("worst replies", "score", "id")
        for row in found["worst"][:10]:
            table.add_row(clean(row["reply"][:_SHORT]), f"{row['score']:+.2f}", clean(row["id"]))
        out.print(table)
    if record.config.get("revise"):
        where = "" if "corpus" in found else ": --json or --out"
        out.print(f"{found['revised']:,} revised replies{where}")


def _paired(found: Any) -> "Table":
    from moralscope.cli.output import plain_table

    table = plain_table("against", "here", "there", "change", "p")
    share, score = found["flagged_change"], found["score_change"]
    table.add_row(
        "flagged",
        f"{found['flagged_here'].value:.1%}",
        f"{found['flagged_there'].value:.1%}",
        f"{share['value']:+.1%} ({share['low']:+.1%} … {share['high']:+.1%})",
        f"{found['p']:.3g}",
    )
    span = f"{score['value']:+.3f} ({score['low']:+.3f} … {score['high']:+.3f})"
    table.add_row("score", "", "", span, "")
    return table
