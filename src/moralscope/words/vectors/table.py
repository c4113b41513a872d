"""Word vectors as a table: one row a word, looked up by word. Reads and writes no file.

The matrix may lie in a mapped file; only the rows asked for are copied. `scripted_vectors` are for
tests, documentation and dry runs: every row is a hash of its word, so nothing they say has any
meaning. Their vocabulary is short on purpose: lists meet missing words here as in real life.
"""

import logging
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import Matrix
from moralscope.words.options import CASES

log = logging.getLogger(__name__)

_NAMED = 8  # missing words that an error names


class MissingWords(InputError, LookupError):
    """Words that the vocabulary does not hold; `words` lists them, each once, in order."""

    def __init__(self, name: str, words: Sequence[str]) -> None:
        self.words = tuple(dict.fromkeys(words))
        shown = ", ".join(map(repr, self.words[:_NAMED]))
        more = f" and {len(self.words) - _NAMED} more" if len(self.words) > _NAMED else ""
        super().__init__(
            f"{name} does not hold {shown}{more}", "ask 'word in vectors' first and leave it out"
        )


class TableVectors:
    """A `WordVectors` over a matrix and its words.

    A word that is missing raises `MissingWords`: no row is ever made up for it. A word that
    stands twice has its first row; how many rows are never used is in `duplicates`.

    Parameters
    ----------
    name, checksum
        Which vectors these are.
    matrix
        One row a word, any float type; may be mapped from a file.
    words
        The words of the rows, in order.
    case
        `exact`: a word is looked up as it is written. `lower`: it is lower-cased first, and
        only the lower-case words of the vocabulary can be found.
    """

    def __init__(
        self,
        name: str,
        checksum: str,
        matrix: NDArray[np.floating[Any]],
        words: Sequence[str],
        case: str = "exact",
    ) -> None:
        if case not in CASES:
            raise InputError(f"there is no case policy '{case}'", f"use {' or '.join(CASES)}")
        self.name, self.checksum, self.case = name, checksum, case
        self.dimension = int(np.shape(matrix)[1])
        self._matrix = np.asarray(matrix)
        self._rows = dict(zip(reversed(words), range(len(words) - 1, -1, -1), strict=True))
        self.words = tuple(dict.fromkeys(words))  # that can be found, in the order of their rows
        self.duplicates = len(words) - len(self.words)
        if case == "lower":
            self.words = tuple(word for word in self.words if word == word.lower())
        if self.duplicates:
            log.warning(
                "%s holds %d rows for words that it already has: the first of each is used",
                name,
                self.duplicates,
            )

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._key(word) in self._rows

    def vectors(self, words: Sequence[str]) -> Matrix:
        """Return one row of float32 per word, in the order given.

        For `vectors.words` itself, the whole table is returned as it lies, without a copy where
        the file allows it; take it as read-only.

        Raises
        ------
        MissingWords
            Some words are not in the vocabulary.
        """
        if words is self.words and len(words) == len(self._matrix):
            return self._matrix.astype(np.float32, copy=False)
        rows = [self._rows.get(self._key(word), -1) for word in words]
        if -1 in rows:
            missing = [word for word, row in zip(words, rows, strict=True) if row < 0]
            raise MissingWords(self.name, missing)
        return np.ascontiguousarray(self._matrix[np.asarray(rows, dtype=np.intp)], dtype=np.float32)

    def _key(self, word: str) -> str:
        return word.lower() if self.case == "lower" else word


SCRIPTED = "scripted"
_DIMENSION = 32
_WORDS = (
    "joy gift love peace friend family happy health freedom smile help thank hug cheer fête "
    "bad war death poison murder kill prison evil abuse poverty harm steal lie waste slander "
    "math algebra geometry numbers poetry art dance novel male man he him female woman she her"
)


def scripted_vectors(
    words: Sequence[str] = tuple(_WORDS.split()), *, case: str = "exact"
) -> TableVectors:
    """Return rows hashed from words: the same on every machine, for ever."""
    digests = [sha256(word.encode("utf-8", "surrogatepass")).digest() for word in words]
    matrix = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, _DIMENSION) - 127.5
    checksum = sha256("\n".join(["moralscope scripted vectors 1", *words]).encode()).hexdigest()
    return TableVectors(SCRIPTED, checksum, matrix.astype(np.float32), words, case)
