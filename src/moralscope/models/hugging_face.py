"""What concerns Hugging Face's hub, folders and libraries, whatever kind of model it is.

A hub id is the user's own choice of weights: its files are fetched by huggingface_hub and pinned by
their own checksums. Safetensors only, no code from a folder.
"""

import logging
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, StoreError
from moralscope.models.store import Store, sha256_of

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


def load_tokenizer(folder: Path) -> Any:
    """Load a tokenizer with transformers: no network, no code from the folder.

    Raises `ValueError` for one that is not of the `tokenizers` library.
    """
    set_up_transformers()
    from transformers import AutoTokenizer

    found = AutoTokenizer.from_pretrained(
        str(folder), local_files_only=True, trust_remote_code=False
    )
    if not found.is_fast:
        raise ValueError("the folder has no fast tokenizer")
    return found


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
