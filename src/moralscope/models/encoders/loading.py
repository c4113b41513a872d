"""Names to encoders: of the store, `scripted`, a local folder, a hub id, or a saved edit.

Weights come through the model store, verified whenever they are read. A folder or a hub id is the
user's own choice of weights, pinned by the checksums of its files.
"""

import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from moralscope.core.errors import InputError, StoreError
from moralscope.core.protocols import Encoder
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.encoders.edited import EditedEncoder, load_edit
from moralscope.models.encoders.pipeline import Backend, LazyBackend, Quantisable, TextEncoder
from moralscope.models.encoders.scripted import ScriptedBackend
from moralscope.models.hugging_face import find_folder, folder_checksum
from moralscope.models.store import Progress, Store

log = logging.getLogger(__name__)


def load_encoder(
    name: str,
    progress: Progress | None = None,
    *,
    store: Store | None = None,
    cached: bool = True,
    eight_bits: bool = False,
) -> Encoder:
    """Return the encoder that `name` means, fetching its weights if they are not there yet.

    Parameters
    ----------
    name
        `minilm`, `mpnet`, `use-lite`, `use-multilingual`, `scripted`, a folder, a hub id such as
        ``sentence-transformers/all-MiniLM-L12-v2``, or an edit that was saved (a .safetensors file
        of `edit --save`).
    progress
        Told the bytes while weights are fetched.
    store
        Where weights and cached rows lie; the user's own by default.
    cached
        Keep rows on disk so that the same text is never computed twice.
    eight_bits
        Compute in 8 bits where that is known (sentence-transformers on a CPU; on a GPU in 16):
        about twice as fast, rows nearly the same, kept apart from the exact ones.

    Examples
    --------
    >>> load_encoder("scripted").encode(["kill time", "kill people"]).shape
    (2, 64)
    """
    if name == ScriptedBackend.name:
        return TextEncoder(ScriptedBackend())
    if name.lower().endswith(".safetensors"):
        return load_edited(Path(name).expanduser(), progress=progress, cached=cached)
    store = store or Store()
    backend = _backend(name, store, progress, eight_bits)
    folder = store.home / "cache" / "embeddings"
    exact = backend.arithmetic == "float32"
    key = backend.checksum if exact else f"{backend.arithmetic}-{backend.checksum}"
    cache = EmbeddingCache(folder, key, backend.dimension) if cached else None
    return TextEncoder(backend, cache)


def encoder_names(store: Store | None = None) -> list[str]:
    """Return the names that `load_encoder` knows: encoders of the catalogue, and `scripted`."""
    entries = (store or Store()).entries()
    return [*(entry.name for entry in entries if entry.kind == "encoder"), ScriptedBackend.name]


def _backend(
    name: str, store: Store, progress: Progress | None, eight_bits: bool
) -> Backend | LazyBackend:
    """Return what `name` means; a stored encoder is fetched, and verified and loaded when needed.

    One whose dimension the catalogue does not say is loaded at once.
    """
    names = encoder_names(store)
    if name in names:
        entry = store.entry(name)
        store.fetch(entry.name, progress)
        module, _, kind = _READERS.get(entry.reader, "").partition(":")

        def load() -> Backend:
            about = store.verify(entry.name), entry.name, entry.sha256
            if not module:
                return _read_folder(*about, eight_bits)
            backend: Backend = getattr(import_module(module), kind)(*about)
            return backend

        if not entry.dimension or not entry.longest:
            return load()
        return LazyBackend(
            name=entry.name,
            checksum=entry.sha256,
            dimension=entry.dimension,
            arithmetic=_light_arithmetic() if eight_bits and not module else "float32",
            longest=entry.longest,
            load=load,
        )
    content = "a sentence-transformers model"
    folder = find_folder(name, store, names, kind="encoder", content=content)
    label = folder.resolve().name if Path(name).expanduser().is_dir() else name
    return _read_folder(folder, label, folder_checksum(folder), eight_bits)


def _light_arithmetic() -> str:
    """Return what a transformer will compute in here where fewer bits are asked for."""
    import torch

    from moralscope.models.encoders.sentence_transformer import half_precision
    from moralscope.models.fastcpu.linear import has_int8

    if torch.cuda.is_available():
        return half_precision()
    return "int8" if has_int8() and not torch.backends.mps.is_available() else "float32"


def _read_folder(folder: Path, name: str, checksum: str, eight_bits: bool) -> Backend:
    from moralscope.models.encoders.mean_pooling import plain_backend

    backend: Backend | None = plain_backend(folder, name, checksum)
    if backend is None:
        from moralscope.models.encoders.sentence_transformer import SentenceTransformerBackend

        backend = SentenceTransformerBackend(folder, name, checksum)
    if eight_bits and isinstance(backend, Quantisable):
        backend.quantise()
    return backend


# What the catalogue's `reader` means, but for sentence-transformers' folders: stored encoders need
# no line of code.
_READERS = {
    "use-lite": "moralscope.models.encoders.use_lite:UseLiteBackend",
    "onnx-text": "moralscope.models.encoders.onnx_text:OnnxTextBackend",
}


def load_edited(
    path: Path,
    encoder: str | Encoder | None = None,
    *,
    progress: Progress | None = None,
    cached: bool = True,
) -> EditedEncoder:
    """Return the encoder of a saved edit; weights other than those it was made for are refused.

    Without an `encoder` the one that the file names is loaded.
    """
    edit = load_edit(path)
    base = encoder or edit.encoder
    model = load_encoder(base, progress=progress, cached=cached) if isinstance(base, str) else base
    return EditedEncoder(model, edit)


def load_encoders(
    names: Sequence[str], progress: Progress | None, problems: list[str]
) -> list[Encoder]:
    """Load several; one that cannot be fetched is left out and told in `problems`."""
    if not names:
        raise InputError("no encoder was named", "name some, e.g. minilm,mpnet")
    models: list[Encoder] = []
    for name in names:
        try:
            models.append(load_encoder(name, progress))
        except StoreError as error:
            if len(names) == 1:
                raise
            problems.append(f"{name} was left out: {error}")
            log.warning(problems[-1])
    if not models:
        raise StoreError("none of the encoders could be loaded", "see the lines above")
    return models
