"""Names to encoders: a name of the store, `scripted`, a local folder, or a hub id.

Weights come through the model store, verified on every load. A hub id is the user's own
choice of weights: its files are fetched by huggingface_hub and pinned by their own checksums.
"""

import logging
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.protocols import Encoder
from moralscope.core.registry import did_you_mean, registry
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.encoders.pipeline import Backend, Quantisable, TextEncoder
from moralscope.models.encoders.scripted import ScriptedBackend
from moralscope.models.hub import NEEDED, hub_folder, is_hub_id
from moralscope.models.store import Progress, Store, sha256_of

log = logging.getLogger(__name__)

Build = Callable[[Path, str, str], Backend]


def load_encoder(
    name: str,
    *,
    store: Store | None = None,
    cached: bool = True,
    eight_bits: bool = False,
    progress: Progress | None = None,
) -> Encoder:
    """Return the encoder that `name` means, fetching its weights if they are not there yet.

    Parameters
    ----------
    name
        `minilm`, `mpnet`, `use-lite`, `scripted`, a folder, or a hub id such as
        ``sentence-transformers/all-MiniLM-L12-v2``.
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
    store = store or Store()
    backend = _backend(name, store, progress)
    lighter = eight_bits and isinstance(backend, Quantisable) and backend.quantise()
    arithmetic = getattr(backend, "arithmetic", "int8")
    folder = store.home / "cache" / "embeddings"
    key = f"{arithmetic}-{backend.checksum}" if lighter else backend.checksum
    cache = EmbeddingCache(folder, key, backend.dimension) if cached else None
    return TextEncoder(backend, cache)


def _backend(name: str, store: Store, progress: Progress | None) -> Backend:
    if name in registry.names("encoder"):
        build: Build = registry.get("encoder", name)
        folder = store.ensure(name, progress)
        return build(folder, name, store.entry(name).sha256)
    path = Path(name).expanduser()
    if path.is_dir():
        return _sentence_transformer(path, path.resolve().name, folder_checksum(path))
    if is_hub_id(name):
        folder = hub_folder(name, store, f"use one of {', '.join(registry.names('encoder'))}")
        return _sentence_transformer(folder, name, folder_checksum(folder))
    if "/" in name:
        raise InputError(
            f"there is no folder {name}", "give a folder with a sentence-transformers model"
        )
    raise UnknownName(
        f"there is no encoder '{name}'",
        f"{did_you_mean(name, registry.names('encoder'))}, or a local folder, "
        "or a hub id (owner/name)",
    )


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


def _sentence_transformer(folder: Path, name: str, checksum: str) -> Backend:
    from moralscope.models.encoders.mean_pooling import plain_backend

    plain = plain_backend(folder, name, checksum)
    if plain is not None:
        return plain
    from moralscope.models.encoders.sentence_transformer import SentenceTransformerBackend

    return SentenceTransformerBackend(folder, name, checksum)


def _use_lite(folder: Path, name: str, checksum: str) -> Backend:
    from moralscope.models.encoders.use_lite import UseLiteBackend

    return UseLiteBackend(folder, name, checksum)


registry.add("encoder", "minilm", _sentence_transformer)
registry.add("encoder", "mpnet", _sentence_transformer)
registry.add("encoder", "use-lite", _use_lite)
registry.add("encoder", ScriptedBackend.name, ScriptedBackend)
