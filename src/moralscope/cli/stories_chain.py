"""`moralscope stories chain`: let experts rank and refine what a generator writes."""

from typing import Annotated

import typer

from moralscope.cli.options import Json, Out, Report, Seed, Stories
from moralscope.cli.stories_texts import (
    MAX_COUNT,
    Beside,
    Generator,
    Limit,
    Nucleus,
    Part,
    Resume,
    Show,
    Split,
    Target,
    Temperature,
)


def chain(
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="action-ranking, action-abduction, consequence-ranking, consequence-refinement, "
            "norm-synthesis, a baseline (action-sample, …), or a .toml file of your own.",
        ),
    ],
    stories: Stories = None,
    generator: Generator = "stories",
    experts: Annotated[
        str,
        typer.Option("--experts", help="mpnet, minilm, scripted, or a folder of 'stories train'."),
    ] = "mpnet",
    target: Target = "both",
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=MAX_COUNT, help="Candidates a step.")
    ] = 10,
    p: Nucleus = 0.9,
    temperature: Temperature = 1.0,
    limit: Limit = None,
    split: Split = "norm_distance",
    part: Part = None,
    show: Show = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Draw the recipe and say what each step does.")
    ] = False,
    beside: Beside = None,
    resume: Resume = True,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Run a chain of experts over stories: propose, rank, condition, refine.

    Every candidate, score and choice is in the run record. With --out a run can be killed at any
    moment: the same command goes on where it stopped.

    Example: moralscope stories chain action-ranking --stories stories.jsonl --out run.json
    """
    from moralscope.cli.output import counting, emit
    from moralscope.cli.stories_texts import decoding, load_models, show_path, show_run
    from moralscope.stories.chains import run as job
    from moralscope.stories.data_files import load_stories

    options = job.ChainOptions(
        target,
        decoding("nucleus", count, p, temperature),
        limit,
        seed,
        only=show if out is None else None,
        out=out,
        resume=resume,
    )
    lines = job.explain_recipe(recipe, options)  # refuses a bad recipe before anything is loaded
    if explain:
        typer.echo("\n".join(lines))
        return
    others = job.read_beside(beside or [])
    record = job.finished_run(out, recipe) if show is not None else None
    if record is None:
        found = job.choose_part(load_stories(stories), split, part, recipe)
        models = load_models(generator, experts)
        with counting("stories") as step:
            record = job.chain(recipe, found, models, options, report=step)
    record = job.set_beside(record, others)
    drawn = show_run if show is None else lambda each: show_path(each, show)
    emit(record, json=json, path=out, show=drawn, report=report)
    job.finish(record)
