"""`moralscope compare`: several encoders on the same actions, or two saved runs; with a gate."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.axes.compare_options import CompareOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import ActionFile, Actions, Columns, OutputOptions, read_given
from moralscope.cli.output import (
    clean,
    counting,
    emit_to,
    fetching,
    out,
    plain_table,
    print_gate,
    print_warnings,
    starting,
)
from moralscope.core.errors import InputError
from moralscope.core.options import Options, option_fields
from moralscope.runs.options import CompareRunsOptions

if TYPE_CHECKING:
    from rich.table import Table

    from moralscope.core.records import RunRecord

_SHOWN = 15
_SHOWN_ITEMS = 10
_CUT = 60
_LISTS = {
    "newly_flagged": "newly flagged",
    "newly_cleared": "no longer flagged",
    "drops": "largest drops",
    "rises": "largest rises",
}


@takes
def compare(
    context: typer.Context,
    options: CompareOptions,
    saved: CompareRunsOptions,
    output: OutputOptions,
    actions: Actions = None,
    file: ActionFile = None,
    columns: Columns = None,
    runs: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--runs",
            metavar="BEFORE AFTER",
            help="Two saved runs of score or audit instead: records (JSON) or corpus folders.",
            rich_help_panel="Input",
        ),
    ] = None,
) -> None:
    """Compare models on the same actions: where they differ, how surely, how alike they order.

    Scores are standardised for each encoder. Differences are paired prompt by prompt, with
    bootstrap intervals and p-values corrected (Holm) for the number of comparisons. Two folders
    with checkpoints of one model can be compared too; --gate then guards a release.

    --models takes encoders, language models, endpoints and people side by side.

    --language de asks in German; --language en,de,zh asks one model in each of these about the same
    actions (ours, or --file with a column for each language) and checks first whether languages are
    measured alike.

    With --runs nothing is computed anew: two saved runs are paired item by item, for CI.

    Example: moralscope compare --encoders minilm,mpnet --file actions.txt --gate "r>=0.7"
    """
    from moralscope.axes.build import LocalModels
    from moralscope.axes.compare import FIGURES, build_compared, compare
    from moralscope.io.tables import parse_columns
    from moralscope.runs.compare import compare_runs
    from moralscope.stats.gates import parse_gate

    if runs is not None:
        _refuse(
            context,
            ("actions", "file", "columns", "figure", *_own_fields(CompareOptions)),
            "--runs",
        )
        record = compare_runs(*runs, saved)
        emit_to(output, record, _show_runs)
        _require(record)
        return
    _refuse(context, _own_fields(CompareRunsOptions), "--encoders")
    if len(options.language) > 1:
        _refuse(context, ("actions", "figure"), "several languages")
        _compare_languages(options, file, output)
        return
    if options.gate is not None:
        parse_gate(options.gate, FIGURES)  # refused before any weights are fetched
    starting(*options.names, reading=file, quiet=output.json)
    names = parse_columns(columns, ("action", "paraphrases"), like="action=text")
    listed = read_given(actions, file or (None if actions else options.human), columns=names)
    with fetching() as progress:
        models = LocalModels(progress=progress)
        built = [build_compared(options, name, models) for name in options.names]
    with counting("comparing") as step:
        record = compare(listed, options, built=built, report=step)
    emit_to(output, record, _show)
    _require(record)


def _compare_languages(options: CompareOptions, file: Path | None, output: OutputOptions) -> None:
    from moralscope.axes.languages import compare_languages
    from moralscope.axes.parallel import read_parallel

    listed = None if file is None else read_parallel(file)
    with counting("languages") as step:
        record = compare_languages(listed, options, report=step)
    emit_to(output, record, _show_languages)


def _own_fields(kind: type[Options]) -> list[str]:
    """Name the options that encoders and runs do not share."""
    return [field.name for field in option_fields(kind) if field.name not in ("gate", "seed")]


def _refuse(context: typer.Context, names: Iterable[str], beside: str) -> None:
    """Refuse options that were typed and would not be read."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            typed = name if name == "actions" else f"--{name.replace('_', '-')}"
            raise InputError(f"{typed} has no meaning beside {beside}", "leave it out")


