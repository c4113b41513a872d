"""Evaluate experts on Moral Stories: the grid of Tables 2, 3, 8 and 9 beside the paper's.

Accuracy and F1 with intervals over stories, calibration, paired tests against a second set of
experts, sensitivity to the norm, and what a bag of words reaches on the same split. Stories that an
expert was trained on never count: where another split's part holds some, they are left out.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import plain_options
from moralscope.core.protocols import ExpertSet, Report
from moralscope.core.records import NOT_ADVICE, RunRecord, Statistics
from moralscope.core.registry import require_known
from moralscope.stats.calibration import at_temperature, expected_calibration_error, fit_temperature
from moralscope.stories.evaluation import (
    Confusion,
    ExpertMetrics,
    Mistake,
    PairedTest,
    confusion,
    examine,
    measure,
    paired,
    worst,
)
from moralscope.stories.norms.reversal import swap_norms
from moralscope.stories.options import ALL, SPLITS, EvaluateOptions
from moralscope.stories.paper import load_paper
from moralscope.stories.sensitivity import (
    ReversedNorms,
    Shortcut,
    SwappedNorms,
    lexical_shortcut,
    reads_norm,
    reversed_wordings,
    swapped_norms,
)
from moralscope.stories.splits import official_parts, part_of
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import (
    ClassificationTask,
    classification_task,
    classification_tasks,
    samples,
)

PARTS = ("test", "dev", ALL)
_F1 = "f1 is that of the positive class (moral, plausible), as in the paper's own code"
_CONTEXT = (
    "situation, intention and consequences are there for 6,912 of the 12,000 published stories "
    "(those that are dev or test somewhere): figures with context count these only"
)


@dataclass(frozen=True, slots=True)
class TemperatureFit:
    """The temperature that suits the split's dev part best, and the ECE before and after it."""

    temperature: float
    ece: float
    ece_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvaluation:
    """One cell of the grid: an expert on a part of a split."""

    expert: str
    task: str
    split: str
    part: str
    seen: int  # stories that were left out: the expert was trained on them
    measured: ExpertMetrics
    paper_accuracy: float | None
    paper_f1: float | None
    confusion: Confusion
    calibration: TemperatureFit | None
    against: PairedTest | None
    reversed: tuple[ReversedNorms, ...]
    swapped: SwappedNorms | None
    shortcut: Shortcut | None
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True, slots=True)
class EvaluateStatistics(Statistics):
    """What is known of the experts that were measured."""

    card: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Cell:
    task: ClassificationTask
    split: str
    test: Sequence[MoralStory]
    dev: Sequence[MoralStory]
    train: Sequence[MoralStory]
    seen: int


def evaluate(
    experts: ExpertSet,
    stories: Sequence[MoralStory],
    options: EvaluateOptions | None = None,
    *,
    against: ExpertSet | None = None,
    report: Report | None = None,
) -> RunRecord:
    """Measure experts on the parts of the splits.

    Parameters
    ----------
    experts
        A set of experts (`stories.experts.prepare_experts`).
    stories
        The stories, with their official membership or that of `stories split`.
    options
        Tasks, splits, part and what else is measured.
    against
        A second set: each task that both have gets a paired test on the same samples.
    report
        Called with (done, total) cells.

    Examples
    --------
    >>> from moralscope.models.classifiers.scripted import ScriptedExperts
    >>> story = MoralStory("1", "It's good to smile.", moral_action="Jo smiles.",
    ...                    immoral_action="Jo spits.")
    >>> experts = ScriptedExperts({"action": ("immoral", "moral")})
    >>> record = evaluate(experts, [story], EvaluateOptions(part="all"))
    >>> [(cell.task, cell.measured.samples) for cell in record.results]
    [('action', 2)]
    """
    options = options or EvaluateOptions()
    require_known(options.part, PARTS, f"there is no part '{options.part}'")
    for split in options.splits:
        require_known(split, SPLITS, f"there is no split '{split}'")
    names = options.tasks or [name for name in experts.tasks if name in classification_tasks()]
    for name in names:
        experts.expert(name)  # an absent one is refused by name, before any work
    tasks = [classification_task(name) for name in names]
    sets = [experts, *([against] if against else [])]
    cells, empty = _cells(tasks, stories, options, sets)
    norms = {}
    if options.reversed and any(map(reads_norm, tasks)):
        norms = swap_norms(stories, options.seed)
    results = []
    for done, cell in enumerate(cells):
        results.append(_evaluate(cell, experts, against, options, norms))
        if report:
            report(done + 1, len(cells))
    return RunRecord(
        "stories evaluate",
        seed=options.seed,
        config={
            "experts": experts.ref.name,
            **({"against": against.ref.name} if against else {}),
            "tasks": list(options.tasks or experts.tasks),
            "split": list(options.splits or SPLITS),
            "part": options.part,
            "stories": len(stories),
            "complete_stories": sum(not story.missing for story in stories),
            **({"max_stories": options.max_stories} if options.max_stories else {}),
            "interval": "95 % percentile bootstrap over stories",
            "paired_test": "exact McNemar over samples; interval of the difference over stories",
            "options": plain_options(options),
        },
        models=[one.ref for one in sets],
        results=results,
        statistics=EvaluateStatistics(dict(experts.card)),
        warnings=[NOT_ADVICE, _F1, _CONTEXT, *empty, *_warnings(experts, options, results)],
    )


