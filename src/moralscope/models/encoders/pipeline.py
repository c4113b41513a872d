"""What every encoder shares: each text once, batches of like length, rows from the cache.

A backend turns one batch of prepared texts into rows and knows nothing of the rest.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import chain, cycle
from statistics import median
from typing import Any, Protocol, runtime_checkable

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Matrix
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.windows import Windows

_BLOCK = 8192  # texts tokenised, computed and cached as one piece of work
# Letters beyond Latin may be missing in a vocabulary, and BERT knows no word of 100 characters.
_UNSURE = re.compile(r"[^\x00-\u024f\u2000-\u206f]|\w{100}")
_SLACK = 1.15  # a batch may hold texts up to this much shorter than its longest
_FACTORS = (1.0, 0.5, 2.0)  # of the batch a backend would take by itself
_LEAST_GAIN = 1.05  # what is less than this faster may be noise: nothing is changed for it
_SAMPLE_TOKENS = 2  # batches of the usual size that a try computes

Embed = Callable[[Sequence[Any], int], Any]


class Backend(Protocol):
    """One model's arithmetic: texts → prepared texts (with a length) → rows."""

    name: str
    checksum: str
    dimension: int
    arithmetic: str = "float32"
    """What products are computed in: float32, int8, and on a GPU bfloat16 or float16."""
    batch_tokens: int  # that a batch should hold on this machine
    threads: int = 0  # that a product uses; 0 where that is not ours to choose
    unpadded: bool = False  # texts of any lengths share a batch at no cost
    longest: int = 0  # tokens of a text that are read at once; 0 where it is any number

    def windows(self, texts: Sequence[str]) -> list[Windows]:
        """Return the texts to encode instead of each text; of one that fits, itself."""
        return [Windows((("", text),)) for text in texts]

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
    longest: int
    load: Callable[[], Backend]


def like_length_batches(
    lengths: Sequence[int], batch_tokens: int, least: int = 0, *, unpadded: bool = False
) -> Iterator[list[int]]:
    """Yield indices so that batches of `least` tokens pad little; none exceeds `batch_tokens`."""
    batch: list[int] = []
    held = longest = 0  # tokens of the batch, and of its first row
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        short = not unpadded and lengths[index] * _SLACK < longest and held >= least
        more = lengths[index] if unpadded else longest
        if batch and (short or held + more > batch_tokens):
            yield batch
            batch, held = [], 0
        if not batch:
            longest = max(1, lengths[index])
        batch.append(index)
        held += lengths[index] if unpadded else longest
    if batch:
        yield batch


