"""Fit the last layer of one head on a body that stays as it is: logistic or ridge regression."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.models.classifiers.forward import pooled_rows
from moralscope.models.classifiers.module import padding_of
from moralscope.models.training.classifier import ClassifierLearner
from moralscope.models.training.metrics import pearson
from moralscope.models.training.records import TrainingExample

RIDGE_STRENGTHS = (100.0, 300.0, 1000.0, 3000.0, 10000.0)
STRENGTHS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
Columns = tuple[NDArray[np.float64], NDArray[np.float64]]


def refit_head(learner: ClassifierLearner, task: str) -> float:
    """Fit one head's columns again on a body that stays as it is; returns the strength (C) chosen.

    Logistic regression over what the body makes of each pair: minutes on a CPU, where training the
    body takes a GPU. The examples of the first turn are learnt, each by its weight; the mean
    accuracy of the task's dev groups chooses among `STRENGTHS`.
    """
    import torch

    train = [learner.examples[place] for place in learner.places(0)]
    train = [row for row in train if row.task == task]
    dev = [row for row in learner.dev_examples if row.task == task]
    labels = learner.heads[task].labels
    missing = [name for place, name in enumerate(labels) if place not in {r.label for r in train}]
    if missing:
        raise InputError(
            f"no example of '{task}' has the label '{missing[0]}'", "give examples of every label"
        )
    rows, dev_rows = (
        pooled_rows(learner.module, learner.token_ids(own), padding_of(learner.tokenizer))
        for own in (train, dev)
    )
    fitted = {strength: _fit(rows, train, strength) for strength in STRENGTHS}
    best = max(fitted, key=lambda strength: _accuracy(fitted[strength], dev_rows, dev))
    weight, bias = fitted[best]
    columns = learner.slices.of(task)
    with torch.no_grad():
        learner.module.head.weight[columns] = torch.tensor(weight).float()
        learner.module.head.bias[columns] = torch.tensor(bias).float()
    return best


def fit_ridge(learner: ClassifierLearner, task: str) -> float:
    """Fit a scale's column on a body that stays as it is; returns r, cross-validated.

    Ridge regression over what the body makes of each text, ten folds; the strength whose folds
    agree best is taken. The r is nested in nothing: with five strengths it is slightly kind.
    """
    import torch
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import cross_val_predict

    own = [row for row in learner.examples if row.task == task]
    wanted = np.array([row.values[0] for row in own])
    rows = pooled_rows(learner.module, learner.token_ids(own), padding_of(learner.tokenizer))
    centre, spread = rows.mean(0), rows.std(0) + 1e-6
    even = (rows - centre) / spread
    folds = {
        strength: pearson(wanted, cross_val_predict(Ridge(strength), even, wanted, cv=10))
        for strength in RIDGE_STRENGTHS
    }
    best = max(folds, key=lambda strength: folds[strength])
    found = Ridge(best).fit(even, wanted)
    weight = found.coef_ / spread
    columns = learner.slices.of(task)
    with torch.no_grad():
        learner.module.head.weight[columns] = torch.tensor(weight[None, :]).float()
        learner.module.head.bias[columns] = float(found.intercept_ - weight @ centre)
    return folds[best]


def _fit(
    rows: NDArray[np.float32], examples: Sequence[TrainingExample], strength: float
) -> Columns:
    from sklearn.linear_model import LogisticRegression

    # Fitted on rows of like spread, so that one strength suits all; told in the rows' own units.
    centre, spread = rows.mean(0), rows.std(0) + 1e-6
    found = LogisticRegression(C=strength, max_iter=2000)
    labels, weights = [row.label for row in examples], [row.weight for row in examples]
    found.fit((rows - centre) / spread, labels, sample_weight=weights)
    weight = found.coef_ / spread
    bias = found.intercept_ - weight @ centre
    return weight, bias


def _accuracy(
    columns: Columns, rows: NDArray[np.float32], examples: Sequence[TrainingExample]
) -> float:
    weight, bias = columns
    right: dict[str, list[bool]] = {}
    for row, chosen in zip(examples, (rows @ weight.T + bias).argmax(1), strict=True):
        right.setdefault(row.group, []).append(int(chosen) == row.label)
    return float(np.mean([np.mean(each) for each in right.values()]))
