"""`moralscope score`: actions on a moral axis."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.corpus_options import (
    Calibrate,
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
from moralscope.cli.inputs import read_given
from moralscope.cli.options import (
    Actions,
    Axis,
    Figure,
    Fit,
    FitActions,
    Json,
    Report,
    Seed,
    Template,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moralscope.axes.build import AxisOptions
    from moralscope.axes.corpus import ScoreOptions
    from moralscope.axes.people import HumanAgreement
    from moralscope.core.records import RunRecord

_MAX_ACTIONS = 200_000
_JUDGES = "--experts, --norm and --wordings belong to --axis judge"


def score(
    actions: Actions = None,
    axis: Axis = "choice",
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            "-e",
            show_default="minilm",
            help="minilm, mpnet, use-lite, scripted, a local folder, or a hub id (owner/name).",
        ),
    ] = None,
    eight_bits: Annotated[
        bool,
        typer.Option(
            "--eight-bits",
            help="Compute in 8 bits where the processor can: faster, and scores move a little; "
            "how much is measured and told.",
        ),
    ] = False,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="One action a line, or CSV/JSONL with an 'action' column; - reads stdin. Parquet, "
            "a folder, a glob or a URL is a corpus.",
        ),
    ] = None,
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
    experts: Annotated[
        str | None,
        typer.Option(
            "--experts",
            show_default="mpnet",
            help="Judge axis: mpnet, minilm, scripted, or a folder of 'stories train'.",
        ),
    ] = None,
    norm: Annotated[
        str | None,
        typer.Option("--norm", help="Judge axis: judge actions against this norm."),
    ] = None,
    wordings: Annotated[
        int | None,
        typer.Option(
            "--wordings",
            min=1,
            max=4,
            show_default="4, of more than 256 actions 1",
            help="Judge axis: wordings of an action that the interval ranges over.",
        ),
    ] = None,
    max_actions: Annotated[
        int | None,
        typer.Option(
            "--max-actions", min=1, show_default="200000", help="Refuse longer input (no corpus)."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", help="In a corpus, what they are called: action=reply."),
    ] = None,
    json: Json = False,
    out: OutPlace = None,
    report: Report = None,
    figure: Figure = None,
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
    calibrate: Calibrate = False,
) -> None:
    """Score actions: which does this model call good, which bad, and how sure is it?

    Each action is asked about with every prompt of the template ("Should I kill time?"). On the
    choice axis its score is the mean of cos(question, yes) - cos(question, no); on the direction
    axis it is the projection on the model's moral direction, in standard deviations of the
    actions that it was fitted on. Intervals are bootstraps over the prompts. Positive is good,
    negative is bad.

    On the judge axis trained experts say P(moral), and the score is 2 P - 1; --file then takes CSV
    or JSONL rows with 'action' and any of norm, situation, intention, consequence.

    With --out DIR the file, folder, glob or URL is worked through as a corpus of any size, and
    the scores go into Parquet parts beside all its columns.

    Example: moralscope score "kill people" "kill time" --encoder mpnet
    """
    from moralscope.axes.build import AxisOptions
    from moralscope.axes.corpus import ScoreOptions
    from moralscope.axes.drift import tell_drift
    from moralscope.axes.score import score
    from moralscope.cli.output import counting, emit, fetching
    from moralscope.models.encoders import load_encoder

    options = AxisOptions(
        axis, template, fit, axis_file, seed, fit_actions, experts, norm, wordings
    )
    given = CorpusGiven(engine, workers, limit, sample, dry_run, ray_address, gpus, price, resume)
    inputs = [file] if file is not None else []
    if wants_corpus(inputs, out, given, parquet=False):
        kept = {
            "actions": actions,
            "--human": human,
            "--save-axis": save_axis,
            "--figure": figure,
            "--max-actions": max_actions,
            "--eight-bits": eight_bits and axis == "judge",
            "--calibrate": calibrate and axis == "judge",
        }
        _refuse(kept)
        if axis != "judge" and (experts or norm or wordings):
            raise typer.BadParameter(_JUDGES)
        asked = ScoreOptions(options, encoder, eight_bits, calibrate)
        _over_corpus(asked, inputs, out, given, columns, (json, report))
        return
    if calibrate:
        raise typer.BadParameter("--calibrate belongs to a corpus run: add --out DIR")
    if columns is not None:
        raise typer.BadParameter("--columns belongs to a corpus run: add --out DIR")
    place, path = record_place(out), Path(file) if file is not None else None
    most = max_actions or _MAX_ACTIONS
    if axis == "judge":
        if eight_bits:
            raise typer.BadParameter("--eight-bits is for encoders: use --axis choice or direction")
        record = _judge(actions, path, options, encoder, (human, save_axis, most))
        emit(record, json=json, path=place, show=_show, report=report, figure=figure)
        return
    if experts or norm or wordings:
        raise typer.BadParameter(_JUDGES)
    listed = read_given(actions, path or (None if actions else human), max_actions=most)
    with fetching() as progress:
        model = load_encoder(encoder or "minilm", progress, eight_bits=eight_bits)
    with counting("scoring") as progressed:
        record = score(
            listed,
            axis=options,
            encoder=model,
            human=human,
            save_axis=save_axis,
            report=progressed,
        )
    if eight_bits:
        exact = load_encoder(encoder or "minilm")
        record = tell_drift(record, listed, options, exact, model)
    emit(record, json=json, path=place, show=_show, report=report, figure=figure)


def _refuse(given: "Mapping[str, Any]") -> None:
    """Refuse what a corpus run has no place for."""
    for name, value in given.items():
        if value:
            raise typer.BadParameter(f"{name} cannot be used over a corpus")


def _over_corpus(
    asked: "ScoreOptions",
    inputs: list[str],
    out: str | None,
    given: CorpusGiven,
    columns: str | None,
    rest: tuple[bool, Path | None],
) -> None:
    from moralscope.axes.corpus import parse_corpus_columns
    from moralscope.cli.corpus_runs import run_corpus_job, show_scores

    axis, (json, report) = asked.axis, rest
    names = parse_corpus_columns(columns, "judge" if axis.name == "judge" else "score")
    options = corpus_options(inputs, out, given, names, axis.seed)
    run_corpus_job(asked, options, given, json=json, report=report, show=show_scores)


def _judge(
    actions: list[str] | None,
    file: Path | None,
    options: "AxisOptions",
    encoder: str | None,
    rest: tuple[Path | None, Path | None, int],
) -> "RunRecord":
    from dataclasses import replace

    from moralscope.axes.judge.job import EXPERTS, check_options, judge
    from moralscope.axes.judge.rows import SUFFIXES, read_rows
    from moralscope.axes.ratings import read_ratings
    from moralscope.cli.output import counting, fetching
    from moralscope.stories.experts import prepare_experts

    human, save_axis, max_actions = rest
    if save_axis is not None:
        raise typer.BadParameter("--save-axis saves a direction, and the judge has none")
    check_options(options)
    if human is not None:
        read_ratings(human)
    given: Any
    if file is not None and not actions and file.suffix.lower() in SUFFIXES:
        given = read_rows(file, max_actions)
    else:
        given = read_given(actions, file or (None if actions else human), max_actions=max_actions)
    named = replace(options, experts=options.experts or encoder or EXPERTS)
    with fetching() as progress:
        experts = prepare_experts(str(named.experts), progress=progress)
    with counting("judging") as progressed:
        return judge(given, options=named, experts=experts, human=human, report=progressed)


def _show_judged(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings, score_table

    config = record.config
    out.print(f"judge axis, {config['experts']}", style="bold")
    if "norm" in config:
        out.print(clean(f"norm: {config['norm']}"))
    out.print(score_table(record.results, "range over wordings"))
    if "human" in record.statistics:
        _show_people(record.statistics["human"])
    print_warnings(record)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import out, print_warnings, score_table

    config = record.config
    if config["axis"] == "judge":
        _show_judged(record)
        return
    axis = f"{config['axis']} ({config['fit']})" if "fit" in config else config["axis"]
    out.print(f"{axis} axis, {config['template']} template, {config['encoder']}", style="bold")
    out.print(score_table(record.results))
    if "direction" in record.statistics:
        _show_direction(record.statistics["direction"])
    if "human" in record.statistics:
        _show_people(record.statistics["human"])
    print_warnings(record)


def _show_direction(found: "Mapping[str, Any]") -> None:
    from moralscope.cli.output import out

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
    from moralscope.cli.output import correlation_rows, out, plain_table

    table = plain_table("people", "r (Pearson)", "rho (Spearman)")
    for name, agreement in found.populations.items():
        (row,) = correlation_rows(name, agreement.pearson)
        table.add_row(*row, correlation_rows(name, agreement.spearman)[0][1])
    out.print(table)
    if found.noise_ceiling is not None:
        _show_ceiling(found.noise_ceiling)


def _show_ceiling(found: Any) -> None:
    """Print what bounds any r with these ratings."""
    from moralscope.cli.output import out

    for name, ceiling in found.sampling.items():
        if ceiling is not None:
            out.print(f"best r that {name}'s number of raters allows: {ceiling.expected:.3f}")
    for pair in found.between:
        first, second = pair.pair
        out.print(f"{first} and {second} agree with each other at r = {pair.pearson.r:.3f}")
