"""Names to folders that transformers can load: GGUF files are converted once, and checked.

A conversion lies in the store's home under ``derived/``, named by the checksum of the GGUF file it
was made from, with the checksum of each of its own files beside it. Loads no model for use.
"""

import contextlib
import io
import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from moralscope.core.errors import ChecksumMismatch, InputError, StoreError
from moralscope.models.hugging_face import find_folder, folder_checksum, set_up_transformers
from moralscope.models.language.gguf_header import read_header
from moralscope.models.store import Progress, Store, sha256_of

log = logging.getLogger(__name__)

_LAYOUT = 2  # raise it when a conversion is made otherwise: older ones are then made again
_NOTE = "conversion.json"


def resolve_base(
    name: str, *, store: Store | None = None, progress: Progress | None = None
) -> tuple[Path, str]:
    """Return the folder of a base model and the checksum that names its weights.

    `name` is a generator of the store, a local folder, a GGUF file, or a hub id. The folder holds
    config.json, tokenizer files and safetensors. The checksum of a stored model is that of its GGUF
    file; of a folder, that of its files. `progress` is told the bytes of a pull and a conversion.
    """
    store = store or Store()
    stored = [entry.name for entry in store.entries() if entry.kind == "generator"]
    if name in stored:
        entry = store.entry(name)
        source = _GgufFile(name, store.pull(name, progress) / entry.weights, entry.sha256)
        return _converted(source, store.home, progress), entry.sha256
    if name.endswith(".gguf"):
        file = Path(name).expanduser()
        if not file.is_file():
            raise InputError(f"there is no file {name}", "give the path of a GGUF file")
        read_header(file, "give a whole GGUF file")  # before its gigabytes are summed
        source = _GgufFile(file.stem, file.resolve(), sha256_of(file))
        return _converted(source, store.home, progress), source.sha256
    folder = find_folder(
        name,
        store,
        [*stored, "scripted", "stories", "rules"],
        kind="generator",
        content="config.json and .safetensors",
        also="openai:MODEL, ollama:MODEL, anthropic:MODEL, a folder, a .gguf file",
    )
    return folder, folder_checksum(folder)


@dataclass(frozen=True, slots=True)
class _GgufFile:
    """A GGUF file and what it is called."""

    name: str
    path: Path
    sha256: str


def _converted(entry: _GgufFile, home: Path, progress: Progress | None) -> Path:
    """Return the checked conversion of a GGUF file, making it if it is not there."""
    folder = home / "derived" / entry.sha256
    lock = FileLock(folder.with_name(f"{folder.name}.lock"))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not _is_current(folder):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                log.warning("another process is converting %s: waiting for it", entry.name)
                lock.acquire()
            try:
                if not _is_current(folder):  # else another process made it meanwhile
                    _convert(entry, folder, progress)
            finally:
                lock.release()
    except OSError as error:
        problem = f"{entry.name} could not be converted in {folder.parent} ({error.strerror})"
        remedy = "free some GB there, or set MORALSCOPE_HOME to a folder you may write to"
        raise StoreError(problem, remedy) from error
    note = _note_of(folder)
    for name, checksum in {"model.safetensors": "", **note.get("files", {})}.items():
        path = folder / name
        if note.get("source") != entry.sha256 or not path.is_file() or sha256_of(path) != checksum:
            raise ChecksumMismatch(
                f"{path} is not the file that was converted from {entry.name}",
                f"remove {folder}: it is made again from the GGUF file",
            )
    return folder


def _is_current(folder: Path) -> bool:
    return _note_of(folder).get("layout") == _LAYOUT


def _note_of(folder: Path) -> dict[str, Any]:
    try:
        note = json.loads((folder / _NOTE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def _convert(entry: _GgufFile, folder: Path, progress: Progress | None) -> None:
    """Write the conversion beside its place and move it there whole; a killed one starts anew."""
    label = f"converting {entry.name}"
    size = entry.path.stat().st_size
    if progress:
        progress(label, 0, size)
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    _write_model(entry.path.parent, entry.path.name, part)
    files = {path.name: sha256_of(path) for path in sorted(part.iterdir())}
    note = {"layout": _LAYOUT, "name": entry.name, "source": entry.sha256, "files": files}
    (part / _NOTE).write_text(json.dumps(note, indent=1), "utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    os.replace(part, folder)
    if progress:
        progress(label, size, size)


def _write_model(source: Path, weights: str, folder: Path) -> None:
    """Save configuration, tokenizer and weights of a GGUF file.

    `save_pretrained` refuses a model that came from GGUF, so the state is written by hand, in half
    precision: the weights had four bits. Against float32, on one short text, no logit of smollm2
    moved by more than 0.034 (of 34) nor of gemma3-270m by more than 0.016; the file is half.
    """
    import torch
    from safetensors.torch import save_file
    from tokenizers.processors import TemplateProcessing
    from transformers import AutoModelForCausalLM, AutoTokenizer

    header = read_header(source / weights)  # first: a damaged file is told here, in one line
    set_up_transformers()
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # a bar that cannot be switched off
            model = AutoModelForCausalLM.from_pretrained(
                source, gguf_file=weights, dtype=torch.float32, local_files_only=True
            )
    except (ValueError, KeyError, NotImplementedError, RuntimeError) as error:
        kind = header.values.get("general.architecture")
        problem = f"{source / weights} cannot be read (architecture '{kind}')"
        remedy = "serve it with llama.cpp or Ollama and name it as openai:MODEL or ollama:MODEL"
        raise InputError(problem, remedy) from error
    # In place, matrix by matrix: a second copy may not fit into memory. The model's own `half`
    # refuses whatever came from a quantised file, also when it is in 32 bits by now.
    torch.nn.Module.half(model)
    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        state.pop("lm_head.weight", None)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    model.config.dtype = torch.float16
    del model.config.quantization_config
    model.config.architectures = [type(model).__name__]  # servers and lm-eval ask for it
    model.config.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=weights, local_files_only=True)
    _check_words(tokenizer)
    _name_ends(tokenizer, header.values)
    if header.values.get("tokenizer.ggml.add_bos_token"):  # transformers does not read that field
        begin = tokenizer.bos_token
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{begin} $A",
            pair=f"{begin} $A $B",
            special_tokens=[(begin, tokenizer.bos_token_id)],
        )
    tokenizer.save_pretrained(folder)


def _check_words(tokenizer: Any) -> None:
    """Refuse a tokenizer that reads words of its vocabulary in pieces: 5.17 makes gemma's so."""
    words = [w for w in tokenizer.get_vocab() if len(w) > 8 and w[0] in "▁Ġ" and w[1:].isascii()]
    if 2 * sum(len(tokenizer.tokenize(f"a {w[1:]}")) > 2 for w in words[:100]) > len(words[:100]):
        raise InputError("transformers cuts its words into pieces", "pip install -U transformers")


def _name_ends(tokenizer: Any, stored: Mapping[str, Any]) -> None:
    """Take the tokens that begin, end and fill a text from the file.

    Some releases of transformers (5.17) call the first one the end too: a model that is trained
    with such a tokenizer never learns to stop.
    """
    for kind, field in (("bos", "bos"), ("eos", "eos"), ("pad", "padding")):
        token = stored.get(f"tokenizer.ggml.{field}_token_id")
        if token is not None:
            setattr(tokenizer, f"{kind}_token", tokenizer.convert_ids_to_tokens(int(token)))
