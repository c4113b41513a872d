"""`moralscope stories generate`, `chain` and `metrics`: texts written, chosen and measured."""

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import counting, emit_to, fetching, starting
from moralscope.core.printable import printable
from moralscope.stories.options import (
    ChainInput,
    ChainOptions,
    GenerateInput,
    GenerateOptions,
    MetricsInput,
    MetricsOptions,
    TextsInput,
)

if TYPE_CHECKING:
    from moralscope.stories.chains.run import ChainModels


@takes
def generate(source: GenerateInput, options: GenerateOptions, output: ReportOutput) -> None:
    """Generate actions, consequences or norms for stories, without experts.

    With several candidates the choice is the first; 'stories chain' lets experts choose.

    Example: moralscope stories generate "action|context" --stories stories.jsonl --count 3
    """
    from moralscope.stories.chains import run as job
    from moralscope.stories.generate import generate, single_step
    from moralscope.stories.reading import load_stories
    from moralscope.stories.text_runs import read_beside, set_beside

    recipe = single_step(source.task)  # refuses a task that is not there before anything is loaded
    others = read_beside(source.beside)
    starting(source.generator, reading=source.stories or "Moral Stories", quiet=output.json)
    stories = job.choose_part(load_stories(source.stories), source.split, source.part, recipe)
    models = _load_models(source, None)
    with counting("stories") as step:
        settings = replace(options, out=output.out)
        record = generate(source.task, stories, models, settings, report=step)
    record = set_beside(record, others)
    emit_to(output, record)
    job.finish(record)


@takes
def chain(source: ChainInput, options: ChainOptions, output: ReportOutput) -> None:
    """Run a chain of experts over stories: propose, rank, condition, refine.

    Every candidate, score and choice is in the run record. With --out a run can be killed at any
    moment: the same command resumes it.

    Example: moralscope stories chain action-ranking --stories stories.jsonl --out run.json
    """
    from moralscope.core.errors import InputError
    from moralscope.io.files import read_run
    from moralscope.pages import read_record
    from moralscope.pages.chain import path_page
    from moralscope.stories.chains import run as job
    from moralscope.stories.chains.explain import explain
    from moralscope.stories.chains.recipes import load_recipe
    from moralscope.stories.reading import load_stories
    from moralscope.stories.text_runs import read_beside, set_beside

    recipe, show = source.recipe, source.show
    options = replace(options, out=output.out, only=show if output.out is None else None)
    chosen = load_recipe(recipe)  # refuses a bad recipe before anything is loaded
    if source.explain:
        typer.echo(printable("\n".join(explain(chosen, options.sampling)), keep="\n"))
        return
    others = read_beside(source.beside)
    if show is not None and output.out is not None and job.is_finished(output.out):
        record = read_record(read_run(output.out), str(output.out))
        if record.job != "chain" or record.config.get("recipe") != chosen.name:
            raise InputError(f"{output.out} is not a run of {recipe}", "choose another --out")
    else:
        reading = source.stories or "Moral Stories"
        starting(source.generator, source.experts, reading=reading, quiet=output.json)
        stories = job.choose_part(load_stories(source.stories), source.split, source.part, recipe)
        models = _load_models(source, source.experts)
        with counting("stories") as step:
            record = job.chain(recipe, stories, models, options, report=step)
    record = set_beside(record, others)
    emit_to(output, record, path_page(record, show) if show else None)
    job.finish(record)


@takes
def metrics(source: MetricsInput, options: MetricsOptions, output: RecordOutput) -> None:
    """Measure generated texts: BLEU, ROUGE, diversity, perplexity, and a held-out judge.

    Several runs are compared with paired tests. A judge that ranked one of them is refused.

    Example: moralscope stories metrics sample.json ranking.json --judge minilm
    """
    from moralscope.stories.experts import prepare_experts
    from moralscope.stories.reading import load_stories
    from moralscope.stories.text_metrics import score_texts

    stories = load_stories(source.stories).stories if source.stories else None
    judge = None
    if source.judge is not None:
        starting(source.judge, quiet=output.json)
        with fetching() as progress:
            judge = prepare_experts(source.judge, progress=progress)
    emit_to(output, score_texts(source.runs, stories, options, judge=judge))


def _load_models(source: TextsInput, experts: str | None) -> "ChainModels":
    """Load a generator and, where asked for, experts."""
    from moralscope.models.language import load_steered
    from moralscope.stories.chains.run import ChainModels
    from moralscope.stories.experts import prepare_experts

    with fetching() as progress:
        judges = prepare_experts(experts, progress=progress) if experts else None
        return ChainModels(load_steered(source.generator, source.steer, progress=progress), judges)
