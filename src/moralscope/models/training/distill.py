"""Distillation (Hinton et al. 2015): a smaller expert learns what larger ones say of its examples.

The probabilities of one or more trained sets, averaged, are mixed with the labels; an example with
the label -1 has none, and learns from the teachers alone. Heads that no teacher has, and rankings,
are learnt as they are.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moralscope.models.classifiers.experts import Experts
from moralscope.models.classifiers.forward import sigmoid
from moralscope.models.classifiers.module import resolve_base
from moralscope.models.classifiers.saved import read_settings
from moralscope.models.store import Store
from moralscope.models.training.heads import CONTRASTIVE, RIDGE, Heads
from moralscope.models.training.recipe import Recipe
from moralscope.models.training.records import TrainingExample


def with_teacher(
    examples: Sequence[TrainingExample], heads: Heads, recipe: Recipe
) -> list[TrainingExample]:
    """Return the examples with what the teachers say of them as soft labels."""
    found = list(examples)
    teachers = [_load(folder, recipe.teacher_base) for folder in recipe.teacher]
    for task, head in heads.items():
        able = [each for each in teachers if task in each.tasks]
        places = [
            place for place, row in enumerate(found) if row.task == task and row.other is None
        ]
        if not able or not places or head.loss in (CONTRASTIVE, RIDGE, "regression"):
            continue
        pairs = [found[place].pair for place in places]
        said = np.mean([_told(each, task, head.kind, pairs) for each in able], axis=0)
        for place, row in zip(places, said, strict=True):
            found[place] = _mixed(found[place], row, recipe.teacher_share, head.kind)
    return found


def _told(
    teacher: Experts, task: str, kind: str, pairs: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    values = np.asarray(teacher.values(task, pairs), dtype=np.float64)
    return np.asarray(sigmoid(values), dtype=np.float64) if kind == "scale" else values


def _mixed(
    row: TrainingExample, said: NDArray[np.float64], share: float, kind: str
) -> TrainingExample:
    if kind == "one":
        own = np.eye(len(said))[row.label] if row.label >= 0 else said
    else:
        own = np.asarray(row.values) if row.values else said
    mixed = share * said + (1 - share) * own
    return replace(row, values=tuple(float(value) for value in mixed))


def _load(folder: Path, base: str) -> Experts:
    settings = read_settings(folder)
    if (folder / "model").is_dir():
        return Experts(folder, None, "", folder.name)
    if base:  # a copy of the teacher's base elsewhere: what the settings say of it is taken
        return Experts(folder, Path(base).expanduser(), settings.base_sha256, folder.name)
    return Experts(folder, *resolve_base(settings.base, Store()), folder.name)
