"""`moralscope score`, `rank` and `demo`: actions on a moral axis, answers to a question, a tour."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.axes.options import DEFAULT_BASE, DemoOptions, RankOptions, ScoreOptions
from moralscope.batch.options import BatchOptions
from moralscope.cli.corpus import run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import (
    Actions,
    Columns,
    OutputOptions,
    ScoreOutput,
    input_flag,
    read_given,
)
from moralscope.cli.output import (
    counting,
    emit_to,
    fetched_encoder,
    fetching,
    note,
    open_in_browser,
    out,
    require_gate,
    starting,
)
from moralscope.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


@takes
def score(
    options: ScoreOptions,
    batch: BatchOptions,
    output: ScoreOutput,
    actions: Actions = None,
    file: Annotated[
        str | None,
        input_flag(
            "--file",
            "One action per line, or CSV/JSONL with an 'action' column (judge axis: any of "
            "norm, situation, intention, consequence); - reads stdin. Parquet, a folder, a glob or "
            "a URL is a corpus.",
            short="-f",
        ),
    ] = None,
    columns: Columns = None,
) -> None:
    """Score actions: which are good or bad, how certain is that, and would people agree?

    The judge axis, the default, asks experts that were trained on people's judgments: from -1 to
    +1, and how many people would say yes. The choice axis compares a question with its answers yes
    and no; the direction axis projects it on a model's moral direction. Both ask an encoder, or
    with --model a language model, with every prompt of a template. Positive is always good.

    With --out DIR the file, folder, glob or URL is a corpus of any size. Its columns and the scores
    are written as Parquet files.

    Example: moralscope score "kill people" "kill time" --encoder mpnet
    """
    from moralscope.axes.build import LocalModels, build_axis
    from moralscope.axes.score import check_score, read_rows, score
    from moralscope.io.tables import SUFFIXES, parse_columns

    inputs = [file] if file is not None else []
    if wants_corpus(inputs, output.out, batch, parquet=False):
        alone = {"--human": options.human, "--save-axis": options.save_axis}
        drawn = {"--figure": output.figure, "--framings": options.framings}
        _refuse({"actions": actions, **alone, **drawn}, "cannot be used over a corpus")
        from moralscope.axes.batch import ScoreBatch
        from moralscope.batch.job import job_columns

        job = ScoreBatch(options, job_columns(columns, options.kind.columns))
        run_over_corpus(job, inputs, batch, output)
        return
    _refuse({"--calibrate": options.calibrate}, "belongs to a corpus run: add --out DIR")
    output.check_file()
    check_score(options)
    asked = options.model or options.encoder or options.experts or DEFAULT_BASE
    starting(asked, reading=file or (None if actions else options.human), quiet=output.json)
    known, path = options.kind.columns, Path(file) if file is not None else None
    names = parse_columns(columns, known, like="action=text")
    if names and (actions or path is None):
        raise InputError("--columns names columns of --file", "give --file, or leave it out")
    more = set(known) - {"action", "paraphrases"}  # rows, where the axis reads more than actions
    listed: Any
    if more and path is not None and not actions and path.suffix.lower() in SUFFIXES:
        listed = read_rows(path, known, called=names)
    else:
        rated = None if actions else options.human
        listed = read_given(actions, path or rated, columns=names)
    with fetching() as progress:
        built = build_axis(options, LocalModels(progress=progress))
    with counting("scoring") as step:
        record = score(listed, options, built=built, report=step)
    emit_to(output, record)
    require_gate(record)


def _refuse(options: "Mapping[str, Any]", why: str) -> None:
    """Refuse what this kind of run has no place for."""
    for name, value in options.items():
        if value:
            raise InputError(f"{name} {why}", "see 'moralscope score --help'")


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

    starting(options.encoder, quiet=output.json)
    emit_to(output, rank(question, answers, options, model=fetched_encoder(options.encoder)))


_NEXT = (
    (
        'moralscope score "forgive a friend" "spread rumours" --report mine.html',
        "score actions of your own and look at them; --axis choice and --axis direction are what "
        "the papers propose",
    ),
    (
        'moralscope compare "forgive a friend" "eat meat" "spread rumours" --encoders minilm,mpnet',
        "two models, one list",
    ),
    (
        'moralscope rank "What should I put in the toaster?" bread "my hamster"',
        "rank answers to a question",
    ),
    ("moralscope reproduce direction", "the papers' tables beside ours"),
)
_REPORT = Path("moralscope-demo.html")


@takes
def demo(
    options: DemoOptions,
    output: OutputOptions,
    open_report: Annotated[
        bool,
        typer.Option(
            "--open", metavar="", help="Open the report in a browser.", rich_help_panel="Output"
        ),
    ] = False,
) -> None:
    """Take a one-minute tour: score twenty actions on real weights and write a report.

    The weights (mpnet, 438 MB, Apache-2.0) are fetched and verified on the first run. The report is
    moralscope-demo.html in the current folder, or the file that --report names.
    """
    from rich.text import Text

    from moralscope.axes.build import LocalModels, build_axis
    from moralscope.axes.score import demo
    from moralscope.core.errors import MoralscopeError
    from moralscope.pages import write_report

    starting(options.encoder, quiet=output.json)
    with fetching() as progress:
        built = build_axis(options.score_options(), LocalModels(progress=progress))
    with counting("scoring") as step:
        record = demo(options, built=built, report=step)
    emit_to(output, record)
    if not output.json:
        out.print()
        out.print("Try next", style="bold")
        for command, what in _NEXT:
            out.print(Text(f"  {command}"), soft_wrap=True)
            out.print(Text(f"      {what}", style="dim"), soft_wrap=True)
    if output.report is None and (open_report or not output.json):
        try:  # nobody asked for it: where it cannot be written, say so and go on
            write_report(record, _REPORT)
        except MoralscopeError as error:
            note(f"no report was written: {error.problem}; name a place with --report")
        else:
            note(f"report: {_REPORT.absolute()} (open it in a browser)")
    shown = output.report or _REPORT
    if open_report and shown.is_file():
        open_in_browser(shown.resolve().as_uri())