def _joined(rows: Matrix, parts: Sequence[str]) -> Matrix:
    """Return the mean of the rows of a text's windows, weighted by their length.

    Where rows have length one, so has the mean.
    """
    if len(rows) == 1:
        return np.asarray(rows[0])
    mean = np.average(rows, axis=0, weights=[len(part) + 1 for part in parts])
    if np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-3):
        mean /= max(float(np.linalg.norm(mean)), 1e-12)
    return np.asarray(mean, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class BatchCalibration:
    """The fastest batch size and number of threads, and their rate."""

    batch_tokens: int
    threads: int  # 0: not ours to choose
    tokens_per_second: float
    gain: float  # over the usual pair


def measure(
    backend: Any, sample: Sequence[str], embed: Embed, *, seconds: float = 2.0
) -> BatchCalibration:
    """Try batch sizes and thread counts in turn until `seconds` are over; return the fastest.

    Every try is set beside one of the usual pair in the same round, so that a machine that is
    busy for a while does not decide. The number of threads is put back as it was.

    Parameters
    ----------
    backend
        A `Backend`; the number of its `threads` is tried too, unless it is 0.
    sample
        Texts like those to come; some dozens are enough.
    embed
        Computes prepared texts in batches of so many tokens.
    """
    if not sample:
        raise InputError("there is no text to calibrate with", "give some of those to come")
    usual = (int(backend.batch_tokens), int(backend.threads))
    texts, tokens = backend.prepare(list(sample)), 0
    prepared: list[Any] = []
    enough = _SAMPLE_TOKENS * usual[0]
    while tokens < enough and len(prepared) < enough:  # again and again, if the sample is small
        prepared.append(texts[len(prepared) % len(texts)])
        tokens += max(1, len(prepared[-1]))
    pairs = [(max(1, int(usual[0] * factor)), usual[1]) for factor in _FACTORS]
    if usual[1] > 1:
        pairs.append((usual[0], usual[1] // 2))
    times: dict[tuple[int, int], list[float]] = {pair: [] for pair in pairs}
    deadline = time.monotonic() + seconds
    try:
        # The first is slow (memory is taken, weights are read): it comes twice, and is dropped.
        for pair in chain(pairs[:1], cycle(pairs)):
            if pair[1]:
                backend.threads = pair[1]
            start = time.perf_counter()
            embed(prepared, pair[0])
            times[pair].append(time.perf_counter() - start)
            if time.monotonic() > deadline:
                break
    finally:
        if usual[1]:
            backend.threads = usual[1]
    # The pair with the best median of time beside the usual pair's, round by round.
    base = times[usual][1:] or times[usual]
    gains = {
        pair: median(one / other for one, other in zip(base, spent, strict=False))
        for pair, spent in times.items()
        if pair != usual and len(spent) > 1
    }
    chosen = max(gains, key=lambda pair: gains[pair], default=usual)
    if gains.get(chosen, 1.0) < _LEAST_GAIN:
        chosen = usual
    spent = base if chosen == usual else times[chosen]
    rate = tokens / max(min(spent), 1e-9)
    return BatchCalibration(*chosen, tokens_per_second=rate, gain=gains.get(chosen, 1.0))


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
    def is_loaded(self) -> bool:
        """Whether the weights are in memory; cached rows need none."""
        return not isinstance(self._source, LazyBackend)

    @property
    def _backend(self) -> Backend:
        """The backend; loaded by the first thread that computes, which holds the lock."""
        if isinstance(self._source, LazyBackend):
            self._source = self._source.load()
        return self._source

    def calibrate(self, sample: Sequence[str], *, seconds: float = 2.0) -> BatchCalibration:
        """Measure for a moment which batch and how many threads are fastest here; use them.

        Not for small jobs: it costs `seconds`. What was found can be told to `set_batch_size`
        later, which makes a run that has to go as another did.
        """
        with self._lock:
            fastest = measure(self._backend, sample, self._embed_all, seconds=seconds)
        self.set_batch_size(fastest.batch_tokens, fastest.threads)
        return fastest

    def set_batch_size(self, batch_tokens: int, threads: int = 0) -> None:
        """Compute in batches of so many tokens, on so many threads (0: as they are)."""
        self._batch_tokens = batch_tokens
        if threads and self._backend.threads:
            self._backend.threads = threads

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return one row per text, in order; equal texts are computed once.

        A text that is too long is read in windows and has the mean of their rows.
        """
        long = self._cut(texts)
        indices: dict[str, int] = {}
        for text in texts:
            for _, part in long[text].pairs if text in long else (("", text),):
                indices.setdefault(part, len(indices))
        unique = list(indices)
        rows = np.empty((len(unique), self.dimension), dtype=np.float32)
        for start in range(0, len(unique), _BLOCK):
            block = unique[start : start + _BLOCK]
            rows[start : start + _BLOCK] = (
                self._cache.fill(block, self._compute) if self._cache else self._compute(block)
            )
        if not long:
            inverse = [indices[text] for text in texts]
            return rows if len(unique) == len(inverse) else rows[inverse]
        parts = [[part for _, part in long[t].pairs] if t in long else [t] for t in texts]
        return np.stack([_joined(rows[[indices[p] for p in some]], some) for some in parts])

    def unread(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens of each text no row reads: too many, or not in the vocabulary."""
        long = self._cut(texts)
        return [long[text].unread if text in long else 0 for text in texts]

    def _cut(self, texts: Sequence[str]) -> dict[str, Windows]:
        """Return windows of the texts that may be too long or hold unknown words."""
        longest = self._source.longest
        if not longest:
            return {}
        # Without a tokenizer: a short text fits, and letters of `_UNSURE` may be unknown.
        unsure = [
            text for text in dict.fromkeys(texts) if len(text) > longest - 2 or _UNSURE.search(text)
        ]
        if not unsure:
            return {}
        with self._lock:
            windows = zip(unsure, self._backend.windows(unsure), strict=True)
            return {text: cut for text, cut in windows if len(cut.pairs) > 1 or cut.unread}

    def _compute(self, texts: list[str]) -> Matrix:
        with self._lock:
            prepared = self._backend.prepare(texts)
            return self._embed_all(prepared, self._batch_tokens or self._backend.batch_tokens)

    def _embed_all(self, prepared: Sequence[Any], batch_tokens: int) -> Matrix:
        rows = np.empty((len(prepared), self.dimension), dtype=np.float32)
        backend = self._backend
        lengths = [len(item) for item in prepared]
        batches = list(like_length_batches(lengths, batch_tokens, unpadded=backend.unpadded))
        parts = backend.embed_batches([[prepared[index] for index in batch] for batch in batches])
        for batch, part in zip(batches, parts, strict=True):
            rows[batch] = part
        return rows
