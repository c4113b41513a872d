"""Universal Sentence Encoder lite in NumPy: the forward pass of the published TF.js graph.

The model is a two-layer transformer over the first 128 pieces of a text, averaged and put through
a tanh layer (Cer et al. 2018, Universal Sentence Encoder, https://arxiv.org/abs/1803.11175).
The graph's operations are written out by hand; its weights, unquantised 32-bit numbers, are read by
name from ``model.json`` and the shards beside it. This module does not fetch or verify files, does
not evaluate any other graph, and leaves batching, sorting and caching to its caller.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import StoreError
from moralscope.core.protocols import Matrix
from moralscope.models.encoders.pipeline import Backend
from moralscope.models.encoders.use_lite_tokenizer import UNKNOWN, UseLiteTokenizer
from moralscope.models.windows import Tokens, Windows, cut_pair, word_tokens

_MAX_JSON = 20_000_000


class UseLiteWeights:
    """The weights of one TF.js model, by name: ``model.json`` and the shards beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._weights: dict[str, Matrix] = {}
        try:
            if path.stat().st_size > _MAX_JSON:
                raise ValueError(f"more than {_MAX_JSON:,} bytes")
            for group in json.loads(path.read_text(encoding="utf-8"))["weightsManifest"]:
                self._read(group)
        except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise self._damaged(f"{type(error).__name__}: {error}") from error

    def take(self, name: str, *shape: int) -> Matrix:
        """Give the weight of that name; one of another size than `shape` is refused."""
        weight = self._weights.get(name)
        if weight is None or weight.size != math.prod(shape):
            raise self._damaged(f"no weight {name} of shape {shape}")
        return weight.reshape(shape)

    def _read(self, group: dict[str, Any]) -> None:
        specs = [(spec["name"], spec["dtype"], _count(spec)) for spec in group["weights"]]
        needed = 4 * sum(count for _, _, count in specs)
        for shard in group["paths"]:
            if not isinstance(shard, str) or not re.fullmatch(
                r"[\w-]+(\.[\w-]+)*", shard, re.ASCII
            ):
                raise ValueError("a shard does not lie beside it")
        shards = [self._path.parent / shard for shard in group["paths"]]
        there = sum(shard.stat().st_size for shard in shards)
        if needed != there:  # before anything is read
            raise ValueError(f"the shards have {there} bytes instead of {needed}")
        data = b"".join(shard.read_bytes() for shard in shards)
        offset = 0
        for name, kind, count in specs:
            if kind == "float32":
                self._weights[name] = np.frombuffer(data, "<f4", count, offset)
            offset += 4 * count

    def _damaged(self, why: str) -> StoreError:
        return StoreError(
            f"{self._path} is not the model of use-lite ({' '.join(why.split())[:200]})",
            f"remove {self._path.parent} and pull the model again",
        )


def _count(spec: Any) -> int:
    """Return how many numbers a weight has."""
    if spec["dtype"] not in ("float32", "int32") or "quantization" in spec:
        raise ValueError(f"{spec['name']} is quantised or not of 32 bits")
    shape = spec["shape"]
    if not isinstance(shape, list) or not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(f"{spec['name']} has no shape")
    if not isinstance(spec["name"], str) or len(shape) > 8:
        raise ValueError("a weight has no name or too many dimensions")
    return math.prod(shape)


Ids = NDArray[np.int32]
Spans = list[tuple[int, int]]

DIMENSION = 512
MAX_PIECES = 128  # the graph drops what comes after
_WORD = 20  # characters, and so pieces at most, of what is kept together in a window
_VOCABULARY, _NARROW, _FFN, _HEADS = 8000, 256, 1536, 4
_GRAPH = "module_apply_default/Encoder_en/KonaTransformer/Encode"
_MODULE = "module/Encoder_en/KonaTransformer/Encode"
_WIDEN = f"{_GRAPH}/Layer_0/TransformerLayer/dense"
_LAST = "module/Encoder_en/hidden_layers/tanh_layer_0"
_WHOLE = "/ConcatPartitions/concat"


