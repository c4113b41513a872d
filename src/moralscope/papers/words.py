"""The words half of the first paper: WEAT, and the extraction of dos and don'ts, with our vectors.

Jentzsch et al. 2019: Table 2's WEAT column, the lists of dos and don'ts, and their confirmation by
AFINN. Verbs are extracted from each vocabulary that is named: 26,000 words of GoogleNews and
400,000 of GloVe by default.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any
from unicodedata import normalize

from moralscope.core.errors import MissingExtra, MoralscopeError
from moralscope.core.protocols import WordVectors
from moralscope.models.store import Progress, data_file
from moralscope.stats.correlation import Correlation, correlate
from moralscope.words.association import WordAssociation
from moralscope.words.extract import extract
from moralscope.words.options import VECTORS
from moralscope.words.paper import load_paper
from moralscope.words.valence import validate
from moralscope.words.vectors import load_vectors

log = logging.getLogger(__name__)

_PUBLISHED = "figures/mcm_dos_donts.json"
_AFINN = "lexicons/AFINN-en-165.txt"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The dos and don'ts of one vocabulary: rows and statistics of `words extract`."""

    vectors: str
    statistics: Mapping[str, Any]
    verbs: Sequence[Any]


@dataclass(frozen=True, slots=True)
class WordsReproduction:
    """WEAT values by our vectors, their agreement with the papers', extractions, validation.

    `validation` is of the papers' own lists; each extraction has its own.
    """

    vectors: str
    weat: Mapping[str, float]
    missing: Sequence[str]
    agreement: Correlation
    agreement_published: Correlation | None
    extractions: Sequence[Extraction]
    validation: Mapping[str, Any] | None


def reproduce_words(
    vocabularies: Sequence[str] = (VECTORS,), *, seed: int = 0, progress: Progress | None = None
) -> tuple[WordsReproduction | None, list[str]]:
    """Return the words part, or None, and a line for each thing that had to be left out.

    WEAT values are by the first of `vocabularies`; verbs are extracted from each.
    """
    models: list[WordVectors] = []
    errors: dict[str, MoralscopeError] = {}
    for name in vocabularies:
        try:
            models.append(load_vectors(name, progress=progress))
        except MoralscopeError as error:
            errors[name] = error
    if not models:
        return None, [_left_out("the words part", error) for error in list(errors.values())[:1]]
    problems = [_left_out(name, error) for name, error in errors.items()]
    paper, words = load_paper(), [*load_paper().dos, *load_paper().donts]
    weat, published = our_weat(models[0], words), published_weat(words)
    extractions = []
    try:
        for model in models:
            found = extract(model, progress=progress, seed=seed)
            extractions.append(Extraction(model.name, found.statistics, found.results))
    except MoralscopeError as error:
        problems.append(_left_out("the extraction", error))
    validation: Mapping[str, Any] | None = None
    try:
        validation = validate(valence=data_file(_AFINN), seed=seed).statistics
    except MissingExtra as error:
        problems.append(_left_out("the AFINN validation", error))
    return (
        WordsReproduction(
            vectors=models[0].name,
            weat=weat,
            missing=[word for word in words if word not in weat],
            agreement=_agreement(weat, paper.weat, seed),
            agreement_published=_agreement(weat, published, seed) if published else None,
            extractions=extractions,
            validation=validation,
        ),
        problems,
    )


def our_weat(vectors: WordVectors, words: Sequence[str]) -> dict[str, float]:
    """Return Eq. 1 with the papers' sets for every word that the vectors hold."""
    paper = load_paper()
    values = WordAssociation(vectors, paper.positive_words, paper.negative_words).scores(words)
    pairs = zip(words, values.tolist(), strict=True)
    return {word: value for word, value in pairs if not isnan(value)}


def published_weat(words: Sequence[str]) -> dict[str, float]:
    """Return the authors' own WEAT of all words, where the user has that file; else nothing."""
    path = data_file(_PUBLISHED)
    if path is None:
        return {}
    data = json.loads(path.read_text("utf-8"))
    known = {row["word"]: row["weat"] for row in [*data["dos_50"], *data["donts_50"]]}
    # The file writes fête without its accent.
    plain = {w: normalize("NFKD", w).encode("ascii", "ignore").decode() for w in words}
    return {word: known[key] for word, key in plain.items() if key in known}


def _agreement(ours: Mapping[str, float], theirs: Mapping[str, float], seed: int) -> Correlation:
    dos = set(load_paper().dos)
    shared = [word for word in theirs if word in ours]
    return correlate(
        [theirs[word] for word in shared],
        [ours[word] for word in shared],
        ["dos" if word in dos else "don'ts" for word in shared],
        seed=seed,
    )


def _left_out(what: str, error: MoralscopeError) -> str:
    line = f"{what} was left out: {error}"
    log.warning(line)
    return line
