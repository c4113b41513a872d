"""`moralscope score`: actions on a moral axis."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.axes.options import AXES, ScoreOptions
from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.cli.corpus import OutPlace, record_place, run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import Actions, Figure, Json, Report, read_given
from moralscope.cli.output import (
    clean,
    correlation_rows,
    counting,
    emit,
    fetching,
    out,
    plain_table,
    print_warnings,
    score_table,
)
from moralscope.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moralscope.axes.people import HumanAgreement
    from moralscope.core.records import RunRecord


_SHOWN = 5  # of the lowest and of the highest
_SHORT = 100


@takes
def score(
    options: ScoreOptions,
    batch: BatchOptions,
    actions: Actions = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="One action a line, or CSV/JSONL with an 'action' column; - reads stdin. Parquet, "
            "a folder, a glob or a URL is a corpus.",
            rich_help_panel="Input",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help="In a corpus, what they are called: action=reply.",
            rich_help_panel="Input",
        ),
    ] = None,
    json: Json = False,
    out: OutPlace = None,
    report: Report = None,
    figure: Figure = None,
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
    from moralscope.axes.build import LocalModels, build_axis
    from moralscope.axes.score import check_people, score

    inputs = [file] if file is not None else []
    if wants_corpus(inputs, out, batch, parquet=False):
        alone = {"--human": options.human, "--save-axis": options.save_axis, "--figure": figure}
        _refuse({"actions": actions, **alone}, "cannot be used over a corpus")
        from moralscope.axes.batch import ScoreBatch
        from moralscope.batch.job import job_columns

        job = ScoreBatch(options, job_columns(columns, AXES[options.axis].columns))
        place = BatchPlace.given(inputs, out, batch)
        run_over_corpus(job, place, batch, json=json, report=report, show=_show_spread)
        return
    corpus_alone = {"--calibrate": options.calibrate, "--columns": columns}
    _refuse(corpus_alone, "belongs to a corpus run: add --out DIR")
    record_file = record_place(out)
    check_people(options)
    listed = _read(actions, Path(file) if file is not None else None, options)
    with fetching() as progress:
        built = build_axis(options, LocalModels(progress=progress))
    with counting("scoring") as step:
        record = score(listed, options, built=built, report=step)
    emit(record, json=json, path=record_file, show=_show, report=report, figure=figure)


def _refuse(given: "Mapping[str, Any]", why: str) -> None:
    """Refuse what this kind of run has no place for."""
    for name, value in given.items():
        if value:
            raise InputError(f"{name} {why}", "see 'moralscope score --help'")


def _read(actions: list[str] | None, file: Path | None, options: ScoreOptions) -> Any:
    """Read what is to be scored: rows, where the axis reads more of them than actions."""
    from moralscope.axes.score import read_rows
    from moralscope.io.tables import SUFFIXES

    columns = AXES[options.axis].columns
    more = set(columns) - {"action", "paraphrases"}
    if more and file is not None and not actions and file.suffix.lower() in SUFFIXES:
        return read_rows(file, columns)
    return read_given(actions, file or (None if actions else options.human))


def _show(record: "RunRecord") -> None:
    config, found = record.config, record.statistics
    axis = f"{config['axis']} ({config['fit']})" if "fit" in config else config["axis"]
    asked = [f"{config['template']} template"] if "template" in config else []
    model = config.get("encoder") or config["experts"]
    out.print(", ".join([f"{axis} axis", *asked, model]), style="bold")
    if "norm" in config:
        out.print(clean(f"norm: {config['norm']}"))
    out.print(score_table(record.results, AXES[config["axis"]].interval))
    if "direction" in found:
        _show_direction(found["direction"])
    if "human" in found:
        _show_people(found["human"])
    print_warnings(record)


def _show_direction(found: "Mapping[str, Any]") -> None:
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
    table = plain_table("people", "r (Pearson)", "rho (Spearman)")
    for name, agreement in found.populations.items():
        (row,) = correlation_rows(name, agreement.pearson)
        table.add_row(*row, correlation_rows(name, agreement.spearman)[0][1])
    out.print(table)
    bound = found.noise_ceiling
    if bound is None:
        return
    for name, ceiling in bound.sampling.items():
        if ceiling is not None:
            out.print(f"best r that {name}'s number of raters allows: {ceiling.expected:.3f}")
    for pair in bound.between:
        first, second = pair.pair
        out.print(f"{first} and {second} agree with each other at r = {pair.pearson.r:.3f}")


def _show_spread(record: "RunRecord") -> None:
    """Print how scores are spread, and the lowest and highest of them."""
    found = record.statistics
    scores = found["scores"]
    if scores.n:
        spread = found["quantiles"]
        out.print(
            f"mean score {scores.mean:+.3f} (sd {scores.sd:.3f}); 90 % lie between "
            f"{spread['0.05']:+.3f} and {spread['0.95']:+.3f}"
        )
        for title in ("lowest", "highest"):
            table = plain_table(title, "score", "id")
            for row in found[title][:_SHOWN]:
                action = clean(row["action"][:_SHORT])
                table.add_row(action, f"{row['score']:+.3f}", clean(row["id"]))
            out.print(table)
    print_warnings(record)
