"""The one trainer: a recipe and a subject's data source in, a folder with its card out.

    recipe ─┐
            ├─ data → train every point of the grid → best on dev → figures → card → folder
    source ─┘

A `TrainingSource` knows its subject: which examples, how figures are told, what the card warns of.
Everything else is here, once, for classifiers and generators. A run that was stopped goes on when
the same settings are given for the same folder.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from moralscope.core.errors import ChecksumMismatch, InputError
from moralscope.core.records import ModelRef, RunRecord, Statistics, absent, grouped
from moralscope.io.files import write_whole
from moralscope.models.classifiers.module import resolve_base as resolve_encoder
from moralscope.models.classifiers.module import sigmoid
from moralscope.models.classifiers.saved import (
    SETTINGS,
    ExpertSettings,
    folder_sha256,
    read_settings,
    save_adapter,
    save_experts,
)
from moralscope.models.language.conversion import resolve_base as resolve_language_model
from moralscope.models.store import Progress, Store, sha256_of
from moralscope.models.training.cards import Card, CardText, write_card
from moralscope.models.training.classifier import ClassifierLearner, train_classifier
from moralscope.models.training.distill import with_teacher
from moralscope.models.training.folder import CHECKPOINT, training_folder
from moralscope.models.training.generator import GeneratorLearner, train_generator
from moralscope.models.training.heads import CONTRASTIVE, RIDGE, Heads
from moralscope.models.training.metrics import best_thresholds
from moralscope.models.training.recipe import GENERATOR, TrainingRecipe, repeat_words
from moralscope.models.training.records import History, Report
from moralscope.models.training.ridge import fit_ridge
from moralscope.stats.calibration import fit_temperature

GENERATOR_SCHEMA = "moralscope.generator/1"
_LOOKED_AT = 5  # times the share of what is learnt again
_DECODER_READS = 384  # tokens at once
Figures = Mapping[str, Mapping[str, float]]  # by part, then by group


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a source found: examples by part; heads of a classifier, or markers of a generator.

    `tasks` are those a generator completes; `names` of what was read and `counts` are for the card
    and the record.
    """

    parts: Mapping[str, Sequence[Any]]
    heads: Heads = field(default_factory=dict)
    markers: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    names: Sequence[str] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """The best point of the grid, or the only one; `grid` has the dev figures of every point."""

    recipe: TrainingRecipe
    chosen: TrainingRecipe
    data: TrainingData
    learner: Any  # a ClassifierLearner or a GeneratorLearner
    history: History
    grid: Sequence[Mapping[str, float]] = ()
    temperatures: Mapping[str, float] = field(default_factory=dict)
    thresholds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fitted: Mapping[str, float] = field(default_factory=dict)  # cross-validated r of ridge heads


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """What a source says of a trained model. `results` None: the evaluations on dev."""

    figures: Figures
    card: CardText
    statistics: Mapping[str, Any]  # the subject's own fields of `TrainingStatistics`
    results: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStatistics(Statistics):
    """What a training command found in sum; what a subject does not count is left out."""

    lessons: Mapping[str, Any] | None = absent()  # how many examples were learnt, by task
    counts: Mapping[str, Any] | None = absent()  # how many rows were read, by source
    baselines: Mapping[str, Any] | None = absent()  # figures of models that know nothing
    dev_lessons: Mapping[str, Any] | None = absent()
    parts: Mapping[str, int] | None = absent()  # how many labelled replies are in each part
    labels: Mapping[str, Mapping[str, int]] | None = absent()
    dev: Mapping[str, float] | None = absent()  # the best evaluation
    figures: Figures
    temperatures: Mapping[str, float]  # by task; what logits are divided by
    thresholds: Mapping[str, tuple[float, ...]]  # by task, then by label
    history: History
    grid: Sequence[Mapping[str, float]] | None = absent()  # dev figures of every point


class TrainingSource(Protocol):
    """A subject's data for recipes, and its way to tell how well a model does.

    `job` names the run record, `words` the command with its files, `files` the same for the config.
    """

    @property
    def job(self) -> str: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def files(self) -> Mapping[str, Any]: ...

    def data(self, recipe: Any) -> TrainingData: ...

    def summary(self, trained: TrainedModel) -> TrainingSummary: ...


