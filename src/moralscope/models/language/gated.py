"""A steering vector with a condition: it is added where a gate opens, and nowhere else.

The gate reads the states of some layers at the end of a prompt, before anything is added
(conditional activation steering; Lee et al. 2024). A prompt that it opens on is answered by the
steered model, every other by the plain one, bit by bit as without a vector. Without a prompt there
is nothing to read, and the gate stays shut.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

import numpy as np

from moralscope.core.protocols import LanguageModel, Matrix
from moralscope.core.records import Candidate, Continuation, Decoding

R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class SteeringGate:
    """Opens where states of layers, each along its row, add up to more than a limit."""

    layer: int  # the first; the others follow it
    rows: Matrix
    limit: float

    def opens(self, model: LanguageModel, prompts: Sequence[str]) -> list[bool]:
        """Say for each prompt whether the gate opens."""
        if not any(prompts):
            return [False] * len(prompts)
        layers = range(self.layer, self.layer + len(self.rows))
        states = model.hidden_states(prompts, layers).astype(np.float64)
        scores = (states * self.rows.astype(np.float64)).sum(axis=(1, 2))
        return [
            bool(prompt) and bool(score > self.limit)
            for prompt, score in zip(prompts, scores, strict=True)
        ]


class GatedModel:
    """A `LanguageModel`: the steered one where the gate opens, else the plain one."""

    def __init__(self, plain: LanguageModel, pushed: LanguageModel, gate: SteeringGate) -> None:
        self._plain, self._pushed, self.gate = plain, pushed, gate
        self.name, self.refs, self.usage = pushed.name, pushed.refs, plain.usage
        self.warnings: list[str] = []
        about = f"{pushed.checksum} {gate.layer} {gate.limit!r} ".encode()
        self.checksum = sha256(about + gate.rows.astype("<f4").tobytes()).hexdigest()
        self.has_chat, self.layers = plain.has_chat, plain.layers
        self.dimension, self.block_path = plain.dimension, plain.block_path
        self.prompt = plain.prompt

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> list[Sequence[Candidate]]:
        """Return candidates for each prompt, in the order given."""
        return self._routed(
            prompts,
            lambda model, at: model.generate(
                [prompts[i] for i in at], decoding, [seeds[i] for i in at]
            ),
        )

    def log_probabilities(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> list[Sequence[Continuation]]:
        """Return how likely each prompt's continuations are, in the order given."""
        return self._routed(
            prompts,
            lambda model, at: model.log_probabilities(
                [prompts[i] for i in at], [continuations[i] for i in at]
            ),
        )

    def hidden_states(self, texts: Sequence[str], layers: Sequence[int]) -> Matrix:
        """Return (texts, layers, dimension), each text read as a prompt."""
        rows = self._routed(
            texts, lambda model, at: list(model.hidden_states([texts[i] for i in at], layers))
        )
        return np.stack(rows) if rows else self._plain.hidden_states([], layers)

    def distributions(self, texts: Sequence[str]) -> Iterator[Matrix]:
        """Yield log-probabilities of what follows each token, each text read as a prompt."""
        for text, is_open in zip(texts, self.gate.opens(self._plain, texts), strict=True):
            yield from (self._pushed if is_open else self._plain).distributions([text])

    def steered(self, vectors: Mapping[int, Matrix]) -> "GatedModel":
        """Return this model with vectors added everywhere, whatever the gate says."""
        pushed = [model.steered(vectors) for model in (self._plain, self._pushed)]
        return GatedModel(pushed[0], pushed[1], self.gate)

    def _routed(
        self, prompts: Sequence[str], work: Callable[[LanguageModel, list[int]], Sequence[R]]
    ) -> list[R]:
        results: dict[int, R] = {}
        opens = self.gate.opens(self._plain, prompts)
        for model, wanted in ((self._plain, False), (self._pushed, True)):
            indices = [index for index, is_open in enumerate(opens) if is_open is wanted]
            if indices:
                results |= zip(indices, work(model, indices), strict=True)
        self.warnings = [*self._plain.warnings, *self._pushed.warnings]
        return [results[index] for index in range(len(prompts))]
