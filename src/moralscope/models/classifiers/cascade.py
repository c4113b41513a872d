"""Two sets of experts as one: a large one decides where a small one is not sure.

The small set reads every text: its vectors find rules, its heads estimate what rules weigh and what
is to be feared. Of the tasks that both have and that decide, pairs whose likeliest label the small
set gives less than `sure` are read by the large one, too, and its probabilities count. At 1 it is
always asked.
"""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier, ExpertSet, Matrix
from moralscope.core.records import ModelRef
from moralscope.models.windows import Pair


class Cascade:
    """An `ExpertSet`: the `small` one, and for the `tasks` that decide the `large` one beside it.

    `asked` and `sent` count the pairs so far, and those of them that the large set read.
    """

    def __init__(
        self, small: ExpertSet, large: ExpertSet, tasks: Sequence[str], sure: float, name: str
    ) -> None:
        self._small, self._large, self._sure = small, large, sure
        for task in tasks:
            if small.labels(task) != large.labels(task):
                raise InputError(f"the two sets of experts differ in '{task}'", "train one again")
        self._deciding = tuple(tasks)
        parts = f"{small.ref.sha256} {large.ref.sha256} {tasks} {sure}"
        self.ref = ModelRef(name, sha256(parts.encode()).hexdigest())
        self.bits, self.tasks, self.retrieval = small.bits, small.tasks, small.retrieval
        self.labels, self.thresholds = small.labels, small.thresholds
        self.windows, self.embed = small.windows, small.embed
        self.read, self.told = small.read, small.told
        self.card = {**large.card, "beside": dict(small.card)}
        points = {task: large.operating_points.get(task) for task in tasks}
        self.operating_points = {
            **small.operating_points,
            **{task: point for task, point in points.items() if point},
        }
        self.asked = self.sent = 0

    def expert(self, task: str) -> Classifier:
        """Return the expert for one task."""
        return _Decides(self, self._small.expert(task), task)

    def second_opinion(self, task: str, pairs: Sequence[Pair], first: Matrix) -> Matrix:
        """Return the probabilities of a task, the large set's where the small one is not sure."""
        if task not in self._deciding:
            return first
        doubtful = np.flatnonzero(first.max(axis=1, initial=0.0) < self._sure)
        self.asked, self.sent = self.asked + len(pairs), self.sent + len(doubtful)
        answers = np.array(first, dtype=np.float32)
        if len(doubtful):
            rows = [pairs[index] for index in doubtful]
            answers[doubtful] = self._large.expert(task).probabilities(rows)
        return answers


class _Decides:
    """One task of a cascade: a `Classifier`."""

    def __init__(self, experts: Cascade, small: Classifier, task: str) -> None:
        self._experts, self._small, self._task = experts, small, task
        self.name, self.checksum = f"{experts.ref.name}/{task}", experts.ref.sha256
        self.labels = small.labels

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        first = self._small.probabilities(pairs)
        return self._experts.second_opinion(self._task, pairs, first)
