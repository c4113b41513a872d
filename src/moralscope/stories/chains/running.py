"""Runs a recipe over many stories, block by block: flat in memory, linear in time.

It chooses no models, writes no files and knows nothing of run records: `jobs` and `journal` do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from moralscope.stories.chains.flow import Recipe, Step, by_target, story_fields, text_task
from moralscope.stories.chains.steps import STEPS, Found, Plan, State
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import path_row

BLOCK = 32


@dataclass(frozen=True, slots=True)
class Item:
    """A story with one target (None: the recipe has none) that has all the recipe reads."""

    story: MoralStory
    target: str | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A story that lacks what the recipe reads."""

    id: str
    target: str | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """What a step cost in a block: stories, candidates written or judged, seconds."""

    stories: int = 0
    candidates: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.stories + other.stories,
            self.candidates + other.candidates,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Block:
    """The results of some stories in their order, plain, and what each step cost."""

    results: list[dict[str, Any]]
    tallies: dict[str, Tally]


def items_of(
    recipe: Recipe,
    stories: Sequence[MoralStory],
    targets: Sequence[str] = ORIENTATIONS,
    limit: int | None = None,
) -> tuple[list[Item], list[Skipped]]:
    """Return what the recipe can be run on, and what it cannot for want of sentences.

    `limit` counts stories that can be run; what comes after the last of them is not looked at.

    Examples
    --------
    >>> from moralscope.stories.chains import load_recipe
    >>> items, skipped = items_of(load_recipe("action-sample"), [MoralStory("1", "Be kind.")])
    >>> len(items), skipped[0].missing
    (0, ('situation', 'intention'))
    """
    needs = story_fields(recipe)
    items: list[Item] = []
    skipped: list[Skipped] = []
    kept = 0
    for story in stories:
        if kept == limit:
            break
        before = len(items)
        for target in targets if by_target(recipe) else (None,):
            row = _row(story, target)
            missing = tuple(name for name in needs if not (row[name] or "").strip())
            if missing:
                skipped.append(Skipped(story.id, target, missing))
            else:
                items.append(Item(story, target))
        kept += len(items) > before
    return items, skipped


def run_chain(plan: Plan, items: Sequence[Item], *, block: int = BLOCK) -> Iterator[Block]:
    """Yield the results of `block` items at a time, in order.

    Every step is one call over the whole block. A result does not depend on the block it is in.
    """
    for first in range(0, len(items), block):
        yield _run_block(plan, items[first : first + block])


def _run_block(plan: Plan, items: Sequence[Item]) -> Block:
    states = [State(item.story.id, item.target, _row(item.story, item.target)) for item in items]
    tallies: dict[str, Tally] = {}
    for step in plan.recipe.steps:
        going = [state for state in states if state.failed is None]
        start = perf_counter()
        found = STEPS[step.do](step, going, plan) if going else []
        for state, each in zip(going, found, strict=True):
            state.found[step.name] = each
            if each.choice is None:
                state.failed = f"step '{step.name}': every candidate is empty"
        made = sum(len(each.candidates) for each in found)
        tallies[step.name] = Tally(len(going), made, perf_counter() - start)
    results = [_result(plan.recipe, item, state) for item, state in zip(items, states, strict=True)]
    return Block(results, tallies)


def _row(story: MoralStory, target: str | None) -> dict[str, str | None]:
    return story.sentences if target is None else path_row(story, target)


def _result(recipe: Recipe, item: Item, state: State) -> dict[str, Any]:
    last = state.found.get(recipe.steps[-1].name, Found((), None))
    path = [
        _told(step, state.found[step.name]) for step in recipe.steps if step.name in state.found
    ]
    kind = text_task(recipe, recipe.steps[-1]).target
    story = _row(item.story, item.target)
    told = [name for name in story if item.target is None or "moral_" not in name]
    return {
        "id": item.story.id,
        "target": item.target,
        "choice": last.choice,
        "candidates": [{"text": text.text, "score": text.score} for text in last.candidates],
        **({"failed": state.failed} if state.failed else {}),
        "reference": story[kind],
        "story": {name: story[name] for name in told if name != "orientation" and story[name]},
        "path": path,
    }


def _told(step: Step, found: Found) -> dict[str, Any]:
    model = {"task": step.task, "expert": step.expert}
    return {
        "step": step.name,
        "do": step.do,
        **{key: name for key, name in model.items() if name},
        **({"from": step.source} if step.source else {}),
        **found.notes,
        # What the step does not know is left out; the score stays, known or not.
        "candidates": [
            {k: v for k, v in asdict(text).items() if v is not None or k == "score"}
            for text in found.candidates
        ],
        "choice": found.choice,
    }
