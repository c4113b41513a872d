"""A deterministic encoder without weights, for tests, documentation and dry runs.

Its rows are hashes of the words of a text, so texts that share words are near each other and
nothing it says has any meaning.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from moralscope.core.protocols import Matrix
from moralscope.models.encoders.pipeline import Backend

_DIMENSION = 64


class ScriptedBackend(Backend):
    """Rows from hashed words: the same on every machine, for ever."""

    name = "scripted"
    checksum = blake2b(b"moralscope scripted encoder 1", digest_size=32).hexdigest()
    dimension = _DIMENSION
    batch_tokens = 1 << 20

    def __init__(self) -> None:
        self._words: dict[str, Matrix] = {}

    def prepare(self, texts: Sequence[str]) -> Sequence[str]:
        return texts

    def embed(self, batch: Sequence[str]) -> Matrix:
        """Return the normalised mean of the texts' word vectors."""
        rows: Matrix = np.stack(
            [np.add.reduce([self._word(word) for word in text.split() or [""]]) for text in batch]
        )
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def _word(self, word: str) -> Matrix:
        vector = self._words.get(word)
        if vector is None:
            digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_DIMENSION)
            vector = np.frombuffer(digest.digest(), dtype=np.uint8).astype(np.float32) - 127.5
            if len(self._words) < 100_000:
                self._words[word] = vector
        return vector
