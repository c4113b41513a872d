"""The nouns of a chain, `Step` and `Recipe`, and what each step reads and writes.

The flow is checked before a run and told by `--explain`. `recipes` reads the files, `running` runs.

A step reads sentences of the row. Each comes from the story itself or from an earlier `condition`
step: `trace` says which, so that a chain that reads a reference by mistake can be seen.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean
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
SAMPLING = ("count", "p", "temperature", "strategy")


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `source` is the step whose texts it takes (`from` in the file).

    `read` says which sentence of the row stands in for another: `{"action": "moral_action"}`.
    """

    name: str
    do: str
    task: str | None = None
    expert: str | None = None
    source: str | None = None
    field: str | None = None
    label: str | None = None
    read: Mapping[str, str] = dataclasses.field(default_factory=dict)
    count: int | None = None
    p: float | None = None
    temperature: float | None = None
    strategy: str | None = None

    @property
    def makes_texts(self) -> bool:
        """Whether later steps can take texts from this one."""
        return self.do != "condition"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A chain of steps with a name, what it is for, and where the paper has it."""

    name: str
    steps: tuple[Step, ...]
    about: str = ""
    paper: str = ""

    def step(self, name: str | None) -> Step:
        """Return a step by name."""
        return next(step for step in self.steps if step.name == name)


def recipe_plain(recipe: Recipe) -> list[dict[str, Any]]:
    """Return the steps as plain data, without what is not set: for records and journals."""
    names = ("name", "do", "task", "expert", "source", "field", "label", "read", *SAMPLING)
    found = [{name: getattr(step, name) for name in names} for step in recipe.steps]
    return [
        {
            "from" if key == "source" else key: dict(value) if key == "read" else value
            for key, value in row.items()
            if value is not None and value != {}
        }
        for row in found
    ]


def where(origin: str, step: Step) -> str:
    """Say which step of which file a problem is about."""
    return f"{origin}, step '{step.name}'"


@dataclass(frozen=True, slots=True)
class Reads:
    """The sentences one step reads, each with the step that wrote it (`story` for the story's)."""

    step: Step
    fields: tuple[tuple[str, str], ...]


def text_task(recipe: Recipe, step: Step) -> GenerationTask:
    """Return the generation task whose texts a step hands on.

    Examples
    --------
    >>> from moralscope.stories.chains.recipes import load_recipe
    >>> recipe = load_recipe("action-ranking")
    >>> text_task(recipe, recipe.steps[-1]).target
    'action'
    """
    while step.task is None:
        step = recipe.step(step.source)
    return generation_task(step.task)


def by_target(recipe: Recipe) -> bool:
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


def renamed(recipe: Recipe, step: Step) -> dict[str, str]:
    """Return which sentence stands in for which: a step's own, and those of its source."""
    inherited = renamed(recipe, recipe.step(step.source)) if step.source else {}
    return {**inherited, **step.read}


def trace(recipe: Recipe) -> Iterator[Reads]:
    """Yield what each step reads, in order."""
    writers: dict[str, str] = {}
    for step in recipe.steps:
        names = [name for name in _inputs(recipe, step) if name != "draft"]
        renames = renamed(recipe, step)
        found = dict.fromkeys(renames.get(name, name) for name in names)
        yield Reads(step, tuple((name, writers.get(name, STORY)) for name in found))
        if step.field is not None:
            writers[step.field] = step.name


def story_fields(recipe: Recipe) -> tuple[str, ...]:
    """Return the sentences that the story itself must have, in story order.

    Examples
    --------
    >>> from moralscope.stories.chains.recipes import load_recipe
    >>> story_fields(load_recipe("consequence-ranking"))
    ('norm', 'situation', 'intention', 'action')
    """
    found = {name for reads in trace(recipe) for name, source in reads.fields if source == STORY}
    order = (*SENTENCES[:3], *_PATH, *SENTENCES[3:])
    return tuple(name for name in order if name in found)


def check_flow(recipe: Recipe, origin: str) -> None:
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
        _check_kinds(recipe, step, origin)
    for reads in trace(recipe):
        _check_inputs(recipe, reads, origin)


def _check_tasks(step: Step) -> None:
    if step.task is not None:
        needs_draft = "draft" in generation_task(step.task).needs
        if needs_draft and step.do == "propose":
            raise InputError(f"'{step.task}' needs a draft", "use a refine step")
        if not needs_draft and step.do == "refine":
            raise InputError(f"'{step.task}' reads no draft", "use a propose step")
    if step.expert is None:
        return
    labels = classification_task(step.expert).labels
    if step.label is not None and step.label not in labels:
        raise InputError(
            f"'{step.expert}' has no label '{step.label}'", did_you_mean(step.label, labels)
        )
    if step.do == "refine" and set(labels) != set(DRAFT_LABELS):
        raise InputError(
            f"'{step.expert}' does not label drafts",
            f"its labels must be {', '.join(DRAFT_LABELS)}",
        )


def _check_kinds(recipe: Recipe, step: Step, origin: str) -> None:
    """Refuse an expert of other texts than the step's, and an action in a consequence's place."""
    if step.source is None:
        return
    kind = text_task(recipe, recipe.step(step.source)).target
    if step.expert is not None and _expert(step).target != kind:
        raise InputError(
            f"{where(origin, step)}: '{step.expert}' judges {_expert(step).target}s, "
            f"'{step.source}' gives {kind}s",
            "choose another expert",
        )
    if step.field is None:
        return
    fields = (*SENTENCES, *_PATH)
    if step.field not in fields:
        raise InputError(
            f"{where(origin, step)}: a story has no '{step.field}'",
            did_you_mean(step.field, fields),
        )
    if step.field.rpartition("_")[2] != kind:
        raise InputError(
            f"{where(origin, step)}: '{step.source}' gives {kind}s, '{step.field}' is no {kind}",
            f"choose a field that holds a {kind}",
        )


def _check_inputs(recipe: Recipe, reads: Reads, origin: str) -> None:
    step, twice = reads.step, by_target(recipe)
    there = (*SENTENCES, *_PATH) if twice else SENTENCES
    for old in step.read:
        if old not in _inputs(recipe, step):
            raise InputError(
                f"{where(origin, step)}: 'read' replaces '{old}', which the step does not read",
                did_you_mean(old, _inputs(recipe, step)),
            )
    for name, source in reads.fields:
        if source == STORY and name not in there:
            why = "which no step before it writes" if name in _PATH else "which no story has"
            raise InputError(
                f"{where(origin, step)} reads '{name}', {why}", did_you_mean(name, there)
            )
    if twice:
        return
    asks = step.do == "rank" and wants_target(step)
    marked = step.task is not None and _BY_TARGET in generation_task(step.task).input
    if asks or marked:
        raise InputError(
            f"{where(origin, step)} asks for moral or immoral, but norms have no target",
            "rank with label = …, or leave the step out",
        )


def _inputs(recipe: Recipe, step: Step) -> tuple[str, ...]:
    """Return the names of the sentences a step's models read, before renaming."""
    names: list[str] = []
    if step.task is not None:
        names += generation_task(step.task).needs
    if step.expert is not None:
        names += _expert(step).grounding
    return tuple(dict.fromkeys(names))


def _expert(step: Step) -> ClassificationTask:
    return classification_task(str(step.expert))
