"""Vector files of other tools, read as a stream of chunks and checked row by row.

word2vec text and binary (also what gensim exports), fastText ``.vec`` and GloVe text, plain or
gzipped. What a file is, its first bytes say, not its name. Pickles are never opened.
"""

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, takewhile
from pathlib import Path

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Matrix
from moralscope.io.files import file_size

Chunk = tuple[list[str], Matrix]
_ROWS = 4096  # words in a chunk
_BLOCK_BYTES = 1 << 22
_MAX_LINE = 1 << 22
_MAX_WORD = 4096  # bytes
_MAX_DIMENSION = 100_000
_HEADER = re.compile(rb"\s*(\d{1,12}) +(\d{1,6})\s*\Z")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_AGAIN = "copy or download it again"
_KNOWN = "give word2vec text or binary, fastText .vec, GloVe text, or our safetensors layout"
_REFUSED = {
    b"\x80": (
        "is a pickle (gensim's own format?), and pickles are never opened",
        "export it: KeyedVectors.load(file).save_word2vec_format('words.bin', binary=True)",
    ),
    b"PK\x03\x04": ("is a zip archive", "unzip it and give the file inside"),
    b"\xba\x16\x4f\x2f": (
        "is a fastText model, not its vectors",
        "give the .vec file that belongs to it",
    ),
    b"\x93NUMPY": (
        "is a matrix without its words",
        "write both with moralscope.words.vectors.save_vectors",
    ),
}


def read_chunks(path: Path) -> Iterator[Chunk]:
    """Yield the words and rows of a vector file; an `InputError` names the line that is wrong."""
    try:
        file_size(path)
        with path.open("rb", buffering=0) as file:
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            raw = gzip.GzipFile(fileobj=file) if zipped else file
            yield from _read(io.BufferedReader(raw, _BLOCK_BYTES), str(path))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is a broken gzip file", _AGAIN) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})", _KNOWN) from error


def _read(stream: io.BufferedReader, source: str) -> Iterator[Chunk]:
    """Look at the first bytes and hand the stream to the reader they call for."""
    first = stream.readline(_MAX_LINE)
    for magic, (what, remedy) in _REFUSED.items():
        if first.startswith(magic):
            raise InputError(f"{source} {what}", remedy)
    header = _HEADER.match(first)
    if not first.strip() or (header and int(header[1]) == 0):
        raise InputError(f"{source} holds no words", _KNOWN)
    lines = iter(lambda: stream.readline(_MAX_LINE), b"")
    if header is None:
        dimension = sum(1 for _ in takewhile(_is_number, reversed(first.split()[1:])))
        if _CONTROL.search(first) or not dimension:
            raise InputError(f"{source} is not a file of word vectors", _KNOWN)
        yield from _parsed(_whole_lines(chain([first], lines), source), source, dimension, first=1)
        return
    count, dimension = int(header[1]), int(header[2])
    if not 1 <= dimension <= _MAX_DIMENSION:
        raise InputError(f"{source} says it has {dimension} dimensions", _KNOWN)
    # Rows of binary floats hold control bytes, lines of text in any encoding hold none.
    if _CONTROL.search(stream.peek(1)[: _MAX_WORD + 4 * dimension]):
        yield from _binary(stream, source, count, dimension)
        return
    # word2vec text or fastText .vec, whose first line promises how much follows.
    seen = 0
    for words, rows in _parsed(lines, source, dimension, first=2):
        seen += len(words)
        if seen > count:
            raise InputError(f"{source} holds more than the {count:,} words it promises", _AGAIN)
        yield words, rows
    if seen < count:
        raise _truncated(source, seen, count)


