"""Run a recipe of experts over stories and return a run record with every candidate and choice."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, overload

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.protocols import ExpertSet, Generator, Report
from moralscope.core.records import ModelRef, RunRecord, values_of
from moralscope.io.journal import Journal, journal_path
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.language import generator_refs
from moralscope.stories.chains.engine import BLOCK, ChainItem, items_of, run_chain
from moralscope.stories.chains.explain import explain
from moralscope.stories.chains.flow import ChainRecipe, by_target, story_fields, text_task
from moralscope.stories.chains.recipes import load_recipe
from moralscope.stories.chains.records import (
    BlockNotes,
    ChainResult,
    ChainStatistics,
    SkippedStory,
    StepCost,
)
from moralscope.stories.chains.steps import ChainPlan
from moralscope.stories.options import ChainOptions
from moralscope.stories.reading import StoryFile
from moralscope.stories.splits import part_of
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import classification_task

TEXTS_ARE_A_MODELS = "texts are what a model writes when asked to; they are not moral advice"
_NAMED = 5


@dataclass(frozen=True, slots=True)
class ChainModels:
    """The generator and the experts of a run; a run that only writes needs no experts."""

    generator: Generator
    experts: ExpertSet | None = None

    def refs(self) -> list[ModelRef]:
        """Name the weights."""
        refs = [*generator_refs(self.generator)]
        return refs if self.experts is None else [*refs, self.experts.ref]


class ChainResults(Sequence[ChainResult]):
    """The results in a journal, read back from the disk as they are asked for."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def __len__(self) -> int:
        return len(self.journal)

    @overload
    def __getitem__(self, index: int) -> ChainResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[ChainResult]: ...
    def __getitem__(self, index: int | slice) -> ChainResult | list[ChainResult]:
        kind: Any = list[ChainResult] if isinstance(index, slice) else ChainResult
        result: ChainResult | list[ChainResult] = decode(
            kind, self.journal[index], str(self.journal.path or "the journal")
        )
        return result


def chain(
    recipe: str | ChainRecipe,
    stories: StoryFile | Sequence[MoralStory],
    models: ChainModels,
    options: ChainOptions | None = None,
    *,
    report: Report | None = None,
) -> RunRecord:
    """Run a recipe over stories (Emelin et al. 2021, section 4.4).

    Parameters
    ----------
    recipe
        A name (`action-ranking`, …), a .toml file, or a `ChainRecipe`.
    stories
        What `stories.reading.load_stories` returns, or stories.
    models
        The generator, and the experts that rank.
    options
        Targets, sampling, limit, seed. With `out`, a journal beside that file holds what is
        finished, and a run that was killed goes on where it stopped; `finish` removes the
        journal once the record is written.
    report
        Called with (done, total) as the work goes on.

    Examples
    --------
    >>> from moralscope.stories.experts import prepare_experts
    >>> from moralscope.models.language import load_generator
    >>> models = ChainModels(load_generator("scripted"), prepare_experts("scripted"))
    >>> story = MoralStory("1", "Be kind.", "Jo meets a child.", "Jo wants to pass.")
    >>> record = chain("action-ranking", [story], models)
    >>> [(row.id, row.target, len(row.candidates)) for row in record.results]
    [('1', 'moral', 10), ('1', 'immoral', 10)]
    """
    chosen = load_recipe(recipe) if isinstance(recipe, str) else recipe
    return run_recipe("chain", chosen, stories, models, options or ChainOptions(), report)


def run_recipe(
    job: str,
    recipe: ChainRecipe,
    stories: StoryFile | Sequence[MoralStory],
    models: ChainModels,
    options: ChainOptions,
    report: Report | None = None,
) -> RunRecord:
    """Do the work of `chain` and of `generate`."""
    listed = stories.stories if isinstance(stories, StoryFile) else stories
    if options.only is not None:
        first = f"the first one is '{listed[0].id}'" if listed else "the file is empty"
        listed = [story for story in listed if story.id == options.only]
        if not listed:
            raise InputError(f"there is no story '{options.only}'", first)
    targets = ORIENTATIONS if options.target == "both" else (options.target,)
    items, skipped = items_of(recipe, listed, targets, options.limit)
    if not items and not skipped:
        raise InputError("there are no stories", "give a file with at least one")
    if not items:
        needs = ", ".join(story_fields(recipe))
        raise InputError(
            f"no story has what {recipe.name} reads ({_first(skipped)})", f"it reads {needs}"
        )
    plan = ChainPlan(
        recipe=recipe,
        generator=models.generator,
        experts=_experts(recipe, models),
        decoding=options.sampling,
        seed=options.seed,
    )
    config = {
        "recipe": recipe.name,
        "steps": list(recipe.steps),
        "kind": text_task(recipe, recipe.steps[-1]).target,
        "generator": models.generator.name,
        **({"experts": models.experts.ref.name} if models.experts else {}),
        "targets": list(targets) if by_target(recipe) else None,
        **values_of(plan.decoding, "strategy", "count", "p", "temperature", "max_tokens"),
        "source": stories.source if isinstance(stories, StoryFile) else "given",
    }
    settings = {"job": job, "seed": options.seed, **config, "models": models.refs()}
    digest = sha256()  # what the file holds, not where it lies
    for item in items:
        sentences = {"id": item.story.id, **item.story.sentences}
        digest.update(json.dumps([sentences, item.target]).encode())
    settings["source"] = digest.hexdigest()
    path = journal_path(options.out) if options.out else None
    journal = Journal(path, settings, fresh=not options.resume)
    try:
        with journal.told_on_interrupt("stories"):
            _work(plan, items, journal, options.block or BLOCK, report)
    except BaseException:
        journal.close()
        raise
    results = ChainResults(journal)
    notes = [decode(BlockNotes, note, str(path)) for note in journal.notes]
    statistics = _statistics(plan, notes, skipped, results)
    return RunRecord(
        job,
        seed=options.seed,
        config=config,
        models=models.refs(),
        results=results,
        statistics=statistics,
        warnings=_warnings(recipe, statistics, notes),
    )


