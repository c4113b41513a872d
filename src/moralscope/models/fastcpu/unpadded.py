"""The body of a BERT or MPNet without padding: tokens of all texts stacked, the same numbers.

Texts of one length stand side by side and attend to themselves; everything else is done for all
tokens of a batch at once. Query, key and value are one product, GELU and the residual sum are part
of theirs. It is computed from a configuration and named tensors alone, so that a model can be read
without transformers. This module pools nothing, and knows four architectures; `can_unpad` says no
to others.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from moralscope.models.fastcpu.linear import exact_linear, light_linear

_BERT = ("self.query", "self.key", "self.value", "output.dense", "output.LayerNorm")
_NAMES = {  # where query, key, value, the output and its norm lie in a layer's attention
    "bert": _BERT,
    "mpnet": ("attn.q", "attn.k", "attn.v", "attn.o", "LayerNorm"),
    "roberta": _BERT,
    "xlm-roberta": _BERT,
}
_RELATIVE = "encoder.relative_attention_bias.weight"  # of MPNet
_TYPES = "embeddings.token_type_embeddings.weight"  # MPNet has none
_HEADS = {"pooler", "lm_head", "cls", "classifier"}  # that were trained on a body
_FARTHEST = 128  # tokens apart, from which on MPNet tells distances apart no more
_Linear = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class BodyWeights:
    """A transformer's configuration (``config.json``), and its tensors by transformers' names."""

    config: Mapping[str, Any]
    tensors: Mapping[str, Any]


def can_unpad(weights: BodyWeights) -> bool:
    """Tell whether a body is of a kind that is known here, whole, in 32 bits and on a CPU."""
    config = weights.config
    if not (
        config.get("model_type") in _NAMES
        and config.get("hidden_act") == "gelu"
        and not config.get("is_decoder")
        and config.get("position_embedding_type", "absolute") == "absolute"
        and config.get("dtype", config.get("torch_dtype")) in (None, "float32")
    ):
        return False
    shapes = dict(_expected(config))
    more = (name for name in weights.tensors if name not in shapes)  # heads and buffers may be
    if any(name.split(".")[0] not in _HEADS and not name.endswith("position_ids") for name in more):
        return False
    return all(
        (tensor := weights.tensors.get(name)) is not None
        and (*tensor.shape,) == shape
        and str(tensor.dtype) == "torch.float32"
        and tensor.device.type == "cpu"
        for name, shape in shapes.items()
    )


def _expected(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name and shape of every tensor that the forward pass reads."""
    width, wide = config["hidden_size"], config["intermediate_size"]
    yield "embeddings.word_embeddings.weight", (config["vocab_size"], width)
    yield "embeddings.position_embeddings.weight", (config["max_position_embeddings"], width)
    if config["model_type"] == "mpnet":
        yield _RELATIVE, (config["relative_attention_num_buckets"], config["num_attention_heads"])
    else:
        yield _TYPES, (config["type_vocab_size"], width)
    pairs: list[tuple[str, tuple[int, ...]]] = [("embeddings.LayerNorm", (width,))]
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        *linear, norm = (f"{layer}.attention.{name}" for name in _NAMES[config["model_type"]])
        pairs += [(name, (width, width)) for name in linear]
        pairs += [(norm, (width,)), (f"{layer}.output.LayerNorm", (width,))]
        pairs += [(f"{layer}.intermediate.dense", (wide, width))]
        pairs += [(f"{layer}.output.dense", (width, wide))]
    for name, shape in pairs:
        yield f"{name}.weight", shape
        yield f"{name}.bias", shape[:1]


@dataclass(frozen=True, slots=True)
class _Norm:
    weight: Any
    bias: Any
    epsilon: float

    def __call__(self, rows: Any) -> Any:
        import torch

        return torch.nn.functional.layer_norm(
            rows, self.weight.shape, self.weight, self.bias, self.epsilon
        )


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: _Linear
    attended: _Linear
    attended_norm: _Norm
    widened: _Linear
    narrowed: _Linear
    norm: _Norm


