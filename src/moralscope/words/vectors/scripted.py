"""Deterministic word vectors without weights, for tests, documentation and dry runs.

Every row is a hash of its word, so nothing they say has any meaning. The vocabulary is short on
purpose: lists meet missing words here as they do in real life.
"""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from moralscope.core.protocols import Matrix
from moralscope.words.vectors.table import TableVectors

NAME = "scripted"
_DIMENSION = 32
_WORDS = (
    "joy gift love peace friend family happy health freedom smile help thank hug cheer fête "
    "bad war death poison murder kill prison evil abuse poverty harm steal lie waste slander "
    "math algebra geometry numbers poetry art dance novel male man he him female woman she her"
)


def scripted_vectors(
    words: Sequence[str] = tuple(_WORDS.split()), *, case: str = "exact"
) -> TableVectors:
    """Return rows hashed from words: the same on every machine, for ever.

    Examples
    --------
    >>> vectors = scripted_vectors(["joy", "war"])
    >>> vectors.vectors(["joy"]).shape, "peace" in vectors
    ((1, 32), False)
    """
    matrix = np.stack([_row(word) for word in words]) if words else np.empty((0, _DIMENSION))
    checksum = sha256("\n".join(["moralscope scripted vectors 1", *words]).encode()).hexdigest()
    return TableVectors(NAME, checksum, matrix.astype(np.float32), words, case)


def _row(word: str) -> Matrix:
    digest = sha256(word.encode("utf-8", "surrogatepass")).digest()
    return np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - 127.5
