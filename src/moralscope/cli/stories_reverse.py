"""`moralscope stories reverse`: norms with the opposite judgment."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.options import Json, Out, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

_SHOWN = 20  # norms that could not be read, on the screen


def reverse(
    norms: Annotated[
        list[str] | None, typer.Argument(metavar="[NORM]...", help="Norms, each in quotes.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="STORIES",
            help="Stories (JSONL) whose norms are reversed; else those of MORALSCOPE_DATA.",
        ),
    ] = None,
    variants: Annotated[
        int, typer.Option("--variants", min=1, max=50, help="Wordings of each norm, at most.")
    ] = 3,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Reverse norms: what kept the norm now breaks it. For stories, say how many can be reversed.

    Rules only, no model: "It's rude to lie." turns into "It's polite to lie.", "You should lie."
    and other wordings, in a fixed order.

    Example: moralscope stories reverse "It's rude to lie." --variants 8
    """
    from moralscope.cli.output import emit
    from moralscope.stories.reverse import reverse_norms

    record = reverse_norms(norms, file=file, variants=variants, seed=seed)
    emit(record, json=json, path=out, show=_show_norms if norms else _show_file)


def _show_norms(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out

    for row in record.results:
        out.print(clean(row.norm), style="bold", soft_wrap=True)
        if not row.reversals:
            out.print("  cannot be read, so it is not reversed", style="dim")
        for text in row.reversals:
            out.print(clean(f"  {text}"), soft_wrap=True)


def _show_file(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    found = record.statistics
    line = f"{found['reversed']:,} of {found['norms']:,} norms reversed ({found['share']:.1%})"
    out.print(clean(f"{record.config['source']}: {line}"), style="bold", soft_wrap=True)
    table = plain_table("pattern", "norms", "share")
    for pattern, count in found["patterns"].items():
        table.add_row(clean(pattern), f"{count:,}", f"{count / found['norms']:.1%}")
    out.print(table)
    out.print(f"{found['demand']:,} demand a behaviour, {found['forbid']:,} forbid one")
    out.print(f"{found['read_back']:,} of {found['written']:,} reversals read back as the opposite")
    unread = found["unread"]
    for norm in unread[:_SHOWN]:
        out.print(clean(f"not read: {norm}"), style="dim", soft_wrap=True)
    if len(unread) > _SHOWN:
        out.print(f"… {len(unread) - _SHOWN:,} more: --json or --out", style="dim")
    print_warnings(record)