def train_model(
    recipe: TrainingRecipe,
    source: TrainingSource,
    out: Path,
    *,
    base_is: str | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train by a recipe, choose on dev, write the model with its card to `out`.

    `base_is` names the store's entry whose weights the base folder holds (a copy elsewhere).
    """
    data = replayed(source.data(recipe), recipe)
    resolve = resolve_language_model if recipe.model == GENERATOR else resolve_encoder
    folder, checksum = resolve(recipe.base, store=Store(), progress=progress)
    base = ModelRef(*named_base(recipe.base, folder, checksum, base_is))
    with training_folder(out):
        trained = _best_point(recipe, data, folder, out, report)
        summary = source.summary(trained)
        short = Path(base.name).name if Path(base.name).is_dir() else base.name
        command = [*source.words[:1], f"--base {short}", *source.words[1:]]
        command += repeat_words(recipe, trained.chosen)
        settings = trained.chosen.plain
        card = write_card(
            summary.card, short, " ".join(command), recipe.start, summary.figures, settings
        )
        _save(out, trained, base, card)
    trained_ref = [] if recipe.model == GENERATOR else [ModelRef(out.name, folder_sha256(out))]
    return RunRecord(
        source.job,
        seed=recipe.seed,
        config={
            "recipe": recipe.name,
            **{key: value for key, value in recipe.plain.items() if key != "name"},
            **source.files,
            "base_is": base_is,
            "schedule": trained.chosen.plain_schedule,
            "out": str(out),
        },
        models=[base, *trained_ref],
        results=trained.history.evaluations if summary.results is None else summary.results,
        statistics=TrainingStatistics(
            **summary.statistics,
            figures=summary.figures,
            temperatures=trained.temperatures,
            thresholds=trained.thresholds,
            history=trained.history,
            grid=trained.grid if recipe.grid else None,
        ),
        warnings=list(data.warnings),
    )


def replayed(data: TrainingData, recipe: TrainingRecipe) -> TrainingData:
    """Keep a share of the examples, but all of the groups that the recipe is about."""
    if recipe.replay == 1 and not recipe.shares:
        return data
    rng = np.random.default_rng(recipe.seed)
    parts = {}
    for part, rows in data.parts.items():
        # What only looks is cheap beside what learns, and few rows tell little.
        share = recipe.replay if part == "train" else _LOOKED_AT * recipe.replay
        parts[part] = [
            row
            for row, draw in zip(rows, rng.random(len(rows)), strict=True)
            if draw < recipe.shares.get(row.group or row.task, share)
            or row.group in recipe.whole
            or (data.heads and data.heads[row.task].loss == RIDGE)
        ]
    return replace(data, parts=parts)


def _best_point(
    recipe: TrainingRecipe, data: TrainingData, base: Path, out: Path, report: Report | None
) -> TrainedModel:
    """Train once for every point of the grid; keep the best on dev, the first of equals."""
    best: tuple[Any, History, TrainingRecipe] | None = None
    grid: list[dict[str, float]] = []
    points = recipe.points
    heads = recipe.with_heads(data.heads)
    train = data.parts["train"]
    if recipe.teacher and any(point.epochs for point in points):
        train = with_teacher(train, heads, recipe)
    examples = (train, data.parts["dev"])
    for number, point in enumerate(points):
        # A checkpoint a point: points that are done are read back, not trained again.
        checkpoint = out / (f"{number:02d}-{CHECKPOINT}" if len(points) > 1 else CHECKPOINT)
        made: tuple[Any, History]
        if recipe.model == GENERATOR:
            made = train_generator(point, base, data.markers, examples, checkpoint, report)
        else:
            made = train_classifier(point, base, heads, examples, checkpoint, report)
        figures = made[1].best_evaluation
        grid.append({**{key: point.plain[key] for key in recipe.grid}, **figures})
        if best is None or figures["score"] > best[1].best_evaluation["score"]:
            best = (*made, point)
        del made  # a learner that is not the best leaves memory before the next is built
    if best is None:
        raise InputError("the grid is empty", "leave it out")
    learner, history, chosen = best
    trained = TrainedModel(recipe, chosen, data, learner, history, grid)
    return trained if recipe.model == GENERATOR else _with_fitted(trained, learner)


def _with_fitted(trained: TrainedModel, learner: ClassifierLearner) -> TrainedModel:
    """Fit what is fitted after training: scales, and on dev temperatures and thresholds."""
    recipe = trained.recipe
    fitted = {
        name: fit_ridge(learner, name) for name, head in learner.heads.items() if head.loss == RIDGE
    }
    kept = [name for name, head in learner.heads.items() if head.kept]
    if len(kept) < len(learner.heads) or any(head.tied for head in learner.heads.values()):
        learner = learner.keep_heads(kept)
    answers = zip(learner.dev_examples, learner.dev_logits(), strict=True)
    rows = grouped((row.task, (row, logits)) for row, logits in answers if row.other is None)
    temperatures, thresholds = {}, {}
    for name, outputs in rows.items():
        logits = np.array([row for _, row in outputs])
        if learner.heads[name].kind == "one":
            wide = logits.astype(np.float64)
            chances = np.exp(wide - wide.max(axis=1, keepdims=True))
            labels = np.array([row.label for row, _ in outputs])
            temperatures[name] = fit_temperature(
                chances / chances.sum(axis=1, keepdims=True), labels
            )
        elif learner.heads[name].kind == "many":
            gold = np.array([row.values for row, _ in outputs]) > 0
            thresholds[name] = best_thresholds(gold, sigmoid(logits))
    if recipe.epochs == 0 or (recipe.start and recipe.replay < 1):
        # Few examples beside a body that is much as it was: its own thresholds hold, but those of
        # a task that has learnt new labels.
        before = read_settings(recipe.start[0])
        thresholds |= {
            task: limits
            for task, limits in before.thresholds.items()
            if task in learner.heads and before.tasks[task] == learner.heads[task].labels
        }
    return replace(
        trained, learner=learner, temperatures=temperatures, thresholds=thresholds, fitted=fitted
    )


def _save(out: Path, trained: TrainedModel, base: ModelRef, card: Card) -> None:
    learner, data = trained.learner, trained.data
    if not isinstance(learner, GeneratorLearner):
        # Reading less of a text is a way to learn faster, not to judge. A decoder's vectors of
        # places hold far beyond what an adapter learnt from.
        begun = [read_settings(folder).max_length for folder in trained.chosen.start]
        begun += [_DECODER_READS] * learner.module.last
        taught = {row.task for row in data.parts["train"]}
        settings = ExpertSettings(
            base=base.name,
            base_sha256=base.sha256,
            tasks={name: head.labels for name, head in learner.heads.items()},
            max_length=max([trained.chosen.max_length, *begun]),
            temperatures=trained.temperatures,
            card=card.facts,
            kinds={name: head.kind for name, head in learner.heads.items() if head.kind != "one"},
            thresholds=trained.thresholds,
            retrieval=any(data.heads[task].loss == CONTRASTIVE for task in taught),
        )
        save_experts(
            out,
            learner.module,
            settings,
            learner.tokenizer,
            card.text,
            eight_bits=trained.recipe.eight_bits,
        )
        return
    if hasattr(learner.module, "peft_config"):
        save_adapter(out, learner.module, eight_bits=trained.recipe.eight_bits)
    else:
        learner.module.save_pretrained(out, safe_serialization=True)
        learner.tokenizer.save_pretrained(out)
    write_whole(out / "README.md", [card.text.encode()])
    facts = {
        "schema": GENERATOR_SCHEMA,
        "base": base.name,
        "base_sha256": base.sha256,
        "markers": list(data.markers),
        "tasks": list(data.tasks),
        "card": card.facts,
    }
    write_whole(out / SETTINGS, [json.dumps(facts, indent=1).encode()])


def named_base(name: str, folder: Path, checksum: str, base_is: str | None) -> tuple[str, str]:
    """Return a base's name, which finds it again, and its checksum.

    `base_is` says that the folder is a copy of that model of the store: its files must bear it out.
    A copy in half precision names its source as conversions do: `conversion.json`, `source`.
    """
    if base_is is None:
        return (str(folder.resolve()) if Path(name).expanduser().is_dir() else name), checksum
    entry = Store().entry(base_is)
    weights = folder / entry.weights
    checksums = [sha256_of(weights)] if weights.is_file() else []
    with suppress(OSError, ValueError, KeyError, TypeError):
        checksums.append(json.loads((folder / "conversion.json").read_text("utf-8"))["source"])
    if entry.sha256 not in checksums:
        raise ChecksumMismatch(
            f"{folder} isn't a copy of '{base_is}'",
            "copy the store's folder, or leave --base-is out",
        )
    return base_is, entry.sha256
