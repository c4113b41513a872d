"""Run a recipe of experts over stories and return a run record with every candidate and choice."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.protocols import ExpertSet, Generator
from moralscope.core.records import ModelRef, RunRecord
from moralscope.io.files import read_run
from moralscope.io.journal import Journal, journal_path
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.language import generator_refs
from moralscope.stories.chains import (
    BLOCK,
    Item,
    Plan,
    Recipe,
    Skipped,
    Tally,
    by_target,
    explain,
    items_of,
    load_recipe,
    recipe_plain,
    run_chain,
    story_fields,
    text_task,
)
from moralscope.stories.options import ChainOptions
from moralscope.stories.reading import StoryFile
from moralscope.stories.saved_texts import part_of_record
from moralscope.stories.splits import part_of
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import classification_task

Report = Callable[[int, int], None]
TEXTS_ARE_A_MODELS = "texts are what a model writes when told to, they are not moral advice"
_NAMED = 5


@dataclass(frozen=True, slots=True)
class ChainModels:
    """The generator and the experts of a run; a run that only writes needs no experts."""

    generator: Generator
    experts: ExpertSet | None = None

    def refs(self) -> list[ModelRef]:
        """Name the weights."""
        own = generator_refs(self.generator)
        return [*own] if self.experts is None else [*own, self.experts.ref]


def chain(
    recipe: str | Recipe,
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
        A name (`action-ranking`, …), a .toml file, or a `Recipe`.
    stories
        What `jobs.stories_data.load_stories` returns, or stories.
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
    >>> [(row["id"], row["target"], len(row["candidates"])) for row in record.results]
    [('1', 'moral', 10), ('1', 'immoral', 10)]
    """
    chosen = load_recipe(recipe) if isinstance(recipe, str) else recipe
    return run_recipe("chain", chosen, stories, models, options or ChainOptions(), report)


def run_recipe(
    job: str,
    recipe: Recipe,
    stories: StoryFile | Sequence[MoralStory],
    models: ChainModels,
    options: ChainOptions,
    report: Report | None = None,
) -> RunRecord:
    """Do the work of `chain` and of `generate`."""
    given = stories.stories if isinstance(stories, StoryFile) else stories
    source = stories.source if isinstance(stories, StoryFile) else "given"
    items, skipped = items_of(recipe, _only(given, options), _targets(options), options.limit)
    if not items:
        raise InputError(*_nothing(recipe, skipped))
    experts = _experts(recipe, models)
    plan = Plan(recipe, models.generator, experts, options.sampling, options.seed)
    config = _config(recipe, models, options, source)
    settings = {"job": job, "seed": options.seed, **config, "models": models.refs()}
    settings["source"] = _checksum(items)  # what the file holds, not where it lies
    place = journal_path(options.out) if options.out else None
    journal = Journal(place, settings, fresh=not options.resume)
    try:
        with journal.told_on_interrupt("stories"):
            _work(plan, items, journal, options.block or BLOCK, report)
    except BaseException:
        journal.close()
        raise
    used = models.generator.usage  # tokens and cost that an endpoint counted, in this process
    return RunRecord(
        job,
        seed=options.seed,
        config=config,
        models=models.refs(),
        results=journal,
        statistics={
            **_statistics(recipe, journal, skipped, options),
            **({} if used is None else {"usage": used}),
        },
        warnings=[TEXTS_ARE_A_MODELS, *_warnings(recipe, journal, skipped)],
    )


def finish(record: RunRecord) -> None:
    """Remove the journal of a record that has been written."""
    if isinstance(record.results, Journal):
        record.results.close(remove=True)


def explain_recipe(recipe: str, options: ChainOptions | None = None) -> list[str]:
    """Return a recipe's diagram and what each step reads and writes, as lines.

    Examples
    --------
    >>> explain_recipe("norm-sample")[2]
    '  story: situation, intention, moral_action, immoral_action'
    """
    return explain(load_recipe(recipe), (options or ChainOptions()).sampling)


def choose_part(found: StoryFile, split: str, part: str | None, recipe: str | Recipe) -> StoryFile:
    """Keep the stories of one part of a split; None keeps all."""
    if part is None:
        return found
    chosen = load_recipe(recipe) if isinstance(recipe, str) else recipe
    kind = text_task(chosen, chosen.steps[-1]).target
    parts = part_of(found.stories, split, "consequence" if kind == "consequence" else "action")
    kept = tuple(story for story in found.stories if parts.get(story.id) == part)
    if not kept:
        raise InputError(f"no story is in {part} of {split}", "choose train, dev or test")
    return StoryFile(f"{found.source}, {part} of {split}", kept, found.problems, found.lines)


def finished_run(out: Path | None, recipe: str) -> RunRecord | None:
    """Return the run that lies at `out` if it is whole and of this recipe, else None."""
    if out is None or not out.is_file() or journal_path(out).exists():
        return None
    plain = read_run(out)
    name = load_recipe(recipe).name
    if part_of_record(plain, "job", str) != "chain":
        raise InputError(f"{out} is no run of a chain", "choose another --out")
    if part_of_record(plain, "config", dict).get("recipe") != name:
        raise InputError(f"{out} is a run of another recipe than {name}", "choose another --out")
    try:
        models = [ModelRef(**model) for model in plain["models"]]
        return RunRecord(**{**plain, "models": models})
    except (KeyError, TypeError):
        raise InputError(f"{out} is damaged", "run the job again with --no-resume") from None


