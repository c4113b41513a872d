"""`moralscope collect`: exchanges from chatbots, filtered."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from moralscope.batch.options import BatchOptions, BatchPlace
from moralscope.cli.corpus import OutPlace, record_place, run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import Json, Report
from moralscope.cli.output import (
    clean,
    counting,
    emit,
    fetching,
    note,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.core.errors import InputError
from moralscope.rules.collect.options import CollectInput, CollectOptions

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
    from moralscope.io.tables import parse_columns
    from moralscope.rules.collect import collect as job
    from moralscope.rules.collect.files import PROMPT_COLUMNS, read_prompts

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
    starting(*options.bots, reading=source.prompts[0], quiet=json)
    found = read_prompts(Path(source.prompts[0]), parse_columns(source.columns, PROMPT_COLUMNS))
    with fetching() as progress:
        ready = job.prepare(options, progress)
    with counting("replies") as step:
        record = job.collect(found, options, ready=ready, report=step)
    emit(record, json=json, path=place, show=show_collect, report=report)
    if options.to is not None and not json:
        note(f"exchanges: {options.to}")


def show_collect(record: "RunRecord") -> None:
    """Print the counts of every step, the first exchanges that were kept, and the notes."""
    found, bots = record.statistics, list(record.statistics["forms"])
    rows = ((name, f"{count:,}") for name, count in found["prompts"].items())
    out.print(plain_table("prompts", "count", rows=rows))
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
    rows = ((step["step"], f"{step['all']:,}") for step in record.statistics["steps"])
    out.print(plain_table("step", "replies", rows=rows))
    print_warnings(record)