class UseLiteBackend(Backend):
    """Universal Sentence Encoder lite, from a folder with its TF.js files and ``vocab.json``."""

    dimension = DIMENSION
    batch_tokens = 2048
    longest = MAX_PIECES

    def __init__(self, folder: Path, name: str = "use-lite", checksum: str = "") -> None:
        self.name = name
        self.checksum = checksum
        self.tokenizer = UseLiteTokenizer.read(folder / "vocab.json")
        weights = UseLiteWeights(folder / "model.json")
        self._pieces = weights.take("module/Embeddings_en", _VOCABULARY + 2, _NARROW)
        # Sines and cosines of each position, one row per position that the model reads.
        timing = f"{_GRAPH}/TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1"
        angles = np.arange(MAX_PIECES, dtype=np.float32)[:, None]
        angles = angles * weights.take(timing, 1, _NARROW // 2)
        self._positions = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        self._widen = _Dense(
            weights.take(f"{_WIDEN}/kernel{_WHOLE}", _NARROW, DIMENSION),
            weights.take(f"{_WIDEN}/bias{_WHOLE}", DIMENSION),
        )
        self._layers = _layer(weights, 0, _NARROW), _layer(weights, 1, DIMENSION)
        self._last = _Dense(
            weights.take(f"{_LAST}/weights", DIMENSION, DIMENSION),
            weights.take(f"{_LAST}/bias", DIMENSION),
        )
        if len(self.tokenizer) != _VOCABULARY:
            raise StoreError(
                f"vocab.json has {len(self.tokenizer)} pieces instead of {_VOCABULARY}",
                f"remove {folder} and pull the model again",
            )

    def windows(self, texts: Sequence[str]) -> list[Windows]:
        """Return the texts to encode instead of each text; of one that fits, itself."""
        return [self._windows(text) for text in texts]

    def _windows(self, text: str) -> Windows:
        spans = word_tokens(text, _WORD).spans
        words = [text[start:end] for start, end in spans]
        pieces = {word: self.tokenizer.encode(word) for word in set(words)}
        unknown = sum(UNKNOWN in pieces[word] and any(map(str.isalnum, word)) for word in words)
        sizes = [len(pieces[word]) for word in words]
        if sum(sizes) < 2 * MAX_PIECES and len(self.tokenizer.encode(text)) <= MAX_PIECES:
            return Windows((("", text),), unknown=unknown)
        owners = [index for index, size in enumerate(sizes) for _ in range(size)]
        tokens = Tokens([spans[index] for index in owners], owners, unknown)
        # Windows hold whole words: one may begin and end with a word that is not wholly its own.
        return cut_pair(("", text), Tokens(), tokens, MAX_PIECES - 2 * _WORD)

    def prepare(self, texts: Sequence[str]) -> list[Ids]:
        """Turn each text into the ids of the pieces that the model reads, 128 at most."""
        return [np.array(self.tokenizer.encode(t)[:MAX_PIECES], dtype=np.int32) for t in texts]

    def embed(self, batch: Sequence[Ids]) -> Matrix:
        """Give one row of length 1 per prepared text.

        The rows of all texts are stacked without padding, so that no text sees its neighbours.
        A text without pieces gets what the graph gives it: the tanh layer of the zero vector.
        """
        lengths = [len(ids) for ids in batch]
        spans = list(pairwise(accumulate(lengths, initial=0)))
        positions = np.concatenate([np.arange(n) for n in (0, *lengths)])
        # The graph adds the pieces to the position signal, and then once more to the sum.
        x = 2 * self._pieces[np.concatenate([np.zeros(0, np.int32), *batch])]
        x += self._positions[positions]
        x = self._layers[0](x, self._widen(x), spans)
        x = self._layers[1](x, x, spans)
        pooled = np.zeros((len(batch), DIMENSION), dtype=np.float32)
        for row, (start, stop) in zip(pooled, spans, strict=True):
            row[:] = x[start:stop].sum(axis=0) / max(stop - start, 1)
        rows = np.tanh(self._last(pooled))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


@dataclass(frozen=True, slots=True)
class _Dense:
    kernel: Matrix
    bias: Matrix

    def __call__(self, x: Matrix) -> Matrix:
        y = x @ self.kernel
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class _Norm:
    scale: Matrix
    bias: Matrix

    def __call__(self, x: Matrix) -> Matrix:
        y: Matrix = x - x.mean(axis=1, keepdims=True)
        y /= np.sqrt(np.square(y).mean(axis=1, keepdims=True) + np.float32(1e-6))
        y *= self.scale
        y += self.bias
        return y


@dataclass(frozen=True, slots=True)
class _Layer:
    norm: _Norm
    qkv: _Dense
    attended: _Dense
    ffn_norm: _Norm
    ffn_in: _Dense
    ffn_out: _Dense

    def __call__(self, x: Matrix, residual: Matrix, spans: Spans) -> Matrix:
        y = self.attended(_attention(self.qkv(self.norm(x)), spans))
        y += residual
        hidden = self.ffn_in(self.ffn_norm(y))
        np.maximum(hidden, 0, out=hidden)
        y += self.ffn_out(hidden)
        return y


def _attention(qkv: Matrix, spans: Spans) -> Matrix:
    """Scaled dot-product attention of each span to itself."""
    width = qkv.shape[1] // 3
    heads = qkv.reshape(len(qkv), 3, _HEADS, width // _HEADS)
    mixed = np.empty((len(qkv), _HEADS, width // _HEADS), dtype=np.float32)
    scale = np.float32((width // _HEADS) ** -0.5)
    for start, stop in spans:
        if start == stop:
            continue
        query, key, value = heads[start:stop].transpose(1, 2, 0, 3)
        scores = (query * scale) @ key.transpose(0, 2, 1)
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        mixed[start:stop] = (scores @ value).transpose(1, 0, 2)
    return mixed.reshape(len(qkv), width)


def _layer(weights: UseLiteWeights, number: int, width: int) -> _Layer:
    """Read a layer whose input is `width` wide; its output is always `DIMENSION` wide."""
    part = f"Layer_{number}/TransformerLayer"

    def norm(name: str, size: int) -> _Norm:
        name = f"{_GRAPH}/{part}/{name}layer_prepostprocess/layer_norm/layer_norm"
        scale, bias = (weights.take(f"{name}_{kind}{_WHOLE}", size) for kind in ("scale", "bias"))
        return _Norm(scale, bias)

    def dense(name: str, kernel: str, inputs: int, outputs: int) -> _Dense:
        bias = weights.take(f"{_GRAPH}/{part}/{name}/bias{_WHOLE}", outputs)
        return _Dense(weights.take(kernel, inputs, outputs), bias)

    def projection(name: str, outputs: int) -> _Dense:
        name = f"MultiheadAttention/{name}_transform_single"
        return dense(name, f"{_MODULE}/{part}/{name}/kernel/part_0", width, outputs)

    def convolution(name: str, inputs: int, outputs: int) -> _Dense:
        kernel = f"{_GRAPH}/TransformerStack/{part}/FFN/{name}/Tensordot/Reshape_1"
        return dense(f"FFN/{name}", kernel, inputs, outputs)

    return _Layer(
        norm=norm("", width),
        qkv=projection("qkv", 3 * width),
        attended=projection("output", DIMENSION),
        ffn_norm=norm("FFN/", DIMENSION),
        ffn_in=convolution("conv1", DIMENSION, _FFN),
        ffn_out=convolution("conv2", _FFN, DIMENSION),
    )
