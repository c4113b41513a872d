"""The words half of the first paper: WEAT, and the extraction of dos and don'ts, with our vectors.

Jentzsch et al. 2019: Table 2's WEAT column, the lists of dos and don'ts, and their confirmation by
AFINN. Verbs are extracted from each vocabulary that is named: 26,000 words of GoogleNews and
400,000 of GloVe by default.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from unicodedata import normalize

from moralscope.core.decode import decode
from moralscope.core.errors import MissingExtra, MoralscopeError
from moralscope.core.protocols import WordVectors
from moralscope.io.documents import read_document
from moralscope.models.store import Progress, data_file
from moralscope.papers import PaperTable, correlation_rows, paper_row, with_outcomes
from moralscope.stats.correlation import Correlation, correlate
from moralscope.words.association import WordAssociation
from moralscope.words.extract import ExtractedVerb, ExtractStatistics, extract
from moralscope.words.options import VECTORS
from moralscope.words.paper import load_paper
from moralscope.words.valence import PAPER as PRINTED_VALENCE
from moralscope.words.valence import ValenceStatistics, validate
from moralscope.words.vectors import load_vectors

log = logging.getLogger(__name__)

_PUBLISHED = "figures/mcm_dos_donts.json"
_AFINN = "lexicons/AFINN-en-165.txt"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The dos and don'ts of one vocabulary: rows and statistics of `words extract`."""

    vectors: str
    statistics: ExtractStatistics
    verbs: Sequence[ExtractedVerb]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsReproduction:
    """WEAT values by our vectors, their agreement with the papers', extractions, validation."""

    vectors: str
    weat: Mapping[str, float]
    missing: Sequence[str]
    agreement: Correlation
    agreement_published: Correlation | None
    extractions: Sequence[Extraction]
    validation: ValenceStatistics | None  # of the papers' own lists


@dataclass(frozen=True, slots=True)
class _PublishedWeat:
    word: str
    weat: float


@dataclass(frozen=True, slots=True)
class _PublishedFile:
    dos_50: list[_PublishedWeat]
    donts_50: list[_PublishedWeat]


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

    def in_order_of(theirs: Mapping[str, float]) -> dict[str, float]:
        return {word: weat[word] for word in theirs if word in weat}

    extractions = []
    try:
        for model in models:
            record = extract(model, progress=progress, seed=seed)
            extractions.append(Extraction(model.name, record.statistics, record.results))
    except MoralscopeError as error:
        problems.append(_left_out("the extraction", error))
    validation = None
    try:
        validation = validate(valence=data_file(_AFINN), seed=seed).statistics
    except MissingExtra as error:
        problems.append(_left_out("the AFINN validation", error))
    return (
        WordsReproduction(
            vectors=models[0].name,
            weat=weat,
            missing=[word for word in words if word not in weat],
            agreement=correlate_with_weat(in_order_of(paper.weat), paper.weat, seed),
            agreement_published=(
                correlate_with_weat(in_order_of(published), published, seed) if published else None
            ),
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
    remedy = "restore the file, or unset MORALSCOPE_DATA to use the printed values"
    plain_file = read_document(path, "the published values", remedy).json_values()
    file = decode(_PublishedFile, plain_file, str(path), remedy=remedy)
    known = {row.word: row.weat for row in (*file.dos_50, *file.donts_50)}
    # The file writes fête without its accent.
    plain = {w: normalize("NFKD", w).encode("ascii", "ignore").decode() for w in words}
    return {word: known[key] for word, key in plain.items() if key in known}


def correlate_with_weat(
    values: Mapping[str, float], weat: Mapping[str, float], seed: int
) -> Correlation:
    """Correlate what words are worth with their WEAT, in all and within dos and don'ts."""
    dos = set(load_paper().dos)
    known = [word for word in values if word in weat]
    return correlate(
        [weat[word] for word in known],
        [values[word] for word in known],
        ["dos" if word in dos else "don'ts" for word in known],
        seed=seed,
    )


def _left_out(what: str, error: MoralscopeError) -> str:
    line = f"{what} was left out: {error}"
    log.warning(line)
    return line


def words_tables(words: WordsReproduction) -> list[PaperTable]:
    """Return the first paper's figures on words: WEAT, and the valence of dos and don'ts.

    What is extracted from each vocabulary stands beside the valence that the paper prints for its
    own lists; how many of its verbs the paper has, too, is printed nowhere.
    """
    weat = [
        paper_row(word, "WEAT", words.weat.get(word), value)
        for word, value in load_paper().weat.items()
    ]
    for name, r in (("printed", words.agreement), ("published", words.agreement_published)):
        weat += correlation_rows(f"all words, against the {name} values", "r", r, None) if r else []
    valence = []
    lists = [("the papers' lists", words.validation)]
    lists += [
        (f"extracted from {extraction.vectors}", extraction.statistics.validation)
        for extraction in words.extractions
    ]
    for name, validation in lists:
        if validation is None:
            continue
        for label, ours, printed in (
            ("all words", validation.all_words, PRINTED_VALENCE.all_words),
            ("rated only", validation.rated_only, PRINTED_VALENCE.rated_only),
        ):
            for side, ratings, summary in (
                ("dos", ours.dos, printed.dos),
                ("don'ts", ours.donts, printed.donts),
            ):
                row = f"{name}, {label}, {side}"
                valence.append(paper_row(row, "mean", ratings.mean, summary.mean))
                valence.append(paper_row(row, "sd", ratings.population_sd, summary.sd))
                valence.append(paper_row(row, "n", ratings.n, summary.n))
            valence.append(paper_row(f"{name}, {label}", "t", ours.test.t, printed.t))
    for extraction in words.extractions:
        overlap = extraction.statistics.overlap
        for side, shared in (("dos", overlap.dos), ("don'ts", overlap.donts)):
            row = f"extracted from {extraction.vectors}, of {shared.of} {side}"
            valence.append(paper_row(row, "in the papers' lists", shared.found, None))
    tables = [
        with_outcomes(
            PaperTable(f"Table 2 and Table 7: WEAT ({words.vectors})", weat),
            other=f"{words.vectors} is a part of the paper's vectors",
            missing=f"not in the vocabulary of {words.vectors}",
            signed=True,
        ),
        with_outcomes(
            PaperTable("Dos and don'ts: valence by AFINN, and what is extracted", valence),
            other="other vectors and verbs than the paper's",
            missing="no ratings at hand",
            signed=True,
        ),
    ]
    return [table for table in tables if table.rows]
