"""One step of an encoder-decoder model (T5, BART) for many candidates. Picks no tokens.

A source is encoded once; the decoder's keys and values, those over the source included, are copied
for each of its candidates.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers.modeling_outputs import BaseModelOutput

from moralscope.models.language.shared_prefix import filled, padded_length, window_of


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
