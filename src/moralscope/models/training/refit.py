"""Fit the last layer of one head on a body that stays as it is: logistic or ridge regression."""

import numpy as np

from moralscope.core.errors import InputError
from moralscope.models.classifiers.module import padding_of, pooled_rows
from moralscope.models.training.classifier import ClassifierLearner
from moralscope.models.training.metrics import pearson

RIDGE_STRENGTHS = (100.0, 300.0, 1000.0, 3000.0, 10000.0)
STRENGTHS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)


def refit_head(learner: ClassifierLearner, task: str) -> float:
    """Fit one head's columns again on a body that stays as it is; returns the strength (C) chosen.

    Logistic regression over what the body makes of each pair: minutes on a CPU, where training the
    body takes a GPU. The examples of the first turn are learnt, each by its weight; the mean
    accuracy of the task's dev groups chooses among `STRENGTHS`.
    """
    import torch
    from sklearn.linear_model import LogisticRegression

    train = [learner.examples[index] for index in learner.indices(0)]
    train = [row for row in train if row.task == task]
    dev = [row for row in learner.dev_examples if row.task == task]
    labels = learner.heads[task].labels
    present = {row.label for row in train}
    missing = [name for index, name in enumerate(labels) if index not in present]
    if missing:
        raise InputError(
            f"no example of '{task}' has the label '{missing[0]}'", "give examples of every label"
        )
    rows, dev_rows = (
        pooled_rows(learner.module, learner.token_ids(part), padding_of(learner.tokenizer))
        for part in (train, dev)
    )
    # Fitted on rows of like spread, so that one strength suits all; told in the rows' own units.
    centre, spread = rows.mean(0), rows.std(0) + 1e-6
    fitted, accuracies = {}, {}
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=2000)
        weights = [row.weight for row in train]
        model.fit((rows - centre) / spread, [row.label for row in train], sample_weight=weights)
        weight = model.coef_ / spread
        bias = model.intercept_ - weight @ centre
        fitted[strength] = weight, bias
        right: dict[str, list[bool]] = {}
        for row, chosen in zip(dev, (dev_rows @ weight.T + bias).argmax(1), strict=True):
            right.setdefault(row.group, []).append(int(chosen) == row.label)
        accuracies[strength] = float(np.mean([np.mean(group) for group in right.values()]))
    best = max(fitted, key=lambda strength: accuracies[strength])
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

    examples = [row for row in learner.examples if row.task == task]
    wanted = np.array([row.values[0] for row in examples])
    rows = pooled_rows(learner.module, learner.token_ids(examples), padding_of(learner.tokenizer))
    centre, spread = rows.mean(0), rows.std(0) + 1e-6
    even = (rows - centre) / spread
    folds = {
        strength: pearson(wanted, cross_val_predict(Ridge(strength), even, wanted, cv=10))
        for strength in RIDGE_STRENGTHS
    }
    best = max(folds, key=lambda strength: folds[strength])
    model = Ridge(best).fit(even, wanted)
    weight = model.coef_ / spread
    columns = learner.slices.of(task)
    with torch.no_grad():
        learner.module.head.weight[columns] = torch.tensor(weight[None, :]).float()
        learner.module.head.bias[columns] = float(model.intercept_ - weight @ centre)
    return folds[best]
