"""Any sentence-transformers model from a local folder, batched for speed.

Loads safetensors only and never runs code from the folder. The rows are those of
`SentenceTransformer.encode`; the batches are not: texts are tokenised once, grouped by token
length and sized to the machine. On a CPU the plain kind of folder is computed by `mean_pooling.py`.
"""

import json
import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.protocols import Matrix
from moralscope.models.encoders.mean_pooling import token_ids
from moralscope.models.fastcpu.linear import can_quantise, quantise, speed_up
from moralscope.models.fastcpu.threads import TOKENS_PER_CORE, ParallelBatches
from moralscope.models.hugging_face import (
    check_modules,
    check_safetensors,
    load_model,
    loading_errors,
    set_up_transformers,
)
from moralscope.models.windows import Windows, token_windows

_GPU_BATCH_TOKENS = 65536


class SentenceTransformerBackend(ParallelBatches):
    """The arithmetic of one sentence-transformers folder."""

    def __init__(self, folder: Path, name: str, checksum: str) -> None:
        self.name, self.checksum = name, checksum
        self.arithmetic = "float32"
        self._model = _load(folder, name)
        self.device = str(self._model.device.type)
        self.dimension = int(self._model.get_embedding_dimension())
        self.batch_tokens = _batch_tokens(self._model)
        self._tokenizer: Any = _fast_tokenizer(self._model)
        if self._tokenizer is None:
            self.batch_tokens = 1 << 16  # characters: `prepare` passes the texts on
        self.longest = 0  # tokens of a text that are read beside the prompt; 0: nobody can tell
        if getattr(self._model.tokenizer, "is_fast", False):
            prompt = self._model.tokenizer(self._prompt, add_special_tokens=False)["input_ids"]
            self.longest = int(self._model.max_seq_length or 0) - len(prompt)
        body = getattr(self._model[0], "auto_model", self._model[0])
        kind = getattr(getattr(body, "config", None), "model_type", "")
        speed_up(self._model, str(kind))

    @property
    def _prompt(self) -> str:
        return str(self._model.prompts.get(self._model.default_prompt_name or "", ""))

    def windows(self, texts: Sequence[str]) -> list[Windows]:
        """Return the texts to encode instead of each text; of one that fits, itself."""
        return token_windows(self._model.tokenizer, [("", text) for text in texts], self.longest)

    def quantise(self) -> bool:
        """Compute in fewer bits from now on; False where this machine cannot.

        On a CPU with VNNI products are of 8 bits, on a GPU of 16.
        """
        if self.device == "cuda":
            self.arithmetic = half_precision()
            return True
        if not can_quantise(self._model):
            return False
        quantise(self._model)
        self.arithmetic = "int8"
        if self._tokenizer is not None:
            self.batch_tokens = TOKENS_PER_CORE  # of a thread
        return True

    def prepare(self, texts: Sequence[str]) -> Sequence[Any]:
        """Tokenise, where the model has an ordinary tokenizer; else pass the texts on."""
        if self._tokenizer is None:
            return texts
        return token_ids(self._tokenizer, texts, self._model.max_seq_length, self._prompt)

    def embed(self, batch: Sequence[Any]) -> Matrix:
        """Return the rows of one batch."""
        if self._tokenizer is None:
            rows = self._model.encode(list(batch), batch_size=len(batch), show_progress_bar=False)
            return np.asarray(rows, dtype=np.float32)
        import torch

        lengths = np.array([len(ids) for ids in batch])
        padding = self._tokenizer.pad_token_id or 0
        real = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(real.shape, padding, dtype=np.int64)
        ids[real] = np.fromiter(chain.from_iterable(batch), np.int64, int(lengths.sum()))
        inputs, mask = torch.from_numpy(ids), torch.from_numpy(real.astype(np.int64))
        device = self._model.device
        with torch.inference_mode(), precision(device.type, self.arithmetic):
            features = {"input_ids": inputs.to(device), "attention_mask": mask.to(device)}
            rows = self._model(features)["sentence_embedding"]
        return np.asarray(rows.float().cpu().numpy())


def half_precision() -> str:
    """Return the 16-bit arithmetic of this machine's GPU: bfloat16, or float16 on older ones."""
    import torch

    return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"


def precision(device: str, arithmetic: str) -> AbstractContextManager[Any]:
    """Let a GPU compute its products in 16 bits, where that was asked for; a CPU never."""
    if device != "cuda" or arithmetic not in ("bfloat16", "float16"):
        return nullcontext()
    import torch

    mixed: AbstractContextManager[Any] = torch.autocast("cuda", getattr(torch, arithmetic))
    return mixed


def _load(folder: Path, name: str) -> Any:
    """Load the folder quietly, without network, pickle or remote code."""
    check_modules(folder)
    check_safetensors(folder)
    set_up_transformers()
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    with loading_errors(f"'{name}' in {folder}", "sentence-transformers model"):
        # The transformer is loaded once for itself: the library does not tell what is wrong.
        file = folder / "modules.json"
        modules = json.loads(file.read_text("utf-8")) if file.is_file() else []
        kinds = {module["type"].rsplit(".", 1)[-1]: module["path"] for module in modules}
        body = folder / kinds.get("Transformer", "")
        if (body / "config.json").is_file():
            load_model(AutoModel, body)
        model = SentenceTransformer(
            str(folder),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    model.eval()
    return model.requires_grad_(False)


def _batch_tokens(model: Any) -> int:
    import torch

    if model.device.type == "cuda":
        return _GPU_BATCH_TOKENS
    return TOKENS_PER_CORE * min(int(torch.get_num_threads()), 16)


def _fast_tokenizer(model: Any) -> Any | None:
    """Return the tokenizer when the model is a plain text transformer, else None."""
    with suppress(AttributeError, IndexError, TypeError):
        first = model[0]
        lower_case = getattr(first, "do_lower_case", False)
        if type(first).__name__ == "Transformer" and model.tokenizer.is_fast and not lower_case:
            return model.tokenizer
    return None
