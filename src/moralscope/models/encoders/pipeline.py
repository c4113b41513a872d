"""What every encoder shares: each text once, batches of like length, rows from the cache.

A backend turns one batch of prepared texts into rows and knows nothing of the rest.
"""

import threading
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from moralscope.core.protocols import Matrix
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.encoders.calibration import Calibration, measure

_BLOCK = 8192  # texts tokenised, computed and cached as one piece of work
_SLACK = 1.15  # a batch may hold texts up to this much shorter than its longest


class Backend(Protocol):
    """One model's arithmetic: texts → prepared texts (with a length) → rows.

    Attributes
    ----------
    name, checksum, dimension
        As of an `Encoder`.
    arithmetic
        What products are computed in: float32, int8, and on a GPU bfloat16 or float16.
    batch_tokens
        How many tokens a batch should hold on this machine.
    threads
        How many threads a product uses; 0 where that is not ours to choose.
    unpadded
        Whether texts of any lengths share a batch at no cost.
    """

    name: str
    checksum: str
    dimension: int
    arithmetic: str = "float32"
    batch_tokens: int
    threads: int = 0
    unpadded: bool = False

    def prepare(self, texts: Sequence[str]) -> Sequence[Sized]: ...

    def embed(self, batch: Sequence[Any]) -> Matrix: ...

    def embed_batches(self, batches: Sequence[Sequence[Any]]) -> Iterator[Matrix]:
        """Return the rows of each batch, in order."""
        return map(self.embed, batches)


@runtime_checkable
class Quantisable(Protocol):
    """A backend that can compute in fewer bits."""

    def quantise(self) -> bool:
        """Compute in 8 bits from now on; False where this machine cannot."""


@dataclass(frozen=True, slots=True)
class LazyBackend:
    """A backend that is loaded when a text misses the cache: what it will be, and how to load it.

    Rows that are cached need neither the weights nor torch; a run of known texts starts at once.
    """

    name: str
    checksum: str
    dimension: int
    arithmetic: str
    load: Callable[[], Backend]


def like_length_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield places grouped so that little is padded and no batch exceeds `batch_tokens`.

    Examples
    --------
    >>> list(like_length_batches([9, 3, 9, 3], 18))
    [[0, 2], [1, 3]]
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batch: list[int] = []
    longest = 0
    for place in order:
        full = (len(batch) + 1) * longest > batch_tokens
        if batch and (full or lengths[place] * _SLACK < longest):
            yield batch
            batch = []
        if not batch:
            longest = max(1, lengths[place])
        batch.append(place)
    if batch:
        yield batch


def full_batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield places from long to short, `batch_tokens` at most in a batch: nothing is padded.

    Examples
    --------
    >>> list(full_batches([9, 3, 8, 3], 18))
    [[0, 2], [1, 3]]
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batch: list[int] = []
    held = 0
    for place in order:
        if batch and held + lengths[place] > batch_tokens:
            yield batch
            batch, held = [], 0
        batch.append(place)
        held += lengths[place]
    if batch:
        yield batch


class TextEncoder:
    """An `Encoder` around a backend: deduplicates, sorts by length, caches, locks."""

    def __init__(self, backend: Backend | LazyBackend, cache: EmbeddingCache | None = None) -> None:
        self.name, self.checksum = backend.name, backend.checksum
        self.dimension, self.arithmetic = backend.dimension, backend.arithmetic
        self._source = backend
        self._cache = cache
        self._batch_tokens: int | None = None
        self._lock = threading.Lock()

    @property
    def _backend(self) -> Backend:
        """The backend; loaded by the first thread that computes, which holds the lock."""
        if isinstance(self._source, LazyBackend):
            self._source = self._source.load()
        return self._source

    def calibrate(self, sample: Sequence[str], *, seconds: float = 2.0) -> Calibration:
        """Measure for a moment which batch and how many threads are fastest here; use them.

        Not for small jobs: it costs `seconds`. What was found can be told to `set_batch_size`
        later, which makes a run that has to go as another did.
        """
        with self._lock:
            found = measure(self._backend, sample, self._embed_all, seconds=seconds)
        self.set_batch_size(found.batch_tokens, found.threads)
        return found

    def set_batch_size(self, batch_tokens: int, threads: int = 0) -> None:
        """Compute in batches of so many tokens, on so many threads (0: as they are)."""
        self._batch_tokens = batch_tokens
        if threads and self._backend.threads:
            self._backend.threads = threads

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return one row per text, in order; equal texts are computed once."""
        places: dict[str, int] = {}
        inverse = [places.setdefault(text, len(places)) for text in texts]
        unique = list(places)
        rows = np.empty((len(unique), self.dimension), dtype=np.float32)
        for start in range(0, len(unique), _BLOCK):
            rows[start : start + _BLOCK] = self._encode_block(unique[start : start + _BLOCK])
        return rows if len(unique) == len(inverse) else rows[inverse]

    def _encode_block(self, texts: list[str]) -> Matrix:
        if self._cache is None:
            return self._compute(texts)
        found, rows = self._cache.get(texts)
        missing = np.flatnonzero(~found)
        if missing.size:
            new_texts = [texts[place] for place in missing]
            rows[missing] = self._compute(new_texts)
            self._cache.put(new_texts, rows[missing])
        return rows

    def _compute(self, texts: list[str]) -> Matrix:
        with self._lock:
            prepared = self._backend.prepare(texts)
            size = self._batch_tokens or self._backend.batch_tokens
            return self._embed_all(prepared, size)

    def _embed_all(self, prepared: Sequence[Any], batch_tokens: int) -> Matrix:
        rows = np.empty((len(prepared), self.dimension), dtype=np.float32)
        backend = self._backend
        group = full_batches if backend.unpadded else like_length_batches
        batches = list(group([len(item) for item in prepared], batch_tokens))
        found = backend.embed_batches([[prepared[place] for place in batch] for batch in batches])
        for batch, part in zip(batches, found, strict=True):
            rows[batch] = part
        return rows
