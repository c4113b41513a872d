"""`moralscope survey`: dilemmas and questionnaires put to language models."""

from dataclasses import replace
from typing import Annotated

import typer

from moralscope.batch.options import BatchOptions
from moralscope.cli.corpus import run_over_corpus, wants_corpus
from moralscope.cli.declare import takes
from moralscope.cli.options import CorpusOutput, input_flag
from moralscope.cli.output import counting, emit_to, fetching, require_gate, starting
from moralscope.surveys.options import SurveyOptions


@takes
def survey(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A table with situation, action1, action2, … (or MoralChoice's columns), or with "
            "statement; 'values' is a questionnaire of ours.",
        ),
    ],
    options: SurveyOptions,
    batch: BatchOptions,
    output: CorpusOutput,
    columns: Annotated[
        str | None,
        input_flag(
            "--columns", "What your columns are called: situation=story,action1=a.", "NAME=COLUMN"
        ),
    ] = None,
) -> None:
    """Ask language models what they would do: every order, form and wording of every dilemma.

    For each model it shows how likely each action is, and what else the answers depend on: the
    order of the actions, their labels, yes and no, the wording, the layout. Biases are log-odds
    with joint intervals. Several models are compared item by item.

    A table with a 'statement' column is a questionnaire: how far does a model agree, and does it
    disagree with the opposite?

    With --out DIR a file, folder, glob or URL of dilemmas is a corpus of any size. Its columns and
    the figures are written as Parquet files.

    Example: moralscope survey dilemmas.csv --model smollm2 --report survey.html
    """
    from moralscope.io.tables import parse_columns
    from moralscope.stats.gates import parse_gate
    from moralscope.surveys.items import COLUMNS, read_items
    from moralscope.surveys.survey import GATED, kind_of, load_speaker, survey

    # --limit belongs to both: alone it makes no corpus of a file.
    if wants_corpus([file], output.out, replace(batch, limit=None), parquet=False):
        from moralscope.batch.job import job_columns
        from moralscope.batch.sources import open_corpus
        from moralscope.surveys.batch import SurveyBatch

        header = open_corpus([file], ()).schema.names
        options = replace(options, limit=None)
        job = SurveyBatch(options, job_columns(columns, COLUMNS), header)
        require_gate(run_over_corpus(job, [file], batch, output))
        return
    output.check_file()
    starting(*options.models, reading=file, quiet=output.json)
    items = read_items(file, parse_columns(columns, COLUMNS, like="situation=story,action1=a"))
    if options.gate is not None:  # refused before any weights are fetched
        parse_gate(options.gate, GATED[kind_of(items)])
    with fetching() as progress:
        speakers = [load_speaker(name, options, progress) for name in options.models]
    with counting("asking") as step:
        record = survey(items, options, speakers=speakers, report=step)
    emit_to(output, record)
    require_gate(record)
