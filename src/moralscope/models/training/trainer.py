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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.io.files import write_whole
from moralscope.models.classifiers.forward import sigmoid
from moralscope.models.classifiers.module import resolve_base as resolve_encoder
from moralscope.models.classifiers.saved import (
    SETTINGS,
    ExpertSettings,
    folder_sha256,
    read_settings,
    save_adapter,
    save_experts,
)
from moralscope.models.language.conversion import resolve_base as resolve_language_model
from moralscope.models.store import Progress, Store
from moralscope.models.training.base import named_base
from moralscope.models.training.cards import Card, CardText, write_card
from moralscope.models.training.classifier import ClassifierLearner, train_classifier
from moralscope.models.training.distill import with_teacher
from moralscope.models.training.folder import CHECKPOINT, training_folder
from moralscope.models.training.generator import GeneratorLearner, train_generator
from moralscope.models.training.heads import CONTRASTIVE, RIDGE, Heads
from moralscope.models.training.metrics import best_thresholds
from moralscope.models.training.recipe import GENERATOR, Recipe, repeat_words
from moralscope.models.training.records import History, Report, TrainingExample
from moralscope.models.training.refit import fit_ridge, refit_head
from moralscope.stats.calibration import fit_temperature

GENERATOR_SCHEMA = "moralscope.generator/1"
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

    recipe: Recipe
    chosen: Recipe
    data: TrainingData
    learner: Any  # a ClassifierLearner or a GeneratorLearner
    history: History
    grid: Sequence[Mapping[str, float]] = ()
    temperatures: Mapping[str, float] = field(default_factory=dict)
    thresholds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fitted: Mapping[str, float] = field(default_factory=dict)  # cross-validated r of ridge heads


@dataclass(frozen=True, slots=True)
class Summary:
    """What a source says of a trained model. `results` None: the evaluations on dev."""

    figures: Figures
    card: CardText
    statistics: Mapping[str, Any]
    results: Sequence[Any] | None = None


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

    def summary(self, trained: TrainedModel) -> Summary: ...


def train_model(
    recipe: Recipe,
    source: TrainingSource,
    out: Path,
    *,
    base_is: str | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Train by a recipe, choose on dev, write the model with its card to `out`.

    `base_is` names the store's entry whose weights the base folder holds (a copy elsewhere).

    Raises
    ------
    InputError
        Data without what the recipe needs, or a folder of other things.
    """
    data = source.data(recipe)
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
    own = [] if recipe.model == GENERATOR else [ModelRef(out.name, folder_sha256(out))]
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
        models=[base, *own],
        results=trained.history.evaluations if summary.results is None else summary.results,
        statistics={
            **summary.statistics,
            "figures": summary.figures,
            "temperatures": trained.temperatures,
            "thresholds": trained.thresholds,
            "history": asdict(trained.history),
            **({"grid": list(trained.grid)} if recipe.grid else {}),
        },
        warnings=list(data.warnings),
    )


def _best_point(
    recipe: Recipe, data: TrainingData, base: Path, out: Path, report: Report | None
) -> TrainedModel:
    """Train once for every point of the grid; keep the best on dev, the first of equals."""
    best: tuple[Any, History, Recipe] | None = None
    grid: list[dict[str, float]] = []
    points = recipe.points
    heads = recipe.with_heads(data.heads)
    train = data.parts["train"]
    if recipe.teacher:
        train = with_teacher(train, heads, recipe)
    examples = (train, data.parts["dev"])
    for place, point in enumerate(points):
        # A checkpoint a point: points that are done are read back, not trained again.
        checkpoint = out / (f"{place:02d}-{CHECKPOINT}" if len(points) > 1 else CHECKPOINT)
        made: tuple[Any, History]
        if recipe.model == GENERATOR:
            made = train_generator(point, base, data.markers, examples, checkpoint, report)
        else:
            made = train_classifier(point, base, heads, examples, checkpoint, report)
        said = made[1].best_evaluation
        grid.append({**{key: point.plain[key] for key in recipe.grid}, **said})
        if best is None or said["score"] > best[1].best_evaluation["score"]:
            best = (*made, point)
        del made  # a learner that is not the best leaves memory before the next is built
    if best is None:
        raise InputError("the grid is empty", "leave it out")
    learner, history, chosen = best
    trained = TrainedModel(recipe, chosen, data, learner, history, grid)
    return trained if recipe.model == GENERATOR else _with_fitted(trained, learner)


def _with_fitted(trained: TrainedModel, learner: ClassifierLearner) -> TrainedModel:
    """Fit what is fitted after training, on dev: a last layer, temperatures, thresholds."""
    recipe = trained.recipe
    if recipe.refit:
        refit_head(learner, recipe.refit)
    fitted = {
        name: fit_ridge(learner, name) for name, head in learner.heads.items() if head.loss == RIDGE
    }
    kept = [name for name, head in learner.heads.items() if head.kept]
    if len(kept) < len(learner.heads) or any(head.tied for head in learner.heads.values()):
        learner = learner.keep_heads(kept)
    rows: dict[str, list[tuple[TrainingExample, Any]]] = {}
    for row, logits in zip(learner.dev_examples, learner.dev_logits(), strict=True):
        if row.other is None:
            rows.setdefault(row.task, []).append((row, logits))
    temperatures, thresholds = {}, {}
    for name, own in rows.items():
        logits = np.array([each for _, each in own])
        if learner.heads[name].kind == "one":
            wide = logits.astype(np.float64)
            chances = np.exp(wide - wide.max(axis=1, keepdims=True))
            labels = np.array([row.label for row, _ in own])
            temperatures[name] = fit_temperature(
                chances / chances.sum(axis=1, keepdims=True), labels
            )
        elif learner.heads[name].kind == "many":
            gold = np.array([row.values for row, _ in own]) > 0
            thresholds[name] = best_thresholds(gold, sigmoid(logits))
    if recipe.still:  # few examples beside a body that is as it was: its own thresholds hold
        thresholds = dict(read_settings(recipe.start[0]).thresholds)
    return replace(
        trained, learner=learner, temperatures=temperatures, thresholds=thresholds, fitted=fitted
    )


def _save(out: Path, trained: TrainedModel, base: ModelRef, card: Card) -> None:
    learner, data = trained.learner, trained.data
    if isinstance(learner, GeneratorLearner):
        facts = {
            "base": base.name,
            "base_sha256": base.sha256,
            "markers": list(data.markers),
            "tasks": list(data.tasks),
            "card": card.facts,
        }
        save_generator(out, learner, facts, card.text)
        return
    settings = ExpertSettings(
        base.name,
        base.sha256,
        {name: head.labels for name, head in learner.heads.items()},
        trained.chosen.max_length,
        trained.temperatures,
        card.facts,
        {name: head.kind for name, head in learner.heads.items() if head.kind != "one"},
        trained.thresholds,
        any(head.loss == CONTRASTIVE for head in data.heads.values()),
    )
    save_experts(out, learner.module, settings, learner.tokenizer, card.text)


def save_generator(
    folder: Path, learner: GeneratorLearner, facts: Mapping[str, Any], readme: str
) -> None:
    """Write an adapter in peft's layout, or the whole model, with its facts and card."""
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(learner.module, "peft_config"):
        save_adapter(folder, learner.module)
    else:
        learner.module.save_pretrained(folder, safe_serialization=True)
        learner.tokenizer.save_pretrained(folder)
    write_whole(folder / "README.md", [readme.encode()])
    text = json.dumps({"schema": GENERATOR_SCHEMA, **facts}, indent=1)
    write_whole(folder / SETTINGS, [text.encode()])
