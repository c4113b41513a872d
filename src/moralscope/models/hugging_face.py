"""What concerns Hugging Face's hub, folders and libraries, whatever kind of model it is.

A hub id is the user's own choice of weights: its files are fetched by huggingface_hub and pinned by
their own checksums. Safetensors only, no code from a folder, whose files are looked at before a
library reads them: `modules.json` and the headers of safetensors, not the weights.
"""

import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError, StoreError, UnknownName, error_line
from moralscope.core.registry import did_you_mean
from moralscope.models.store import Store, sha256_of

# What a body's file may have or lack: heads of other trainings, positions counted anew.
_HEAD = re.compile(r"(^|\.)(pooler|lm_head|cls|classifier|score|qa_outputs|position_ids)(\.|$)")
NEEDED = ("*.json", "*.txt", "*.model", "*.safetensors")
_MAX_HEADER = 100_000_000  # bytes, as the library has it
_MAX_CONFIG = 10_000_000  # bytes
_LAYERS = 1_000  # more than any model has: some share the weights of all their layers
_LAYER_COUNT = re.compile(r"_layers?$")
_WIDTHS = ("vocab_size", "hidden_size", "intermediate_size", "d_model", "d_ff")
_LOOKED_AT = 4096  # bytes of a tensor
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_AGAIN = "copy the folder again, or pull the model again"
_OWN = "sentence_transformers."


@contextmanager
def loading_errors(folder: str, kind: str) -> Iterator[None]:
    """Refuse a folder in one line: what a library raises means that it holds no such model."""
    try:
        yield
    except Exception as error:
        raise StoreError(
            f"{folder} cannot be loaded as a {kind} ({error_line(error)})",
            "give a folder with config.json, tokenizer files and model.safetensors",
        ) from error


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
        raise StoreError(
            f"'{name}' could not be fetched from the hub ({error_line(error, 160)})",
            f"check the id and the network, or {instead}",
        ) from error


