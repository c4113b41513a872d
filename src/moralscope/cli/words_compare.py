"""`moralscope words compare`: how corpora, or the periods of one, value actions differently."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.options import Json, Out, Seed

if TYPE_CHECKING:
    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.words.compare import ActionDifference

_MOVERS = 12
_TRAJECTORIES = 20
_NAMED = 12
_BLOCKS = "▁▂▃▄▅▆▇█"


def compare(
    corpora: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=PATH …", help="Text files or folders, two or more."),
    ] = None,
    over_time: Annotated[
        Path | None,
        typer.Option(
            "--over-time", metavar="PATH", help="Follow one folder of files with years over time."
        ),
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option("--index", metavar="FILE", help="file,year lines, for names without a year."),
    ] = None,
    width: Annotated[int, typer.Option("--bin", min=1, help="Years a period spans.")] = 25,
    words: Annotated[
        Path | None,
        typer.Option("--words", metavar="FILE", help="Actions, one word a line."),
    ] = None,
    sets: Annotated[
        str, typer.Option("--sets", help="papers, or a YAML/TOML/JSON file of your own.")
    ] = "papers",
    seeds: Annotated[int, typer.Option("--seeds", min=3, help="Trainings of each corpus.")] = 6,
    dimensions: Annotated[
        int, typer.Option("--dimensions", min=2, help="Length of the vectors.")
    ] = 50,
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="How often every corpus must use a word.")
    ] = 10,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Compare how corpora value actions: what moved, what they share, how it went over time.

    Word vectors are trained on each corpus several times. An action's value is its association
    with good and bad words, as a percentile among the words that all corpora use.

    Example: moralscope words compare bible=kjv/ pali=suttas/
    """
    from moralscope.cli.output import counting, emit
    from moralscope.words.compare import CompareOptions, compare_corpora, compare_over_time

    if bool(corpora) == bool(over_time):
        raise typer.BadParameter("give corpora as NAME=PATH, or --over-time PATH")
    if index is not None and over_time is None:
        raise typer.BadParameter("--index goes with --over-time")
    options = CompareOptions(words, sets, seeds, dimensions, min_count)
    with counting("training") as report:
        if over_time is not None:
            record = compare_over_time(
                over_time, options, index=index, width=width, seed=seed, report=report
            )
        else:
            named = [_named(text) for text in corpora or []]
            record = compare_corpora(named, options, seed=seed, report=report)
    emit(record, json=json, path=out, show=_show if over_time is None else _show_over_time)


def _named(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not (name.strip() and equals and path):
        raise typer.BadParameter(f"'{text}' is not NAME=PATH, e.g. bible=texts/kjv")
    return name.strip(), Path(path).expanduser()


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    for text in record.config["corpora"]:
        out.print(clean(f"{text['name']}: {text['words']:,} words in {text['files']} files"))
    pairs = dict.fromkeys((row.first.corpus, row.second.corpus) for row in record.results)
    for pair in pairs:
        rows = [row for row in record.results if (row.first.corpus, row.second.corpus) == pair]
        out.print(_movers(rows[:_MOVERS], *pair))
    agreement = record.statistics["agreement"]
    for label, words in (
        ("dos in all", agreement.dos),
        ("don'ts in all", agreement.donts),
        ("a do in one, a don't in another", agreement.divergent),
    ):
        listed = ", ".join(words[:_NAMED]) + (" …" if len(words) > _NAMED else "")
        out.print(clean(f"{label} ({len(words)}): {listed or 'none'}"))
    print_warnings(record)


def _movers(rows: "list[ActionDifference]", first: str, second: str) -> "Table":
    from moralscope.cli.output import BAD, GOOD, clean, plain_table

    titles = (first, second, "change", "95 % interval", "displaced", f"near it in {first}")
    title = f"biggest movers, {first} to {second} (percentiles of value)"
    table = plain_table("action", *titles, f"in {second}", title=title)
    table.columns[-2].justify = table.columns[-1].justify = "left"
    for row in rows:
        change = clean(f"{row.change:+.0f}")
        change.stylize(GOOD if row.change > 0 else BAD)
        table.add_row(
            clean(row.action),
            f"{row.first.percentile:.0f}",
            f"{row.second.percentile:.0f}",
            change,
            f"{row.low:+.0f} … {row.high:+.0f}",
            f"{row.displacement:.2f}",
            clean(", ".join(row.first.neighbours[:3])),
            clean(", ".join(row.second.neighbours[:3])),
        )
    return table


def _show_over_time(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    periods = record.config["periods"]
    title = f"percentile of value, {periods[0]} … {periods[-1]}"
    table = plain_table("action", "trajectory", "first", "last", "change", "95 %", title=title)
    for row in record.results[:_TRAJECTORIES]:
        values = {point.period: point.percentile for point in row.points}
        table.add_row(
            clean(row.action),
            sparkline([values.get(period) for period in periods]),
            f"{row.points[0].percentile:.0f}",
            f"{row.points[-1].percentile:.0f}",
            f"{row.change:+.0f}",
            f"{row.low:+.0f} … {row.high:+.0f}",
        )
    out.print(table)
    hidden = len(record.results) - _TRAJECTORIES
    if hidden > 0:
        out.print(f"… {hidden:,} more actions, and every interval: --json or --out", style="dim")
    print_warnings(record)


def sparkline(percentiles: "list[float | None]") -> str:
    """Draw percentiles as blocks, a dot where there is none.

    Examples
    --------
    >>> sparkline([0, 50, None, 100])
    '▁▅·█'
    """
    top = len(_BLOCKS) - 1
    return "".join(
        "·" if value is None else _BLOCKS[min(top, max(0, round(value / 100 * top)))]
        for value in percentiles
    )