def _require(record: "RunRecord") -> None:
    if record.statistics["gate"] is not None:
        record.statistics["gate"].require()


def _show(record: "RunRecord") -> None:
    from moralscope.axes.measured import agreement_in_words

    config, found = record.config, record.statistics
    out.print(
        clean(f"{', '.join(config['encoders'])}: {config['actions']:,} actions, {config['axis']}"),
        style="bold",
    )
    for name, people in found["people_agreement"].items():
        out.print(clean(f"{name}: {agreement_in_words(people)}"), style="dim")
    out.print(_pairs(found["pairs"]))
    for place, pair in enumerate(found["pairs"]):
        out.print()
        out.print(_disagreements(record, place, pair.pair))
    print_gate(found["gate"])
    print_warnings(record)


def _pairs(pairs: Any) -> "Table":
    table = plain_table("agreement", *(_heading(" → ".join(pair.pair)) for pair in pairs))
    rows: dict[str, Callable[[Any], str]] = {
        "Pearson's r": lambda pair: _coefficient(pair.pearson),
        "Spearman's rho": lambda pair: _coefficient(pair.spearman),
        "Kendall's tau": lambda pair: _coefficient(pair.kendall),
        "mean shift": lambda pair: f"{pair.mean_shift:.2f}",
        "largest shift": lambda pair: f"{pair.max_shift:.2f}",
        "detectable shift": lambda pair: f"{pair.minimum_detectable_effect:.2f}",
        "significant": lambda pair: f"{pair.significant:,} of {pair.pearson.n:,}",
    }
    for name, cell in rows.items():
        table.add_row(name, *(cell(pair) for pair in pairs))
    return table


def _heading(text: str) -> str:
    """Keep names of folders from being read as markup, which headings are."""
    from rich.markup import escape

    return escape(str(clean(text)))


def _coefficient(found: Any) -> str:
    return f"{found.r:.2f} ({found.low:.2f} … {found.high:.2f})"


def _disagreements(record: "RunRecord", place: int, pair: tuple[str, str]) -> "Table":
    rows = sorted(record.results, key=lambda row: -abs(row.differences[place].difference))
    more = f", {_SHOWN} of {len(rows):,}" if len(rows) > _SHOWN else ""
    title = _heading(f"{pair[1]} less {pair[0]}: the largest disagreements{more}")
    titles = ("action", *map(_heading, pair), "difference", "95 % interval", "p (Holm)")
    table = plain_table(*titles, title=title)
    for row in rows[:_SHOWN]:
        found = row.differences[place]
        table.add_row(
            clean(row.action),
            *(f"{row.scores[name]:+.2f}" for name in pair),
            f"{found.difference:+.2f}",
            f"{found.low:+.2f} … {found.high:+.2f}",
            _p(found.p_holm),
        )
    return table


def _p(value: float) -> str:
    return "<0.001 *" if value < 0.001 else f"{value:.3f}" + (" *" if value < 0.05 else "  ")


def _show_languages(record: "RunRecord") -> None:
    config, found = record.config, record.statistics
    first, *others = config["languages"]
    title = f"{config['model']}: {config['actions']:,} actions in {', '.join(config['languages'])}"
    out.print(clean(title), style="bold")
    table = plain_table(f"beside {first}", "r", "slope", "residual", "differ", "fails")
    table.columns[-1].justify = "left"
    for row in found["checks"]:
        slope = f"{row.slope.value:.2f} ({row.slope.low:.2f} … {row.slope.high:.2f})"
        cells = (_coefficient(row.r), slope, f"{row.residual:.2f}", f"{row.differ} of {row.of}")
        table.add_row(row.language, *cells, ", ".join(row.fails) or "nothing")
    out.print(table)
    for code in others:
        _show_differing(record, first, code)
    ranking = found["ranking"]
    if ranking.refused:
        out.print(ranking.refused, soft_wrap=True)
    else:
        levels = plain_table("language", "level above neutral", "95 % interval")
        for row in ranking.levels:
            levels.add_row(row.language, f"{row.level:+.3f}", f"{row.low:+.3f} … {row.high:+.3f}")
        out.print(levels)
    print_warnings(record)


