"""Names to encoders: of the store, `scripted`, a local folder, a hub id, or a saved edit.

Weights come through the model store, verified whenever they are read. A folder or a hub id is the
user's own choice of weights, pinned by the checksums of its files.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from moralscope.core.errors import InputError, StoreError, UnknownName
from moralscope.core.protocols import Encoder
from moralscope.core.registry import did_you_mean, registry
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.encoders.edited import EditedEncoder, load_edit
from moralscope.models.encoders.pipeline import Backend, Quantisable, TextEncoder
from moralscope.models.encoders.scripted import ScriptedBackend
from moralscope.models.hugging_face import folder_checksum, hub_folder, is_hub_id
from moralscope.models.store import Progress, Store

log = logging.getLogger(__name__)

Build = Callable[[Path, str, str], Backend]


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
        `minilm`, `mpnet`, `use-lite`, `scripted`, a folder, a hub id such as
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


log = logging.getLogger(__name__)


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
    found = load_edit(path)
    base = encoder or found.encoder
    model = load_encoder(base, progress=progress, cached=cached) if isinstance(base, str) else base
    return EditedEncoder(model, found)


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
