"""Names to word vectors: a name of the store, `scripted`, or a file of the user's.

A file that cannot be mapped as it lies (text, word2vec binary) is converted once into the
store's cache and mapped from there; the cache is keyed by the sha256 of the file.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np

from moralscope.core.errors import InputError, MissingExtra, UnknownName
from moralscope.core.protocols import WordVectors
from moralscope.core.registry import registry
from moralscope.models.store import Progress, Store, sha256_of
from moralscope.words.vectors.layout import Table, map_table, write_table
from moralscope.words.vectors.readers import read_chunks
from moralscope.words.vectors.scripted import NAME as SCRIPTED
from moralscope.words.vectors.scripted import scripted_vectors
from moralscope.words.vectors.table import TableVectors

log = logging.getLogger(__name__)

_KIND = "word vectors"
_CONVERTER = 1  # raise it when the conversion changes, so that no old cache is read
_BLOCK = 65_536
Build = Callable[[Path, str, Store], Table]


def load_vectors(
    name: str,
    *,
    case: str = "exact",
    store: Store | None = None,
    progress: Progress | None = None,
) -> WordVectors:
    """Return the word vectors that `name` means, fetching them if they are not there yet.

    Parameters
    ----------
    name
        `googlenews-26k`, `glove-50`, `scripted`, or a file: word2vec text or binary, fastText
        ``.vec``, GloVe text (each also gzipped), or safetensors as `save_vectors` writes it.
    case
        `exact`: words are looked up as written. `lower`: they are lower-cased first.
    store
        Where weights and converted files lie; the user's own by default.

    Examples
    --------
    >>> load_vectors("scripted").vectors(["joy", "war"]).shape
    (2, 32)
    """
    if name == SCRIPTED:
        return scripted_vectors(case=case)
    store = store or Store()
    if name in registry.names(_KIND):
        build: Build = registry.get(_KIND, name)
        folder, entry = store.ensure(name, progress), store.entry(name)
        matrix, words = build(folder / entry.weights, entry.sha256, store)
        return TableVectors(name, entry.sha256, matrix, words, case)
    path = Path(name).expanduser()
    if not path.is_file():
        raise _unknown(name, path)
    checksum = _checksum(path)
    matrix, words = _own_file(path, checksum, store)
    return TableVectors(path.name, checksum, matrix, words, case)


def _unknown(name: str, path: Path) -> InputError:
    if "/" in name or path.suffix or path.exists():
        return InputError(f"there is no file {name}", "give a file of word vectors")
    try:
        registry.get(_KIND, name)
    except UnknownName as error:
        return UnknownName(error.problem, f"{error.remedy}, or a file of word vectors")
    raise AssertionError  # names() and get() read the same shelf


def _checksum(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror})", "give a file you may read"
        ) from error


def _own_file(path: Path, checksum: str, store: Store) -> Table:
    if path.suffix != ".safetensors":
        return _converted(path, checksum, store)
    matrix, words = map_table(path)
    for start in range(0, len(matrix), _BLOCK):
        sound = np.isfinite(matrix[start : start + _BLOCK]).all(axis=1)
        if not sound.all():
            word = words[start + int(sound.argmin())]
            raise InputError(
                f"{path} holds a number that is not finite for {word!r}",
                "train or export the vectors again",
            )
    return matrix, words


def _converted(path: Path, checksum: str, store: Store) -> Table:
    """Map the cached conversion of a file, making it first where it is not there or broken."""
    cached = store.home / "cache" / "vectors" / f"{checksum}-{_CONVERTER}.safetensors"
    try:
        return map_table(cached)
    except OSError:
        log.debug("converting %s once into %s", path, cached)
    except InputError:
        log.warning("%s is broken and is made again", cached)
    write_table(read_chunks(path), cached)
    return map_table(cached)


def _glove_50(path: Path, _checksum: str, _store: Store) -> Table:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra("glove-50 needs pyarrow", "run 'pip install pyarrow'") from error
    index = parquet.read_table(path.with_name("glove_6B_index.parquet"))
    return np.load(path, mmap_mode="r", allow_pickle=False), index.column("index").to_pylist()


def _scripted(_path: Path, _checksum: str, _store: Store) -> Table:
    raise AssertionError  # needs no file: load_vectors answers for it


registry.add(_KIND, "googlenews-26k", _converted)
registry.add(_KIND, "glove-50", _glove_50)
registry.add(_KIND, SCRIPTED, _scripted)
