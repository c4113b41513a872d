"""Any sentence-transformers model from a local folder, batched for speed.

Loads safetensors only and never runs code from the folder. The rows are those of
`SentenceTransformer.encode`; the batches are not: texts are tokenised once, grouped by token
length so that hardly anything is padded, and sized to the machine.
"""

import contextlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import StoreError
from moralscope.core.protocols import Matrix
from moralscope.engine.packing import speed_up
from moralscope.engine.quantised import can_quantise, quantise

_TOKENS_PER_CORE = 1024  # measured best on two cores; larger batches leave the CPU's cache
_GPU_BATCH_TOKENS = 65536


class SentenceTransformerBackend:
    """The arithmetic of one sentence-transformers folder."""

    def __init__(self, folder: Path, name: str, checksum: str) -> None:
        self.name = name
        self.checksum = checksum
        self._model = _load(folder, name)
        self.dimension = int(self._model.get_embedding_dimension())
        self.batch_tokens = _batch_tokens(self._model)
        self._tokenizer = _fast_tokenizer(self._model)
        if self._tokenizer is None:
            self.batch_tokens = 1 << 16  # characters: `prepare` passes the texts on

    def quantise(self) -> bool:
        """Compute in 8 bits from now on; False where this machine cannot."""
        if not can_quantise(self._model):
            return False
        quantise(self._model)
        return True

    def prepare(self, texts: Sequence[str]) -> Sequence[Any]:
        """Tokenise, where the model has an ordinary tokenizer; else pass the texts on."""
        if self._tokenizer is None:
            return texts
        prompt = self._model.prompts.get(self._model.default_prompt_name or "", "")
        ids = self._tokenizer(
            [prompt + text.strip() for text in texts],
            truncation=True,
            max_length=self._model.max_seq_length,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        return list(ids)

    def embed(self, batch: Sequence[Any]) -> Matrix:
        """Return the rows of one batch."""
        if self._tokenizer is None:
            rows = self._model.encode(list(batch), batch_size=len(batch), show_progress_bar=False)
            return np.asarray(rows, dtype=np.float32)
        import torch

        longest = max(len(ids) for ids in batch)
        padding = self._tokenizer.pad_token_id or 0
        inputs = torch.full((len(batch), longest), padding, dtype=torch.long)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for row, ids in enumerate(batch):
            inputs[row, : len(ids)] = torch.tensor(ids)
            mask[row, : len(ids)] = 1
        device = self._model.device
        with torch.inference_mode():
            features = {"input_ids": inputs.to(device), "attention_mask": mask.to(device)}
            rows = self._model(features)["sentence_embedding"]
        return np.asarray(rows.float().cpu().numpy())


def _load(folder: Path, name: str) -> Any:
    """Load the folder quietly, without network, pickle or remote code."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    try:
        model = SentenceTransformer(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise StoreError(
            f"'{name}' in {folder} cannot be loaded as a sentence-transformers model ({reason})",
            "give a folder with config.json, tokenizer files and model.safetensors",
        ) from error
    model.eval()
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    speed_up(model, getattr(config, "model_type", ""))
    return model


def _batch_tokens(model: Any) -> int:
    import torch

    if model.device.type == "cuda":
        return _GPU_BATCH_TOKENS
    return _TOKENS_PER_CORE * min(int(torch.get_num_threads()), 16)


def _fast_tokenizer(model: Any) -> Any | None:
    """Return the tokenizer when the model is a plain text transformer, else None."""
    with contextlib.suppress(AttributeError, IndexError, TypeError):
        first = model[0]
        lower_case = getattr(first, "do_lower_case", False)
        if type(first).__name__ == "Transformer" and model.tokenizer.is_fast and not lower_case:
            return model.tokenizer
    return None
