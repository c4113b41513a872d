"""What is told of trained experts of rules: macro-F1, AUC, r, and what needs no model beside it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.records import grouped
from moralscope.models.classifiers.module import sigmoid
from moralscope.models.training.classifier import ClassifierLearner
from moralscope.models.training.metrics import label_f1
from moralscope.models.training.trainer import TrainedModel, TrainingData
from moralscope.rules.annotations.metrics import measure_scale
from moralscope.rules.reply_reader import CONCERN, CONCERNS, VERDICT
from moralscope.rules.training.attribute_examples import (
    FOUNDATIONS_TASK,
    SCALES,
    foundation_baselines,
)
from moralscope.rules.verdict import TASK
from moralscope.stats.correlation import auc

_TASKS = (TASK, FOUNDATIONS_TASK, VERDICT, CONCERN, *SCALES)  # whose figures are of their own


def trained_figures(trained: TrainedModel) -> dict[str, dict[str, float]]:
    """Return the figures of dev, and of test where it was asked for."""
    parts: dict[str, ClassifierLearner] = {"dev": trained.learner}
    if trained.recipe.test:
        test = trained.data.parts["test"]
        if not test:
            raise InputError("there is no test part", "leave --test out")
        parts["test"] = trained.learner.on(test)
    figures = {part: _part_figures(learner, trained.thresholds) for part, learner in parts.items()}
    if trained.recipe.epochs == 0:  # the rest is as its own card says
        figures = {
            part: {name: value for name, value in some.items() if FOUNDATIONS_TASK not in name}
            for part, some in figures.items()
        }
    look = trained.history.best_evaluation
    figures["dev"] |= {f"{name} r": value for name, value in trained.fitted.items()}
    rows = trained.data.parts["dev"]
    groups = {row.group or row.task for row in rows if row.other or row.task not in _TASKS}
    figures["dev"] |= {name: look[name] for name in sorted(groups & look.keys())}
    figures["dev"] = {**{name: look[name] for name in ("epoch", "loss", "score")}, **figures["dev"]}
    return figures


def _part_figures(
    learner: ClassifierLearner, thresholds: Mapping[str, tuple[float, ...]]
) -> dict[str, float]:
    answers = zip(learner.dev_examples, learner.dev_logits(), strict=True)
    tasks = grouped((row.task, (row, logits)) for row, logits in answers)
    figures: dict[str, float] = {}
    groups = grouped((row.group or TASK, (row, logits)) for row, logits in tasks.get(TASK, ()))
    for group, rows in groups.items():
        gold = np.array([row.label for row, _ in rows])
        chosen = np.array([logits.argmax() for _, logits in rows])
        columns = np.arange(len(learner.heads[TASK].labels))
        f1 = label_f1(gold[:, None] == columns, chosen[:, None] == columns)
        figures[group] = float(f1.mean())
        figures[f"{group} accuracy"] = float((gold == chosen).mean())
    if rows := tasks.get(FOUNDATIONS_TASK, []):
        held = np.array([row.values for row, _ in rows]) > 0
        taken = sigmoid(np.array([logits for _, logits in rows])) >= thresholds[FOUNDATIONS_TASK]
        f1 = label_f1(held, taken)
        names = learner.heads[FOUNDATIONS_TASK].labels
        figures[FOUNDATIONS_TASK] = float(f1.mean())
        figures |= {
            f"foundations {name}": float(value) for name, value in zip(names, f1, strict=True)
        }
    # The AUC of verdicts by group, and of each concern.
    outputs: dict[str, tuple[list[float], list[float]]] = {}
    for row, logits in tasks.get(VERDICT, ()):
        if row.other is None:
            gold_of, said_of = outputs.setdefault(f"{row.group} AUC", ([], []))
            gold_of.append(row.label)
            said_of.append(float(logits[1] - logits[0]))
    for row, logits in tasks.get(CONCERN, ()):
        for name, value, logit in zip(CONCERNS, row.values, logits, strict=True):
            gold_of, said_of = outputs.setdefault(f"{name} AUC", ([], []))
            gold_of.append(value)
            said_of.append(float(logit))
    for name, (gold_of, said_of) in outputs.items():
        if len(set(gold_of)) == 2:
            figures[name] = auc(np.array(said_of), np.array(gold_of) > 0)
    for name in SCALES:
        if rows := tasks.get(name, []):
            measured = measure_scale(
                [row.values[0] for row, _ in rows], [float(logits[0]) for _, logits in rows]
            )
            figures |= {f"{name} r": measured.r.value, f"{name} mse": measured.mse.value}
    return figures


def baselines_of(data: TrainingData, part: str) -> dict[str, Any]:
    """Return what foundations must beat on a part; nothing where they are not learnt."""
    rows = {
        name: [row for row in some if row.task == FOUNDATIONS_TASK and row.weight == 1.0]
        for name, some in data.parts.items()
    }
    if not rows.get(part):
        return {}
    measured = foundation_baselines(rows["train"], rows["dev"], rows[part])
    return {"part": part, **asdict(measured), "best": measured.best}


def baselines_text(baselines: Mapping[str, Any]) -> str:
    """Say on a card what the foundations must beat."""
    if not baselines:
        return ""
    return (
        f"\nFoundations without a model, macro-F1 on {baselines['part']}: commonest answer "
        f"{baselines['majority']:.3f}, every label always {baselines['always']:.3f}, "
        f"{baselines['words']} words a foundation {baselines['keywords']:.3f}.\n"
    )
