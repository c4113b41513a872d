"""A chain of experts on one story, watched: what is proposed and how it is weighed, as it happens.

The record is that of `stories.chains.run`; watching changes no number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from moralscope.core.options import Option, Options, Seed
from moralscope.core.protocols import Classifier, ExpertSet, Generator, Matrix, Report
from moralscope.core.records import Candidate, Decoding, RunRecord
from moralscope.models.language import generator_refs
from moralscope.models.options import EXPERTS
from moralscope.models.store import Store
from moralscope.server.models import SCRIPTED, Models, NotHere, SharedGenerator, SingleFlightCache
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
        watch = _Watch(tell or _nobody)

        def step(done: int, total: int) -> None:
            watch.item = done
            if report:
                report(done, total)

        models = ChainModels(_WatchedGenerator(generator, watch), _WatchedExperts(experts, watch))
        decoding = Decoding(count=options.count)
        chosen = ChainOptions(options.target, decoding, seed=options.seed, block=1)
        record = chain(options.recipe, [story], models, chosen, report=step)
        for row in record.results:
            watch.tell({"event": "row", "row": row})
        return record

    def close(self) -> None:
        """End the generator's thread."""
        for generator in self._held.values():
            generator.batcher.close()

    def _generator(self, name: str) -> Generator:
        if name == SCRIPTED:
            return self._models.generator(name)
        if not Store().is_present(_BASE):
            raise NotHere(
                f"the model '{_BASE}' is not on this machine",
                f"run 'moralscope models pull {_BASE}'",
            )
        return self._held.get(name, lambda: self._models.held_generator(name))


def _nobody(event: Any) -> None:
    """Tell nobody."""


class _Watch:
    """Who is told, and which of the story's targets is at work."""

    def __init__(self, tell: Tell) -> None:
        self.tell, self.item = tell, 0


class _WatchedGenerator:
    """A `Generator` that tells what it wrote."""

    def __init__(self, generator: Generator, watch: _Watch) -> None:
        self.name, self.checksum = generator.name, generator.checksum
        self.refs, self.usage = generator_refs(generator), None
        self.warnings: Sequence[str] = ()
        self._generator, self._watch = generator, watch

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> Sequence[Sequence[Candidate]]:
        """Return the candidates of the generator."""
        written = self._generator.generate(prompts, decoding, seeds)
        texts = [candidate.text for candidates in written for candidate in candidates]
        self._watch.tell({"event": "proposed", "item": self._watch.item, "texts": texts})
        return written


class _WatchedExperts:
    """An `ExpertSet` whose experts tell how they weighed."""

    def __init__(self, experts: ExpertSet, watch: _Watch) -> None:
        self.ref, self.card, self.tasks = experts.ref, experts.card, experts.tasks
        self.bits, self.retrieval = experts.bits, experts.retrieval
        self.windows, self.read, self.embed = experts.windows, experts.read, experts.embed
        self.told, self.labels, self.thresholds = experts.told, experts.labels, experts.thresholds
        self.operating_points = experts.operating_points
        self._experts, self._watch = experts, watch

    def expert(self, task: str) -> Classifier:
        """Return one expert."""
        return _WatchedExpert(self._experts.expert(task), self._watch)


class _WatchedExpert:
    """A `Classifier` that tells its probabilities."""

    def __init__(self, expert: Classifier, watch: _Watch) -> None:
        self.name, self.checksum, self.labels = expert.name, expert.checksum, expert.labels
        self._expert, self._watch = expert, watch

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """Return the expert's rows."""
        rows = self._expert.probabilities(pairs)
        weighed = [
            {"text": text, "probabilities": dict(zip(self.labels, row.tolist(), strict=True))}
            for (_, text), row in zip(pairs, rows, strict=True)
        ]
        self._watch.tell({"event": "weighed", "item": self._watch.item, "texts": weighed})
        return rows