def _cells(
    tasks: Sequence[ClassificationTask],
    stories: Sequence[MoralStory],
    options: EvaluateOptions,
    sets: Sequence[ExpertSet],
) -> tuple[list[_Cell], list[str]]:
    """Return what is to be measured, and a line for each task and part without a sample."""
    cells, empty = [], []
    splits = (ALL,) if options.part == ALL else options.splits or SPLITS
    for split, task in product(splits, tasks):
        trained = set().union(*(_trained_on(one, stories, task.split) for one in sets))
        parts = (
            dict.fromkeys((story.id for story in stories), ALL)
            if split == ALL
            else part_of(stories, split, task.split)
        )
        complete: dict[str, list[MoralStory]] = {}
        for story in stories:
            if story.id in parts and any(True for _ in samples(task, [story])):
                complete.setdefault(parts[story.id], []).append(story)
        listed = complete.get(options.part, [])
        test = [story for story in listed if story.id not in trained]
        dev = [story for story in complete.get("dev", ()) if story.id not in trained]
        if not test:
            empty.append(f"{task.name}, {split}: no complete story to measure on was left")
            continue
        cells.append(
            _Cell(
                task,
                split,
                _drawn(test, options),
                _drawn(dev, options) if options.calibrate and options.part == "test" else [],
                complete.get("train", []) if options.shortcuts else [],
                len(listed) - len(test),
            )
        )
    if not cells and options.part == ALL:
        raise InputError(
            "no story is complete for these tasks", "give stories with the sentences that they read"
        )
    if not cells:
        raise InputError(
            f"no story is complete for these tasks and in the {options.part} part of "
            f"{', '.join(splits)}",
            "give stories that name their splits ('moralscope stories split'), or --part all",
        )
    return cells, empty


def _drawn(stories: list[MoralStory], options: EvaluateOptions) -> list[MoralStory]:
    """Take at most `max_stories`, by the seed, in their order."""
    if options.max_stories is None or len(stories) <= options.max_stories:
        return stories
    rows = random.Random(options.seed).sample(range(len(stories)), options.max_stories)  # noqa: S311
    return [stories[row] for row in sorted(rows)]


def trained_part(card: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the split and the part of it that experts learnt from; None where no card says so."""
    said = card.get("trained_on")
    said = said if isinstance(said, dict) else {}
    # Recipes on rules learn stories by norm distance; older cards of theirs do not name the split.
    stories = any(str(row).startswith("Moral Stories (") for row in card.get("data") or ())
    split = said.get("split") or (stories and "norm_distance")
    return (str(split), str(said.get("part", "train"))) if split else None


def _trained_on(experts: ExpertSet, stories: Sequence[MoralStory], kind: str) -> set[str]:
    """Return the stories whose samples of this kind the experts were trained on, by their card.

    Stories that name no split are not those of the card.
    """
    if (trained := trained_part(experts.card)) is None:
        return set()
    parts = official_parts(stories, trained[0], kind)
    return {name for name, part in parts.items() if part == trained[1]}


def _evaluate(
    cell: _Cell,
    experts: ExpertSet,
    against: ExpertSet | None,
    options: EvaluateOptions,
    norms: Mapping[str, str],
) -> TaskEvaluation:
    task, seed, paper = cell.task, options.seed, load_paper()
    answers = examine(experts.expert(task.name), task, cell.test)
    test = answers.predictions
    compared = None
    if against is not None and task.name in against.tasks:
        other = examine(against.expert(task.name), task, cell.test)
        compared = paired(other.predictions, test, seed=seed)
    shortcut = None
    if options.shortcuts:
        shortcut = lexical_shortcut(list(samples(task, cell.train)), test.samples, seed=seed)
    calibration = None
    if cell.dev:
        dev = examine(experts.expert(task.name), task, cell.dev).predictions
        temperature = fit_temperature(dev.binary, dev.truth)
        calibration = TemperatureFit(
            temperature,
            expected_calibration_error(test.binary, test.truth),
            expected_calibration_error(at_temperature(test.binary, temperature), test.truth),
        )
    sensitivity = options.reversed and reads_norm(task)
    swapped = swapped_norms(answers, norms, seed=seed) if sensitivity else None
    return TaskEvaluation(
        expert=experts.ref.name,
        task=task.name,
        split=cell.split,
        part=options.part,
        seen=cell.seen,
        measured=measure(test, seed=seed),
        paper_accuracy=paper.printed(options.part, "accuracy", task.name, cell.split),
        paper_f1=paper.printed(options.part, "f1", task.name, cell.split),
        confusion=swapped[1] if swapped else confusion(test),
        calibration=calibration,
        against=compared,
        reversed=reversed_wordings(answers, seed) if sensitivity else (),
        swapped=swapped[0] if swapped else None,
        shortcut=shortcut,
        mistakes=worst(test),
    )


def _warnings(
    experts: ExpertSet, options: EvaluateOptions, results: Sequence[TaskEvaluation]
) -> Iterator[str]:
    if (trained := trained_part(experts.card)) is None:
        yield (
            f"the card of '{experts.ref.name}' does not say what it was trained on: no figure is "
            "known to be out of sample"
        )
        return
    for cell in results:
        if cell.seen:
            yield (
                f"{cell.task}, {cell.split}: {cell.seen:,} stories of the {cell.part} part were in "
                f"training ({' '.join(trained)}) and left out; "
                f"{cell.measured.stories:,} remain, a part that the paper did not measure"
            )
    if options.part == "dev" and trained[0] in (options.splits or SPLITS):
        yield "the dev part chose when training stopped: its figures are a little too good"
