"""Plain text read as tokenised sentences, and text files with a year put into periods.

Text is data: nothing in it is executed, and what is not valid UTF-8 is refused with the file and
the line. Words are letters with inner apostrophes, lower-cased, in Unicode's composed form; digits
and punctuation are not words, and forms are left as they stand (no lemmas, no spelling reform).
A corpus is held as numbers (four bytes a word and each distinct word once), so its memory does not
grow with the length of lines or files. It knows nothing of vectors.

A year is the last four-digit number (1000-2099) in a file's name, or what a two-column index (file,
year) says; only an index can hold earlier years. Nothing is guessed from the text.
"""

import codecs
import hashlib
import re
import unicodedata
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.protocols import Ints
from moralscope.io.files import file_size
from moralscope.io.tables import Layout, Limits, TableFile

SUFFIXES = (".txt", ".text", ".md")
MAX_SENTENCE = 1000  # words: a text without full stops is cut, not held in memory
_MAX_WORD = 50  # characters: longer runs of letters are encoded data, not words
_PIECE = 1 << 16  # bytes read at once
_BLOCK = 1000  # words: what the bootstrap draws, about a chapter
_BLOCKS = 100  # a short corpus is cut finer, so that there is something to draw from
_TOKEN = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|[.!?\u2026]+")
_END = ".!?\u2026"
_REMEDY = "give a text file, or a folder of .txt files, saved as UTF-8"


