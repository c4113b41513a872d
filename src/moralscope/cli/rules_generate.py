"""`moralscope rules generate`: rules of thumb written for a reply, or for each reply of a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.options import Encoder, Json, Out, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord


def generate(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="CSV, JSONL or Parquet with prompt and reply."),
    ] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", help="What the person asked.")] = None,
    reply: Annotated[str | None, typer.Option("--reply", help="What the chatbot said.")] = None,
    generator: Annotated[
        str,
        typer.Option(
            "--generator", help="'rules' is ours; or a folder of 'rules train generator'."
        ),
    ] = "rules",
    adapter: Annotated[
        Path | None,
        typer.Option("--adapter", metavar="DIR", help="LoRA weights for the generator named."),
    ] = None,
    decoding: Annotated[
        str, typer.Option("--decoding", help="beam (3), nucleus (0.9) or greedy.")
    ] = "beam",
    keep: Annotated[
        int, typer.Option("--keep", min=1, max=3, help="Hypotheses kept, at most.")
    ] = 3,
    rulebook: Annotated[
        list[str] | None,
        typer.Option(
            "--rulebook",
            metavar="FILE",
            help="Rules that need not be written again; again for more, over it.",
        ),
    ] = None,
    encoder: Encoder = "minilm",
    columns: Annotated[
        str | None, typer.Option("--columns", help="What they are called: prompt=Q,reply=A.")
    ] = None,
    best: Annotated[
        Path | None,
        typer.Option(
            "--best",
            metavar="FILE.jsonl",
            help="Write the best rule of each, for 'reproduce integrity --generated'.",
        ),
    ] = None,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Write rules of thumb for a reply, or for each reply of a file; none is judged.

    Example: moralscope rules generate --prompt "Any plans?" --reply "I'll read my ex's diary."
    """
    from moralscope.cli.output import counting, emit, fetching
    from moralscope.io.run_records import check_writable
    from moralscope.rules import generate as job
    from moralscope.rules.audit_files import one_exchange, open_exchanges, parse_columns

    options = job.GenerateOptions(
        generator, adapter, encoder, tuple(rulebook or ()), decoding, keep, seed
    )
    job.check_options(options)
    if (file is None) == (reply is None) or (file is not None and prompt is not None):
        raise typer.BadParameter("give FILE, or --prompt and --reply, not both")
    if best is not None:
        check_writable(best)
    names = parse_columns(columns)
    given = open_exchanges(file, names) if file else one_exchange(prompt, reply or "")
    with fetching() as progress:
        ready = job.prepare_writing(options, progress)
    with counting("exchanges") as report:
        record = job.generate_rules(given, options, ready=ready, report=report)
    if best is not None:
        job.write_best(record, best)
    emit(record, json=json, path=out, show=_show)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    for row in record.results:
        out.print(clean(f"{row.prompt[:200]} → {row.reply[:200]}"), style="bold", soft_wrap=True)
        if row.refusal:
            out.print(clean(f"  no rules: {row.refusal}"), soft_wrap=True)
        for rule in row.rules:
            named = sorted(rule.foundations, key=lambda name: -rule.foundations[name])[:1]
            numbers = (("severity", rule.severity), ("consensus", rule.consensus))
            told = [f"{name} {value:.1f}" for name, value in numbers if value is not None]
            facts = f"{rule.evidence}: {', '.join([*named, *told])}" if told else rule.evidence
            out.print(clean(f"  {rule.score:+.3f}  {rule.text}  [{facts}]"), soft_wrap=True)
        for left in row.left_out:
            out.print(clean(f"  left out: {left.text[:200]} ({left.reason})"), soft_wrap=True)
    print_warnings(record)