def finish(record: RunRecord) -> None:
    """Remove the journal of a record that has been written."""
    if isinstance(record.results, ChainResults):
        record.results.journal.close(remove=True)


def is_finished(out: Path) -> bool:
    """Tell whether a whole run lies at `out`."""
    return out.is_file() and not journal_path(out).exists()


def choose_part(
    stories: StoryFile, split: str, part: str | None, recipe: str | ChainRecipe
) -> StoryFile:
    """Keep the stories of one part of a split; None keeps all."""
    if part is None:
        return stories
    chosen = load_recipe(recipe) if isinstance(recipe, str) else recipe
    kind = text_task(chosen, chosen.steps[-1]).target
    parts = part_of(stories.stories, split, "consequence" if kind == "consequence" else "action")
    kept = tuple(story for story in stories.stories if parts.get(story.id) == part)
    if not kept:
        raise InputError(f"no story is in {part} of {split}", "choose train, dev or test")
    return StoryFile(f"{stories.source}, {part} of {split}", kept, stories.problems, stories.lines)


def _work(
    plan: ChainPlan, items: Sequence[ChainItem], journal: Journal, block: int, report: Report | None
) -> None:
    done = len(journal)
    if report:
        report(done, len(items))
    warnings = plan.generator.warnings
    written = len(warnings)
    for part in run_chain(plan, items[done:], block=block):
        journal.append(
            {"results": part.results, "tallies": part.tallies, "warnings": warnings[written:]}
        )
        written = len(warnings)
        if report:
            report(len(journal), len(items))


def _experts(recipe: ChainRecipe, models: ChainModels) -> ExpertSet:
    """Check that every expert of the recipe is there before any work is done."""
    asking = [step for step in recipe.steps if step.expert]
    if models.experts is None:
        if asking:
            raise InputError(f"recipe {recipe.name} needs experts", "name them with --experts")
        return ScriptedExperts({})  # nobody will ask it
    for step in asking:
        task = classification_task(str(step.expert))
        labels = models.experts.expert(task.name).labels
        if labels != task.labels[: max(len(labels), 2)] or (step.label or labels[0]) not in labels:
            raise InputError(
                f"the expert for '{task.name}' has the labels {', '.join(labels)}",
                f"'{step.name}' needs {', '.join(task.labels)}",
            )
    return models.experts


def _statistics(
    plan: ChainPlan,
    notes: Sequence[BlockNotes],
    skipped: Sequence[SkippedStory],
    results: ChainResults,
) -> ChainStatistics:
    steps = []
    for step in plan.recipe.steps:
        tallies = [note.tallies[step.name] for note in notes]
        steps.append(
            StepCost(
                step=step.name,
                do=step.do,
                model=step.task if step.do == "propose" else step.expert,
                stories=sum(tally.stories for tally in tallies),
                candidates=sum(tally.candidates for tally in tallies),
                seconds=sum((tally.seconds for tally in tallies), 0.0),
            )
        )
    return ChainStatistics(
        steps=tuple(steps),
        seconds=sum(step.seconds for step in steps),
        results=len(results),
        without_choice=tuple(row.id for row in results if row.choice is None),
        skipped=tuple(skipped),
        diagram=tuple(explain(plan.recipe, plan.decoding)),
        usage=plan.generator.usage,
    )


def _warnings(
    recipe: ChainRecipe, statistics: ChainStatistics, notes: Sequence[BlockNotes]
) -> list[str]:
    lines = [TEXTS_ARE_A_MODELS]
    skipped, failed = statistics.skipped, statistics.without_choice
    if skipped:
        what = "stories and targets" if by_target(recipe) else "stories"
        lines.append(
            f"{len(skipped):,} of {len(skipped) + statistics.results:,} {what} were skipped for "
            f"want of sentences: {_first(skipped)}"
        )
    if failed:
        more = f" and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
        named = ", ".join(f"'{name}'" for name in failed[:_NAMED])
        lines.append(f"{len(failed):,} results have no choice: {named}{more}")
    said = [line for note in notes for line in note.warnings]
    if said:
        more = f" (and {len(said) - 1:,} more such lines)" if len(said) > 1 else ""
        lines.append(f"{said[0]}{more}")
    kind = text_task(recipe, recipe.steps[-1]).target
    if kind in story_fields(recipe):
        other = "; norm-synthesis-blind does not" if kind == "norm" else ""
        lines.append(f"this chain reads the story's own {kind}, which is what it is to find{other}")
    return lines


def _first(skipped: Sequence[SkippedStory]) -> str:
    more = [f"and {len(skipped) - _NAMED:,} more"] if len(skipped) > _NAMED else []
    return "; ".join([*map(str, skipped[:_NAMED]), *more])
