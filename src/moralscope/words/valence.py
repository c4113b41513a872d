"""Do people agree? Dos and don'ts rated by a valence lexicon (Jentzsch et al. 2019, AFINN).

The paper rates its lists with AFINN (Nielsen 2011, -5 … 5) twice: with unrated words as 0, and
rated words only, and compares dos with don'ts by Student's t. AFINN-en-165 gives the paper's
figures; its printed sd are those of a population (n, not n - 1), so both are kept.

No rating is shipped: they come from the user's file or from the user's own `afinn` package.
"""

import hashlib
import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, MissingExtra
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import ModelRef, RunRecord, Statistics, absent
from moralscope.io.actions import read_actions
from moralscope.io.tables import Layout, TableFile
from moralscope.models.store import data_file
from moralscope.stats.significance import TTest, t_test
from moralscope.stats.summary import Summary, summarise
from moralscope.words.options import ValidateOptions, WordListOptions
from moralscope.words.paper import load_paper

_LAYOUT = Layout(lines_as="line", remedy="give a file of word<TAB>rating lines")
_AFINN = "AFINN-en-165.txt"


@dataclass(frozen=True, slots=True)
class ValenceLexicon:
    """Ratings by word; `checksum` is that of the file they were read from."""

    name: str
    checksum: str
    ratings: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RatedWord:
    """A word of one side with its rating, None where the lexicon has none."""

    word: str
    side: str
    rating: float | None


@dataclass(frozen=True, slots=True)
class Valence:
    """The ratings of one list: size, mean, sample sd, and the sd as the paper prints it."""

    n: int
    mean: float
    sd: float
    population_sd: float


@dataclass(frozen=True, slots=True)
class ValenceTest:
    """Dos against don'ts, with Student's t."""

    dos: Valence
    donts: Valence
    test: TTest


@dataclass(frozen=True, slots=True)
class PrintedValence:
    """What the paper prints of one comparison; its sd are of a population."""

    dos: Summary
    donts: Summary
    t: float


@dataclass(frozen=True, slots=True)
class PrintedValidation(Statistics):
    """What the paper prints of both comparisons."""

    all_words: PrintedValence
    rated_only: PrintedValence


@dataclass(frozen=True, slots=True)
class ValenceStatistics(Statistics):
    """Two lists compared by their ratings."""

    lexicon: ModelRef
    all_words: ValenceTest  # unrated words as 0
    rated_only: ValenceTest
    paper: PrintedValidation | None = absent()  # where the lists are the paper's


# Jentzsch et al. 2019, "Dos and Don'ts for the Moral Choice Machine".
PAPER = PrintedValidation(
    all_words=PrintedValence(Summary(50, 1.12, 1.24), Summary(50, -0.90, 1.22), 8.12),
    rated_only=PrintedValence(Summary(24, 2.34, 0.62), Summary(19, -2.37, 0.67), 23.28),
)


def compare_valence(
    dos: Sequence[str], donts: Sequence[str], lexicon: ValenceLexicon
) -> ValenceStatistics:
    """Compare the ratings of two lists."""
    ratings = lexicon.ratings
    rated = [[ratings[word] for word in words if word in ratings] for words in (dos, donts)]
    every = [[ratings.get(word, 0.0) for word in words] for words in (dos, donts)]
    all_words, rated_only = (
        ValenceTest(_valence(first), _valence(second), t_test(first, second, equal_variance=True))
        for first, second in (every, rated)
    )
    return ValenceStatistics(ModelRef(lexicon.name, lexicon.checksum), all_words, rated_only)


def load_valence(path: Path | None = None) -> ValenceLexicon:
    """Read ``word<TAB>rating`` lines from `path`, else AFINN where the user has it.

    AFINN is looked for in ``MORALSCOPE_DATA/lexicons`` and in the installed package `afinn`.
    """
    source = path or data_file(f"lexicons/{_AFINN}")
    if source is None:
        # The file in the user's package, without running the package.
        spec = importlib.util.find_spec("afinn")
        source = Path(spec.origin).parent / "data" / _AFINN if spec and spec.origin else None
    if source is None or not (path or source.is_file()):
        raise MissingExtra(
            "there is no valence lexicon",
            "run 'pip install afinn', or give a file of word<TAB>rating lines with --lexicon",
        )
    table = TableFile(source, kind=".txt", layout=_LAYOUT)
    ratings: dict[str, float] = {}
    for line, cells in table.strict_rows():
        if not cells["line"].strip():
            continue
        try:
            word, rating = cells["line"].split("\t")
            value = float(rating)
        except ValueError as error:
            remedy = "write one word and one number per line"
            raise table.wrong(line, "is not word<TAB>rating", remedy) from error
        if not word.strip() or not math.isfinite(value):
            raise table.wrong(line, "has no word or no finite rating", "correct it")
        if ratings.setdefault(word.strip(), value) != value:
            raise table.wrong(line, f"rates '{word.strip()}' a second time", "keep one rating")
    if not ratings:
        raise InputError(f"{table.name} holds no ratings", _LAYOUT.remedy)
    return ValenceLexicon(source.stem, hashlib.sha256(source.read_bytes()).hexdigest(), ratings)


def _valence(values: Sequence[float]) -> Valence:
    summary = summarise(values)
    shrink = math.sqrt((summary.n - 1) / summary.n) if summary.n else math.nan
    return Valence(summary.n, summary.mean, summary.sd, summary.sd * shrink)


def validate(options: ValidateOptions | None = None, **fields: Any) -> RunRecord:
    """Compare the valence of two lists of words, by default the papers' printed lists.

    `options` are `ValidateOptions`, or its fields as keywords.
    """
    chosen = chosen_options(ValidateOptions, options, fields)
    lexicon = load_valence(chosen.valence)
    dos, donts = read_lists(chosen)
    warnings = []
    both = sorted(set(dos) & set(donts))
    if both:
        warnings.append(f"words on both sides: {', '.join(both)}")
    for name, words in (("dos", dos), ("don'ts", donts)):
        if len(set(words)) < len(words):
            warnings.append(f"words stand more than once among the {name} and count each time")
        if sum(word in lexicon.ratings for word in words) < 2:
            warnings.append(
                f"fewer than two of the {name} are in {lexicon.name}: no t for rated only"
            )
    statistics = compare_valence(dos, donts, lexicon)
    return RunRecord(
        "words validate",
        seed=chosen.seed,
        config={
            "dos": str(chosen.dos or "paper"),
            "donts": str(chosen.donts or "paper"),
            "unrated": "0 in all_words, left out in rated_only",
            "test": "Student's t, two-sided",
            "options": plain_options(chosen),
        },
        models=[ModelRef(lexicon.name, lexicon.checksum)],
        results=[
            RatedWord(word, side, lexicon.ratings.get(word))
            for side, words in (("do", dos), ("don't", donts))
            for word in words
        ],
        statistics=replace(statistics, paper=PAPER) if chosen.dos is None else statistics,
        warnings=warnings,
    )


def read_lists(options: WordListOptions) -> tuple[Sequence[str], Sequence[str]]:
    """Return the two lists of words that the options name; the papers' dos and don'ts, if none."""
    if options.dos is None or options.donts is None:
        return load_paper().dos, load_paper().donts
    return read_actions(options.dos).actions, read_actions(options.donts).actions
