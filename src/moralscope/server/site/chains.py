"""A chain of experts on one story, watched: what is proposed and how it is weighed, as it happens.

The record is that of `stories.chains.run`; watching changes no number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from moralscope.core.options import Option, Options, Seed
from moralscope.core.protocols import Matrix, Pair, Report
from moralscope.core.records import Candidate, Decoding, RunRecord
from moralscope.models.options import EXPERTS
from moralscope.server.models import (
    SCRIPTED,
    Models,
    SharedExperts,
    SharedGenerator,
    SingleFlightCache,
    checked,
)
from moralscope.stories.chains.flow import story_fields
from moralscope.stories.chains.recipes import load_recipe
from moralscope.stories.chains.run import ChainModels, chain
from moralscope.stories.options import ChainOptions
from moralscope.stories.story import MoralStory

RECIPES = ("action-ranking", "action-abduction", "action-sample")
TARGETS = ("both", "moral", "immoral")
GENERATORS = ("stories", SCRIPTED)
_BASE = "smollm2"  # what the generator 'stories' is an adapter of
Tell = Callable[[Any], None]
Watch = Callable[[str, Sequence[Any]], None]  # told what happens, and with which texts


@dataclass(frozen=True, slots=True)
class RecipeLine:
    """A recipe that needs no more than a norm, a situation and an intention."""

    name: str
    about: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryChainOptions(Options):
    """What the page may say of a chain."""

    recipe: Annotated[str, Option("Which chain.", choices=RECIPES)] = RECIPES[0]
    target: Annotated[str, Option("Which action is written.", choices=TARGETS)] = TARGETS[0]
    generator: Annotated[str, Option("What writes.", choices=GENERATORS)] = GENERATORS[0]
    experts: Annotated[str, Option("What weighs it.", choices=EXPERTS)] = EXPERTS[0]
    count: Annotated[int, Option("Texts that are proposed.", least=1, most=10)] = 4
    seed: Seed = 0


def recipe_lines() -> list[RecipeLine]:
    """Return the recipes of the page."""
    recipes = [load_recipe(name) for name in RECIPES]
    return [
        RecipeLine(recipe.name, recipe.about, tuple(step.do for step in recipe.steps))
        for recipe in recipes
        if set(story_fields(recipe)) <= {"norm", "situation", "intention"}
    ]


class StoryChains:
    """Runs chains on models that stay loaded."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._held = SingleFlightCache[str, SharedGenerator](1)

    def run(
        self,
        story: MoralStory,
        options: StoryChainOptions,
        report: Report | None = None,
        tell: Tell | None = None,
    ) -> RunRecord:
        """Run a recipe on the story; `tell` gets each step's texts, then each target's row."""
        generator = self._generator(options.generator)
        experts = self._models.experts(options.experts)
        target = 0  # at work

        def step(done: int, total: int) -> None:
            nonlocal target
            target = done
            if report:
                report(done, total)

        def watch(event: str, texts: Sequence[Any]) -> None:
            if tell:
                tell({"event": event, "item": target, "texts": texts})

        models = ChainModels(_WatchedGenerator(generator, watch), _WatchedExperts(experts, watch))
        decoding = Decoding(count=options.count)
        chosen = ChainOptions(options.target, decoding, seed=options.seed, block=1)
        record = chain(options.recipe, [story], models, chosen, report=step)
        if tell:
            for row in record.results:
                tell({"event": "row", "row": row})
        return record

    def close(self) -> None:
        """End the generator's thread."""
        for generator in self._held.values():
            generator.batcher.close()

    def _generator(self, name: str) -> SharedGenerator:
        if name == SCRIPTED:
            return self._models.generator(name)
        checked(_BASE, (_BASE,), "generator")
        return self._held.get(name, lambda: self._models.held_generator(name))


class _WatchedGenerator(SharedGenerator):
    """A shared generator that tells what it wrote."""

    def __init__(self, generator: SharedGenerator, watch: Watch) -> None:
        vars(self).update(vars(generator))
        self._watch = watch

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> Sequence[Sequence[Candidate]]:
        """Return the candidates of the generator."""
        written = super().generate(prompts, decoding, seeds)
        self._watch("proposed", [one.text for candidates in written for one in candidates])
        return written


class _WatchedExperts(SharedExperts):
    """Shared experts that tell how they weighed."""

    def __init__(self, experts: SharedExperts, watch: Watch) -> None:
        vars(self).update(vars(experts))
        self._watch = watch

    def rows(self, pairs: Sequence[Pair], task: str | bool) -> list[tuple[Matrix, ...]]:
        """Return the experts' rows."""
        rows = super().rows(pairs, task)
        if isinstance(task, str):
            labels = self.labels(task)
            weighed = [
                {"text": text, "probabilities": dict(zip(labels, row.tolist(), strict=True))}
                for (_, text), (row,) in zip(pairs, rows, strict=True)
            ]
            self._watch("weighed", weighed)
        return rows
