"""Batches side by side, one thread of arithmetic each.

Products of 8 bits are so short that threads sharing one spend their time waiting for each other:
two batches at once are then faster than one batch on two threads. Rows are the same.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from moralscope.core.protocols import Matrix

TOKENS_PER_CORE = 1024  # of a batch: larger ones leave the processor's cache
T = TypeVar("T")
R = TypeVar("R")


class SingleThreadPool:
    """Threads that compute alone; what the other threads of the process may use stays as it is."""

    def __init__(self, count: int) -> None:
        import torch

        self.count = count
        before = torch.get_num_threads()
        ready = threading.Barrier(count + 1)

        def start() -> None:
            torch.get_num_threads()  # a thread takes over the process's number at its first look
            torch.set_num_threads(1)
            ready.wait()

        self._pool = ThreadPoolExecutor(count, "single-thread", start)
        for _ in range(count):
            self._pool.submit(int)
        ready.wait()
        torch.set_num_threads(before)

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Return what the function makes of each item, in order."""
        return self._pool.map(function, items)


class ParallelBatches:
    """What encoders' backends share: threads, and in 8 bits on a CPU several batches at once."""

    arithmetic: str
    embed: Callable[[Sequence[Any]], Matrix]
    device = "cpu"  # the type of the device that computes
    unpadded = False
    _pool: SingleThreadPool | None = None

    @property
    def threads(self) -> int:
        """How many threads a product uses; 0 where that is not ours to choose (a GPU)."""
        import torch

        return int(torch.get_num_threads()) if self.device == "cpu" else 0

    @threads.setter
    def threads(self, count: int) -> None:
        import torch

        torch.set_num_threads(count)

    def embed_batches(self, batches: Sequence[Sequence[Any]]) -> Iterator[Matrix]:
        """Return the rows of each batch, in order."""
        threads = self.threads if self.arithmetic == "int8" and len(batches) > 1 else 0
        if threads < 2:
            return map(self.embed, batches)
        if self._pool is None or self._pool.count != threads:
            self._pool = SingleThreadPool(threads)
        return self._pool.map(self.embed, batches)