def find_folder(
    name: str,
    store: Store,
    known: Sequence[str],
    *,
    kind: str,
    content: str,
    also: str = "a local folder",
) -> Path:
    """Return the folder of a model that is not in the store: a local one, or that of a hub id.

    Messages say which names are `known`, what `kind` of model it is, what a folder should have as
    `content`, and what a name may mean `also`.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if is_hub_id(name):
        return hub_folder(name, store, f"use one of {', '.join(known)}")
    if "/" in name:
        raise InputError(f"there is no folder {name}", f"give a folder with {content}")
    remedy = f"{did_you_mean(name, known)}, or {also}, or a hub id (owner/name)"
    raise UnknownName(f"there is no {kind} '{name}'", remedy)


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
    drops those it does not know. Left out may be only heads, which nobody here reads; a
    `ValueError` names other tensors that are missing, unexpected or of another shape.
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
    paths = check_files(folder)
    if not any(path.suffix == ".safetensors" for path in paths):
        raise InputError(
            f"{folder} holds no .safetensors weights",
            "save the model as safetensors; pickled weights are never loaded",
        )
    digest = sha256()
    for path in paths:
        digest.update(f"{path.relative_to(folder).as_posix()} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def check_modules(folder: Path) -> None:
    """Refuse a `modules.json` that is damaged or names other code than sentence-transformers'.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = Path(name, "modules.json").write_text('[{"type": "os.system", "path": ""}]')
    ...     check_modules(Path(name))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    moralscope.core.errors.StoreError: .../modules.json names the module 'os.system'; ...
    """
    path = folder / "modules.json"
    if not path.exists():
        return
    try:
        modules: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or "it is not JSON"
        raise StoreError(f"{path} is damaged ({why})", _AGAIN) from error
    if not isinstance(modules, list) or not modules:
        raise StoreError(f"{path} is damaged (it lists no modules)", _AGAIN)
    for number, module in enumerate(modules, 1):
        known = module if isinstance(module, dict) else {}
        kind, inner = known.get("type"), known.get("path")
        if not isinstance(kind, str) or not isinstance(inner, str):
            raise StoreError(f"{path} is damaged (module {number} has no type or no path)", _AGAIN)
        if not kind.startswith(_OWN):
            problem = f"{path} names the module '{kind[:80]}'"
            raise StoreError(problem, "give a folder whose modules are sentence-transformers' own")
        if Path(inner).is_absolute() or ".." in Path(inner).parts:
            raise StoreError(f"{path} names a folder outside of its own", _AGAIN)


def check_files(folder: Path) -> list[Path]:
    """Refuse a model folder that would stall or exhaust who loads it; return the files to load.

    Pipes and devices never end, and a library builds as many layers as `config.json` says before
    it looks for their weights. Of the weights the start of each tensor is looked at.
    """
    paths = sorted({path for pattern in NEEDED for path in folder.rglob(pattern)})
    odd = next((path for path in paths if not path.is_file()), None)
    if odd is not None:
        raise StoreError(f"{odd} is not a regular file", "give a folder of plain files")
    names, longest, is_blank = 0, 0, True
    for path in (path for path in paths if path.suffix == ".safetensors"):
        header, why = _read_header(path)
        if why:
            raise StoreError(f"{path} is damaged ({why})", _AGAIN)
        names += len(header)
        longest = max([longest, *(size for row in header.values() for size in row["shape"])])
        blank, broken = _look_at_values(path, header)
        is_blank &= blank
        if broken:
            raise StoreError(f"{path} is damaged (NaN in the tensor {broken[:80]})", _AGAIN)
    if names and is_blank:
        text = "all weights in %s seem to be zero: what they compute means nothing"
        logging.getLogger("moralscope").warning(text, folder)
    for path in (path for path in paths if path.name == "config.json"):
        try:
            config = json.loads(path.read_bytes()) if path.stat().st_size < _MAX_CONFIG else None
        except (OSError, ValueError, RecursionError):
            config = None
        if not isinstance(config, dict):
            raise StoreError(f"{path} is damaged (it is not JSON of a model)", _AGAIN)
        for key, value in config.items():
            is_count = _LAYER_COUNT.search(key) is not None
            most = max(_LAYERS, names) if is_count else longest
            if names and (is_count or key in _WIDTHS) and isinstance(value, int) and value > most:
                problem = f"{path} says {key} {value:,}, its weights have room for {most:,}"
                raise StoreError(problem, _AGAIN)
    return paths


def check_safetensors(folder: Path) -> None:
    """Refuse a folder with a safetensors file whose header or length is damaged."""
    for path in sorted(folder.rglob("*.safetensors")):
        _, why = _read_header(path)
        if why:
            raise StoreError(f"{path} is damaged ({why})", _AGAIN)


def _read_header(path: Path) -> tuple[dict[str, Any], str]:
    """Return what a safetensors file says of its tensors, or why it cannot be used."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= min(_MAX_HEADER, size - 8):
                return {}, "it does not begin as safetensors do"
            header = json.loads(stream.read(length))
        rows = {name: row for name, row in header.items() if name[:2] != "__"}
        end = 8 + length + max((row["data_offsets"][1] for row in rows.values()), default=0)
        for row in rows.values():
            row["data_offsets"] = [8 + length + offset for offset in row["data_offsets"]]
            row["shape"] = [int(side) for side in row["shape"]]
    except OSError as error:
        return {}, error.strerror or "it cannot be read"
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return {}, "its header cannot be read"
    return rows, "" if end == size else f"it has {size:,} bytes, its header says {end:,}"


def _look_at_values(path: Path, header: Mapping[str, Any]) -> tuple[bool, str]:
    """Tell whether the tensors begin with zeros, all of them, and name one that has NaN."""
    is_blank = True
    with path.open("rb") as stream:
        for name, row in header.items():
            kind = _KINDS.get(row.get("dtype"))
            if kind is None:
                is_blank = False
                continue
            start, end = row["data_offsets"]
            stream.seek(start)
            data = stream.read(min(_LOOKED_AT, end - start))
            values = np.frombuffer(data[: len(data) // 8 * 8], kind)
            if row["dtype"] == "BF16":  # the upper half of a float32
                values = (values.astype(np.uint32) << 16).view(np.float32)
            if np.isnan(values).any():
                return False, name
            is_blank &= not values.any() or len(row["shape"]) < 2
    return is_blank, ""
