"""`moralscope compare`: several encoders on the same actions, or two saved runs; with a gate."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.inputs import read_given
from moralscope.cli.options import (
    ActionFile,
    Actions,
    Axis,
    Figure,
    Fit,
    FitActions,
    Json,
    Out,
    Report,
    Seed,
    Template,
)

if TYPE_CHECKING:
    from rich.table import Table

    from moralscope.core.records import RunRecord

_SHOWN = 15
_NOT_WITH_RUNS = (
    *("actions", "file", "encoders", "axis", "template", "fit", "fit_actions", "figure"),
)


def compare(
    context: typer.Context,
    actions: Actions = None,
    encoders: Annotated[
        str,
        typer.Option(
            "--encoders",
            metavar="A,B[,C]",
            help="Two or more: minilm, mpnet, use-lite, scripted, local folders, hub ids.",
        ),
    ] = "minilm,mpnet",
    file: ActionFile = None,
    axis: Axis = "choice",
    template: Template = "moral",
    fit: Fit = "pca",
    fit_actions: FitActions = None,
    runs: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--runs",
            metavar="BEFORE AFTER",
            help="Two saved runs of score or audit instead: records (JSON) or corpus folders.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", help="With --runs of audits: pair by prompt, exchange or id."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="With --runs: refuse other weights, rules or thresholds."),
    ] = False,
    gate: Annotated[
        str | None,
        typer.Option(
            "--gate",
            metavar="EXPR",
            help='Exit 3 unless it holds, e.g. "r>=0.7 and changed<=3" for every pair of encoders, '
            '"mean_change>=-0.02 and newly_flagged<=0.02" for runs. An unknown figure is answered '
            "with all there are.",
        ),
    ] = None,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    figure: Figure = None,
    seed: Seed = 0,
) -> None:
    """Compare encoders on the same actions: where they differ, how surely, how alike they order.

    Scores are standardised for each encoder. Differences are paired prompt by prompt, with
    bootstrap intervals and p-values corrected (Holm) for the number of comparisons. Two folders
    with checkpoints of one model can be compared too; --gate then guards a release.

    With --runs nothing is computed anew: two saved runs are paired item by item, for CI.

    Example: moralscope compare --encoders minilm,mpnet --file actions.txt --gate "r>=0.7"
    """
    from moralscope.axes.build import AxisOptions
    from moralscope.axes.compare import FIGURES, compare
    from moralscope.cli import compare_runs
    from moralscope.cli.output import counting, emit, fetching
    from moralscope.models.encoders import load_encoder
    from moralscope.stats.gates import parse_gate

    if runs is not None:
        _refuse(context, _NOT_WITH_RUNS, "--runs")
        record = compare_runs.compare_runs(runs, gate=gate, by=by, strict=strict, seed=seed)
        emit(record, json=json, path=out, show=compare_runs.show, report=report)
        _require(record)
        return
    _refuse(context, ("by", "strict"), "--encoders")
    names = [name.strip() for name in encoders.split(",")]
    if len(names) < 2 or not all(names):
        raise typer.BadParameter(f"--encoders '{encoders}' is not a list like minilm,mpnet")
    if gate is not None:
        parse_gate(gate, FIGURES)  # refused before any weights are fetched
    listed = read_given(actions, file)
    with fetching() as progress:
        models = [load_encoder(name, progress) for name in names]
    with counting("comparing") as step:
        record = compare(
            listed,
            encoders=models,
            axis=AxisOptions(axis, template, fit, fit_actions=fit_actions),
            gate=gate,
            seed=seed,
            report=step,
        )
    emit(record, json=json, path=out, show=_show, report=report, figure=figure)
    _require(record)


def _refuse(context: typer.Context, names: Sequence[str], beside: str) -> None:
    """Refuse options that were typed and would not be read."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            typed = "actions" if name == "actions" else f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{typed} has no meaning beside {beside}")


def _require(record: "RunRecord") -> None:
    if record.statistics["gate"] is not None:
        record.statistics["gate"].require()


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    config, found = record.config, record.statistics
    out.print(
        clean(f"{', '.join(config['encoders'])}: {config['actions']:,} actions, {config['axis']}"),
        style="bold",
    )
    out.print(_pairs(found["pairs"]))
    for pair in found["pairs"]:
        out.print()
        out.print(_disagreements(record, pair.pair))
    if found["gate"] is not None:
        out.print(clean(f"gate {found['gate'].expression}: {_verdict(found['gate'])}"))
    print_warnings(record)


def _pairs(pairs: Any) -> "Table":
    from moralscope.cli.output import plain_table

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

    from moralscope.cli.output import clean

    return escape(str(clean(text)))


def _coefficient(found: Any) -> str:
    return f"{found.r:.2f} ({found.low:.2f} … {found.high:.2f})"


def _disagreements(record: "RunRecord", pair: tuple[str, str]) -> "Table":
    from moralscope.cli.output import clean, plain_table

    place = [summary.pair for summary in record.statistics["pairs"]].index(pair)
    rows = sorted(record.results, key=lambda row: -abs(row.differences[place].difference))
    more = f", {_SHOWN} of {len(rows):,}" if len(rows) > _SHOWN else ""
    title = f"{pair[1]} less {pair[0]}: the largest disagreements{more}"
    table = plain_table(
        "action",
        *map(_heading, pair),
        "difference",
        "95 % interval",
        "p (Holm)",
        title=_heading(title),
    )
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


def _verdict(gate: Any) -> str:
    found = ", ".join(f"{check.name} is {check.value:.4g}" for check in gate.checks)
    return f"{'met' if gate.met else 'not met'} ({found})"
