"""The nouns of a chain, `Step` and `Recipe`, and what each step reads and writes.

The flow is checked before a run and told by `--explain`. `recipes` reads the files, `running` runs.

A step reads sentences of the row. Each comes from the story itself or from an earlier `condition`
step: `trace` says which, so that a chain that reads a reference by mistake can be seen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from moralscope.core.errors import InputError
from moralscope.core.records import Statistics, absent
from moralscope.core.registry import did_you_mean, require_known
from moralscope.stories.story import SENTENCES
from moralscope.stories.tasks import (
    DRAFT_LABELS,
    ClassificationTask,
    GenerationTask,
    classification_task,
    generation_task,
)

STORY = "story"
_PATH = ("action", "consequence")
_BY_TARGET = "{M}"


@dataclass(frozen=True, slots=True)
class Step(Statistics):
    """One step of a recipe; as a mapping, what its file says."""

    name: str
    do: str
    task: str | None = absent()
    expert: str | None = absent()
    source: str | None = absent("from")  # the step whose texts it takes
    field: str | None = absent()  # the sentence that a condition step replaces
    label: str | None = absent()  # the class whose probability ranks
    # Which sentence of the row stands in for another: {"action": "moral_action"}.
    read: Mapping[str, str] | None = absent()
    count: int | None = absent()
    p: float | None = absent()
    temperature: float | None = absent()
    strategy: str | None = absent()

    @property
    def makes_texts(self) -> bool:
        """Whether later steps can take texts from this one."""
        return self.do != "condition"


@dataclass(frozen=True, slots=True)
class ChainRecipe:
    """A chain of steps with a name, what it is for, and where the paper has it."""

    name: str
    steps: tuple[Step, ...]
    about: str = ""
    paper: str = ""

    def step(self, name: str | None) -> Step:
        """Return a step by name."""
        return next(step for step in self.steps if step.name == name)


def where(origin: str, step: Step) -> str:
    """Say which step of which file a problem is about."""
    return f"{origin}, step '{step.name}'"


@dataclass(frozen=True, slots=True)
class StepInputs:
    """The sentences one step reads, each with the step that wrote it (`story` for the story's)."""

    step: Step
    fields: tuple[tuple[str, str], ...]


def text_task(recipe: ChainRecipe, step: Step) -> GenerationTask:
    """Return the generation task whose texts a step hands on."""
    while step.task is None:
        step = recipe.step(step.source)
    return generation_task(step.task)


def by_target(recipe: ChainRecipe) -> bool:
    """Tell whether a story is run twice, for moral and for immoral, or once (norms)."""
    return text_task(recipe, recipe.steps[-1]).per != "story"


def wants_target(step: Step) -> bool:
    """Tell whether a rank step asks for the class of the run's target, moral or immoral."""
    return step.label is None and _expert(step).target != "consequence"


def wanted_class(step: Step, target: str | None) -> int:
    """Return the class whose probability ranks: the label given, plausible, or the target's."""
    labels = _expert(step).labels
    if step.label is not None:
        return labels.index(step.label)
    return 0 if wants_target(step) and target == "immoral" else 1


def renamed(recipe: ChainRecipe, step: Step) -> dict[str, str]:
    """Return which sentence stands in for which: a step's own, and those of its source."""
    inherited = renamed(recipe, recipe.step(step.source)) if step.source else {}
    return {**inherited, **(step.read or {})}


def trace(recipe: ChainRecipe) -> Iterator[StepInputs]:
    """Yield what each step reads, in order."""
    writers: dict[str, str] = {}
    for step in recipe.steps:
        names = [name for name in _inputs(step) if name != "draft"]
        renames = renamed(recipe, step)
        read = dict.fromkeys(renames.get(name, name) for name in names)
        yield StepInputs(step, tuple((name, writers.get(name, STORY)) for name in read))
        if step.field is not None:
            writers[step.field] = step.name


def story_fields(recipe: ChainRecipe) -> tuple[str, ...]:
    """Return the sentences that the story itself must have, in story order."""
    read = {name for inputs in trace(recipe) for name, source in inputs.fields if source == STORY}
    return tuple(name for name in (*SENTENCES[:3], *_PATH, *SENTENCES[3:]) if name in read)


def check_flow(recipe: ChainRecipe, origin: str) -> None:
    """Refuse tasks that are not there and steps whose inputs nobody gives."""
    for step in recipe.steps:
        try:
            _check_tasks(step)
        except InputError as error:
            raise InputError(f"{where(origin, step)}: {error.problem}", error.remedy) from None
    if not recipe.steps[-1].makes_texts:
        raise InputError(
            f"{where(origin, recipe.steps[-1])} is the last and makes no text",
            "end with a propose, rank or refine step",
        )
    for step in recipe.steps:
        if step.source is None:
            continue
        kind, at = text_task(recipe, recipe.step(step.source)).target, where(origin, step)
        if step.expert is not None and _expert(step).target != kind:
            raise InputError(
                f"{at}: '{step.expert}' judges {_expert(step).target}s, "
                f"'{step.source}' gives {kind}s",
                "choose another expert",
            )
        fields = (*SENTENCES, *_PATH)
        if step.field is not None:
            require_known(step.field, fields, f"{at}: a story has no '{step.field}'")
        if step.field is not None and step.field.rpartition("_")[2] != kind:
            raise InputError(
                f"{at}: '{step.source}' gives {kind}s, '{step.field}' is no {kind}",
                f"choose a field that holds a {kind}",
            )
    for inputs in trace(recipe):
        _check_inputs(recipe, inputs, where(origin, inputs.step))


def _check_tasks(step: Step) -> None:
    if step.task is not None:
        needs_draft = "draft" in generation_task(step.task).needs
        if needs_draft and step.do == "propose":
            raise InputError(f"'{step.task}' needs a draft", "use a refine step")
        if not needs_draft and step.do == "refine":
            raise InputError(f"'{step.task}' reads no draft", "use a propose step")
    if step.expert is None:
        return
    labels = _expert(step).labels
    if step.label is not None:
        require_known(step.label, labels, f"'{step.expert}' has no label '{step.label}'")
    if step.do == "refine" and set(labels) != set(DRAFT_LABELS):
        raise InputError(
            f"'{step.expert}' does not label drafts",
            f"its labels must be {', '.join(DRAFT_LABELS)}",
        )


def _check_inputs(recipe: ChainRecipe, inputs: StepInputs, at: str) -> None:
    step, twice = inputs.step, by_target(recipe)
    there = (*SENTENCES, *_PATH) if twice else SENTENCES
    for old in step.read or ():
        require_known(
            old, _inputs(step), f"{at}: 'read' replaces '{old}', which the step does not read"
        )
    for name, source in inputs.fields:
        if source == STORY and name not in there:
            why = "which no step before it writes" if name in _PATH else "which no story has"
            raise InputError(f"{at} reads '{name}', {why}", did_you_mean(name, there))
    asks = step.do == "rank" and wants_target(step)
    marked = step.task is not None and _BY_TARGET in generation_task(step.task).input
    if not twice and (asks or marked):
        raise InputError(
            f"{at} asks for moral or immoral, but norms have no target",
            "rank with label = …, or leave the step out",
        )


def _inputs(step: Step) -> tuple[str, ...]:
    """Return the names of the sentences a step's models read, before renaming."""
    needs = generation_task(step.task).needs if step.task is not None else ()
    grounding = _expert(step).grounding if step.expert is not None else ()
    return tuple(dict.fromkeys((*needs, *grounding)))


def _expert(step: Step) -> ClassificationTask:
    return classification_task(str(step.expert))
