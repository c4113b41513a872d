"""Word vectors in one safetensors file, written as a stream and mapped, never copied whole.

The layout: a tensor ``vectors`` (words x dimension; F32, F16 or F64) and a tensor ``words`` (U8),
the UTF-8 text of the words, one a line, in the order of the rows. Nothing else is needed, and
any safetensors library can write it. The conversion cache has the same layout.
"""

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError, StoreError
from moralscope.core.protocols import Matrix, WordVectors

Chunk = tuple[list[str], Matrix]
Table = tuple[NDArray[np.floating[Any]], list[str]]

_HEADER = 1024  # bytes kept for the header, which is written last
_MAX_HEADER = 1 << 20
_BLOCK = 4096
_FLOATS = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
_REMEDY = (
    "write a tensor 'vectors' (words x dimension) and a tensor 'words' (U8, UTF-8, one word a "
    "line), e.g. with moralscope.words.vectors.save_vectors"
)


def save_vectors(vectors: WordVectors, path: Path) -> None:
    """Write vectors as safetensors that `load_vectors` maps; whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from moralscope.words.vectors import load_vectors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.safetensors"
    ...     save_vectors(load_vectors("scripted"), file)
    ...     load_vectors(str(file)).dimension
    32
    """
    broken = next((word for word in vectors.words if not word or "\n" in word), None)
    if broken is not None:
        raise InputError(f"{vectors.name} holds the word {broken!r}", "words are one line of text")
    write_table(_chunks(vectors), path)


def _chunks(vectors: WordVectors) -> Iterator[Chunk]:
    words = list(vectors.words)
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        yield block, vectors.vectors(block)


def write_table(chunks: Iterable[Chunk], path: Path) -> None:
    """Write chunks of words and rows, holding one chunk and the words in memory."""
    half = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    words: list[str] = []
    dimension = 0
    try:
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
            stream.write(_header(len(words), dimension, len(text)))
            stream.flush()
            os.fsync(stream.fileno())
        half.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path} could not be written ({error.strerror})",
            "free some space, or choose another place (MORALSCOPE_HOME for the cache)",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)


def _header(count: int, dimension: int, text_bytes: int) -> bytes:
    end = count * dimension * 4
    header = {
        "__metadata__": {"format": "moralscope.vectors/1"},
        "vectors": {"dtype": "F32", "shape": [count, dimension], "data_offsets": [0, end]},
        "words": {"dtype": "U8", "shape": [text_bytes], "data_offsets": [end, end + text_bytes]},
    }
    return _HEADER.to_bytes(8, "little") + json.dumps(header).encode().ljust(_HEADER)


def map_table(path: Path) -> Table:
    """Map the matrix and read the words of a safetensors file in our layout."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= min(_MAX_HEADER, size - 8):
            raise InputError(f"{path} is not a safetensors file", _REMEDY)
        (dtype, shape, start), (text_start, text_end) = _parse(stream.read(length), path)
        base = 8 + length
        if base + max(text_end, start + dtype.itemsize * shape[0] * shape[1]) > size:
            raise InputError(f"{path} is truncated", "copy or download it again")
        stream.seek(base + text_start)
        words = _words(stream.read(text_end - text_start), path)
    if len(words) != shape[0]:
        raise InputError(f"{path} has {shape[0]} rows for {len(words)} words", _REMEDY)
    return np.memmap(path, dtype, "r", offset=base + start, shape=shape), words


Place = tuple[np.dtype[Any], tuple[int, int], int]


def _parse(header: bytes, path: Path) -> tuple[Place, tuple[int, int]]:
    """Return type, shape and start of `vectors`, and the ends of `words`."""
    try:
        tensors = json.loads(header)
        vectors, words = tensors["vectors"], tensors["words"]
        dtype = np.dtype(_FLOATS[vectors["dtype"]])
        count, dimension = (int(side) for side in vectors["shape"])
        start, end = (int(place) for place in vectors["data_offsets"])
        text_start, text_end = (int(place) for place in words["data_offsets"])
        sound = end - start == count * dimension * dtype.itemsize and words["dtype"] == "U8"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} does not hold word vectors in our layout", _REMEDY) from error
    if not sound or min(start, text_start, text_end - text_start) < 0:
        raise InputError(f"{path} has a header that contradicts itself", _REMEDY)
    if count < 1 or dimension < 1:
        raise InputError(f"{path} holds no words", _REMEDY)
    return (dtype, (count, dimension), start), (text_start, text_end)


def _words(text: bytes, path: Path) -> list[str]:
    try:
        words = text.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} word {line} is not valid UTF-8", _REMEDY) from error
    if "" in words:
        raise InputError(f"{path} word {words.index('') + 1} is empty", _REMEDY)
    return words
