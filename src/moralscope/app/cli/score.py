"""`moralscope score`: actions on a moral axis."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.app.cli.inputs import read_given
from moralscope.app.cli.options import (
    ActionFile,
    Actions,
    Axis,
    Encoder,
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
    from collections.abc import Mapping

    from moralscope.core.records import RunRecord
    from moralscope.jobs.people import HumanAgreement


def score(
    actions: Actions = None,
    axis: Axis = "choice",
    encoder: Encoder = "minilm",
    file: ActionFile = None,
    template: Template = "moral",
    fit: Fit = "pca",
    fit_actions: FitActions = None,
    axis_file: Annotated[
        Path | None,
        typer.Option("--axis-file", metavar="FILE", help="Use a direction that was saved."),
    ] = None,
    save_axis: Annotated[
        Path | None,
        typer.Option("--save-axis", metavar="FILE", help="Save the direction (safetensors)."),
    ] = None,
    human: Annotated[
        Path | None,
        typer.Option(
            "--human",
            metavar="FILE",
            help="Ratings by people (CSV: action, yes, no) to set beside the scores; without "
            "actions of your own, those of this file are scored.",
        ),
    ] = None,
    max_actions: Annotated[
        int, typer.Option("--max-actions", min=1, help="Refuse longer input.")
    ] = 200_000,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    figure: Figure = None,
    seed: Seed = 0,
) -> None:
    """Score actions: which does this model call good, which bad, and how sure is it?

    Each action is asked about with every prompt of the template ("Should I kill time?"). On the
    choice axis its score is the mean of cos(question, yes) - cos(question, no); on the direction
    axis it is the projection on the model's moral direction, in standard deviations of the
    actions that it was fitted on. Intervals are bootstraps over the prompts. Positive is good,
    negative is bad.

    Example: moralscope score "kill people" "kill time" --encoder mpnet
    """
    from moralscope.app.cli.output import counting, emit, fetching
    from moralscope.jobs.axes import AxisOptions
    from moralscope.jobs.encoders import prepare_encoder
    from moralscope.jobs.score import score

    options = AxisOptions(axis, template, fit, axis_file, seed, fit_actions)
    listed = read_given(actions, file or (None if actions else human), max_actions=max_actions)
    with fetching() as progress:
        model = prepare_encoder(encoder, progress)
    with counting("scoring") as progressed:
        record = score(
            listed,
            axis=options,
            encoder=model,
            human=human,
            save_axis=save_axis,
            report=progressed,
        )
    emit(record, json=json, path=out, show=_show, report=report, figure=figure)


def _show(record: "RunRecord") -> None:
    from moralscope.app.cli.output import out, print_warnings, score_table

    config = record.config
    axis = f"{config['axis']} ({config['fit']})" if "fit" in config else config["axis"]
    out.print(f"{axis} axis, {config['template']} template, {config['encoder']}", style="bold")
    out.print(score_table(record.results))
    if "direction" in record.statistics:
        _show_direction(record.statistics["direction"])
    if "human" in record.statistics:
        _show_people(record.statistics["human"])
    print_warnings(record)


def _show_direction(found: "Mapping[str, Any]") -> None:
    from moralscope.app.cli.output import out

    shares = " ".join(f"{share:.1%}" for share in found["explained_variance"][:5])
    stability = found["stability"]
    out.print(f"\n{found['method']}, fitted on {found['fitted_on']} actions", style="bold")
    out.print(f"variance explained by the leading components: {shares} …")
    # Labels are held out in turn; anchors of a component need not be.
    right = found["validation"].get(found["method"], found["separation"])
    out.print(
        f"good and bad anchors in the right order: {right:.0%} of pairs; refits on other "
        f"draws of actions turn the direction by {stability.bootstrap_degrees_median:.0f} degrees"
    )


def _show_people(found: "HumanAgreement") -> None:
    from moralscope.app.cli.output import correlation_rows, out, plain_table

    table = plain_table("people", "r (Pearson)", "rho (Spearman)")
    for name, agreement in found.populations.items():
        (row,) = correlation_rows(name, agreement.pearson)
        table.add_row(*row, correlation_rows(name, agreement.spearman)[0][1])
    out.print(table)
    if found.noise_ceiling is not None:
        _show_ceiling(found.noise_ceiling)


def _show_ceiling(found: Any) -> None:
    """Print what bounds any r with these ratings."""
    from moralscope.app.cli.output import out

    for name, ceiling in found.sampling.items():
        if ceiling is not None:
            out.print(f"best r that {name}'s number of raters allows: {ceiling.expected:.3f}")
    for pair in found.between:
        first, second = pair.pair
        out.print(f"{first} and {second} agree with each other at r = {pair.pearson.r:.3f}")
