"""`moralscope collect` and `collect-train`: exchanges from chatbots, and what filters them."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.cli.corpus import OutPlace, record_place, run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import Json, Out, Report, Seed
from moralscope.core.errors import InputError
from moralscope.rules.options import CollectInput, CollectOptions

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

_SHOWN = 10
_SHORT = 80


@takes
def collect(
    source: CollectInput,
    options: CollectOptions,
    batch: BatchOptions,
    json: Json = False,
    out: OutPlace = None,
    report: Report = None,
) -> None:
    """Ask chatbots, filter what they reply, and write exchanges to annotate or to audit.

    With --to a run can be killed at any moment: the same command goes on where it stopped, and one
    with other filters asks no chatbot again. Nothing leaves this machine unless you name an
    endpoint.

    With --out DIR one chatbot is asked over a corpus of any size, and its replies go into Parquet
    parts beside all its columns; what the filters drop is marked there.

    Example: moralscope collect prompts.txt --bot smollm2 --to exchanges.jsonl
    """
    from moralscope.cli.output import counting, emit, fetching, note
    from moralscope.rules.audit_files import parse_columns
    from moralscope.rules.collect import collect as job
    from moralscope.rules.collect.files import read_prompts

    job.check_options(options)
    # --resume belongs to --to as well: by itself it does not ask for a corpus run.
    if wants_corpus(source.prompts, out, replace(batch, resume=False)):
        from moralscope.batch.job import job_columns
        from moralscope.rules.collect.batch import CollectBatch

        if options.to is not None:
            raise InputError("--to belongs to one run record", "a corpus goes to --out DIR")
        corpus = CollectBatch(options, job_columns(source.columns, CollectBatch.reads))
        parts = BatchPlace.given(source.prompts, out, batch)
        run_over_corpus(corpus, parts, batch, json=json, report=report, show=show_collected)
        return
    place = record_place(out)
    found = read_prompts(Path(source.prompts[0]), parse_columns(source.columns))
    with fetching() as progress:
        ready = job.prepare(options, progress)
    with counting("replies") as step:
        record = job.collect(found, options, ready=ready, report=step)
    emit(record, json=json, path=place, show=show_collect, report=report)
    if options.to is not None and not json:
        note(f"exchanges: {options.to}")


def collect_train(
    labelled: Annotated[
        Path,
        typer.Argument(
            metavar="LABELLED.csv",
            help="Columns prompt, reply, sufficient, moral (0 or 1, or votes: 1|0) and chatbot.",
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the filters go.")],
    base: Annotated[
        str | None,
        typer.Option("--base", help="minilm, mpnet, a folder, or a hub id (with --paper: ALBERT)."),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="The paper's settings: every weight, three rates, up to eight epochs."
        ),
    ] = False,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help="Passes over the train part, at most.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", min=0.0, help="Rate at its peak: 4e-4.")
    ] = None,
    batch: Annotated[int | None, typer.Option("--batch", min=1, help="Replies a step: 32.")] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="What they are called: prompt=Q,reply=A.")
    ] = None,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Train the filters of 'collect' on replies that people labelled.

    Three fifths are learnt, one fifth chooses, one fifth measures. A run that was stopped goes on
    where it was when the same command is given again. 'collect' takes the folder by --filters DIR.

    Example: moralscope collect-train labelled.csv --to my-filters
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.cli.stories_train import watching
    from moralscope.io.tables import parse_columns
    from moralscope.rules.collect.train import FilterOptions, train_filters

    given = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch}
    schedule = {name: value for name, value in given.items() if value is not None}
    options = FilterOptions(base, paper, parse_columns(columns), schedule, seed)
    with fetching() as progress, watching(quiet=json) as report:
        record = train_filters(labelled, to, options, report=report, progress=progress)
    emit(record, json=json, path=out, show=show_training)


def show_training(record: "RunRecord") -> None:
    """Print the figures of the test part."""
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    table = plain_table("task", "chatbot", "precision", "recall", "F1", "interval", "replies")
    for row in record.results:
        figures = (f"{row[name]:.1f}" for name in ("precision", "recall", "f1"))
        span = f"{row['low']:.1f} … {row['high']:.1f}"
        table.add_row(row["task"], clean(row["chatbot"]), *figures, span, f"{row['n']:,}")
    out.print(table)
    out.print(f"written to {record.config['out']}", markup=False)
    print_warnings(record)


def show_collect(record: "RunRecord") -> None:
    """Print the counts of every step, the first exchanges that were kept, and the notes."""
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    found, bots = record.statistics, list(record.statistics["forms"])
    table = plain_table("prompts", "count")
    for name, count in found["prompts"].items():
        table.add_row(name, f"{count:,}")
    out.print(table)
    out.print()
    table = plain_table("step", *bots, *(["all"] if len(bots) > 1 else []))
    for step in found["steps"]:
        counts = [step["by_chatbot"][name] for name in bots]
        counts += [step["all"]] if len(bots) > 1 else []
        table.add_row(step["step"], *(f"{count:,}" for count in counts))
    out.print(table)
    out.print()
    kept = [row for row in record.results if row.dropped is None]
    table = plain_table("kept", "prompt ", "reply ")
    for column in table.columns[1:]:
        column.justify, column.overflow = "left", "fold"
    for row in kept[:_SHOWN]:
        table.add_row(clean(row.id), clean(row.prompt[:_SHORT]), clean(row.reply[:_SHORT]))
    if len(kept) > _SHOWN:
        table.add_row(f"… {len(kept) - _SHOWN:,} more", "--to, --json or --out", "")
    if kept:
        out.print(table)
    print_warnings(record)


def show_collected(record: "RunRecord") -> None:
    """Print how many replies passed each step."""
    from moralscope.cli.output import out, plain_table, print_warnings

    table = plain_table("step", "replies")
    for step in record.statistics["steps"]:
        table.add_row(step["step"], f"{step['all']:,}")
    out.print(table)
    print_warnings(record)
