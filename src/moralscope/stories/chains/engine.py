"""Runs a recipe over many stories, block by block: flat in memory, linear in time.

It chooses no models, writes no files and knows nothing of run records: `run` and `journal` do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from moralscope.stories.chains.flow import ChainRecipe, by_target, story_fields, text_task
from moralscope.stories.chains.records import ChainResult, ScoredText, SkippedStory, StepTally
from moralscope.stories.chains.steps import STEPS, ChainPlan, ChainState
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import path_row

BLOCK = 32


@dataclass(frozen=True, slots=True)
class ChainItem:
    """A story with one target (None: the recipe has none) that has all the recipe reads."""

    story: MoralStory
    target: str | None

    @property
    def row(self) -> dict[str, str | None]:
        """The sentences that steps read."""
        return self.story.sentences if self.target is None else path_row(self.story, self.target)


@dataclass(frozen=True, slots=True)
class ChainBlock:
    """The results of some stories in their order, and what each step cost."""

    results: list[ChainResult]
    tallies: dict[str, StepTally]  # by step


def items_of(
    recipe: ChainRecipe,
    stories: Sequence[MoralStory],
    targets: Sequence[str] = ORIENTATIONS,
    limit: int | None = None,
) -> tuple[list[ChainItem], list[SkippedStory]]:
    """Return what the recipe can be run on, and what it cannot for want of sentences.

    `limit` counts stories that can be run; what comes after the last of them is not looked at.
    """
    needs = story_fields(recipe)
    items: list[ChainItem] = []
    skipped: list[SkippedStory] = []
    kept = 0
    for story in stories:
        if kept == limit:
            break
        before = len(items)
        for target in targets if by_target(recipe) else (None,):
            item = ChainItem(story, target)
            row = item.row
            missing = tuple(name for name in needs if not (row[name] or "").strip())
            if missing:
                skipped.append(SkippedStory(story.id, target, missing))
            else:
                items.append(item)
        kept += len(items) > before
    return items, skipped


def run_chain(
    plan: ChainPlan, items: Sequence[ChainItem], *, block: int = BLOCK
) -> Iterator[ChainBlock]:
    """Yield the results of `block` items at a time, in order.

    Every step is one call over the whole block. A result does not depend on the block it is in.
    """
    for first in range(0, len(items), block):
        part = items[first : first + block]
        states = [ChainState(item.story.id, item.target, item.row) for item in part]
        tallies: dict[str, StepTally] = {}
        for step in plan.recipe.steps:
            going = [state for state in states if state.failed is None]
            start = perf_counter()
            traces = STEPS[step.do](step, going, plan) if going else []
            for state, trace in zip(going, traces, strict=True):
                state.path[step.name] = trace
                if trace.choice is None:
                    state.failed = f"step '{step.name}': no candidate is left"
            made = sum(len(trace.candidates) for trace in traces)
            tallies[step.name] = StepTally(len(going), made, perf_counter() - start)
        results = [
            _result(plan.recipe, item, state) for item, state in zip(part, states, strict=True)
        ]
        yield ChainBlock(results, tallies)


def _result(recipe: ChainRecipe, item: ChainItem, state: ChainState) -> ChainResult:
    last, row = recipe.steps[-1], item.row
    trace = state.path.get(last.name)
    return ChainResult(
        id=item.story.id,
        target=item.target,
        choice=trace.choice if trace else None,
        candidates=tuple(
            ScoredText(text.text, text.score) for text in (trace.candidates if trace else ())
        ),
        failed=state.failed,
        reference=row[text_task(recipe, last).target],
        story={
            name: sentence
            for name, sentence in row.items()
            if sentence
            and name != "orientation"
            and (item.target is None or "moral_" not in name)  # told by the path's own names
        },
        path=tuple(state.path.values()),
    )
