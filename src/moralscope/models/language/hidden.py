"""Hidden states of many texts: kept in the embedding cache, read layer by layer, streamed to disk.

A row of the cache holds all layers of one text, since the model computes them together. However
many texts there are, no more than a block of them is in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import LanguageModel, Matrix
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.language.decoding import check_layers
from moralscope.models.store import Store

_BLOCK = 256  # texts whose states are in memory at once


class HiddenStates:
    """The states of one model; `cached` rows are kept on disk: no text is computed twice."""

    def __init__(
        self, model: LanguageModel, *, cached: bool = True, store: Store | None = None
    ) -> None:
        if not model.layers:
            problem = f"'{model.name}' does not show its hidden states"
            raise InputError(problem, "use the choice axis, or a local model")
        self.model = model
        self._width = model.layers * model.dimension
        self._cache = None
        if cached:
            folder = (store or Store()).home / "cache" / "hidden"
            self._cache = EmbeddingCache(folder, model.checksum, self._width)

    def blocks(self, texts: Sequence[str]) -> Iterator[Matrix]:
        """Yield (texts, layers, dimension), block by block, in order."""
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            rows = self._cache.fill(block, self._compute) if self._cache else self._compute(block)
            yield rows.reshape(len(rows), self.model.layers, self.model.dimension)

    def layer(self, texts: Sequence[str], layer: int) -> Matrix:
        """Return the rows of one layer: (texts, dimension)."""
        check_layers(self.model, [layer])
        rows = np.empty((len(texts), self.model.dimension), dtype=np.float32)
        start = 0
        for block in self.blocks(texts):
            rows[start : start + len(block)] = block[:, layer - 1]
            start += len(block)
        return rows

    def write(self, texts: Sequence[str], path: Path) -> Matrix:
        """Write the states of any number of texts to a .npy file and return it, not in memory."""
        shape = (len(texts), self.model.layers, self.model.dimension)
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        with path.open("wb") as file:  # not through a map: its pages would count as memory
            np.lib.format.write_array_header_1_0(file, header)
            for block in self.blocks(texts):
                file.write(block.astype("<f4", copy=False).tobytes())
        states: Matrix = np.load(path, mmap_mode="r")
        return states

    def _compute(self, texts: Sequence[str]) -> Matrix:
        layers = range(1, self.model.layers + 1)
        return self.model.hidden_states(texts, layers).reshape(len(texts), self._width)


class LayerEncoder:
    """One layer of a language model as an `Encoder`: what asks encoders questions can ask it.

    `ask` turns a question into the text that the model reads.
    """

    arithmetic = "float32"

    def __init__(self, states: HiddenStates, layer: int, ask: Callable[[str], str]) -> None:
        model = states.model
        self._states, self._layer, self._ask = states, layer, ask
        self.name = f"{model.name} layer {layer}"
        form = ask("…")  # one and the same text in every form that a question may take
        self.checksum = sha256(f"{model.checksum} {layer} {form}".encode()).hexdigest()
        self.dimension = model.dimension

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return the layer's state at the end of each question."""
        return self._states.layer([self._ask(text) for text in texts], self._layer)
