"""A BERT or MPNet folder read with `tokenizers` and `safetensors` alone: ids and tensors.

Why not with transformers: importing it takes twice as long as importing torch, which is longer than
reading and using a small model. What a folder asks for beyond the known is left to it: reading then
gives None, and the caller loads the folder in the usual way. Computes nothing.
"""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from moralscope.models.fastcpu.unpadded import BodyWeights, can_unpad

_DIRECT = {"PreTrainedTokenizerFast", "TokenizersBackend"}  # transformers takes the file as it is
_REBUILT = {"BertTokenizer", "BertTokenizerFast", "MPNetTokenizer", "MPNetTokenizerFast"}
_NO_LIMIT = 10**30  # tokens, as transformers says it


class FolderTokenizer:
    """A folder's ``tokenizer.json`` with the few settings of transformers that our texts need.

    Called as a tokenizer of transformers is, and gives the same ids.
    """

    def __init__(self, inner: Any, settings: Mapping[str, Any]) -> None:
        self._inner = inner
        self._inner.no_padding()
        self.model_max_length = int(settings.get("model_max_length") or _NO_LIMIT)
        tokens = [settings.get(name) for name in ("pad_token", "unk_token")]
        texts = [token.get("content") if isinstance(token, dict) else token for token in tokens]
        self.pad_token_id, self.unk_token_id = (
            inner.token_to_id(text) if text else None for text in texts
        )

    @property
    def backend_tokenizer(self) -> Any:
        """The tokenizer of the `tokenizers` library."""
        return self._inner

    def __call__(
        self,
        texts: Sequence[str],
        others: Sequence[str] | None = None,
        *,
        max_length: int,
        split_special_tokens: bool = False,
        **_: Any,
    ) -> dict[str, list[list[int]]]:
        """Return ``input_ids`` of texts or pairs, the longer side cut first at `max_length`.

        With `split_special_tokens` a text that spells a special token is read as text.
        """
        self._inner.enable_truncation(max_length)
        self._inner.encode_special_tokens = split_special_tokens
        inputs = list(texts) if others is None else list(zip(texts, others, strict=True))
        return {"input_ids": [row.ids for row in self._inner.encode_batch_fast(inputs)]}


def read_tokenizer(folder: Path) -> FolderTokenizer | None:
    """Return a folder's tokenizer; None where transformers might read it otherwise.

    Known are a ``tokenizer.json`` that transformers takes as it is, and one of BERT's kind that
    transformers would build anew with the same settings.
    """
    from tokenizers import Tokenizer

    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        settings = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
        text = (folder / "tokenizer.json").read_text("utf-8")
        file = json.loads(text)
        kind = settings.get("tokenizer_class")
        same = kind in _DIRECT or (kind in _REBUILT and _is_bert(file, settings))
        added = {int(number) for number in settings.get("added_tokens_decoder", {})}
        if (
            same
            and added <= {token["id"] for token in file["added_tokens"]}
            and settings.get("truncation_side", "right") == "right"
        ):
            return FolderTokenizer(Tokenizer.from_str(text), settings)
    return None


def _is_bert(file: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Tell whether both files say the same of lower case, accents and Chinese characters."""
    wanted = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": settings.get("tokenize_chinese_chars", True),
        "strip_accents": settings.get("strip_accents"),
        "lowercase": settings.get("do_lower_case", True),
    }
    kinds = file["model"]["type"], file["pre_tokenizer"]["type"], file["normalizer"]
    return kinds == ("WordPiece", "BertPreTokenizer", wanted)


_held: WeakValueDictionary[tuple[str, int, int, str], Any] = WeakValueDictionary()


def shared_tensors(path: Path) -> dict[str, Any]:
    """Return a file's tensors; one that a model of this process still holds is not read again.

    So an encoder and the experts on it have one matrix of word vectors between them. Tensors are
    parts of the file as the system maps it, and a mapping goes with the last of its tensors:
    matrices, which are laid out anew for products, have one of their own and so leave memory.
    """
    from safetensors import safe_open

    state = path.stat()
    tensors = {}
    with safe_open(path, framework="pt") as stay, safe_open(path, framework="pt") as leave:
        for name in stay.keys():  # noqa: SIM118
            if ".layer." in name and len(leave.get_slice(name).get_shape()) > 1:
                tensors[name] = leave.get_tensor(name)
                continue
            key = (str(path.resolve()), state.st_mtime_ns, state.st_size, name)
            tensor = _held.get(key)
            tensors[name] = _held[key] = stay.get_tensor(name) if tensor is None else tensor
    return tensors


def read_body(folder: Path) -> BodyWeights | None:
    """Return a folder's configuration and tensors; None unless `can_unpad` knows all of it."""
    from safetensors import SafetensorError

    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, SafetensorError):
        config = json.loads((folder / "config.json").read_text("utf-8"))
        prefix = f"{config['model_type'].removeprefix('xlm-')}."  # where a head was trained on it
        tensors = shared_tensors(folder / "model.safetensors")
        named = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
        weights = BodyWeights(config, named)
        if can_unpad(weights):
            return weights
    return None
