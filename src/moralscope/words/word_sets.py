"""Word sets by name or file: association sets A and B and, for a test, target sets X and Y.

Built in: `papers` (A and B of the Moral Choice Machine), `career-family`, and Caliskan's ten
tests, `caliskan-1` to `caliskan-10`. A user's own file is YAML, TOML or JSON with lists of words
under ``positive`` and ``negative`` and, for a test, under ``x`` and ``y``.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.registry import look_up
from moralscope.io.documents import Document, read_document, shipped_toml
from moralscope.words.association import TargetSets, first_twice
from moralscope.words.options import SETS
from moralscope.words.paper import load_paper

CALISKAN = tuple(f"caliskan-{number}" for number in range(1, 11))
_KIND = "word sets"
_DEPTH = 4  # a mapping of lists; a little more, so that what is too deep is named by its key
_LISTS = ("positive", "negative", "x", "y")
_REMEDY = "write lists of words under positive: and negative: (for a test also under x: and y:)"


@dataclass(frozen=True, slots=True)
class PrintedEffect:
    """Effect size and p as a paper prints them."""

    d: float
    p: float


@dataclass(frozen=True, slots=True)
class WordSets:
    """Association sets A (positive) and B (negative), and target sets X and Y or none."""

    name: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    x: tuple[str, ...] = ()
    y: tuple[str, ...] = ()
    about: str = ""
    published: Mapping[str, PrintedEffect] = field(default_factory=dict)

    @property
    def lists(self) -> Mapping[str, tuple[str, ...]]:
        """The four sets by name."""
        return dict(zip(_LISTS, (self.positive, self.negative, self.x, self.y), strict=True))

    def lowered(self) -> "WordSets":
        """Return the sets in lower case; words that become the same are kept once a set."""
        x, y, positive, negative = (
            tuple(dict.fromkeys(word.lower() for word in words))
            for words in (self.x, self.y, self.positive, self.negative)
        )
        return replace(self, x=x, y=y, positive=positive, negative=negative)

    def with_plurals(self, known: Container[str]) -> tuple["WordSets", dict[str, str]]:
        """Let the plural or singular stand in for a word that is not known; say for which."""
        words = dict.fromkeys((*self.x, *self.y, *self.positive, *self.negative))
        stand_ins: dict[str, str] = {}
        for word in words:
            if word in known:
                continue
            # The regular plural or, of a word in -s, the singular.
            forms = [f"{word}s", f"{word}es", f"{word[:-1]}ies" if word.endswith("y") else ""]
            if word.endswith("s") and not word.endswith("ss"):
                forms.append(word[:-1])
            form = next((form for form in forms if form and form in known), None)
            if form and form not in words:
                stand_ins[word] = form
        x, y, positive, negative = (
            tuple(stand_ins.get(word, word) for word in words)
            for words in (self.x, self.y, self.positive, self.negative)
        )
        return replace(self, x=x, y=y, positive=positive, negative=negative), stand_ins

    def targets(self) -> TargetSets:
        """Return what the test needs, or say that there is nothing to test."""
        if not self.x:
            raise InputError(
                f"the word sets '{self.name}' have no target sets", "add lists under x: and y:"
            )
        return TargetSets(self.x, self.y, self.positive, self.negative)


def load_word_sets(name: str) -> WordSets:
    """Return built-in sets by name, or read the user's file."""
    path = Path(name).expanduser()
    if path.suffix.lower() in _PARSERS or path.is_file():
        remedy = f"give a YAML, TOML or JSON file, or one of {', '.join(sorted(_built_in()))}"
        return parse_word_sets(read_document(path, "word sets", remedy).content, str(path))
    return look_up(_KIND, name, _built_in())


@dataclass(frozen=True, slots=True)
class _WordSetsFile:
    positive: list[str] = field(default_factory=list)
    negative: list[str] = field(default_factory=list)
    x: list[str] = field(default_factory=list)
    y: list[str] = field(default_factory=list)
    name: str = ""
    about: str = ""


def parse_word_sets(text: str, source: str) -> WordSets:
    """Parse and validate a file's text; an `InputError` names the line where it can."""
    parse = _PARSERS.get(Path(source).suffix.lower(), _PARSERS[".yaml"])
    plain = parse(Document(text, f"word sets {source}", _REMEDY))
    if not isinstance(plain, dict):
        raise InputError(f"word sets {source} hold no keys", _REMEDY)
    file = decode(_WordSetsFile, plain, f"word sets {source}", remedy=_REMEDY, exact=True)
    lists = {}
    for key in _LISTS:
        words = lists[key] = tuple(word.strip() for word in getattr(file, key))
        if "" in words:
            raise _wrong(text, source, key, f"has something under '{key}' that is no word")
        twice = first_twice(words)
        if twice is not None:
            raise _wrong(text, source, twice, f"has '{twice}' twice under '{key}'", last=True)
    for key in ("positive", "negative"):
        if not lists[key]:
            raise InputError(f"word sets {source} have no words under '{key}'", _REMEDY)
    if bool(lists["x"]) != bool(lists["y"]):
        raise InputError(f"word sets {source} have only one of 'x' and 'y'", _REMEDY)
    for first, second in (("positive", "negative"), ("x", "y")):
        shared = set(lists[first]) & set(lists[second])
        if shared:
            word = min(shared)
            what = f"has '{word}' under '{second}' and under '{first}'"
            raise _wrong(text, source, word, what, last=True)
    positive, negative, x, y = lists.values()
    return WordSets(file.name or Path(source).stem, positive, negative, x, y, about=file.about)


def _wrong(text: str, source: str, needle: str, what: str, *, last: bool = False) -> InputError:
    """Name the first (or last) line that holds `needle`, as near as the parsers let us say."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if needle in line]
    where = f" line {lines[-1 if last else 0]}" if lines else ""
    return InputError(f"word sets {source}{where} {what}", _REMEDY)


_PARSERS: Mapping[str, Callable[[Document], Any]] = {
    ".yaml": lambda document: document.yaml_node(_DEPTH).plain(),
    ".yml": lambda document: document.yaml_node(_DEPTH).plain(),
    ".toml": Document.toml_values,
    ".json": Document.json_values,
}


@cache
def _built_in() -> dict[str, WordSets]:
    """Return every built-in set by name."""
    data = shipped_toml("moralscope.words", "word_sets.toml")
    lists = {name: tuple(words.split(", ")) for name, words in data["lists"].items()}
    paper = load_paper()
    about = "positive and negative words of Schramowski et al. 2019, Table 2"
    sets = {SETS: WordSets(SETS, paper.positive_words, paper.negative_words, about=about)}
    for name, row in data["sets"].items():
        chosen = {key: lists[row[key]] for key in _LISTS if key in row}
        printed = row.get("published", {})
        published = {kind: PrintedEffect(**figures) for kind, figures in printed.items()}
        sets[name] = WordSets(name, **chosen, about=row["about"], published=published)
    return sets