def _work(
    plan: Plan, items: Sequence[Item], journal: Journal, block: int, report: Report | None
) -> None:
    done = len(journal)
    if report:
        report(done, len(items))
    said = plan.generator.warnings
    told = len(said)
    for each in run_chain(plan, items[done:], block=block):
        tallies = {name: asdict(tally) for name, tally in each.tallies.items()}
        journal.append({"results": each.results, "tallies": tallies, "warnings": said[told:]})
        told = len(said)
        if report:
            report(len(journal), len(items))


def _targets(options: ChainOptions) -> tuple[str, ...]:
    return ORIENTATIONS if options.target == "both" else (options.target,)


def _only(stories: Sequence[MoralStory], options: ChainOptions) -> Sequence[MoralStory]:
    if options.only is None:
        return stories
    kept = [story for story in stories if story.id == options.only]
    if not kept:
        first = f"the first one is '{stories[0].id}'" if stories else "the file is empty"
        raise InputError(f"there is no story '{options.only}'", first)
    return kept


def _experts(recipe: Recipe, models: ChainModels) -> ExpertSet:
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
                f"the expert for '{task.name}' tells {', '.join(labels)}",
                f"'{step.name}' needs one that tells {', '.join(task.labels)}",
            )
    return models.experts


def _nothing(recipe: Recipe, skipped: Sequence[Skipped]) -> tuple[str, str]:
    needs = ", ".join(story_fields(recipe))
    if not skipped:
        return "there are no stories", "give a file with at least one"
    return f"no story has what {recipe.name} reads ({_told(skipped)})", f"it reads {needs}"


def _config(
    recipe: Recipe, models: ChainModels, options: ChainOptions, source: str
) -> dict[str, Any]:
    decoding = options.sampling
    return {
        "recipe": recipe.name,
        "steps": recipe_plain(recipe),
        "kind": text_task(recipe, recipe.steps[-1]).target,
        "generator": models.generator.name,
        **({"experts": models.experts.ref.name} if models.experts else {}),
        "targets": list(_targets(options)) if by_target(recipe) else None,
        "strategy": decoding.strategy,
        "count": decoding.count,
        "p": decoding.p,
        "temperature": decoding.temperature,
        "max_tokens": decoding.max_tokens,
        "source": source,
    }


def _checksum(items: Sequence[Item]) -> str:
    """Name stories by their content."""
    digest = sha256()
    for item in items:
        sentences = {"id": item.story.id, **item.story.sentences}
        digest.update(json.dumps([sentences, item.target]).encode())
    return digest.hexdigest()


def _statistics(
    recipe: Recipe, journal: Journal, skipped: Sequence[Skipped], options: ChainOptions
) -> dict[str, Any]:
    totals = {step.name: Tally() for step in recipe.steps}
    for note in journal.notes:
        for name, tally in note["tallies"].items():
            totals[name] += Tally(**tally)
    steps = [
        {
            "step": step.name,
            "do": step.do,
            "model": step.task if step.do == "propose" else step.expert,
            **asdict(totals[step.name]),
        }
        for step in recipe.steps
    ]
    return {
        "steps": steps,
        "seconds": sum(tally.seconds for tally in totals.values()),
        "results": len(journal),
        "without_choice": [row["id"] for row in journal if row["choice"] is None],
        "skipped": [asdict(each) for each in skipped],
        "diagram": explain(recipe, options.sampling),
    }


def _warnings(recipe: Recipe, journal: Journal, skipped: Sequence[Skipped]) -> list[str]:
    lines = []
    if skipped:
        each = "stories" if not by_target(recipe) else "stories and targets"
        lines.append(
            f"{len(skipped):,} of {len(skipped) + len(journal):,} {each} were skipped for want of "
            f"sentences: {_told(skipped)}"
        )
    failed = [row["id"] for row in journal if row["choice"] is None]
    if failed:
        more = f" and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
        named = ", ".join(f"'{name}'" for name in failed[:_NAMED])
        lines.append(f"{len(failed):,} results have no choice: {named}{more}")
    said = [line for note in journal.notes for line in note["warnings"]]
    if said:
        more = f" (and {len(said) - 1:,} more such lines)" if len(said) > 1 else ""
        lines.append(f"{said[0]}{more}")
    kind = text_task(recipe, recipe.steps[-1]).target
    if kind in story_fields(recipe):
        other = "; norm-synthesis-blind does not" if kind == "norm" else ""
        lines.append(f"this chain reads the story's own {kind}, which is what it is to find{other}")
    return lines


def _told(skipped: Sequence[Skipped]) -> str:
    parts = [
        f"'{each.id}'{f' ({each.target})' if each.target else ''} lacks {', '.join(each.missing)}"
        for each in skipped[:_NAMED]
    ]
    more = len(skipped) - len(parts)
    return "; ".join([*parts, *([f"and {more:,} more"] if more else [])])
