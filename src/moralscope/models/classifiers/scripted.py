"""Experts without weights: probabilities that depend on the texts alone, for tests and docs."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np

from moralscope.core.protocols import Classifier, Matrix
from moralscope.core.records import ModelRef
from moralscope.core.registry import require_known
from moralscope.models.classifiers.module import Slices
from moralscope.models.encoders.scripted import ScriptedBackend
from moralscope.models.windows import Pair, Windows, cut_pair, word_tokens


class ScriptedClassifier:
    """A `Classifier` whose probabilities are a hash of the pair."""

    def __init__(self, task: str, labels: Sequence[str]) -> None:
        self.name = "scripted"
        self.labels = tuple(labels)
        self.task = task
        self.checksum = sha256(f"scripted {task} {self.labels}".encode()).hexdigest()

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """Return one row a pair."""
        rows = np.empty((len(pairs), len(self.labels)), dtype=np.float32)
        for index, (grounding, target) in enumerate(pairs):
            text = f"{self.task}\0{grounding}\0{target}".encode("utf-8", "surrogatepass")
            rows[index] = np.frombuffer(sha256(text).digest()[: len(self.labels)], dtype=np.uint8)
        rows += 1
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))


class ScriptedExperts:
    """Every task it is given, without weights; `max_length` words are read at once."""

    bits = 32
    max_length = 128

    def __init__(
        self,
        tasks: Mapping[str, Sequence[str]],
        *,
        retrieval: bool = False,
        operating_points: Mapping[str, tuple[float, ...]] | None = None,
    ) -> None:
        self._tasks = {name: tuple(labels) for name, labels in tasks.items()}
        self.retrieval = retrieval
        self.tasks = tuple(tasks)
        self.operating_points = operating_points or {}
        self.ref = ModelRef("scripted", sha256(repr(sorted(self._tasks)).encode()).hexdigest())
        self.card: Mapping[str, object] = {"base": "scripted"}

    def expert(self, task: str) -> Classifier:
        """Return the expert for one task."""
        require_known(task, self._tasks, f"'scripted' has no expert for '{task}'")
        return ScriptedClassifier(task, self._tasks[task])

    def values(self, task: str, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """Return one row a pair, whatever the task's kind."""
        return self.expert(task).probabilities(pairs)

    def windows(
        self, pairs: Sequence[Pair], spare: int = 0, most: int | None = None
    ) -> list[Windows]:
        """Return the pairs to ask about instead of each pair; of one that fits, itself."""
        windows, room = [], self.max_length - spare
        room = min(room, most or room)
        for pair in pairs:
            first, second = map(word_tokens, pair)
            fits = len(first.spans) + len(second.spans) <= room
            windows.append(Windows((pair,)) if fits else cut_pair(pair, first, second, room))
        return windows

    def told(self, task: str, columns: Matrix) -> Matrix:
        """Return the columns of one task, of those that `read` returned."""
        self.expert(task)  # refuses one that is not there
        return columns[:, Slices(self._tasks).of(task)]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return vectors of length one: texts that share words are near."""
        if not texts:
            return np.empty((0, ScriptedBackend.dimension), np.float32)
        return ScriptedBackend().embed(texts)

    def read(self, pairs: Sequence[Pair], *, middle: bool = False) -> tuple[Matrix, Matrix]:
        """Return the columns of every task, and vectors of length one; there are no layers."""
        columns = [self.expert(task).probabilities(pairs) for task in self._tasks]
        empty = np.empty((len(pairs), 0), np.float32)
        return np.concatenate([empty, *columns], axis=1), self.embed(
            [" ".join(pair) for pair in pairs]
        )

    def thresholds(self, task: str) -> tuple[float, ...]:
        """Return the least probability at which each label of a task is taken."""
        return (0.5,) * len(self.labels(task))

    def labels(self, task: str) -> tuple[str, ...]:
        """Return the labels of a task."""
        return tuple(self.expert(task).labels)
