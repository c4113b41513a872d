"""Pairs that define a direction: built in for gender, or the user's CSV or YAML.

A pair is two words that differ in one thing (she/he) or two whole sentences that do. Words are set
into sentences, because a sentence encoder reads sentences. What is wrong is said by line.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.protocols import Pair
from moralscope.core.registry import did_you_mean, require_known
from moralscope.io.documents import Document, read_document, shipped_toml
from moralscope.io.tables import Layout, TableFile

Question = tuple[str, str, str]  # question, positive and negative answer
BUILT_IN = ("gender",)
_BLANK = "{}"
_SENTENCE_ENDS = (".", "?", "!")
_DEFAULT_KIND = "noun"
_DEPTH = 2  # a list of lists
_COLUMNS = ("first", "second", "kind")
_REMEDY = "give columns first,second[,kind] in CSV, or a YAML list of [first, second]"


@dataclass(frozen=True, slots=True)
class DirectionPairs:
    """Sentence pairs of a named direction; `words` are the pairs they were made from."""

    name: str
    sentences: tuple[Pair, ...]
    words: tuple[Pair, ...]


def load_pairs(name: str, path: Path | None = None) -> DirectionPairs:
    """Return the built-in pairs of a direction, or the user's under that name."""
    if path is not None:
        return _from_rows(name, _file_rows(path), str(path))
    if name not in BUILT_IN:
        raise UnknownName(
            f"there is no direction '{name}'",
            f"{did_you_mean(name, BUILT_IN)}; or bring pairs of your own with --pairs FILE",
        )
    rows = [
        (0, first, second, kind)
        for kind, pairs in _data()["pairs"].items()
        for first, second in pairs
    ]
    return _from_rows(name, rows, name)


def held_out_questions() -> tuple[Question, ...]:
    """Return the second gender template: never used for removing, only for checking."""
    return tuple((row["question"], row["positive"], row["negative"]) for row in _data()["held_out"])


def neutral_words() -> tuple[str, ...]:
    """Return words for people that name no gender: they give a template's offset."""
    return tuple(_data()["neutral"])


Row = tuple[int, str, str, str]  # line, first, second, kind


def _from_rows(name: str, rows: Iterable[Row], source: str) -> DirectionPairs:
    contexts: Mapping[str, list[str]] = _data()["contexts"]
    words: list[Pair] = []
    sentences: list[Pair] = []
    for line, first, second, kind in rows:
        if not first or not second:
            raise _wrong(source, line, "has a pair without two texts")
        if first == second:
            raise _wrong(source, line, f"pairs {first!r} with itself")
        require_known(kind, contexts, f"{source} line {line} has the unknown kind '{kind}'")
        if (first, second) in words:
            raise _wrong(source, line, f"repeats the pair {first!r}, {second!r}")
        words.append((first, second))
        whole = first.endswith(_SENTENCE_ENDS) and second.endswith(_SENTENCE_ENDS)
        frames = [_BLANK] if whole else contexts[kind]
        sentences += [(_fill(frame, first), _fill(frame, second)) for frame in frames]
    if len(words) < 2:
        raise InputError(
            f"{source} holds {len(words)} pair{'' if len(words) == 1 else 's'}",
            "a direction needs two or more: one pair differs in more than one thing",
        )
    return DirectionPairs(name, tuple(sentences), tuple(words))


def _fill(frame: str, word: str) -> str:
    text = frame.replace(_BLANK, word)
    return text[0].upper() + text[1:]


def _file_rows(path: Path) -> Iterator[Row]:
    document = Document(read_document(path, "pairs", _REMEDY).content, str(path), _REMEDY)
    if path.suffix.lower() in {".yaml", ".yml"}:
        for node in document.yaml_node(_DEPTH).items("pairs"):
            cells = node.plain()
            if (
                not isinstance(cells, list)
                or len(cells) not in {2, 3}
                or not all(isinstance(cell, str) for cell in cells)
            ):
                raise node.wrong("is not a pair of texts")
            first, second, *kind = (cell.strip() for cell in cells)
            yield node.line, first, second, kind[0] if kind else _DEFAULT_KIND
        return
    table = TableFile(
        document.content, name=document.name, kind=".csv", layout=Layout(order=_COLUMNS)
    )
    for line, row in table.strict_rows(["first", "second"], _REMEDY):
        first, second, word_kind = (row.get(name, "").strip() for name in _COLUMNS)
        if first or second or word_kind:
            yield line, first, second, word_kind or _DEFAULT_KIND


def _wrong(source: str, line: int, what: str) -> InputError:
    return InputError(f"{source} line {line} {what}", _REMEDY)


@cache
def _data() -> Any:
    return shipped_toml("moralscope.steer", "gender.toml")
