"""Distillation (Hinton et al. 2015): a smaller expert learns what larger ones say of its examples.

The probabilities of one or more trained sets, averaged, are mixed with the labels; an example with
the label -1 has none, and learns from the teachers alone: it is left out where none knows its head.
Heads that no teacher has, rankings, and the groups that a recipe calls whole are learnt as they
are: with the experts that a run starts from as its teacher, what they knew is kept while something
is added.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from moralscope.models.classifiers.experts import Experts
from moralscope.models.classifiers.module import resolve_base, sigmoid
from moralscope.models.classifiers.saved import read_settings
from moralscope.models.store import Store
from moralscope.models.training.heads import CONTRASTIVE, RIDGE, Heads
from moralscope.models.training.recipe import TrainingRecipe
from moralscope.models.training.records import TrainingExample


def with_teacher(
    examples: Sequence[TrainingExample], heads: Heads, recipe: TrainingRecipe
) -> list[TrainingExample]:
    """Return the examples with what the teachers say of them as soft labels."""
    rows = list(examples)
    teachers = [_load(folder) for folder in recipe.teacher]
    for task, head in heads.items():
        able = [teacher for teacher in teachers if task in teacher.tasks]
        indices = [
            index
            for index, row in enumerate(rows)
            if row.task == task and row.other is None and row.group not in recipe.whole
        ]
        if not able or not indices or head.loss in (CONTRASTIVE, RIDGE, "regression"):
            continue
        pairs = [rows[index].pair for index in indices]
        outputs = [np.asarray(teacher.values(task, pairs), dtype=np.float64) for teacher in able]
        if head.kind == "scale":
            outputs = [np.asarray(sigmoid(values), dtype=np.float64) for values in outputs]
        for index, soft in zip(indices, np.mean(outputs, axis=0), strict=True):
            row = rows[index]
            if head.kind == "one":
                hard = np.eye(len(soft))[row.label] if row.label >= 0 else soft
            else:
                hard = np.asarray(row.values) if row.values else soft
            mixed = recipe.teacher_share * soft + (1 - recipe.teacher_share) * hard
            rows[index] = replace(row, values=tuple(float(value) for value in mixed))
    return [row for row in rows if row.label >= 0 or row.values]


def _load(folder: Path) -> Experts:
    settings = read_settings(folder)
    if (folder / "model").is_dir():
        return Experts(folder, None, "", folder.name)
    return Experts(folder, *resolve_base(settings.base, Store()), folder.name)
