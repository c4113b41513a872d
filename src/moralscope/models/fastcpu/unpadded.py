"""The body of a BERT or MPNet without padding: tokens of all texts stacked, the same numbers.

Texts of one length stand side by side and attend to themselves; everything else is done for all
tokens of a batch at once. Query, key and value are one product, GELU and the residual sum are part
of theirs. In 8 bits the products are those of `engine.quantised`. This module pools nothing, and
knows four architectures; `can_unpad` says no to others, and on a GPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from moralscope.models.fastcpu.linear import exact_linear, light_linear

_NAMES = {  # where query, key, value, the output and its norm lie in a layer
    "bert": ("self.query", "self.key", "self.value", "output.dense", "output.LayerNorm"),
    "mpnet": ("attn.q", "attn.k", "attn.v", "attn.o", "LayerNorm"),
}
_NAMES |= {"roberta": _NAMES["bert"], "xlm-roberta": _NAMES["bert"]}
_Linear = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: _Linear
    attended: _Linear
    attended_norm: Any
    widened: _Linear
    narrowed: _Linear
    norm: Any


def can_unpad(body: Any) -> bool:
    """Tell whether a transformers model is of a kind that is known here, on a CPU."""
    import torch

    config = getattr(body, "config", None)
    return (
        getattr(config, "model_type", "") in _NAMES
        and getattr(config, "hidden_act", "") == "gelu"
        and not getattr(config, "is_decoder", False)
        and getattr(config, "position_embedding_type", "absolute") == "absolute"
        and body.device.type == "cpu"
        and body.dtype == torch.float32
    )


class UnpaddedBody:
    """Token ids of a batch → hidden states, one block for each run of texts of one length.

    Examples
    --------
    >>> from transformers import BertConfig, BertModel
    >>> config = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1,
    ...     num_attention_heads=2, intermediate_size=16)
    >>> body = UnpaddedBody(BertModel(config).eval().requires_grad_(False))
    >>> [tuple(group.shape) for group in body([[1, 2, 3], [4, 5, 6], [7, 8]])]
    [(2, 3, 8), (1, 2, 8)]
    """

    def __init__(self, body: Any, *, eight_bits: bool = False) -> None:
        kind = body.config.model_type
        self._heads = int(body.config.num_attention_heads)
        self._embeddings = body.embeddings
        self._counts_padding = kind != "bert"
        self._relative = body.encoder.compute_position_bias if kind == "mpnet" else None
        make = light_linear if eight_bits else exact_linear
        self._layers = [_layer(each, _NAMES[kind], make) for each in body.encoder.layer]

    def __call__(self, batch: Sequence[Sequence[int]]) -> list[Any]:
        """Return (texts, length, width) for each run of texts of one length, in order."""
        import torch

        groups = [
            torch.tensor(list(texts), dtype=torch.long) for _, texts in groupby(batch, key=len)
        ]
        hidden = torch.cat([self._embedded(ids).flatten(0, 1) for ids in groups])
        shapes = [tuple(ids.shape) for ids in groups]
        biases = [self._bias(length, hidden) for _, length in shapes]
        for layer in self._layers:
            mixed = self._attention(layer.qkv(hidden), shapes, biases)
            hidden = layer.attended_norm(layer.attended(mixed, hidden))
            hidden = layer.norm(layer.narrowed(layer.widened(hidden), hidden))
        parts = hidden.split([count * length for count, length in shapes])
        return [part.unflatten(0, shape) for part, shape in zip(parts, shapes, strict=True)]

    def _embedded(self, ids: Any) -> Any:
        import torch

        if not self._counts_padding:
            return self._embeddings(input_ids=ids)
        real = (ids != self._embeddings.padding_idx).long()  # a text may spell the padding out
        places = torch.cumsum(real, 1) * real + self._embeddings.padding_idx
        return self._embeddings(input_ids=ids, position_ids=places)

    def _bias(self, length: int, hidden: Any) -> Any:
        if self._relative is None:
            return None
        return self._relative(hidden.new_empty(1, length, 1))

    def _attention(self, qkv: Any, shapes: Sequence[Any], biases: Sequence[Any]) -> Any:
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        mixed = []
        parts = qkv.split([count * length for count, length in shapes])
        for part, shape, bias in zip(parts, shapes, biases, strict=True):
            query, key, value = part.view(*shape, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
            found = scaled_dot_product_attention(query, key, value, attn_mask=bias)
            mixed.append(found.transpose(1, 2).reshape(len(part), -1))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)


def _layer(layer: Any, names: Sequence[str], make: Callable[..., _Linear]) -> _Layer:
    import torch

    query, key, value, output, norm = (layer.attention.get_submodule(name) for name in names)
    return _Layer(
        qkv=make(
            torch.cat([query.weight, key.weight, value.weight]),
            torch.cat([query.bias, key.bias, value.bias]),
        ),
        attended=make(output.weight, output.bias),
        attended_norm=norm,
        widened=make(layer.intermediate.dense.weight, layer.intermediate.dense.bias, gelu=True),
        narrowed=make(layer.output.dense.weight, layer.output.dense.bias),
        norm=layer.output.LayerNorm,
    )
