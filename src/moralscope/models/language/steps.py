"""One step of a language model for many candidates that share their prompts' computation.

Causal models: a prompt is read once; its keys and values are kept once, and every candidate of the
prompt attends to them from where they lie. A candidate owns only what it wrote itself.
Encoder-decoders (T5, BART): a source is encoded once; the decoder's keys and values, those over the
source included, are copied for each of its candidates. Picks no tokens.

Rows do not depend on their neighbours: a prompt is padded to a length that follows from its own,
and a step has a multiple of `ROWS` rows. With fewer, matrix libraries choose other routines, and
with odd numbers the ends of arrays are computed otherwise: the last bits differ. (Measured with MKL
on two cores: with multiples of 16, equal bits in every batch.)
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.cache_utils import DynamicCache
from transformers.modeling_outputs import BaseModelOutput

from moralscope.core.errors import StoreError
from moralscope.models.language.trees import TokenTree

ROWS = 16
ATTENTION = "moralscope_shared_prefix"
_BUCKET = 32  # prompts are padded to a multiple of this
_NO_WINDOW = 1024  # for models whose configuration names none
_ROOM = 16  # tokens by which the candidates' own part grows at a time


def padded_length(length: int) -> int:
    """Return the length that a prompt of `length` tokens is padded to."""
    return -(-length // _BUCKET) * _BUCKET


def window_of(config: Any) -> int:
    """Return how many tokens a model can attend to, as its configuration says."""
    names = ("max_position_embeddings", "n_positions", "seq_length")
    return next((int(w) for name in names if (w := getattr(config, name, None))), _NO_WINDOW)


def filled(rows: Sequence[int]) -> list[int]:
    """Repeat the first row until their number is a multiple of `ROWS`."""
    return [*rows, *[rows[0]] * (-len(rows) % ROWS)]


class SharedPrefix(DynamicCache):  # type: ignore[misc]  # transformers is untyped
    """Keys and values: one prefix a prompt, one growing suffix a row."""

    def __init__(self, lengths: Sequence[int], padded: int, width: int, device: Any) -> None:
        super().__init__()
        self.prompts = len(lengths)
        self.width = width
        self.padded = padded
        self.lengths = torch.tensor(lengths, device=device)
        self.written: int | None = None  # tokens in the suffix; None while prompts are read
        self.slots = torch.empty(0, dtype=torch.long, device=device)
        self._prefix: list[tuple[Any, Any]] = []
        self._suffix: list[tuple[Any, Any]] = []
        self._visible: dict[int | None, Any] = {}

    def update(self, key: Any, value: Any, layer: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Keep what a layer computed: all of it as a prefix, or one token as a suffix."""
        if self.written is None:
            self._prefix.append((key, value))
            return key, value
        if layer == len(self._suffix):
            empty = key.new_empty((key.shape[0], key.shape[1], 0, key.shape[3]))
            self._suffix.append((empty, empty))
        at = self.written
        kept = self._suffix[layer]
        if at == kept[0].shape[2]:  # full: room for some more tokens
            room = (*key.shape[:2], _ROOM, key.shape[3])
            kept = tuple(torch.cat([old, old.new_empty(room)], 2) for old in kept)
            self._suffix[layer] = kept
        for old, new in zip(kept, (key, value), strict=True):
            old[:, :, at : at + 1] = new
        return kept[0][:, :, : at + 1], kept[1][:, :, : at + 1]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return 0: positions are always given by the caller."""
        return 0

    def prefix(self, layer: int) -> tuple[Any, Any]:
        """Return the keys and values of the prompts: (prompts, heads, tokens, size)."""
        return self._prefix[layer]

    def positions(self) -> Any:
        """Return the position of the token now written, for each row."""
        return self.lengths[self.slots // self.width] + (self.written or 0)

    def visible(self, window: int | None) -> Any:
        """Return 0 where a row may look and -inf where not: (rows, 1, 1, tokens)."""
        if window in self._visible:
            return self._visible[window]
        written = self.written or 0
        lengths = self.lengths[self.slots // self.width][:, None]
        at = torch.arange(self.padded, device=lengths.device)[None]
        suffix = torch.arange(written + 1, device=lengths.device)[None]
        position = torch.cat([at.expand(len(lengths), -1), lengths + suffix], 1)
        hidden = torch.cat([at >= lengths, (suffix < 0).expand(len(lengths), -1)], 1)
        if window:
            hidden = hidden | (position <= lengths + written - window)
        bias = torch.zeros(hidden.shape, device=lengths.device).masked_fill(hidden, -torch.inf)
        self._visible[window] = bias[:, None, None]
        return self._visible[window]

    def advance(self) -> None:
        """Count the token that every layer has now written."""
        self.written = 0 if self.written is None else self.written + 1
        self._visible = {}

    def select(self, rows: Any, slots: Any) -> None:
        """Make the suffixes of `rows` the new rows, each at its slot (prompt · width + n)."""
        self._suffix = [
            (key.index_select(0, rows), value.index_select(0, rows)) for key, value in self._suffix
        ]
        self.slots = slots
        self._visible = {}


class CausalSteps:
    """Prompts in, next-token logits out, then one token a row at a time."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._device = model.device
        self._cache = SharedPrefix([], 0, 1, model.device)

    def padded(self, length: int) -> int:
        """Return the length a prompt is padded to: batches hold prompts of one padded length."""
        return padded_length(length)

    def start(self, prompts: Sequence[Sequence[int]], width: int) -> Any:
        """Read every prompt once and return the logits after each; one row a prompt."""
        padded = padded_length(max(map(len, prompts)))
        ids = torch.zeros((len(prompts), padded), dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt) - 1] = torch.tensor(prompt[:-1], dtype=torch.long)
        lengths = [len(prompt) - 1 for prompt in prompts]
        self._cache = SharedPrefix(lengths, padded, width, self._device)
        positions = torch.arange(padded, device=self._device).clamp(max=max(lengths))
        self._forward(ids.to(self._device), positions.expand(len(prompts), -1))
        self._cache.advance()
        self._cache.slots = self._index([row * width for row in range(len(prompts))])
        return self.step([prompt[-1] for prompt in prompts])

    def step(self, tokens: Sequence[int]) -> Any:
        """Append one token to each row and return the logits after it."""
        ids = self._index(tokens)[:, None]
        logits = self._forward(ids, self._cache.positions()[:, None])[:, -1].float()
        self._cache.advance()
        return logits

    def select(self, rows: Sequence[int], slots: Sequence[int]) -> None:
        """Keep copies of `rows` only; `slots` says which prompt and candidate each is."""
        self._cache.select(self._index(rows), self._index(slots))

    def _index(self, rows: Sequence[int]) -> Any:
        return torch.tensor(filled(rows), device=self._device)

    def _forward(self, ids: Any, positions: Any) -> Any:
        return self._model(
            input_ids=ids,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            shared=self._cache,
        ).logits


