"""What is told of trained experts of rules: macro-F1, AUC, r, and what needs no model beside it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from moralscope.core.errors import InputError
from moralscope.models.classifiers.module import sigmoid
from moralscope.models.training.classifier import ClassifierLearner
from moralscope.models.training.metrics import label_f1
from moralscope.models.training.records import TrainingExample
from moralscope.models.training.trainer import TrainedModel, TrainingData
from moralscope.rules.attribute_examples import FOUNDATIONS_TASK, SCALES, foundation_baselines
from moralscope.rules.metrics import measure_scale
from moralscope.rules.reply_reader import CONCERN, CONCERNS, VERDICT
from moralscope.rules.verdict import TASK
from moralscope.stats.correlation import auc

Rows = list[tuple[TrainingExample, Any]]


def trained_figures(trained: TrainedModel) -> dict[str, dict[str, float]]:
    """Return the figures of dev, and of test where it was asked for."""
    parts: dict[str, ClassifierLearner] = {"dev": trained.learner}
    if trained.recipe.test:
        test = trained.data.parts["test"]
        if not test:
            raise InputError("there is no test part", "leave --test out")
        parts["test"] = trained.learner.on(test)
    told = {part: _part_figures(each, trained.thresholds) for part, each in parts.items()}
    if trained.recipe.still:  # the rest is as its own card says
        told = {
            part: {name: value for name, value in each.items() if FOUNDATIONS_TASK not in name}
            for part, each in told.items()
        }
    look = trained.history.best_evaluation
    told["dev"] |= {f"{name} r": value for name, value in trained.fitted.items()}
    pairs = ("harmless pairs", "retrieval")
    told["dev"] |= {name: look[name] for name in pairs if name in look}
    told["dev"] = {**{name: look[name] for name in ("epoch", "loss", "score")}, **told["dev"]}
    return told


def _part_figures(
    learner: ClassifierLearner, thresholds: Mapping[str, tuple[float, ...]]
) -> dict[str, float]:
    tasks: dict[str, Rows] = {}
    for row, own in zip(learner.dev_examples, learner.dev_logits(), strict=True):
        tasks.setdefault(row.task, []).append((row, own))
    found: dict[str, float] = {}
    groups: dict[str, Rows] = {}
    for row, own in tasks.get(TASK, ()):
        groups.setdefault(row.group or TASK, []).append((row, own))
    for group, rows in groups.items():
        gold = np.array([row.label for row, _ in rows])
        chosen = np.array([own.argmax() for _, own in rows])
        columns = np.arange(len(learner.heads[TASK].labels))
        each = label_f1(gold[:, None] == columns, chosen[:, None] == columns)
        found[group] = float(each.mean())
        found[f"{group} accuracy"] = float((gold == chosen).mean())
    if rows := tasks.get(FOUNDATIONS_TASK, []):
        held = np.array([row.values for row, _ in rows]) > 0
        taken = sigmoid(np.array([own for _, own in rows])) >= thresholds[FOUNDATIONS_TASK]
        each = label_f1(held, taken)
        names = learner.heads[FOUNDATIONS_TASK].labels
        found[FOUNDATIONS_TASK] = float(each.mean())
        found |= {f"foundations {name}": float(f1) for name, f1 in zip(names, each, strict=True)}
    found |= _verdict_figures(tasks)
    for name in SCALES:
        if rows := tasks.get(name, []):
            told = measure_scale(
                [row.values[0] for row, _ in rows], [float(own[0]) for _, own in rows]
            )
            found |= {f"{name} r": told.r.value, f"{name} mse": told.mse.value}
    return found


def _verdict_figures(tasks: Mapping[str, Rows]) -> dict[str, float]:
    """Return the AUC of verdicts by group, and of each concern."""
    groups: dict[str, tuple[list[float], list[float]]] = {}
    for row, own in tasks.get(VERDICT, ()):
        if row.other is None:
            gold, said = groups.setdefault(f"{row.group} AUC", ([], []))
            gold.append(row.label)
            said.append(float(own[1] - own[0]))
    for row, own in tasks.get(CONCERN, ()):
        for name, value, logit in zip(CONCERNS, row.values, own, strict=True):
            gold, said = groups.setdefault(f"{name} AUC", ([], []))
            gold.append(value)
            said.append(float(logit))
    return {
        name: auc(np.array(said), np.array(gold) > 0)
        for name, (gold, said) in groups.items()
        if len(set(gold)) == 2
    }


def baselines_of(data: TrainingData, part: str) -> dict[str, Any]:
    """Return what foundations must beat on a part; nothing where they are not learnt."""
    rows = {
        name: [row for row in each if row.task == FOUNDATIONS_TASK and row.weight == 1.0]
        for name, each in data.parts.items()
    }
    if not rows.get(part):
        return {}
    found = foundation_baselines(rows["train"], rows["dev"], rows[part])
    return {"part": part, **asdict(found), "best": found.best}


def baselines_text(baselines: Mapping[str, Any]) -> str:
    """Say on a card what the foundations must beat."""
    if not baselines:
        return ""
    return (
        f"\nFoundations without a model, macro-F1 on {baselines['part']}: commonest answer "
        f"{baselines['majority']:.3f}, every label always {baselines['always']:.3f}, "
        f"{baselines['words']} words a foundation {baselines['keywords']:.3f}.\n"
    )
