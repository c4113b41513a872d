"""`moralscope score`, `rank` and `demo`: actions on a moral axis, answers to a question, a tour."""

from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.axes.options import AXES, DEFAULT_BASE, RankOptions, ScoreOptions
from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.cli.corpus import OutPlace, record_place, run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import Actions, Columns, Figure, Json, OutputOptions, Report, read_given
from moralscope.cli.output import (
    clean,
    correlation_rows,
    counting,
    emit,
    emit_to,
    fetching,
    out,
    plain_table,
    print_gate,
    print_warnings,
    score_table,
    starting,
)
from moralscope.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moralscope.axes.framings import Framings
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
            help="One action a line, or CSV/JSONL with an 'action' column (judge axis: and any of "
            "norm, situation, intention, consequence); - reads stdin. Parquet, a folder, a glob or "
            "a URL is a corpus.",
            rich_help_panel="Input",
        ),
    ] = None,
    columns: Columns = None,
    json: Json = False,
    out: OutPlace = None,
    report: Report = None,
    figure: Figure = None,
) -> None:
    """Score actions: which are good, which bad, how sure is that, and would people agree?

    The judge axis, the default, asks experts that were trained on people's judgments: from -1 to
    +1, and how many people would say yes. The choice axis compares a model's question with yes and
    no, the direction axis projects on its moral direction; both ask an encoder, or with --model a
    language model, with every prompt of a template. Positive is good, negative is bad, always.

    With --out DIR the file, folder, glob or URL is worked through as a corpus of any size, and
    the scores go into Parquet parts beside all its columns.

    Example: moralscope score "kill people" "kill time" --encoder mpnet
    """
    from moralscope.axes.build import LocalModels, build_axis
    from moralscope.axes.score import check_score, score

    inputs = [file] if file is not None else []
    if wants_corpus(inputs, out, batch, parquet=False):
        alone = {"--human": options.human, "--save-axis": options.save_axis, "--figure": figure}
        framed = {"--framings": options.framings}
        _refuse({"actions": actions, **alone, **framed}, "cannot be used over a corpus")
        from moralscope.axes.batch import ScoreBatch
        from moralscope.batch.job import job_columns

        job = ScoreBatch(options, job_columns(columns, options.kind.columns))
        place = BatchPlace.given(inputs, out, batch)
        run_over_corpus(job, place, batch, json=json, report=report, show=_show_spread)
        return
    _refuse({"--calibrate": options.calibrate}, "belongs to a corpus run: add --out DIR")
    record_file = record_place(out)
    check_score(options)
    asked = options.model or options.encoder or options.experts or DEFAULT_BASE
    starting(asked, reading=file or (None if actions else options.human), quiet=json)
    listed = _read(actions, Path(file) if file is not None else None, options, columns)
    with fetching() as progress:
        built = build_axis(options, LocalModels(progress=progress))
    with counting("scoring") as step:
        record = score(listed, options, built=built, report=step)
    emit(record, json=json, path=record_file, show=_show, report=report, figure=figure)
    gate = record.statistics.get("gate")
    if gate is not None:
        gate.require()


def _refuse(given: "Mapping[str, Any]", why: str) -> None:
    """Refuse what this kind of run has no place for."""
    for name, value in given.items():
        if value:
            raise InputError(f"{name} {why}", "see 'moralscope score --help'")


def _read(
    actions: list[str] | None, file: Path | None, options: ScoreOptions, called: str | None
) -> Any:
    """Read what is to be scored: rows, where the axis reads more of them than actions."""
    from moralscope.axes.score import read_rows
    from moralscope.io.tables import SUFFIXES, parse_columns

    columns = options.kind.columns
    names = parse_columns(called, columns, like="action=text")
    if names and (actions or file is None):
        raise InputError("--columns names columns of --file", "give --file, or leave it out")
    more = set(columns) - {"action", "paraphrases"}
    if more and file is not None and not actions and file.suffix.lower() in SUFFIXES:
        return read_rows(file, columns, called=names)
    return read_given(actions, file or (None if actions else options.human), columns=names)


