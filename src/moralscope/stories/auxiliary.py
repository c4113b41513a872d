"""Other people's moral data as extra lessons: ETHICS (Hendrycks et al. 2021, MIT).

Intermediate tasks that are trained beside the experts and then thrown away. Virtue is left out: it
asks for traits of people, not for actions. Commonsense comes from the part at hand, which
is the published test part: no figure on ETHICS is ever reported.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.tables import Cells, Layout, Table
from moralscope.models.classifiers.learning import Lesson

TASKS = {
    "ethics-commonsense": ("wrong", "acceptable"),
    "ethics-deontology": ("unreasonable", "reasonable"),
    "ethics-justice": ("unreasonable", "reasonable"),
    "ethics-utilitarianism": ("less pleasant", "more pleasant"),
}
_FILES = {
    "ethics-commonsense": "commonsense/cm_test.csv",
    "ethics-deontology": "deontology/deontology_train.csv",
    "ethics-justice": "justice/justice_train.csv",
    "ethics-utilitarianism": "utilitarianism/util_train.csv",
}
_LONGEST = 400  # characters: longer scenarios are posts, not actions


def ethics_lessons(folder: Path, seed: int = 0, weight: float = 0.5) -> list[Lesson]:
    """Read the ETHICS folder into lessons of the tasks in `TASKS`."""
    rng = random.Random(seed)  # noqa: S311
    lessons = []
    for task, name in _FILES.items():
        for first, second, label in _rows(folder / name, task, rng):
            if len(first) + len(second) <= _LONGEST:
                lessons.append(Lesson(task, (first, second), label, weight))
    return lessons


def _rows(path: Path, task: str, rng: random.Random) -> Iterator[tuple[str, str, int]]:
    remedy = "'moralscope data where ethics' says more"
    try:
        if task == "ethics-utilitarianism":  # no header: the first is the more pleasant one
            layout = Layout(order=("better", "worse"))
            for _, row in Table(path, layout=layout).strict_rows(layout.order, remedy):
                better, worse = row["better"], row["worse"]
                yield (worse, better, 1) if rng.randrange(2) else (better, worse, 0)
            return
        for _, row in Table(path).strict_rows(("label",), remedy):
            yield _pair(task, row)
    except (KeyError, ValueError) as error:
        raise InputError(f"{path} cannot be read as ETHICS ({error})", remedy) from error


def _pair(task: str, row: Cells) -> tuple[str, str, int]:
    label = int(row["label"])
    if task == "ethics-commonsense":
        return "", row["input"], 1 - label
    if task == "ethics-deontology":
        return row["scenario"], row["excuse"], label
    return "", row["scenario"], label
