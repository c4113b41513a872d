"""Fit one task's columns of the last layer again, on a body that stays as it is.

Logistic regression over what the body makes of each pair: minutes on a CPU, where training the body
takes a GPU.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.models.classifiers.learning import Lesson, PairLearner, pooled_rows
from moralscope.models.classifiers.module import padding_of, tokenise

STRENGTHS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
Columns = tuple[NDArray[np.float64], NDArray[np.float64]]


def refit_head(learner: PairLearner, task: str) -> float:
    """Put in the columns that suit dev best; returns the strength (C) that was chosen.

    The lessons of the first turn are learnt, each by its weight; the mean accuracy of the task's
    dev groups chooses among `STRENGTHS`.
    """
    import torch

    train = [learner.lessons[place] for place in learner.places(0)]
    train = [row for row in train if row.task == task]
    dev = [row for row in learner.dev_lessons if row.task == task]
    labels = learner.slices.labels[task]
    missing = [name for place, name in enumerate(labels) if place not in {r.label for r in train}]
    if missing:
        raise InputError(
            f"no lesson of '{task}' has the label '{missing[0]}'", "give lessons of every label"
        )
    rows, dev_rows = _rows(learner, train), _rows(learner, dev)
    fitted = {strength: _fit(rows, train, strength) for strength in STRENGTHS}
    best = max(fitted, key=lambda strength: _score(fitted[strength], dev_rows, dev))
    weight, bias = fitted[best]
    columns = learner.slices.of(task)
    with torch.no_grad():
        learner.module.head.weight[columns] = torch.tensor(weight).float()
        learner.module.head.bias[columns] = torch.tensor(bias).float()
    return best


def _rows(learner: PairLearner, lessons: Sequence[Lesson]) -> NDArray[np.float32]:
    ids = tokenise(learner.tokenizer, [row.pair for row in lessons], learner.max_length)
    return pooled_rows(learner.module, ids, padding_of(learner.tokenizer))


def _fit(rows: NDArray[np.float32], lessons: Sequence[Lesson], strength: float) -> Columns:
    from sklearn.linear_model import LogisticRegression

    centre, spread = rows.mean(0), rows.std(0) + 1e-6
    found = LogisticRegression(C=strength, max_iter=2000)
    labels, weights = [row.label for row in lessons], [row.weight for row in lessons]
    found.fit((rows - centre) / spread, labels, sample_weight=weights)
    weight = found.coef_ / spread
    bias = found.intercept_ - weight @ centre
    return weight, bias


def _score(columns: Columns, rows: NDArray[np.float32], lessons: Sequence[Lesson]) -> float:
    weight, bias = columns
    right: dict[str, list[bool]] = {}
    for row, chosen in zip(lessons, (rows @ weight.T + bias).argmax(1), strict=True):
        right.setdefault(row.group, []).append(int(chosen) == row.label)
    return float(np.mean([np.mean(each) for each in right.values()]))
