"""The words half of `reproduce choice`: WEAT values, extraction and AFINN validation.

Jentzsch et al. 2019: Table 2's WEAT column, the lists of dos and don'ts, and their confirmation by
AFINN, with our own vectors. What cannot be had here is left out and said.
"""

import json
import logging
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from moralscope.core.errors import MissingExtra, MoralscopeError
from moralscope.core.protocols import WordVectors
from moralscope.models.store import Progress, data_file
from moralscope.stats import Correlation, correlate
from moralscope.words.association import WordAssociation
from moralscope.words.extract import extract
from moralscope.words.paper import load_paper
from moralscope.words.valence import validate
from moralscope.words.vectors import load_vectors

log = logging.getLogger(__name__)

_VECTORS = "googlenews-26k"
_PUBLISHED = "figures/mcm_dos_donts.json"
_AFINN = "lexicons/AFINN-en-165.txt"


@dataclass(frozen=True, slots=True)
class WordsReproduction:
    """WEAT values by our vectors, their agreement with the papers', extraction, validation."""

    vectors: str
    weat: Mapping[str, float]
    missing: Sequence[str]
    agreement: Correlation
    agreement_published: Correlation | None
    extraction: Mapping[str, Any] | None
    extracted: Sequence[Any]
    validation: Mapping[str, Any] | None


def reproduce_words(
    *, seed: int = 0, progress: Progress | None = None
) -> tuple[WordsReproduction | None, list[str]]:
    """Return the words part, or None, and a line for each thing that had to be left out."""
    problems: list[str] = []
    try:
        vectors = load_vectors(_VECTORS, progress=progress)
    except MoralscopeError as error:
        return None, [_left_out("the words part", error)]
    paper = load_paper()
    words = [*paper.dos, *paper.donts]
    weat = our_weat(vectors, words)
    extraction = _extraction(vectors, seed, progress, problems)
    published = published_weat(words)
    return (
        WordsReproduction(
            vectors=vectors.name,
            weat=weat,
            missing=[word for word in words if word not in weat],
            agreement=_agreement(weat, paper.weat, seed),
            agreement_published=_agreement(weat, published, seed) if published else None,
            extraction=extraction.statistics if extraction else None,
            extracted=extraction.results if extraction else (),
            validation=_validation(seed, problems),
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
    plain = {word: _without_accents(word) for word in words}
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


def _extraction(
    vectors: WordVectors, seed: int, progress: Progress | None, problems: list[str]
) -> Any:
    try:
        return extract(vectors, progress=progress, seed=seed)
    except MoralscopeError as error:
        problems.append(_left_out("the extraction", error))
        return None


def _validation(seed: int, problems: list[str]) -> Mapping[str, Any] | None:
    try:
        return validate(valence=data_file(_AFINN), seed=seed).statistics
    except MissingExtra as error:
        problems.append(_left_out("the AFINN validation", error))
        return None


def _left_out(what: str, error: MoralscopeError) -> str:
    line = f"{what} was left out: {error}"
    log.warning(line)
    return line


def _without_accents(word: str) -> str:
    return unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
