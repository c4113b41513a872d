"""Any sentence-transformers model from a local folder, batched for speed.

Loads safetensors only and never runs code from the folder. The rows are those of
`SentenceTransformer.encode`; the batches are not: texts are tokenised once, grouped by token
length and sized to the machine. On a CPU the common architectures are computed without padding
(`unpadded.py`); the others, and all on a GPU, with as little as that grouping leaves.
"""

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import StoreError
from moralscope.core.protocols import Matrix
from moralscope.engine.encoders.lanes import TOKENS_PER_CORE, Lanes
from moralscope.engine.encoders.unpadded import UnpaddedBody, can_unpad
from moralscope.engine.packing import speed_up
from moralscope.engine.quantised import can_quantise, quantise

_GPU_BATCH_TOKENS = 65536


class SentenceTransformerBackend:
    """The arithmetic of one sentence-transformers folder."""

    def __init__(self, folder: Path, name: str, checksum: str) -> None:
        self.name = name
        self.checksum = checksum
        self.arithmetic = "float32"
        self._model = _load(folder, name)
        self.dimension = int(self._model.get_embedding_dimension())
        self.batch_tokens = _batch_tokens(self._model)
        self._tokenizer: Any = _fast_tokenizer(self._model)
        if self._tokenizer is None:
            self.batch_tokens = 1 << 16  # characters: `prepare` passes the texts on
        self._body: UnpaddedBody | None = None  # made when it is used, or in 8 bits
        self._lanes: Lanes | None = None
        self.unpadded = self._tokenizer is not None and _can_unpad(self._model)
        if not self.unpadded:
            speed_up(self._model, _kind(self._model))

    @property
    def threads(self) -> int:
        """How many threads a product uses; 0 where that is not ours to choose (a GPU)."""
        import torch

        return int(torch.get_num_threads()) if self._model.device.type == "cpu" else 0

    @threads.setter
    def threads(self, count: int) -> None:
        import torch

        torch.set_num_threads(count)

    def quantise(self) -> bool:
        """Compute in fewer bits from now on; False where this machine cannot.

        On a CPU with VNNI products are of 8 bits, on a GPU of 16.
        """
        if self._model.device.type == "cuda":
            self.arithmetic = half_precision()
            return True
        if not can_quantise(self._model):
            return False
        if self.unpadded:
            self._body = UnpaddedBody(_body_of(self._model), eight_bits=True)
        else:
            quantise(self._model)
        self.arithmetic = "int8"
        if self._tokenizer is not None:
            self.batch_tokens = TOKENS_PER_CORE  # of a lane
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

        with torch.inference_mode():
            rows = self._stacked(batch) if self.unpadded else self._padded(batch)
        return np.asarray(rows.float().cpu().numpy())

    def embed_several(self, batches: Sequence[Sequence[Any]]) -> Iterator[Matrix]:
        """Return the rows of each batch, in order; in 8 bits on a CPU several at once."""
        threads = self.threads if self.arithmetic == "int8" and len(batches) > 1 else 0
        if threads < 2:
            return map(self.embed, batches)
        if self._lanes is None or self._lanes.count != threads:
            self._lanes = Lanes(threads)
        return self._lanes.map(self.embed, batches)

    def _stacked(self, batch: Sequence[Sequence[int]]) -> Any:
        """Compute a batch whose texts are sorted by length; pool each length by itself."""
        import torch

        if self._body is None:
            self._body = UnpaddedBody(_body_of(self._model))
        rows = []
        for group in self._body(batch):
            mask = torch.ones(group.shape[:2], dtype=torch.long)
            features = {"token_embeddings": group, "attention_mask": mask}
            for module in list(self._model)[1:]:
                features = module(features)
            rows.append(features["sentence_embedding"])
        return torch.cat(rows)

    def _padded(self, batch: Sequence[Sequence[int]]) -> Any:
        import torch

        lengths = np.array([len(ids) for ids in batch])
        padding = self._tokenizer.pad_token_id or 0
        real = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(real.shape, padding, dtype=np.int64)
        ids[real] = np.fromiter(chain.from_iterable(batch), np.int64, int(lengths.sum()))
        inputs, mask = torch.from_numpy(ids), torch.from_numpy(real.astype(np.int64))
        device = self._model.device
        with precision(device.type, self.arithmetic):
            features = {"input_ids": inputs.to(device), "attention_mask": mask.to(device)}
            return self._model(features)["sentence_embedding"]


def half_precision() -> str:
    """Return the 16-bit arithmetic of this machine's GPU: bfloat16, or float16 on older ones."""
    import torch

    return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"


def precision(device: str, arithmetic: str) -> contextlib.AbstractContextManager[Any]:
    """Let a GPU compute its products in 16 bits, where that was asked for; a CPU never.

    Examples
    --------
    >>> type(precision("cpu", "bfloat16")).__name__, type(precision("cuda", "float32")).__name__
    ('nullcontext', 'nullcontext')
    """
    if device != "cuda" or arithmetic not in ("bfloat16", "float16"):
        return contextlib.nullcontext()
    import torch

    mixed: contextlib.AbstractContextManager[Any] = torch.autocast(
        "cuda", getattr(torch, arithmetic)
    )
    return mixed


def _body_of(model: Any) -> Any:
    """Return the transformers model inside, or something without a config."""
    return getattr(model[0], "auto_model", model[0])


def _kind(model: Any) -> str:
    return str(getattr(getattr(_body_of(model), "config", None), "model_type", ""))


def _can_unpad(model: Any) -> bool:
    named = getattr(model[0], "module_output_name", "token_embeddings")
    return named == "token_embeddings" and len(model) > 1 and can_unpad(_body_of(model))


def _load(folder: Path, name: str) -> Any:
    """Load the folder quietly, without network, pickle or remote code."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    # A product is kept for every batch size that ever came, up to 1024: hundreds of megabytes.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
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
    return model.requires_grad_(False)


def _batch_tokens(model: Any) -> int:
    import torch

    if model.device.type == "cuda":
        return _GPU_BATCH_TOKENS
    return TOKENS_PER_CORE * min(int(torch.get_num_threads()), 16)


def _fast_tokenizer(model: Any) -> Any | None:
    """Return the tokenizer when the model is a plain text transformer, else None."""
    with contextlib.suppress(AttributeError, IndexError, TypeError):
        first = model[0]
        lower_case = getattr(first, "do_lower_case", False)
        if type(first).__name__ == "Transformer" and model.tokenizer.is_fast and not lower_case:
            return model.tokenizer
    return None
