"""Fit a scale on a body that stays as it is: ridge regression."""

import numpy as np

from moralscope.models.classifiers.module import padding_of, pooled_rows
from moralscope.models.training.classifier import ClassifierLearner
from moralscope.models.training.metrics import pearson

STRENGTHS = (100.0, 300.0, 1000.0, 3000.0, 10000.0)


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
        for strength in STRENGTHS
    }
    best = max(folds, key=lambda strength: folds[strength])
    model = Ridge(best).fit(even, wanted)
    weight = model.coef_ / spread
    columns = learner.slices.of(task)
    with torch.no_grad():
        learner.module.head.weight[columns] = torch.tensor(weight[None, :]).float()
        learner.module.head.bias[columns] = float(model.intercept_ - weight @ centre)
    return folds[best]
