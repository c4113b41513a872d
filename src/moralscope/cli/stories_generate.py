"""`moralscope stories generate`: what a generator writes for one task of the table."""

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
    Split,
    Target,
    Temperature,
)


def generate(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="A generation row of the task table: 'action|context', 'norm|actions', …",
        ),
    ],
    stories: Stories = None,
    generator: Generator = "stories",
    target: Target = "both",
    decode: Annotated[str, typer.Option("--decode", help="nucleus, greedy or beam.")] = "nucleus",
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=MAX_COUNT, help="Candidates a story.")
    ] = 1,
    p: Nucleus = 0.9,
    temperature: Temperature = 1.0,
    limit: Limit = None,
    split: Split = "norm_distance",
    part: Part = None,
    beside: Beside = None,
    resume: Resume = True,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Generate actions, consequences or norms for stories, without experts.

    With several candidates the choice is the first; 'stories chain' lets experts choose.

    Example: moralscope stories generate "action|context" --stories stories.jsonl --count 3
    """
    from moralscope.cli.output import counting, emit
    from moralscope.cli.stories_texts import decoding, load_models, show_run
    from moralscope.stories.chains.run import (
        ChainOptions,
        choose_part,
        finish,
        read_beside,
        set_beside,
    )
    from moralscope.stories.data_files import load_stories
    from moralscope.stories.generate import generate, single_step

    sampling = decoding(decode, count, p, temperature)
    options = ChainOptions(target, sampling, limit, seed, out=out, resume=resume)
    recipe = single_step(task)  # refuses a task that is not there before anything is loaded
    others = read_beside(beside or [])
    found = choose_part(load_stories(stories), split, part, recipe)
    models = load_models(generator, None)
    with counting("stories") as step:
        record = generate(task, found, models, options, report=step)
    record = set_beside(record, others)
    emit(record, json=json, path=out, show=show_run, report=report)
    finish(record)