def shared_attention(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    _mask: Any,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Any, None]:
    """Attend to the shared prompt and to the row's own tokens, as one softmax.

    softmax([q·Kₚ ; q·Kₛ]) [Vₚ ; Vₛ], with the prompt's Kₚ, Vₚ stored once for all its candidates.
    """
    cache: SharedPrefix | TokenTree | None = more.get("shared")
    if cache is None or more.get("softcap") or more.get("s_aux") is not None:
        kind = type(module).__name__
        raise StoreError(f"models with {kind} are not supported", "choose another base model")
    window = more.get("sliding_window")
    scale = scaling or query.shape[-1] ** -0.5
    if isinstance(cache, TokenTree):
        return _attend(query, key, value, scale, cache.visible(window)), None
    if cache.written is None:
        mask, length = None, query.shape[2]
        if window and window < length:
            position = torch.arange(length, device=query.device)
            distance = position[:, None] - position[None]
            mask = (distance >= 0) & (distance < window)
        return _attend(query, key, value, scale, mask), None
    rows, heads, _, size = query.shape
    query = query.view(rows, key.shape[1], heads // key.shape[1], size) * scale
    prefix_key, prefix_value = cache.prefix(module.layer_idx)
    scores = torch.cat([_on_grid(cache, query, prefix_key.mT), query @ key.mT], -1).float()
    weights = torch.softmax(scores + cache.visible(window), -1).to(query.dtype)
    to_prefix, to_suffix = weights.split([cache.padded, weights.shape[-1] - cache.padded], -1)
    out = _on_grid(cache, to_prefix, prefix_value) + to_suffix @ value
    return out.reshape(rows, 1, heads, size), None


def _on_grid(cache: SharedPrefix, left: Any, right: Any) -> Any:
    """Multiply each row with its prompt's matrix, all candidates of a prompt in one product."""
    _, heads, group, inner = left.shape
    grid = left.new_zeros((cache.prompts * cache.width, heads, group, inner))
    grid[cache.slots] = left
    grid = grid.view(cache.prompts, cache.width, heads, group, inner).transpose(1, 2)
    product = grid.reshape(cache.prompts, heads, cache.width * group, inner) @ right
    product = product.view(cache.prompts, heads, cache.width, group, -1).transpose(1, 2)
    return product.reshape(cache.prompts * cache.width, heads, group, -1)[cache.slots]


def _attend(query: Any, key: Any, value: Any, scale: float, mask: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, mask, is_causal=mask is None, scale=scale, enable_gqa=True
    ).transpose(1, 2)


AttentionInterface.register(ATTENTION, shared_attention)


class Seq2SeqSteps:
    """Sources in, next-token logits out, then one token a row at a time."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._device = model.device
        self._states: Any = None
        self._mask: Any = None
        self._cache: Any = None

    def padded(self, length: int) -> int:
        """Return the length a source is padded to: beyond its own, so a mask is always at work."""
        return min(padded_length(length + 1), window_of(self._model.config))

    def start(self, prompts: Sequence[Sequence[int]], width: int) -> Any:
        """Encode every source once and return the logits of the first token; one row a source."""
        padded = self.padded(max(map(len, prompts)))
        ids = torch.full((len(prompts), padded), self._model.config.pad_token_id or 0)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt)] = torch.tensor(prompt, dtype=torch.long)
            mask[row, : len(prompt)] = 1
        self._mask = mask.to(self._device)
        encoded = self._model.get_encoder()(
            input_ids=ids.to(self._device), attention_mask=self._mask
        )
        self._states, self._cache = encoded.last_hidden_state, None
        self.select(list(range(len(prompts))), [])
        config = self._model.config
        first = config.decoder_start_token_id
        return self.step([config.bos_token_id if first is None else first] * len(prompts))

    def step(self, tokens: Sequence[int]) -> Any:
        """Append one token to each row and return the logits after it."""
        done = self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._states),
            attention_mask=self._mask,
            decoder_input_ids=torch.tensor(filled(tokens), device=self._device)[:, None],
            past_key_values=self._cache,
            use_cache=True,
        )
        self._cache = done.past_key_values
        return done.logits[:, -1].float()

    def select(self, rows: Sequence[int], slots: Sequence[int]) -> None:
        """Keep copies of `rows` only; a row carries its source with it, so `slots` is not used."""
        index = torch.tensor(filled(rows), device=self._device)
        self._states, self._mask = self._states[index], self._mask[index]
        if self._cache is not None:
            self._cache.batch_select_indices(index)
