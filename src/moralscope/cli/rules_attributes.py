"""`moralscope rules attributes`: what trained experts say of given rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.options import Json, Out, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord


def attributes(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="CSV with prompt, reply and rule, or MIC.csv."),
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="A rule; again for more.")
    ] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", help="What the person asked.")] = None,
    reply: Annotated[str | None, typer.Option("--reply", help="What the chatbot said.")] = None,
    experts: Annotated[
        str, typer.Option("--experts", help="A folder that 'rules train' wrote, or scripted.")
    ] = "mpnet",
    columns: Annotated[
        str | None, typer.Option("--columns", help="What they are called: prompt=Q,rule=rot.")
    ] = None,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Estimate foundations, severity and consensus of rules, and how replies stand to them.

    Example: moralscope rules attributes --rule "It is wrong to lie." --experts my-experts
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.io.columns import parse_columns
    from moralscope.rules import estimate as job

    if (file is None) == (not rule) or (file is not None and reply is not None):
        raise typer.BadParameter("give FILE, or --rule (with --prompt and --reply), not both")
    if file is not None:
        asked = job.read_asked(file, parse_columns(columns))
    else:
        asked = job.asked_rules(rule or [], prompt, reply)
    with fetching() as progress:
        ready = job.prepare_attributes(experts, progress)
    record = job.attributes(asked, ready, seed=seed)
    emit(record, json=json, path=out, show=_show)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    for row in record.results:
        out.print(clean(row.rule[:300]), style="bold", soft_wrap=True)
        if row.reply is not None:
            out.print(clean(f"  {row.alignment}: {row.reply[:200]}"), soft_wrap=True)
        chances = ", ".join(f"{name} {value:.2f}" for name, value in row.probabilities.items())
        if row.foundations is not None:
            out.print(f"  {', '.join(row.foundations) or 'no foundation'} ({chances})")
        for name in ("severity", "consensus"):
            if getattr(row, name) is not None:
                out.print(f"  {name} {getattr(row, name):.1f}")
    print_warnings(record)
