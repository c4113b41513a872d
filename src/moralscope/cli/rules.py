"""`moralscope rules`: rules of thumb, found and written for exchanges, linted, listed, counted."""

from pathlib import Path
from typing import Annotated

import typer

from moralscope.cli import training
from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import counting, emit_to, fetched_encoder, fetching, note, starting
from moralscope.rules.options import (
    AnnotationInput,
    AttributesInput,
    AttributesOptions,
    CheckInput,
    CheckOptions,
    ExchangeInput,
    LearnOptions,
    LintOptions,
    RetrieveOptions,
    RulesGenerateOptions,
    RulesStatsOptions,
    ShowOptions,
    WarrantOptions,
)

app = typer.Typer(
    help="Rules of thumb: find those that apply to a reply; list, check, learn and train.",
    no_args_is_help=True,
)
Best = Annotated[
    Path | None,
    typer.Option(
        "--best",
        metavar="FILE.jsonl",
        rich_help_panel="Output",
        help="Save the likeliest rule of each, kept or not, for 'reproduce integrity --generated'.",
    ),
]


@app.command()
@takes
def stats(source: AnnotationInput, options: RulesStatsOptions, output: ReportOutput) -> None:
    """Count annotations; show how attributes are distributed and how far people agree.

    Figure 2 and section 4 of Ziems et al. 2022, next to the paper's figures. The texts may offend.

    Example: moralscope rules stats MIC.csv --malformed skip
    """
    from moralscope.io.tables import parse_columns
    from moralscope.rules.annotations.statistics import stats

    emit_to(output, stats(source.file, options, columns=parse_columns(source.columns)))


app.command("train")(training.rules_train)


@app.command()
@takes
def generate(
    source: ExchangeInput, options: RulesGenerateOptions, output: RecordOutput, best: Best = None
) -> None:
    """Write rules of thumb for a reply, or for each reply of a file, without judging it.

    Example: moralscope rules generate --prompt "Any plans?" --reply "I'll read my ex's diary."
    """
    from moralscope.io.files import check_writable
    from moralscope.rules.texts.exchanges import read_exchanges
    from moralscope.rules.writing import rule_writer as job

    if best is not None:
        check_writable(best)
    starting(options.generator, reading=source.file, quiet=output.json)
    exchanges = read_exchanges(source)
    with fetching() as progress:
        ready = job.prepare_writing(options, progress)
    with counting("exchanges") as report:
        record = job.generate_rules(exchanges, options, ready=ready, report=report)
    if best is not None:
        job.write_best(record, best)
    emit_to(output, record)


@app.command()
@takes
def attributes(source: AttributesInput, options: AttributesOptions, output: RecordOutput) -> None:
    """Estimate foundations, severity and consensus of rules, and whether replies agree with them.

    Example: moralscope rules attributes --rule "It is wrong to lie." --experts my-experts
    """
    from moralscope.io.tables import parse_columns
    from moralscope.rules import attributes as job

    starting(options.experts, reading=source.file, quiet=output.json)
    if source.file is not None:
        asked = job.read_rule_queries(source.file, parse_columns(source.columns))
    else:
        asked = job.rule_queries(source.rule, source.prompt, source.reply)
    with fetching() as progress:
        ready = job.prepare_attributes(options.experts, progress)
    emit_to(output, job.attributes(asked, options, models=ready))


@app.command()
@takes
def retrieve(source: ExchangeInput, options: RetrieveOptions, output: RecordOutput) -> None:
    """Find the rules that apply to a reply, or to each reply of a file, without judging it.

    Example: moralscope rules retrieve --prompt "Any plans?" --reply "I'll read my ex's diary."
    """
    from moralscope.rules.retrieval import retrieve
    from moralscope.rules.texts.exchanges import read_exchanges

    needed = None if options.method == "random" else options.encoder
    starting(needed, reading=source.file, quiet=output.json)
    exchanges = read_exchanges(source)
    model = None if needed is None else fetched_encoder(needed)
    emit_to(output, retrieve(exchanges, options, model=model))


@app.command()
@takes
def lint(options: LintOptions, output: RecordOutput) -> None:
    """Look for duplicates, contradictions, vague rules and imbalance in rulebooks.

    Example: moralscope rules lint --rulebook house.yaml --encoder minilm
    """
    from moralscope.rules.rulebooks.show import lint_rules

    model = fetched_encoder(options.encoder) if options.encoder is not None else None
    emit_to(output, lint_rules(options, model=model))


@app.command()
@takes
def check(source: CheckInput, options: CheckOptions, output: RecordOutput) -> None:
    """Find rules that contradict each other, overlap, never fire or fire on everything.

    Rules are compared with each other and tried on replies; each finding comes with the exchange
    that shows it.

    Example: moralscope rules check house.yaml --replies replies.jsonl
    """
    from moralscope.rules.rulebook import load_layers
    from moralscope.rules.rulebooks import check as job
    from moralscope.rules.texts.exchanges import open_exchanges, parse_columns

    replies = None
    starting(options.experts, reading=source.replies, quiet=output.json)
    if source.replies is not None:
        replies = open_exchanges(source.replies, parse_columns(source.columns))
    book = load_layers(options.rulebooks)
    with fetching() as progress:
        models = job.prepare_check(options, book, progress)
    emit_to(output, job.check_rules(options, replies=replies, book=book, models=models))


@app.command()
@takes
def warrant(options: WarrantOptions, output: RecordOutput) -> None:
    """Test whether the model can enforce each rule: enforceable, with review, or not.

    It asks the experts about minimal pairs, first those of your labels, and sets a limit that keeps
    false alarms within the budget. The warrant is saved next to the rulebook (house.warrant.json).

    Example: moralscope rules warrant house.yaml --labels labels.csv --benign fine.jsonl
    """
    from moralscope.io.files import check_writable
    from moralscope.rules.rulebooks.warrant import warrant
    from moralscope.rules.warrant_file import warrant_path

    check_writable(warrant_path(options.rulebook))
    starting(options.experts, reading=options.rulebook, quiet=output.json)
    with fetching() as progress:
        record = warrant(options, progress=progress)
    emit_to(output, record)
    note(f"warrant: {warrant_path(options.rulebook)}")


@app.command()
@takes
def learn(options: LearnOptions, output: RecordOutput) -> None:
    """Learn from labels how your rules are broken; audits with this rulebook use it.

    The result is saved next to the rulebook (house.learnt.json), but only if it does better on
    labels that it did not learn from.

    Example: moralscope rules learn house.yaml --labels labels.csv
    """
    from moralscope.io.files import check_writable
    from moralscope.rules.learnt import learnt_path
    from moralscope.rules.rulebooks.learn import learn_rules

    check_writable(learnt_path(options.rulebook))
    starting(options.experts, reading=options.labels, quiet=output.json)
    with fetching() as progress:
        record = learn_rules(options, progress=progress)
    emit_to(output, record)


@app.command()
@takes
def show(options: ShowOptions, output: RecordOutput) -> None:
    """List the rules of rulebooks, with severity and consensus.

    Example: moralscope rules show --theme privacy
    """
    from moralscope.rules.rulebooks.show import show_rules

    emit_to(output, show_rules(options))
