"""The seams: what a room may ask of the workshop, and nothing about how it is done.

Every implementation of a seam passes the contract suite of that seam in `tests/contracts`.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from moralscope.core.records import ActionScore, Candidate, Decoding

Matrix = NDArray[np.float32]


@runtime_checkable
class Encoder(Protocol):
    """Texts in, one row of float32 per text out, in the order given.

    A text's row does not depend on its neighbours, its batch or the calling thread.
    `checksum` names the weights and settings that decide the rows.
    """

    @property
    def name(self) -> str: ...

    @property
    def checksum(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Matrix: ...


@runtime_checkable
class WordVectors(Protocol):
    """Words in, one row of float32 per known word out; missing words are always reported."""

    @property
    def name(self) -> str: ...

    @property
    def checksum(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def case(self) -> str:
        """`exact`, or `lower`: words are looked up in lower case."""
        ...

    @property
    def duplicates(self) -> int:
        """How many rows are never used, because their word has one already."""
        ...

    def __contains__(self, word: object) -> bool: ...

    def vectors(self, words: Sequence[str]) -> Matrix: ...


@runtime_checkable
class MoralAxis(Protocol):
    """Actions in, scores with intervals out. Positive is good, negative is bad, always."""

    @property
    def name(self) -> str: ...

    def score(self, actions: Sequence[str]) -> Sequence[ActionScore]: ...


@runtime_checkable
class Classifier(Protocol):
    """Pairs (grounding, target) in, one calibrated probability per label out.

    A bare text has the grounding "". A row does not depend on its neighbours or its batch.
    `checksum` names the weights and settings that decide the rows.
    """

    @property
    def name(self) -> str: ...

    @property
    def checksum(self) -> str: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix: ...


@runtime_checkable
class Generator(Protocol):
    """Prompts in, `decoding.count` candidates each out, in the order given.

    `seeds` has one number a prompt: a prompt with the same seed gets the same candidates in any
    batch and in any order.
    """

    @property
    def name(self) -> str: ...

    @property
    def checksum(self) -> str: ...

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> Sequence[Sequence[Candidate]]: ...
