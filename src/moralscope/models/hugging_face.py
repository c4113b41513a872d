"""What concerns Hugging Face's hub, folders and libraries, whatever kind of model it is.

A hub id is the user's own choice of weights: its files are fetched by huggingface_hub and pinned by
their own checksums. Safetensors only, no code from a folder.
"""

import logging
import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, StoreError
from moralscope.models.store import Store, sha256_of

# What a body's file may have or lack: heads of other trainings, positions counted anew.
_HEAD = re.compile(r"(^|\.)(pooler|lm_head|cls|classifier|score|qa_outputs|position_ids)(\.|$)")
NEEDED = ("*.json", "*.txt", "*.model", "*.safetensors")


def is_hub_id(name: str) -> bool:
    """Tell whether `name` has the form owner/name.

    Examples
    --------
    >>> is_hub_id("google-t5/t5-small"), is_hub_id("./model")
    (True, False)
    """
    return name.count("/") == 1 and not name.startswith((".", "/", "~"))


def hub_folder(name: str, store: Store, instead: str) -> Path:
    """Fetch the files of a hub id and return their folder; `instead` is what a user can do else."""
    if not store.hub_allowed:
        raise StoreError(
            f"'{name}' is a hub id and the hub is switched off",
            "unset MORALSCOPE_OFFLINE, MORALSCOPE_HUB and HF_HUB_OFFLINE, or give a local folder",
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(NEEDED)))
    except Exception as error:  # the hub client raises many kinds; each means the same to a user
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise StoreError(
            f"'{name}' could not be fetched from the hub ({reason})",
            f"check the id and the network, or {instead}",
        ) from error


def set_up_torch() -> None:
    """Say what has to be said before torch computes: hold little memory, tokenise on all cores."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    # A product is kept for every batch size that ever came, up to 1024: hundreds of megabytes.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")


def set_up_transformers() -> None:
    """Let transformers load models without bars and chatter."""
    set_up_torch()
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    logging.getLogger("transformers").setLevel(logging.ERROR)


def check_names(
    expected: Mapping[str, tuple[int, ...]], actual: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse weights whose tensors are not those that are expected, by name and shape.

    Examples
    --------
    >>> check_names({"a": (2,), "b": (3,)}, {"a": (4,), "c": (1,)})
    Traceback (most recent call last):
    ValueError: missing tensors: b; unexpected tensors: c; tensors of another shape: a
    """
    shaped = [name for name in expected if name in actual and actual[name] != expected[name]]
    _refuse_tensors(expected.keys() - actual.keys(), actual.keys() - expected.keys(), shaped)


def _refuse_tensors(*wrong: Iterable[str]) -> None:
    kinds = ("missing tensors", "unexpected tensors", "tensors of another shape")
    parts = []
    for kind, names in zip(kinds, map(sorted, wrong), strict=True):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            parts.append(f"{kind}: {', '.join(names[:3])}{more}")
    if parts:
        raise ValueError("; ".join(parts))


def load_model(kind: Any, folder: Path, **options: Any) -> Any:
    """Load weights with a class of transformers: no network, no code, and no tensor made up.

    transformers fills tensors that are missing, or of another shape, with random numbers, and
    drops those it does not know. Left out may be only heads, which nobody here reads.

    Raises
    ------
    ValueError
        Tensors are missing, unexpected or of another shape; they are named.
    """
    safe = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    model, info = kind.from_pretrained(
        folder, output_loading_info=True, ignore_mismatched_sizes=True, **safe, **options
    )
    missing, unexpected = (
        [name for name in info[key] if not _HEAD.search(name)]
        for key in ("missing_keys", "unexpected_keys")
    )
    shaped = [row if isinstance(row, str) else row[0] for row in info["mismatched_keys"]]
    _refuse_tensors(set(missing) - set(shaped), unexpected, shaped)
    return model


def load_tokenizer(folder: Path) -> Any:
    """Load a tokenizer with transformers: no network, no code from the folder.

    Raises `ValueError` for one that is not of the `tokenizers` library.
    """
    set_up_transformers()
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(
        str(folder), local_files_only=True, trust_remote_code=False
    )
    if not tokenizer.is_fast:
        raise ValueError("the folder has no fast tokenizer")
    return tokenizer


def folder_checksum(folder: Path) -> str:
    """Return one checksum over every file of a model folder that can decide a row."""
    paths = sorted({path for pattern in NEEDED for path in folder.rglob(pattern)})
    if not any(path.suffix == ".safetensors" for path in paths):
        raise InputError(
            f"{folder} holds no .safetensors weights",
            "save the model as safetensors; pickled weights are never loaded",
        )
    digest = sha256()
    for path in paths:
        digest.update(f"{path.relative_to(folder).as_posix()} {sha256_of(path)}\n".encode())
    return digest.hexdigest()
