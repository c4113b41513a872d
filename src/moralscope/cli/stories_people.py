"""`moralscope stories people`: what people think of generated texts, asked and read back."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.options import Json, Out, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

app = typer.Typer(
    help="A blinded human evaluation: sheets for raters, their ratings as Tables 4-6.",
    no_args_is_help=True,
)


@app.command("write")
def write(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Records of 'stories generate' or 'stories chain'."),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="A new folder for the pack.")],
    stories: Annotated[
        Path | None,
        typer.Option("--stories", metavar="FILE", help="The stories; else the records' copies."),
    ] = None,
    raters: Annotated[int, typer.Option("--raters", min=1, help="How many people.")] = 3,
    sample: Annotated[
        int, typer.Option("--sample", min=1, help="Samples (story and target) to judge.")
    ] = 200,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Write blinded sheets for raters, and the key that stays with you.

    Every strategy is judged on the same samples; its name is on no sheet.

    Example: moralscope stories people write sample.json ranking.json --to pack
    """
    from moralscope.cli.output import emit
    from moralscope.stories.data_files import load_stories
    from moralscope.stories.people_pack import write_people

    given = load_stories(stories).stories if stories else None
    record = write_people(runs, to, given, raters=raters, sample=sample, seed=seed)
    emit(record, json=json, path=out, show=show_written)


@app.command("read")
def read(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The pack's folder, or one of filled-in sheets.")
    ],
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="The key; else DIR/key.json.")
    ] = None,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Read ratings back: the paper's table with intervals, agreement and paired tests.

    Example: moralscope stories people read pack
    """
    from moralscope.cli.output import emit
    from moralscope.stories.people_pack import read_people

    emit(read_people(folder, key=key, seed=seed), json=json, path=out, show=show_ratings)


def show_written(record: "RunRecord") -> None:
    """Print what is in the pack and where it lies."""
    from moralscope.cli.output import clean, out, print_warnings

    found = record.statistics
    strategies = ", ".join(found["strategies"])
    out.print(clean(f"{found['items']:,} texts on {found['samples']:,} samples: {strategies}"))
    out.print(clean(f"sheets for raters: {Path(found['sheets'][0]).parent}"))
    out.print(clean(f"key, not for raters: {found['key']}"))
    print_warnings(record)


def show_ratings(record: "RunRecord") -> None:
    """Print ratings as Table 4, 5 or 6, the paper's rows below ours."""
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    found = record.statistics
    criteria = list(found["agreement"])
    sides = "total | moral | immoral" if record.config["task"] != "norm" else "total"
    table = plain_table("strategy", *criteria, title=f"share of yes, {sides}")
    for row in record.results:
        table.add_row(clean(row.strategy), *(_cells(row.criteria[name]) for name in criteria))
    for row in found["paper"]:
        shown = [" ".join(f"{value:.2f}" for value in row.people[name]) for name in criteria]
        table.add_row(clean(f"paper: {row.name}"), *shown, style="dim")
    out.print(table)
    agreed = plain_table("agreement", "alpha", "95 % interval", "raters agree", "texts")
    for name, value in found["agreement"].items():
        defined = not isnan(value.alpha)
        alpha = f"{value.alpha:.2f}" if defined else "undefined"
        span = f"{value.low:.2f} … {value.high:.2f}" if defined else ""
        share = f"{value.share:.0%}" if value.units else ""
        agreed.add_row(name, alpha, span, share, f"{value.units:,}")
    out.print(agreed)
    show_comparisons(found["comparisons"], 100.0)
    print_warnings(record)


def show_comparisons(rows: Any, scale: float = 1.0) -> None:
    """Print paired differences with intervals and p-values."""
    from moralscope.cli.output import clean, out, plain_table

    if not rows:
        return
    pairs = dict.fromkeys((row.first, row.second) for row in rows)
    for pair in pairs:
        title = f"{pair[0]} less {pair[1]}" + (", points" if scale == 100.0 else "")
        table = plain_table("metric", "difference", "95 % interval", "p", "p (Holm)")
        for row in rows:
            if (row.first, row.second) == pair:
                span = f"{row.low * scale:+.2f} … {row.high * scale:+.2f}"
                difference = f"{row.difference * scale:+.2f}"
                metric = row.metric.replace("_", " ")
                table.add_row(metric, difference, span, _p(row.p), _p(row.p_holm))
        out.print(clean(title), style="bold")
        out.print(table)


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _cells(values: Any) -> str:
    shown = " ".join(f"{value.value:.2f}" for value in values.values())
    total = values["total"]
    return f"{shown} ({total.low:.2f} … {total.high:.2f})"
