"""`moralscope collect`: exchanges from chatbots, filtered."""

from dataclasses import replace
from pathlib import Path

from moralscope.batch.options import BatchOptions
from moralscope.cli.corpus import run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import CorpusOutput
from moralscope.cli.output import counting, emit_to, fetching, note, starting
from moralscope.core.errors import InputError
from moralscope.rules.collect.options import CollectInput, CollectOptions


@takes
def collect(
    source: CollectInput, options: CollectOptions, batch: BatchOptions, output: CorpusOutput
) -> None:
    """Ask chatbots, filter what they reply, and write exchanges to annotate or to audit.

    With --to a run can be killed at any moment: the same command resumes it, and one with other
    filters uses the same replies. Nothing leaves this machine unless you name an endpoint.

    With --out DIR one chatbot is asked over a corpus of any size, and its columns and the replies
    are written as Parquet files; what the filters drop is marked there.

    Example: moralscope collect prompts.txt --bot smollm2 --to exchanges.jsonl
    """
    from moralscope.io.tables import parse_columns
    from moralscope.rules.collect import collect as job
    from moralscope.rules.collect.files import PROMPT_COLUMNS, read_prompts

    job.check_options(options)
    # --resume belongs to --to as well: by itself it does not ask for a corpus run.
    if wants_corpus(source.prompts, output.out, replace(batch, resume=False)):
        from moralscope.batch.job import job_columns
        from moralscope.rules.collect.batch import CollectBatch

        if options.to is not None:
            raise InputError("--to belongs to one run record", "a corpus goes to --out DIR")
        corpus = CollectBatch(options, job_columns(source.columns, CollectBatch.reads))
        run_over_corpus(corpus, source.prompts, batch, output)
        return
    output.check_file()
    starting(*options.bots, reading=source.prompts[0], quiet=output.json)
    prompts = read_prompts(Path(source.prompts[0]), parse_columns(source.columns, PROMPT_COLUMNS))
    with fetching() as progress:
        ready = job.prepare(options, progress)
    with counting("replies") as step:
        record = job.collect(prompts, options, ready=ready, report=step)
    emit_to(output, record)
    if options.to is not None and not output.json:
        note(f"exchanges: {options.to}")