class UnpaddedBody:
    """Token ids of a batch → hidden states, one block for each run of texts of one length.

    `eight_bits` is the share of layers, from the last one down, whose products are of 8 bits: what
    they round off goes through few layers more. 1 or True: all of them.
    """

    def __init__(self, weights: BodyWeights, *, eight_bits: float = 0.0) -> None:
        config, tensors = weights.config, weights.tensors
        self._heads = int(config["num_attention_heads"])
        self._words = tensors["embeddings.word_embeddings.weight"]
        self._positions = tensors["embeddings.position_embeddings.weight"]
        self._type = tensors[_TYPES][0] if _TYPES in tensors else None
        self._relative = tensors.get(_RELATIVE)
        # All but BERT count positions from behind the padding's id, which MPNet fixes at 1.
        kind = config["model_type"]
        self._padding = {"bert": None, "mpnet": 1}.get(kind, config.get("pad_token_id"))
        exact, light = _Maker(weights, exact_linear), _Maker(weights, light_linear)
        self._norm = exact.norm("embeddings.LayerNorm")
        count = int(config["num_hidden_layers"])
        kept = count - round(count * eight_bits)
        self._layers = [
            (exact if number < kept else light).layer(f"encoder.layer.{number}")
            for number in range(count)
        ]

    def __call__(self, batch: Sequence[Sequence[int]], middle: int = 0) -> list[Any]:
        """Return (texts, length, width) for each run of texts of one length, in order.

        With `middle` states are twice as wide: behind the last ones, those after so many layers.
        """
        import torch

        groups = [
            torch.tensor(list(texts), dtype=torch.long) for _, texts in groupby(batch, key=len)
        ]
        hidden = self._norm(torch.cat([self._embedded(ids).flatten(0, 1) for ids in groups]))
        shapes = [tuple(ids.shape) for ids in groups]
        biases, early = [self._bias(length) for _, length in shapes], None
        for number, layer in enumerate(self._layers, 1):
            mixed = self._attention(layer.qkv(hidden), shapes, biases)
            hidden = layer.attended_norm(layer.attended(mixed, hidden))
            hidden = layer.norm(layer.narrowed(layer.widened(hidden), hidden))
            early = hidden if number == middle else early
        hidden = hidden if early is None else torch.cat([hidden, early], dim=1)
        parts = hidden.split([count * length for count, length in shapes])
        return [part.unflatten(0, shape) for part, shape in zip(parts, shapes, strict=True)]

    def _embedded(self, ids: Any) -> Any:
        import torch

        rows = torch.nn.functional.embedding(ids, self._words)
        if self._type is not None:
            rows += self._type
        if self._padding is None:
            return rows.add_(self._positions[: ids.shape[1]])
        real = (ids != self._padding).long()  # a text may spell the padding out
        positions = torch.cumsum(real, 1) * real + self._padding
        return rows.add_(torch.nn.functional.embedding(positions, self._positions))

    def _bias(self, length: int) -> Any:
        """Return what MPNet adds to attention: a number a head for the distance of two tokens.

        Near distances have a bucket each, far ones share theirs on a logarithmic scale; half of
        the buckets are for tokens that lie ahead (Raffel et al. 2020, as in transformers).
        """
        import torch

        if self._relative is None:
            return None
        position = torch.arange(length)
        ahead = position[None, :] - position[:, None]
        half = len(self._relative) // 2
        near = half // 2
        far = ahead.abs()
        steps = torch.log(far.float() / near) / math.log(_FARTHEST / near) * (half - near)
        shared = (near + steps.long()).clamp_(max=half - 1)
        bucket = (ahead > 0) * half + torch.where(far < near, far, shared)
        rows = torch.nn.functional.embedding(bucket, self._relative)
        return rows.permute(2, 0, 1)[None].contiguous()

    def _attention(self, qkv: Any, shapes: Sequence[Any], biases: Sequence[Any]) -> Any:
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        mixed = []
        parts = qkv.split([count * length for count, length in shapes])
        for part, shape, bias in zip(parts, shapes, biases, strict=True):
            query, key, value = part.view(*shape, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
            rows = scaled_dot_product_attention(query, key, value, attn_mask=bias)
            mixed.append(rows.transpose(1, 2).reshape(len(part), -1))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Lays layers out by the names of their tensors."""

    weights: BodyWeights
    make: Callable[..., _Linear]

    def norm(self, name: str) -> _Norm:
        tensors, config = self.weights.tensors, self.weights.config
        epsilon = float(config.get("layer_norm_eps", 1e-12))
        return _Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"], epsilon)

    def linear(self, *names: str, gelu: bool = False) -> _Linear:
        """Return the product of one layer, or of several on top of each other."""
        import torch

        weight, bias = (
            [self.weights.tensors[f"{name}.{part}"] for name in names]
            for part in ("weight", "bias")
        )
        if len(names) == 1:  # nothing to put together: do not copy
            return self.make(weight[0], bias[0], gelu=gelu)
        return self.make(torch.cat(weight), torch.cat(bias), gelu=gelu)

    def layer(self, name: str) -> _Layer:
        inner = _NAMES[self.weights.config["model_type"]]
        *qkv, output, norm = (f"{name}.attention.{part}" for part in inner)
        return _Layer(
            qkv=self.linear(*qkv),
            attended=self.linear(output),
            attended_norm=self.norm(norm),
            widened=self.linear(f"{name}.intermediate.dense", gelu=True),
            narrowed=self.linear(f"{name}.output.dense"),
            norm=self.norm(f"{name}.output.LayerNorm"),
        )
