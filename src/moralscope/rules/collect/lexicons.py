"""Lists of words that hint at moral talk: read in three published forms, and found in texts.

Forms: eMFD (.csv with a `word` column), Moral Foundations Dictionary (.dic) and MPQA subjectivity
clues (.tff). The list that ships (`data/lexicon.dic`) was written for this project. A word is found
where it stands; nothing is judged, and "kill time" holds the word "kill".
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.documents import read_document
from moralscope.io.tables import LineProblem, TableFile, name_problems
from moralscope.rules.annotations.reading import LIMITS
from moralscope.stats.text.words import lemma, words

SHIPPED = "moralscope"
STRONG = "strongsubj"
_REMEDY = "give eMFD (.csv with a word column), MFD (.dic) or MPQA (.tff)"
_CLUES = (STRONG, "weaksubj")
_DIC_ROW = re.compile(r"(\S.*?)\s+([0-9]{1,9}(?:\s+[0-9]{1,9})*)")
_DIC_CATEGORY = re.compile(r"([0-9]{1,9})\s+(\S.*)")
_EMFD = ("care", "fairness", "loyalty", "authority", "sanctity")  # columns care_p, fairness_p, …


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase of a lexicon: as it stands, by its beginning, or in any inflected form."""

    words: tuple[str, ...]
    categories: tuple[str, ...] = ()
    beginning: bool = False
    inflected: bool = False

    def __str__(self) -> str:
        return " ".join(self.words) + "*" * self.beginning


class Lexicon:
    """Terms, and where they stand in a text."""

    def __init__(self, name: str, checksum: str, terms: Iterable[Term]) -> None:
        self.name, self.checksum = name, checksum
        self._whole: dict[str, list[Term]] = {}
        self._begun: dict[str, list[Term]] = {}
        self._bases: dict[str, Term] = {}
        self._size = 0
        for term in terms:
            single = len(term.words) == 1
            begun = single and term.beginning
            (self._begun if begun else self._whole).setdefault(term.words[0], []).append(term)
            if single and term.inflected:
                self._bases.setdefault(term.words[0], term)
            self._size += 1
        self._lengths = sorted({len(start) for start in self._begun})

    def __len__(self) -> int:
        return self._size

    def find(self, text: str) -> tuple[Term, ...]:
        """Return the terms that a text holds, each once, in the order they are met."""
        terms: dict[Term, None] = {}
        spoken = words(text)
        for index, word in enumerate(spoken):
            for term in self._whole.get(word, ()):
                if _stands(term, spoken[index : index + len(term.words)]):
                    terms[term] = None
            for length in self._lengths:
                terms.update(dict.fromkeys(self._begun.get(word[:length], ())))
            if self._bases and (base := self._bases.get(lemma(word))) is not None:
                terms[base] = None
        return tuple(terms)


def load_lexicon(name: str) -> Lexicon:
    """Return the lexicon that ships ("moralscope") or the one in a file.

    Of MPQA's clues only the strongly subjective ones are read, as in section 4.1 of the paper.

    Raises
    ------
    InputError
        No such file, another form, or broken lines, which are named by their numbers.
    """
    if name == SHIPPED:
        return _shipped()
    path = Path(name).expanduser()
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{name} is not a lexicon", f"{_REMEDY}, or 'moralscope' for ours")
    return _lexicon(path, read_document(path, "lexicon", _REMEDY).content, reader)


@cache
def _shipped() -> Lexicon:
    path = resources.files("moralscope.rules").joinpath("data/lexicon.dic")
    return _lexicon(Path(SHIPPED), path.read_text("utf-8"), _READERS[".dic"])


def _lexicon(path: Path, text: str, reader: "_Reader") -> Lexicon:
    terms, problems = reader(path, text)
    if problems:
        raise InputError(name_problems(path, problems), "fix or delete these lines")
    if not terms:
        raise InputError(f"{path} holds no words", _REMEDY)
    return Lexicon(path.name, sha256(text.encode()).hexdigest(), terms)


_Read = tuple[list[Term], list[LineProblem]]
_Reader = Callable[[Path, str], _Read]


def _read_dic(_path: Path, text: str) -> _Read:
    """Read categories between two lines of %, then words with the numbers of theirs."""
    categories: dict[str, str] = {}
    terms: list[Term] = []
    problems: list[LineProblem] = []
    fences = 0
    for line_number, line in enumerate(text.split("\n"), 1):
        row = line.strip()
        if row == "%":
            fences += 1
        elif row and fences == 1 and (named := _DIC_CATEGORY.fullmatch(row)):
            categories[str(int(named[1]))] = named[2]
        elif row:
            match = _DIC_ROW.fullmatch(row)
            numbers = [str(int(number)) for number in match[2].split()] if match else []
            unknown = [number for number in numbers if number not in categories]
            parts = tuple(words(match[1])) if match else ()
            if fences != 2 or match is None or unknown or not parts:
                problem = "has no word"
                if fences != 2:
                    problem = "is outside of the lists"
                elif match is None:
                    problem = "has no number of a category"
                elif unknown:
                    problem = f"has the category {unknown[0][:20]}, which is not listed"
                problems.append(LineProblem(line_number, problem))
            else:
                kinds = tuple(categories[number] for number in numbers)
                terms.append(Term(parts, kinds, beginning=match[1].endswith("*")))
    return terms, problems


def _read_tff(_path: Path, text: str) -> _Read:
    """Read rows of key=value; the strongly subjective words are kept."""
    terms: dict[tuple[str, ...], Term] = {}
    problems: list[LineProblem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        cells = dict(part.split("=", 1) for part in line.split() if "=" in part)
        parts = tuple(words(cells.get("word1", "")))
        if not parts:
            problems.append(LineProblem(number, "has no word1="))
        elif cells.get("type") not in _CLUES:
            problems.append(LineProblem(number, f"has no type= of {' or '.join(_CLUES)}"))
        elif cells["type"] == STRONG:
            inflected = cells.get("stemmed1") == "y" or (parts in terms and terms[parts].inflected)
            terms[parts] = Term(parts, (STRONG,), inflected=inflected)
    return list(terms.values()), problems


def _read_csv(path: Path, text: str) -> _Read:
    """Read a word a row; its category is the foundation with the highest probability."""
    columns = {"word": "word", **{name: f"{name}_p" for name in _EMFD}}
    table = TableFile(text, name=str(path), kind=".csv", columns=columns, limits=LIMITS)
    terms = []
    for number, cells in table.good_rows(("word",)):
        parts = tuple(words(cells["word"]))
        try:
            values = {name: float(cell) for name, cell in cells.items() if name != "word"}
        except ValueError:
            table.note(number, "has a probability that is not a number")
            continue
        if not parts:
            table.note(number, "has no word")
            continue
        best = max(values, key=lambda name: values[name], default=None)
        terms.append(Term(parts, () if best is None else (best,)))
    return terms, table.problems


_READERS: dict[str, _Reader] = {".csv": _read_csv, ".dic": _read_dic, ".tff": _read_tff}


def _stands(term: Term, there: list[str]) -> bool:
    if len(there) < len(term.words):
        return False
    *first, last = term.words
    same = there[-1].startswith(last) if term.beginning else there[-1] == last
    return same and there[:-1] == first