def _binary(stream: io.BufferedReader, source: str, count: int, dimension: int) -> Iterator[Chunk]:
    """Read ``word SPACE float32*dimension`` again and again, as word2vec.c writes it."""
    width = 4 * dimension
    data, at = b"", 0
    step = max(1, min(_ROWS, _BLOCK_BYTES // width))  # a header may promise what is not there
    for first in range(1, count + 1, step):
        numbers = range(first, min(first + step, count + 1))
        words: list[str] = []
        rows = np.empty((len(numbers), dimension), dtype=np.float32)
        for number in numbers:
            if len(data) - at < _MAX_WORD + width:
                data, at = data[at:] + stream.read(_BLOCK_BYTES), 0
            end = data.find(b" ", at, at + _MAX_WORD)
            if end < 0 and len(data) - at >= _MAX_WORD:
                raise InputError(f"{source} is not word2vec binary at word {number}", _KNOWN)
            if end < 0 or end + 1 + width > len(data):
                raise _truncated(source, number - 1, count)
            rows[len(words)] = np.frombuffer(data, "<f4", dimension, end + 1)
            words.append(_decode(data[at:end].lstrip(b"\n"), f"{source} word {number}"))
            at = end + 1 + width
        _check_finite(rows, f"{source} word", numbers)
        yield words, rows
    if (data[at:] + stream.read(_MAX_WORD)).strip():
        raise InputError(f"{source} holds more than the {count:,} words it promises", _AGAIN)


def _whole_lines(lines: Iterator[bytes], source: str) -> Iterator[bytes]:
    """Watch over GloVe text: it promises no count, so only its last line end says it is whole."""
    for line in lines:
        if not line.endswith(b"\n"):
            raise InputError(
                f"{source} ends inside a line and may be truncated",
                f"{_AGAIN}; if it is whole, add a line end",
            )
        yield line


def _parsed(lines: Iterator[bytes], source: str, dimension: int, first: int) -> Iterator[Chunk]:
    block: list[tuple[int, bytes]] = []
    size = 0
    for number, line in enumerate(lines, first):
        if stripped := line.rstrip(b" \t\r\n"):
            block.append((number, stripped))
            size += len(stripped)
        if len(block) == _ROWS or size >= 2 * _MAX_LINE:  # of long lines, few
            yield _parsed_block(block, source, dimension)
            block, size = [], 0
    if block:
        yield _parsed_block(block, source, dimension)


def _parsed_block(block: Sequence[tuple[int, bytes]], source: str, dimension: int) -> Chunk:
    words, tails = [], []
    for number, line in block:
        where = f"{source} line {number}"
        parts = line.rsplit(b" ", dimension)
        head = parts[0]
        # "New York 0.1 …" is a word with a space; "York 0.1 0.2 …" with a number left over is not.
        left_over = b" " in head and _is_number(head.rsplit(b" ", 1)[1])
        if len(parts) <= dimension or left_over:
            count = sum(map(_is_number, line.split(b" ")[1:]))
            raise InputError(f"{where} has {count} numbers instead of {dimension}", _AGAIN)
        words.append(_decode(head, where))
        tails.append(line[len(head) + 1 :])
    try:
        with np.errstate(over="ignore"):
            flat = np.fromstring(b" ".join(tails), dtype=np.float32, sep=" ")
        rows = flat.reshape(len(words), dimension)
    except ValueError:
        for (number, _), tail in zip(block, tails, strict=True):
            wrong = next((part for part in tail.split(b" ") if not _is_number(part)), None)
            if wrong is not None:
                shown = wrong[:20].decode("utf-8", "replace")
                problem = f"{source} line {number} has {shown!r} for a number"
                raise InputError(problem, _AGAIN) from None
        raise InputError(f"{source} line {block[0][0]} and on cannot be read", _AGAIN) from None
    _check_finite(rows, f"{source} line", [number for number, _ in block])
    return words, rows


def _decode(word: bytes, where: str) -> str:
    if not word:
        raise InputError(f"{where} has no word", _AGAIN)
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"has a word that is not valid UTF-8 ({word[:40]!r})"
        raise InputError(f"{where} {what}", "save the file as UTF-8") from error


def _check_finite(rows: Matrix, unit: str, numbers: Sequence[int]) -> None:
    sound = np.isfinite(rows).all(axis=1)
    if not sound.all():
        raise InputError(
            f"{unit} {numbers[int(sound.argmin())]} holds a number that is not finite",
            "train or export the vectors again",
        )


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _truncated(source: str, read: int, count: int) -> InputError:
    return InputError(
        f"{source} is truncated: {read:,} of the {count:,} words its first line promises", _AGAIN
    )
