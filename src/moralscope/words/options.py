"""What the commands about words take; nothing here is heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import InputError
from moralscope.core.options import (
    Option,
    Options,
    Seed,
    file_option,
    input_option,
    model_option,
    output_option,
)

VECTORS = "googlenews-26k"
SETS = "papers"
BROAD, STRICT = "broad", "strict"
LEAVE, PLURAL = MISSING = ("leave", "plural")
CASES = ("exact", "lower")

VectorsName = Annotated[
    str,
    model_option(
        "googlenews-26k, glove-50, scripted, or a file: word2vec, fastText .vec, GloVe text, "
        "safetensors.",
        short="-v",
    ),
]
SetsName = Annotated[
    str,
    model_option(
        "Association sets A and B: papers, career-family, caliskan-1 … caliskan-10, or a "
        "YAML/TOML/JSON file with positive and negative words."
    ),
]
Dos = Annotated[Path | None, file_option("One word per line; else the papers'.")]
Donts = Annotated[Path | None, file_option("The same for the don'ts.")]
Valence = Annotated[
    Path | None,
    file_option(
        "Valence ratings, word<TAB>rating; by default AFINN (pip install afinn).", flag="--lexicon"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociateOptions(Options):
    """How words are scored, or tests run, against association sets."""

    vectors: VectorsName = VECTORS
    sets: SetsName = SETS
    tests: Annotated[
        str | None,
        model_option(
            "Run association tests in place of scoring words: all, or names and files (with "
            "target words x and y), separated by commas."
        ),
    ] = None
    case: Annotated[
        str, model_option("exact, or lower: look words up in lower case.", choices=CASES)
    ] = "exact"
    missing: Annotated[
        str,
        model_option(
            "Words of a test that the vectors lack: leave them out, or use the plural instead "
            "(named in the record).",
            choices=MISSING,
        ),
    ] = LEAVE
    permutations: Annotated[
        int, Option("Partitions to sample if p is not exact.", least=100, group="More")
    ] = 10_000
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions(Options):
    """What is extracted from a vocabulary.

    `verbs` is `broad` (every word that can be a verb, as in the paper), `strict` (words whose main
    use is a verb), or a file with one base form a line, in any language. `max_words` looks only at
    the start of the vocabulary, where the frequent words are; rare words have noisy vectors.
    """

    vectors: VectorsName = VECTORS
    sets: SetsName = SETS
    count: Annotated[int, output_option("Verbs on each side.", short="-n", least=1)] = 50
    verbs: Annotated[
        str,
        model_option(
            "broad: all that can be a verb; strict: mainly verbs; or a file of base forms."
        ),
    ] = BROAD
    max_words: Annotated[
        int | None, model_option("Only the first, most frequent words; by default all.", least=1)
    ] = None
    any_case: Annotated[
        bool, model_option("Read 'Enjoy' as 'enjoy' instead of leaving it out.")
    ] = False
    valence: Valence = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WordListOptions(Options):
    """Two lists of words: the papers' dos and don'ts, where none is given."""

    dos: Dos = None
    donts: Donts = None

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if (self.dos is None) != (self.donts is None):
            raise InputError("one of --dos and --donts is missing", "give both, or none")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions(WordListOptions):
    """Which lists are rated, and by which lexicon."""

    valence: Valence = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CorporaOptions(Options):
    """What is compared in corpora, and with how much work; `index` and `width` are over time."""

    index: Annotated[
        Path | None, file_option("CSV of file,year lines, for names without a year.")
    ] = None
    width: Annotated[int, input_option("Years per period.", flag="--bin", least=1)] = 25
    words: Annotated[Path | None, file_option("Actions, one word per line.")] = None
    sets: SetsName = SETS
    runs: Annotated[
        int,
        Option("Trainings of each corpus; intervals need at least three.", flag="--seeds", least=3),
    ] = 6
    dimensions: Annotated[int, Option("Length of the vectors.", least=2, group="More")] = 50
    min_count: Annotated[
        int, Option("How often every corpus must use a word.", least=1, group="More")
    ] = 10
    seed: Seed = 0
