"""Names to word vectors: a name of the store, `scripted`, or a file of the user's.

A file that cannot be mapped as it lies (text, word2vec binary) is converted once into the
store's cache and mapped from there; the cache is keyed by the sha256 of the file.

Our layout is one safetensors file, written as a stream and mapped, never copied whole: a tensor
``vectors`` (words x dimension; F32, F16 or F64) and a tensor ``words`` (U8), the UTF-8 text of the
words, one a line, in the order of the rows. Any safetensors library can write it. The conversion
cache has the same layout.
"""

import json
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError, StoreError, UnknownName
from moralscope.core.extras import require_extra
from moralscope.core.protocols import WordVectors
from moralscope.core.registry import did_you_mean
from moralscope.io.files import half_file
from moralscope.models.store import Progress, Store, sha256_of
from moralscope.words.vectors.readers import Chunk, read_chunks
from moralscope.words.vectors.table import SCRIPTED, TableVectors, scripted_vectors

log = logging.getLogger(__name__)

_KIND = "word vectors"
_CONVERTER = 1  # raise it when the conversion changes, so that no old cache is read
_BLOCK = 65_536
_HEADER = 1024  # bytes kept for the header, which is written last
_MAX_HEADER = 1 << 20
_FLOATS = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
_REMEDY = (
    "write a tensor 'vectors' (words x dimension) and a tensor 'words' (U8, UTF-8, one word per "
    "line), e.g. with moralscope.words.vectors.save_vectors"
)
Table = tuple[NDArray[np.floating[Any]], list[str]]
Build = Callable[[Path, str, Store], Table]


def load_vectors(
    name: str, *, case: str = "exact", store: Store | None = None, progress: Progress | None = None
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
    """
    if name == SCRIPTED:
        return scripted_vectors(case=case)
    store = store or Store()
    if name in _BUILDS:
        build = _BUILDS[name]
        folder, entry = store.ensure(name, progress), store.entry(name)
        matrix, words = build(folder / entry.weights, entry.sha256, store)
        return TableVectors(name, entry.sha256, matrix, words, case)
    path = Path(name).expanduser()
    if not path.is_file():
        if "/" in name or path.suffix or path.exists():
            raise InputError(f"there is no file {name}", "give a file of word vectors")
        remedy = f"{did_you_mean(name, (*_BUILDS, SCRIPTED))}, or a file of word vectors"
        raise UnknownName(f"there is no {_KIND} '{name}'", remedy)
    try:
        checksum = sha256_of(path)
    except OSError as error:
        problem = f"{path} cannot be read ({error.strerror})"
        raise InputError(problem, "give a file you may read") from error
    if path.suffix != ".safetensors":
        matrix, words = _converted(path, checksum, store)
        return TableVectors(path.name, checksum, matrix, words, case)
    matrix, words = map_table(path)
    for start in range(0, len(matrix), _BLOCK):
        sound = np.isfinite(matrix[start : start + _BLOCK]).all(axis=1)
        if not sound.all():
            word = words[start + int(sound.argmin())]
            raise InputError(
                f"{path} holds a number that is not finite for {word!r}",
                "train or export the vectors again",
            )
    return TableVectors(path.name, checksum, matrix, words, case)


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
    require_extra("batch", "glove-50")
    from pyarrow import parquet

    index = parquet.read_table(path.with_name("glove_6B_index.parquet"))
    return np.load(path, mmap_mode="r", allow_pickle=False), index.column("index").to_pylist()


_BUILDS: dict[str, Build] = {"googlenews-26k": _converted, "glove-50": _glove_50}


def save_vectors(vectors: WordVectors, path: Path) -> None:
    """Write vectors as safetensors that `load_vectors` maps; whole or not at all."""
    broken = next((word for word in vectors.words if not word or "\n" in word), None)
    if broken is not None:
        raise InputError(f"{vectors.name} holds the word {broken!r}", "words are one line of text")
    words = list(vectors.words)
    blocks = (words[start : start + _BLOCK] for start in range(0, len(words), _BLOCK))
    write_table(((block, vectors.vectors(block)) for block in blocks), path)


def write_table(chunks: Iterable[Chunk], path: Path) -> None:
    """Write chunks of words and rows, holding one chunk and the words in memory."""
    words: list[str] = []
    dimension = 0
    remedy = "free some space, or choose another place (MORALSCOPE_HOME for the cache)"
    with half_file(path, remedy, StoreError) as half:
        path.parent.mkdir(parents=True, exist_ok=True)
        with half.open("wb") as stream:
            stream.seek(8 + _HEADER)
            for block, rows in chunks:
                words += block
                dimension = rows.shape[1]
                stream.write(np.ascontiguousarray(rows, dtype="<f4").data)
            text = "\n".join(words).encode()
            stream.write(text)
            stream.seek(0)
            end = len(words) * dimension * 4
            shape, ends = [len(words), dimension], [end, end + len(text)]
            header = {
                "__metadata__": {"format": "moralscope.vectors/1"},
                "vectors": {"dtype": "F32", "shape": shape, "data_offsets": [0, end]},
                "words": {"dtype": "U8", "shape": [len(text)], "data_offsets": ends},
            }
            stream.write(_HEADER.to_bytes(8, "little"))
            stream.write(json.dumps(header).encode().ljust(_HEADER))
            stream.flush()
            os.fsync(stream.fileno())


def map_table(path: Path) -> Table:
    """Map the matrix and read the words of a safetensors file in our layout."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= min(_MAX_HEADER, size - 8):
            raise InputError(f"{path} is not a safetensors file", _REMEDY)
        (dtype, shape, start), (text_start, text_end) = _parse_header(stream.read(length), path)
        base = 8 + length
        if base + max(text_end, start + dtype.itemsize * shape[0] * shape[1]) > size:
            raise InputError(f"{path} is truncated", "copy or download it again")
        stream.seek(base + text_start)
        text = stream.read(text_end - text_start)
    try:
        words = text.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} word {line} is not valid UTF-8", _REMEDY) from error
    if "" in words:
        raise InputError(f"{path} word {words.index('') + 1} is empty", _REMEDY)
    if len(words) != shape[0]:
        raise InputError(f"{path} has {shape[0]} rows for {len(words)} words", _REMEDY)
    return np.memmap(path, dtype, "r", offset=base + start, shape=shape), words


def _parse_header(
    header: bytes, path: Path
) -> tuple[tuple[np.dtype[Any], tuple[int, int], int], tuple[int, int]]:
    """Return type, shape and start of `vectors`, and the ends of `words`."""
    try:
        tensors = json.loads(header)
        vectors, words = tensors["vectors"], tensors["words"]
        dtype = np.dtype(_FLOATS[vectors["dtype"]])
        count, dimension = (int(side) for side in vectors["shape"])
        start, end = (int(offset) for offset in vectors["data_offsets"])
        text_start, text_end = (int(offset) for offset in words["data_offsets"])
        sound = end - start == count * dimension * dtype.itemsize and words["dtype"] == "U8"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} does not hold word vectors in our layout", _REMEDY) from error
    if not sound or min(start, text_start, text_end - text_start) < 0:
        raise InputError(f"{path} has a header that contradicts itself", _REMEDY)
    if count < 1 or dimension < 1:
        raise InputError(f"{path} holds no words", _REMEDY)
    return (dtype, (count, dimension), start), (text_start, text_end)
