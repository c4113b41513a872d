"""Generate texts for one task of the table and return a run record: a chain of a single step."""

from collections.abc import Sequence

from moralscope.core.errors import InputError
from moralscope.core.protocols import Report
from moralscope.core.records import RunRecord
from moralscope.stories.chains.flow import ChainRecipe, Step
from moralscope.stories.chains.recipes import STRATEGIES
from moralscope.stories.chains.run import ChainModels, run_recipe
from moralscope.stories.options import ChainOptions, GenerateOptions
from moralscope.stories.reading import StoryFile
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import generation_task

# The names of the steps in our recipes, so that a sample is the same text in both commands.
_STEPS = {"action": "actions", "consequence": "consequences", "norm": "norms"}


def generate(
    task: str,
    stories: StoryFile | Sequence[MoralStory],
    models: ChainModels,
    options: ChainOptions | None = None,
    *,
    report: Report | None = None,
) -> RunRecord:
    """Generate `count` candidates for every story and target; the choice is the first.

    Examples
    --------
    >>> from moralscope.models.language import load_generator
    >>> story = MoralStory("1", moral_action="Jo smiles.", immoral_action="Jo spits.")
    >>> models = ChainModels(load_generator("scripted"))
    >>> record = generate("norm|actions", [story], models)
    >>> record.results[0].target, len(record.results[0].candidates)
    (None, 1)
    """
    recipe = single_step(task)
    options = options or GenerateOptions()
    strategy = options.sampling.strategy
    if strategy not in STRATEGIES:
        raise InputError(f"there is no strategy '{strategy}'", f"known: {', '.join(STRATEGIES)}")
    return run_recipe("generate", recipe, stories, models, options, report)


def single_step(task: str) -> ChainRecipe:
    """Return the recipe that does nothing but a task."""
    row = generation_task(task)
    if "draft" in row.needs:
        raise InputError(
            f"'{task}' rewrites drafts, and a story has none",
            "use 'moralscope stories chain consequence-refinement'",
        )
    return ChainRecipe(task, (Step(_STEPS[row.target], "propose", task),))