def _show_differing(record: "RunRecord", first: str, code: str) -> None:
    """Print the actions that differ after alignment, the largest difference first."""
    rows = [row for row in record.results if row.differences[code].differs]
    if not rows:
        return
    rows.sort(key=lambda row: -abs(row.differences[code].difference))
    titles = (f"{code} less {first}, aligned", code, "difference", "95 % interval", "p (Holm)")
    table = plain_table(*titles)
    table.columns[1].justify = "left"
    for row in rows[:_SHOWN]:
        one = row.differences[code]
        interval = f"{one.low:+.2f} … {one.high:+.2f}"
        texts = (clean(row.action), clean(row.texts[code]))
        table.add_row(*texts, f"{one.difference:+.2f}", interval, _p(one.p_holm))
    out.print(table)


def _show_runs(record: "RunRecord") -> None:
    """Print what changed, the largest changes, and whether the gate was met."""
    config, found = record.config, record.statistics
    what = f"{config['job']}, {config['axis']}" if "axis" in config else config["job"]
    out.print(
        clean(f"{config['runs'][0]} → {config['runs'][1]}: {what}, {found['items']:,} in both"),
        style="bold",
    )
    out.print(_run_figures(found))
    for key, title in _LISTS.items():
        if found.get(key):
            table = plain_table("item", "before", "after", "change", title=title)
            for row in found[key][:_SHOWN_ITEMS]:
                text = row.text if len(row.text) <= _CUT else f"{row.text[:_CUT]}…"
                values = (row.before, row.after, row.change)
                table.add_row(clean(text), *(f"{value:+.3f}" for value in values))
            out.print()
            out.print(table)
    print_gate(found["gate"])
    print_warnings(record)


def _run_figures(found: Any) -> "Table":
    table = plain_table("change", "")
    change, mean = found["change"], found["mean"]
    table.add_row("mean before, after", f"{mean['before']:+.4f}, {mean['after']:+.4f}")
    table.add_row("mean change", f"{_span(change)}, p {change.p:.3g}")
    if "spearman" in found:
        order = found["spearman"]
        table.add_row("Spearman's rho", f"{order.r:.4f} ({order.low:.4f} … {order.high:.4f})")
        table.add_row("changed sign", _share(found["flips"]))
        table.add_row("largest drop, rise", f"{found['max_drop']:.4f}, {found['max_rise']:.4f}")
    if found.get("changed") is not None:
        table.add_row("beyond the prompts' noise", f"{found['changed']:,} of {found['items']:,}")
    flagged = found.get("flagged")
    if flagged:
        table.add_row("flagged before", _share(flagged["before"]))
        table.add_row("flagged after", _share(flagged["after"]))
        table.add_row("flagged change", _span(flagged["change"]))
    if flagged and "newly_flagged" in flagged:
        table.add_row("newly flagged", _share(flagged["newly_flagged"]))
        table.add_row("no longer flagged", _share(flagged["newly_cleared"]))
        table.add_row("p (McNemar, exact)", f"{flagged['p']:.3g}")
    for row in found.get("foundations") or ():
        if row["before"].value or row["after"].value:
            shares = f"{row['before'].value:.1%} → {row['after'].value:.1%}"
            table.add_row(f"  {row['foundation']}", shares)
    if "other_replies" in found:
        table.add_row("other replies", f"{found['other_replies']:,} of {found['items']:,}")
    table.add_row("only before, only after", f"{found['only_before']:,}, {found['only_after']:,}")
    return table


def _span(found: Any) -> str:
    return f"{found.value:+.4f} ({found.low:+.4f} … {found.high:+.4f})"


def _share(found: Any) -> str:
    return f"{found.value:.2%} ({found.low:.2%} … {found.high:.2%})"
