"""`moralscope stories`: data and norms, experts, texts that are written, chosen and measured."""

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from moralscope.cli import training
from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import counting, emit_to, fetched_encoder, fetching, starting
from moralscope.core.printable import printable
from moralscope.stories.options import (
    ChainInput,
    ChainOptions,
    EvaluateInput,
    EvaluateOptions,
    GenerateInput,
    GenerateOptions,
    MetricsInput,
    MetricsOptions,
    NormsInput,
    NormsOptions,
    ReverseInput,
    ReverseOptions,
    SplitInput,
    SplitOptions,
    StatsOptions,
    StoriesInput,
    TextsInput,
)

if TYPE_CHECKING:
    from moralscope.stories.chains.run import ChainModels

app = typer.Typer(
    help="Norms, actions, consequences: data, experts that read the norm, chains of experts.",
    no_args_is_help=True,
)


@app.command(rich_help_panel="Data")
@takes
def stats(source: StoriesInput, options: StatsOptions, output: ReportOutput) -> None:
    """Count stories, sentences and tokens; find topics, duplicates and frequent norms.

    Tables 7 and 13 of Emelin et al. 2021, next to the paper's.

    Example: moralscope stories stats my_stories.jsonl --report stories.html
    """
    from moralscope.stories.reading import load_stories
    from moralscope.stories.stats import stories_stats

    emit_to(output, stories_stats(load_stories(source.file, malformed=source.malformed), options))


@app.command(rich_help_panel="Data")
@takes
def split(source: SplitInput, options: SplitOptions, output: ReportOutput) -> None:
    """Split stories by norm distance, lexical bias and minimal pairs; audit the leaks.

    Section 3.1 of Emelin et al. 2021, next to its Table 1. Official membership in the data is
    compared with ours.

    Example: moralscope stories split my_stories.jsonl --membership with_splits.jsonl
    """
    from moralscope.io.files import check_writable
    from moralscope.stories.reading import load_stories
    from moralscope.stories.split import stories_split, write_membership

    if source.membership is not None:
        check_writable(source.membership)
    starting(source.encoder, reading=source.file or "Moral Stories", quiet=output.json)
    stories = load_stories(source.file, malformed=source.malformed)
    model = fetched_encoder(source.encoder)
    with counting("splitting") as bar:
        record = stories_split(stories, options, encoder=model, progress=bar)
    if source.membership is not None:
        write_membership(record, stories, source.membership)
    emit_to(output, record)


@app.command(rich_help_panel="Data")
@takes
def reverse(source: ReverseInput, options: ReverseOptions, output: RecordOutput) -> None:
    """Reverse norms: what kept the norm now breaks it. For stories, say how many can be reversed.

    Rules only, no model: "It's rude to lie." turns into "It's polite to lie.", "You should lie."
    and other wordings, in a fixed order.

    Example: moralscope stories reverse "It's rude to lie." --variants 8
    """
    from moralscope.stories.reverse import reverse_norms

    emit_to(output, reverse_norms(source.norms, options, file=source.file))


@app.command(rich_help_panel="Data")
@takes
def norms(source: NormsInput, options: NormsOptions, output: RecordOutput) -> None:
    """Select norms for new stories from SOCIAL-CHEM-101, and count what each filter removed.

    Section 2.1 of Emelin et al. 2021: Morality/Ethics and Social Norms, nothing controversial or
    value-neutral. Each norm holds one judgment.

    Example: moralscope stories norms social-chem-101.v1.0.tsv --items norms.csv
    """
    from moralscope.io.files import check_writable
    from moralscope.stories.select_norms import select_norms, write_norms

    if source.items is not None:
        check_writable(source.items)
    record = select_norms(source.file, options, malformed=source.malformed)
    if source.items is not None:
        write_norms(record.results, source.items)
    emit_to(output, record)


app.command("train", rich_help_panel="Experts")(training.stories_train)


@app.command(rich_help_panel="Experts")
@takes
def evaluate(source: EvaluateInput, options: EvaluateOptions, output: ReportOutput) -> None:
    """Measure experts: accuracy, F1, calibration, and whether they read the norm.

    Stories that the experts were trained on are left out and counted. Intervals are bootstraps
    over stories. With mpnet on two cores the whole grid takes about half an hour: choose --tasks
    and --split, or draw --max-stories 200.

    Example: moralscope stories evaluate --tasks action+norm --split norm_distance
    """
    from moralscope.stories.evaluate import evaluate
    from moralscope.stories.experts import prepare_experts
    from moralscope.stories.reading import load_stories

    stories = source.stories or "Moral Stories"
    starting(source.experts, source.against, reading=stories, quiet=output.json)
    listed = load_stories(source.stories).stories
    with fetching() as progress:
        first = prepare_experts(source.experts, progress=progress)
        second = prepare_experts(source.against, progress=progress) if source.against else None
    with counting("evaluating") as progressed:
        record = evaluate(first, listed, options, against=second, report=progressed)
    emit_to(output, record)


@app.command(rich_help_panel="Texts")
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


@app.command(rich_help_panel="Texts")
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


@app.command(rich_help_panel="Texts")
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