@dataclass(frozen=True, slots=True, eq=False)
class TextCorpus:
    """A text as numbers: `tokens` point into `words`, `ends` say where each sentence ends.

    Examples
    --------
    >>> corpus = build_corpus("tiny", [["give", "alms"], ["give", "thanks"]])
    >>> corpus.size, corpus.counts.tolist(), [list(s) for s in corpus.sentences()]
    (4, [2, 1, 1], [['give', 'alms'], ['give', 'thanks']])
    """

    name: str
    words: tuple[str, ...]
    tokens: NDArray[np.int32]
    ends: Ints
    files: int
    sha256: str

    @property
    def size(self) -> int:
        """How many words the text has."""
        return len(self.tokens)

    @property
    def counts(self) -> Ints:
        """How often each of `words` occurs."""
        return np.bincount(self.tokens, minlength=len(self.words))

    def sentences(self, order: Sequence[int] | Ints | None = None) -> Iterator[list[str]]:
        """Yield the sentences as words, in the order given or as they stand."""
        starts = np.concatenate([[0], self.ends[:-1]]) if len(self.ends) else self.ends
        for index in range(len(self.ends)) if order is None else order:
            tokens = self.tokens[starts[index] : self.ends[index]].tolist()
            yield [self.words[token] for token in tokens]

    def blocks(self) -> Ints:
        """Return the block of each sentence: neighbours that are drawn together.

        Neighbouring sentences repeat each other, so that drawing single sentences would make
        every interval too narrow. Blocks hold about a chapter, and at most 1 % of the text.
        """
        size = max(1, min(_BLOCK, self.size // _BLOCKS))
        _, blocks = np.unique((self.ends - 1) // size, return_inverse=True)
        return blocks

    def spread(self) -> Ints:
        """Return in how many blocks each of `words` occurs."""
        lengths = np.diff(self.ends, prepend=0)
        pairs = np.unique(np.repeat(self.blocks(), lengths) * len(self.words) + self.tokens)
        return np.bincount(pairs % len(self.words), minlength=len(self.words))


def read_files(files: Sequence[Path], name: str) -> TextCorpus:
    """Read text files into one corpus; a blank line ends a sentence as a full stop does."""
    digest, builder = hashlib.sha256(), _Builder()
    for path in files:
        sentence: list[str] = []
        try:
            file_size(path)
            with path.open("rb") as stream:
                for text in _pieces(stream, path, digest):
                    if not text.strip():
                        builder.add(sentence)
                        sentence = []
                    for token in _TOKEN.findall(text):
                        if token[0] not in _END and len(token) <= _MAX_WORD:
                            sentence.append(token.replace("\u2019", "'"))
                        if token[0] in _END or len(sentence) == MAX_SENTENCE:
                            builder.add(sentence)
                            sentence = []
        except OSError as error:
            raise InputError(f"{path} cannot be read ({error.strerror})", _REMEDY) from error
        builder.add(sentence)
    return builder.corpus(name, len(files), digest.hexdigest())


def build_corpus(name: str, sentences: Sequence[Sequence[str]]) -> TextCorpus:
    """Make a corpus of sentences that are words already."""
    digest, builder = hashlib.sha256(), _Builder()
    for sentence in sentences:
        digest.update(" ".join(sentence).encode() + b"\n")
        builder.add(sentence)
    return builder.corpus(name, 0, digest.hexdigest())


def corpus_files(path: Path) -> list[Path]:
    """Return the text files a path stands for; hidden ones are passed over."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path} is neither a file nor a folder", _REMEDY)
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and file.is_file()
    )
    if not files:
        raise InputError(f"{path} holds no text files ({', '.join(SUFFIXES)})", _REMEDY)
    return files


class _Builder:
    """Collects sentences as numbers."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._tokens = array("i")
        self._ends = array("q")

    def add(self, sentence: Sequence[str]) -> None:
        if not sentence:
            return
        index = self._index
        self._tokens.extend([index.setdefault(word, len(index)) for word in sentence])
        self._ends.append(len(self._tokens))

    def corpus(self, name: str, files: int, sha256: str) -> TextCorpus:
        tokens = np.frombuffer(self._tokens, np.int32) if self._tokens else np.empty(0, np.int32)
        ends = np.frombuffer(self._ends, np.int64) if self._ends else np.empty(0, np.int64)
        return TextCorpus(name, tuple(self._index), tokens, ends, files, sha256)


def _pieces(stream: BinaryIO, path: Path, digest: "hashlib._Hash") -> Iterator[str]:
    """Yield lower-cased lines; a line of many bytes comes in pieces cut between words."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    line, rest = 1, ""
    while True:
        data = stream.readline(_PIECE)
        digest.update(data)
        try:
            text = rest + decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path} line {line} is not valid UTF-8 (byte 0x{error.object[error.start]:02x})",
                "save the file as UTF-8, or take it out of the folder",
            ) from error
        if "\x00" in text:
            raise InputError(f"{path} line {line} holds a NUL character", _REMEDY)
        cut = len(text)
        if data and not data.endswith(b"\n"):  # no word is cut; a run without spaces is let through
            space = max(0, text.rfind(" "), text.rfind("\t"), text.rfind("\r"))
            cut = space if len(text) - space < 1000 else len(text)
        yield unicodedata.normalize("NFC", text[:cut]).lower()
        rest = text[cut:]
        line += data.endswith(b"\n")
        if not data:
            return


_YEAR = re.compile(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)")
_MAX_INDEX_BYTES = 10_000_000
_COLUMNS = "give one file,year line a file, e.g. speeches/first.txt,1862"


@dataclass(frozen=True, slots=True)
class Period:
    """The files of the years from `start` to `end`, both included."""

    start: int
    end: int
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        """Return the period as people write it."""
        return str(self.start) if self.start == self.end else f"{self.start}-{self.end}"


def dated_files(path: Path, index: Path | None = None) -> dict[Path, int]:
    """Return the text files below a folder with their years."""
    files = corpus_files(path)
    if index is not None:
        return _from_index(
            path, [file for file in files if file.resolve() != index.resolve()], index
        )
    years = {file: [int(year) for year in _YEAR.findall(file.stem)] for file in files}
    bare = [file for file in files if not years[file]]
    if bare:
        raise InputError(
            f"{bare[0]} has no year in its name"
            + (f" (nor have {len(bare) - 1} others)" * (len(bare) > 1)),
            "put a year such as 1862 in the names, or give --index FILE with file,year lines",
        )
    return {file: some[-1] for file, some in years.items()}


def periods(years: Mapping[Path, int], width: int) -> list[Period]:
    """Group files into periods of `width` years that start at multiples of it."""
    return [
        Period(
            start,
            start + width - 1,
            tuple(file for file, year in years.items() if year // width * width == start),
        )
        for start in sorted({year // width * width for year in years.values()})
    ]


def _from_index(path: Path, files: list[Path], index: Path) -> dict[Path, int]:
    folder = path if path.is_dir() else path.parent
    known = {str(file.relative_to(folder)): file for file in files}
    years: dict[Path, int] = {}
    layout = Layout(order=("file", "year"), delimiters=",\t")
    table = TableFile(index, kind=".csv", layout=layout, limits=Limits(file_bytes=_MAX_INDEX_BYTES))
    # Read to its end first: what is wrong with the table is said before what is wrong in a row.
    for line, cells in list(table.strict_rows(layout.order, _COLUMNS)):
        where = f"{index} line {line}"
        name, year = cells["file"].strip(), cells["year"].strip()
        if line == 1 and not re.fullmatch(r"-?\d{1,4}", year) and name not in known:
            continue  # a header
        if not re.fullmatch(r"-?\d{1,4}", year):
            raise InputError(f"{where} has no year ('{year[:40]}')", _COLUMNS)
        if name not in known:
            raise InputError(f"{where} names '{name[:80]}', which is not in {path}", _COLUMNS)
        if known[name] in years:
            raise InputError(f"{where} names '{name[:80]}' again", _COLUMNS)
        years[known[name]] = int(year)
    if not years:
        raise InputError(f"{index} names no files", _COLUMNS)
    return years
