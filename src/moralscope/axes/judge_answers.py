"""What experts say of pairs of texts, kept on disk: a pair is computed once.

Answers are kept like the rows of encoders, under the checksum of the experts, the task and the pair
as it was worded. Experts are loaded when a pair comes that nobody asked about before.
"""

import threading
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from moralscope.core.protocols import ExpertSet, Floats, Pair
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.store import Store
from moralscope.models.windows import worst_of_windows
from moralscope.stories.experts import ExpertFolder
from moralscope.stories.tasks import ClassificationTask


class JudgeAnswers:
    """Probabilities of pairs of texts, and how many tokens of each the experts did not read.

    Parameters
    ----------
    experts
        A loaded set, which is asked every time; or the folder of one, whose answers are kept.
    """

    def __init__(self, experts: ExpertSet | ExpertFolder) -> None:
        self.ref, self.tasks = experts.ref, experts.tasks
        self._folder = experts if isinstance(experts, ExpertFolder) else None
        self._experts = experts
        self._lock = threading.Lock()
        self._caches: dict[str, EmbeddingCache] = {}
        self._bits = 0  # of the answers that were read from disk

    @property
    def bits(self) -> int:
        """What products are, or were, computed in."""
        return self._bits or self._loaded().bits

    def ask(self, task: ClassificationTask, pairs: Sequence[Pair]) -> tuple[Floats, list[int]]:
        """Return probabilities (pairs x labels) and unread tokens; of a long text the worst part.

        The first label of every task is the bad one.
        """
        if self._folder is None:
            return self._compute(task.name, pairs)
        unique = list(dict.fromkeys(pairs))
        texts = ["\0".join(pair) for pair in unique]
        cache = self._cache(task)
        known, rows = cache.get(texts)
        missing = np.flatnonzero(~known)
        if missing.size:
            table, unread = self._compute(task.name, [unique[index] for index in missing])
            bits = np.full(len(table), self._loaded().bits)
            # The same 32 bits whether they come from the disk or not.
            rows[missing] = np.column_stack([table, unread, bits])
            cache.put([texts[index] for index in missing], rows[missing])
        if len(rows):
            self._bits = int(rows[0, -1])
        indices = dict(zip(unique, range(len(unique)), strict=True))
        answers = rows[[indices[pair] for pair in pairs]].astype(np.float64)
        return answers[:, :-2], answers[:, -2].astype(int).tolist()

    def _compute(self, task: str, pairs: Sequence[Pair]) -> tuple[Floats, list[int]]:
        experts = self._loaded()
        windows = experts.windows(pairs)
        parts = [part for cut in windows for part in cut.pairs]
        values = experts.expert(task).probabilities(parts)
        return worst_of_windows(values, values[:, 0], windows), [cut.unread for cut in windows]

    def _loaded(self) -> ExpertSet:
        with self._lock:
            if isinstance(self._experts, ExpertFolder):
                self._experts = self._experts.load()
            return self._experts

    def _cache(self, task: ClassificationTask) -> EmbeddingCache:
        if task.name not in self._caches:
            light = self._folder.eight_bits if self._folder else 0.0
            key = sha256(f"answers/1 {self.ref.sha256} {light:.3f} {task.name}".encode())
            folder = Store().home / "cache" / "answers"
            width = len(task.labels) + 2  # with the tokens that were not read, and the bits
            self._caches[task.name] = EmbeddingCache(folder, key.hexdigest(), width)
        return self._caches[task.name]