def _show(record: "RunRecord") -> None:
    config, found = record.config, record.statistics
    axis = f"{config['axis']} ({config['fit']})" if "fit" in config else config["axis"]
    asked = [f"{config['template']} template"] if "template" in config else []
    model = config.get("model") or config.get("encoder") or config["experts"]
    form = [f"{config['form']} form"] if "form" in config else []
    layer = [f"layer {config['layer']}"] if "layer" in config else []
    out.print(", ".join([f"{axis} axis", *asked, model, *layer, *form]), style="bold")
    if "norm" in config:
        out.print(clean(f"norm: {config['norm']}"))
    show_scores(record)
    if "language" in found:
        mass = found["language"]["answer_mass"]
        out.print(
            f"\nanswer mass: {mass['value']:.0%} ({mass['low']:.0%} … {mass['high']:.0%}) of the "
            "probability lies on a valid answer"
        )
    if "direction" in found:
        _show_direction(found["direction"])
    if "layers" in found:
        _show_layers(found["layers"])
    if "framings" in found:
        _show_framings(found["framings"])
        print_gate(found["gate"])
    if "human" in found:
        _show_people(found["human"])
    print_warnings(record)


def show_scores(record: "RunRecord") -> None:
    """Print actions and scores, with what people would say where that is known."""
    from moralscope.axes.measured import agreement_in_words, share_in_brief
    from moralscope.pages.score_page import ends_of

    kind, rows = AXES[record.config["axis"]], record.results
    more: dict[str, Callable[[Any], str]] = {}
    if "people_yes" in kind.writes and not all(isnan(row.people_yes) for row in rows):
        more["would say yes"] = lambda row: share_in_brief(
            row.people_yes, row.people_yes_low, row.people_yes_high
        )
    if "verdict" in kind.writes and any(row.verdict for row in rows):
        more["verdict"] = lambda row: row.verdict or ""
    out.print(agreement_in_words(record.statistics["people_agreement"]), style="dim")
    left, right = (end.split()[0] for end in ends_of(record.job, record.config))
    out.print(score_table(rows, kind.interval, (left, right), more))


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


def _show_layers(found: "Mapping[str, Any]") -> None:
    people = found.get("people")
    titles = ("layer", "variance", "good over bad", "turns by", *(["r with people"] * bool(people)))
    table = plain_table(*titles)
    for place, row in enumerate(found["curve"]):
        mark = " *" if row["layer"] == found["chosen"] else ""
        table.add_row(
            f"{row['layer']}{mark}",
            f"{row['variance']:.1%}",
            f"{row['separation']:.0%}",
            f"{row['stability']:.0f} degrees",
            *([f"{people[place].r:+.2f}"] if people else []),
        )
    out.print(table)


def _show_framings(found: "Framings") -> None:
    table = plain_table("framing", "changed side", "of", "mean change", "the largest change")
    table.columns[-1].justify = "left"
    for name, each in found.framings.items():
        own = [row for row in found.rows if row.framing == name]
        widest = max(own, key=lambda row: (row.changed, abs(row.change)))
        turned = " (should)" if each.turns else ""
        share, change = f"{each.changed.value:.0%}{turned}", f"{each.mean_change:+.3f}"
        example = clean(f"{widest.text} {widest.score:+.3f}"[:_SHORT])
        table.add_row(name.replace("_", " "), share, f"{each.changed.n}", change, example)
    out.print()
    out.print(table)
    flips, worst = found.flips, found.worst.replace("_", " ")
    span = f"{flips.low:.0%} … {flips.high:.0%}"
    out.print(f"flips: {flips.value:.1%} ({span}) of {flips.n} rewordings; worst: {worst}")


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


@takes
def rank(
    question: Annotated[str, typer.Argument(help="A question, e.g. 'What am I afraid of?'")],
    answers: Annotated[list[str], typer.Argument(help="Candidate answers.")],
    options: RankOptions,
    output: OutputOptions,
) -> None:
    """Rank candidate answers to a question by cosine similarity.

    Example: moralscope rank "What should I put in the toaster?" bread "old pizza" "my hamster"
    """
    from moralscope.axes.choice import rank
    from moralscope.models.encoders import load_encoder

    starting(options.encoder, quiet=output.json)
    with fetching() as progress:
        model = load_encoder(options.encoder, progress)
    emit_to(output, rank(question, answers, options, model=model))
