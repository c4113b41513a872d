"""The plain kind of a sentence-transformers folder on a CPU: a transformer and the mean of tokens.

Nearly every folder is of this kind, `minilm` and `mpnet` among them. It is read without the
sentence-transformers library, mostly without transformers too (`plain_transformer`), and computed
without padding (`fastcpu`); its weights are held once, as they are multiplied. The rows are those
of the library. Whatever else a folder asks for is left to `sentence_transformer.py`.
"""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.protocols import Matrix
from moralscope.models.fastcpu.linear import has_int8
from moralscope.models.fastcpu.threads import TOKENS_PER_CORE, ParallelBatches
from moralscope.models.fastcpu.unpadded import BodyWeights, UnpaddedBody
from moralscope.models.hugging_face import load_tokenizer, set_up_torch
from moralscope.models.plain_transformer import read_body, read_tokenizer
from moralscope.models.windows import Windows, token_windows

_KINDS = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_TRANSFORMER = {"max_seq_length", "do_lower_case"}  # settings that are known here


@dataclass(frozen=True, slots=True)
class Shape:
    """What a plain folder says of itself."""

    longest: int  # tokens of a text
    unit: bool  # rows have length one


class PlainBackend(ParallelBatches):
    """The arithmetic of one plain folder."""

    unpadded = True

    def __init__(
        self, weights: BodyWeights, tokenizer: Any, shape: Shape, name: str, checksum: str
    ) -> None:
        self.name = name
        self.checksum = checksum
        self.arithmetic = "float32"
        self.dimension = int(weights.config["hidden_size"])
        self.batch_tokens = TOKENS_PER_CORE * min(self.threads, 16)
        self._tokenizer = tokenizer
        self._shape = shape
        self.longest = shape.longest
        self._body: BodyWeights | UnpaddedBody = weights  # until they are laid out for products

    def quantise(self) -> bool:
        """Compute in 8 bits from now on; False where this machine cannot, or rows were asked for.

        Needs a CPU with VNNI.
        """
        if not isinstance(self._body, BodyWeights) or not has_int8():
            return False
        self._body = UnpaddedBody(self._body, eight_bits=True)
        self.arithmetic = "int8"
        self.batch_tokens = TOKENS_PER_CORE  # of a thread
        return True

    def windows(self, texts: Sequence[str]) -> list[Windows]:
        """Return the texts to encode instead of each text; of one that fits, itself."""
        return token_windows(self._tokenizer, [("", text) for text in texts], self.longest)

    def prepare(self, texts: Sequence[str]) -> Sequence[Any]:
        """Tokenise."""
        return token_ids(self._tokenizer, texts, self._shape.longest)

    def embed(self, batch: Sequence[Any]) -> Matrix:
        """Return the rows of one batch, whose texts are sorted by length."""
        import torch

        with torch.inference_mode():
            if isinstance(self._body, BodyWeights):
                self._body = UnpaddedBody(self._body)
            rows = torch.cat([group.mean(1) for group in self._body(batch)])
            if self._shape.unit:
                rows = torch.nn.functional.normalize(rows, dim=1)
        return np.asarray(rows.numpy())


def token_ids(
    tokenizer: Any, texts: Sequence[str], longest: int, prompt: str = ""
) -> list[list[int]]:
    """Return the ids of texts, each after the prompt and cut at `longest`."""
    ids = tokenizer(
        [prompt + text.strip() for text in texts],
        truncation=True,
        max_length=longest,
        return_attention_mask=False,
        return_token_type_ids=False,
    )["input_ids"]
    return list(ids)


def plain_backend(folder: Path, name: str, checksum: str) -> PlainBackend | None:
    """Return the backend of a plain folder; None for other folders, and beside a GPU."""
    shape = plain_shape(folder)
    if shape is None:
        return None
    set_up_torch()
    import torch

    if torch.cuda.is_available() or torch.backends.mps.is_available():
        return None
    weights = read_body(folder)
    if weights is None:
        return None
    with contextlib.suppress(OSError, ValueError, KeyError, RuntimeError):  # the library says why
        tokenizer = read_tokenizer(folder) or load_tokenizer(folder)
        return PlainBackend(weights, tokenizer, shape, name, checksum)
    return None


def plain_shape(folder: Path) -> Shape | None:
    """Read what a folder says of its modules; None unless all of it is known here."""
    with contextlib.suppress(
        OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError
    ):
        modules = _read(folder / "modules.json")
        kinds = [module["type"].rsplit(".", 1)[-1] for module in modules]
        pooling = _read(folder / modules[1]["path"] / "config.json")
        transformer = _read(folder / "sentence_bert_config.json")
        asks = (folder / "config_sentence_transformers.json").is_file() and _read(
            folder / "config_sentence_transformers.json"
        ).get("default_prompt_name")
        if (
            kinds in _KINDS
            and modules[0]["path"] == ""
            and _is_mean(pooling)
            and set(transformer) <= _TRANSFORMER
            and not transformer.get("do_lower_case")
            and not asks
        ):
            return Shape(int(transformer["max_seq_length"]), kinds[-1] == "Normalize")
    return None


def _is_mean(pooling: dict[str, Any]) -> bool:
    """Tell whether tokens are averaged and nothing else, as folders have said it over the years.

    Examples
    --------
    >>> _is_mean({"pooling_mode": "mean"}), _is_mean({"pooling_mode_mean_tokens": True})
    (True, True)
    >>> _is_mean({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True})
    False
    """
    modes = {name for name, value in pooling.items() if name.startswith("pooling_mode_") and value}
    return pooling.get("pooling_mode") == "mean" or modes == {"pooling_mode_mean_tokens"}


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
