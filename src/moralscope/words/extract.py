"""Dos and don'ts of a vocabulary: its most positive and most negative verbs by association.

Jentzsch et al. 2019, "Extracting Verbs for Atomic Moral Choices". Every verb w of the vocabulary
is scored by their Eq. 1 (`association`), and the N highest and N lowest are returned, with
intervals: bootstrap over the words of A and B. Which words are verbs is decided in `verbs`,
whether people agree in `valence`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.decode import decode
from moralscope.core.errors import InputError, MissingExtra
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import WordVectors
from moralscope.core.records import NOT_ADVICE, ModelRef, RunRecord, Statistics
from moralscope.io.actions import read_actions
from moralscope.io.documents import read_document
from moralscope.models.store import Progress, data_file, sha256_of
from moralscope.words.association import WordAssociation
from moralscope.words.options import BROAD, STRICT, ExtractOptions
from moralscope.words.paper import load_paper
from moralscope.words.valence import ValenceStatistics, compare_valence, load_valence
from moralscope.words.vectors import load_vectors
from moralscope.words.verbs import Verb, VerbLexicon, find_verbs, load_verb_lexicon
from moralscope.words.word_sets import load_word_sets

DO, DONT = "do", "don't"
_PUBLISHED = "figures/mcm_dos_donts.json"


@dataclass(frozen=True, slots=True)
class PublishedLists:
    """The papers' dos and don'ts in their order, and where these lists come from."""

    dos: tuple[str, ...]
    donts: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedVerb:
    """A verb with its association."""

    word: str
    side: str
    score: float | None
    low: float | None
    high: float | None
    form: str  # the word that was rated
    place: int  # of the form in the vocabulary
    paper_rank: int | None  # of the verb in the papers' list of that side, if it is there
    association_word: bool  # it is in A or B: its cosine of 1 with itself is part of its score


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOverlap:
    """How many extracted verbs stand in the papers' list of a side."""

    found: int
    of: int  # verbs extracted
    listed: int  # words of the papers' list
    in_vocabulary: int  # listed words that have a vector at all


@dataclass(frozen=True, slots=True)
class PublishedOverlap(Statistics):
    """What the extraction shares with the papers' lists."""

    source: str
    dos: ListOverlap
    donts: ListOverlap


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractStatistics(Statistics):
    """What was looked at, and how it compares with the papers and with a valence lexicon."""

    words: int
    verbs: int
    missing_words: Sequence[str]  # association words without a vector
    overlap: PublishedOverlap
    validation: ValenceStatistics | None


@dataclass(frozen=True, slots=True)
class _PublishedWord:
    word: str


@dataclass(frozen=True, slots=True)
class _PublishedFile:
    dos_100: list[_PublishedWord]
    donts_100: list[_PublishedWord]


def published_lists() -> PublishedLists:
    """Return the papers' lists: 100 words a side from MORALSCOPE_DATA, else the 50 printed."""
    path = data_file(_PUBLISHED)
    if path is None:
        paper = load_paper()
        return PublishedLists(paper.dos, paper.donts, "the 50 + 50 words printed in the paper")
    remedy = "restore the file, or unset MORALSCOPE_DATA to use the printed lists"
    plain = read_document(path, "the published lists", remedy).json_values()
    lists = decode(_PublishedFile, plain, str(path), remedy=remedy)
    dos, donts = (tuple(row.word for row in rows) for rows in (lists.dos_100, lists.donts_100))
    return PublishedLists(dos, donts, f"the 100 + 100 words of {_PUBLISHED}")


def extract_dos_and_donts(
    association: WordAssociation,
    verbs: Sequence[Verb],
    published: PublishedLists,
    sets: Collection[str],
    count: int,
) -> list[ExtractedVerb]:
    """Return the `count` most positive verbs, best first, then the most negative, worst first.

    Of fewer than two times `count` verbs each side gets half, so that no verb is both; one whose
    vector has no direction is left out. `sets` are the words of A and B: a verb among them is rated
    by itself.
    """
    scores = association.scores([verb.form for verb in verbs])
    order = np.argsort(-scores, kind="stable")  # NaN, no score, comes last
    order = order[: np.isfinite(scores).sum()]
    if not order.size:
        raise InputError(
            "there is no verb among the words",
            "give English word vectors, raise --max-words, or name your own --verbs file",
        )
    middle = (len(order) + 1) // 2
    chosen = {
        DO: [verbs[index] for index in order[:middle][:count]],
        DONT: [verbs[index] for index in order[middle:][::-1][:count]],
    }
    listed = {DO: published.dos, DONT: published.donts}
    extracted = []
    for side, rows in chosen.items():
        ranks = {word: rank for rank, word in enumerate(listed[side], 1)}
        ratings = association.associate([verb.form for verb in rows])
        extracted += [
            ExtractedVerb(
                word=verb.base,
                side=side,
                score=rating.score,
                low=rating.low,
                high=rating.high,
                form=verb.form,
                place=verb.place,
                paper_rank=ranks.get(verb.base),
                association_word=verb.form in sets,
            )
            for verb, rating in zip(rows, ratings, strict=True)
        ]
    return extracted


def list_overlap(
    rows: Sequence[ExtractedVerb], side: str, vectors: WordVectors, listed: Sequence[str]
) -> ListOverlap:
    """Count what the extraction of a side shares with the papers' list."""
    ranks = [row.paper_rank for row in rows if row.side == side]
    return ListOverlap(
        found=sum(rank is not None for rank in ranks),
        of=len(ranks),
        listed=len(listed),
        in_vocabulary=sum(word in vectors for word in listed),
    )


def extract(
    vectors: str | WordVectors | None = None,
    options: ExtractOptions | None = None,
    *,
    lexicon: VerbLexicon | None = None,
    progress: Progress | None = None,
    **fields: Any,
) -> RunRecord:
    """Return the most positive and most negative verbs of a vocabulary.

    Parameters
    ----------
    vectors
        A name, a file, or any object with the `WordVectors` protocol; else what the options name.
    options
        `ExtractOptions`, or its fields as keywords; by default 50 verbs a side, as in the paper.
    lexicon
        Which words are verbs; by default what ``options.verbs`` names.
    progress
        Called with a label, the bytes done and the bytes in all while something is fetched.

    Examples
    --------
    >>> verbs = VerbLexicon("mine", "", frozenset({"help", "kill"}), frozenset())
    >>> record = extract("scripted", count=1, lexicon=verbs)
    >>> sorted(row.word for row in record.results)
    ['help', 'kill']
    """
    chosen = chosen_options(ExtractOptions, options, fields)
    name = vectors or chosen.vectors
    model = load_vectors(name, progress=progress) if isinstance(name, str) else name
    sets, published = load_word_sets(chosen.sets), published_lists()
    association = WordAssociation(model, sets.positive, sets.negative, seed=chosen.seed)
    verb_lexicon = lexicon
    if verb_lexicon is None and chosen.verbs in (BROAD, STRICT):
        verb_lexicon = load_verb_lexicon(progress)
    elif verb_lexicon is None:
        path = Path(chosen.verbs).expanduser()
        if not path.is_file():
            problem = f"--verbs '{chosen.verbs}' is not a file"
            raise InputError(problem, f"give {BROAD}, {STRICT} or a file")
        bases = frozenset(read_actions(path).actions)
        # Each its own lemma: a list of base forms is taken at its word, in any language.
        lemmas = {verb: (verb,) for verb in bases}
        verb_lexicon = VerbLexicon(path.name, sha256_of(path), bases, bases, lemmas)
    words = model.words[: chosen.max_words]
    strict = chosen.verbs == STRICT
    verbs = find_verbs(words, verb_lexicon, strict=strict, any_case=chosen.any_case)
    set_words = {*sets.positive, *sets.negative}
    results = extract_dos_and_donts(association, verbs, published, set_words, chosen.count)
    missing = (*association.missing_positive, *association.missing_negative)
    warnings = [NOT_ADVICE, *_warnings(results, missing, chosen.count)]
    validation = None
    try:
        dos, donts = ([row.word for row in results if row.side == side] for side in (DO, DONT))
        validation = compare_valence(dos, donts, load_valence(chosen.valence))
    except MissingExtra as error:
        warnings.append(f"not validated: {error}")
    return RunRecord(
        "words extract",
        seed=chosen.seed,
        config={
            "vectors": model.name,
            "sets": sets.name,
            "positive_words": sets.positive,
            "negative_words": sets.negative,
            "count": chosen.count,
            "verbs": chosen.verbs,
            "verb_lexicon": verb_lexicon.name,
            "max_words": chosen.max_words,
            "any_case": chosen.any_case,
            "interval": "95 % percentile bootstrap over the association words",
            "options": plain_options(chosen),
        },
        models=[
            ModelRef(model.name, model.checksum),
            ModelRef(verb_lexicon.name, verb_lexicon.checksum),
        ],
        results=results,
        statistics=ExtractStatistics(
            words=len(words),
            verbs=len(verbs),
            missing_words=missing,
            overlap=PublishedOverlap(
                published.source,
                list_overlap(results, DO, model, published.dos),
                list_overlap(results, DONT, model, published.donts),
            ),
            validation=validation,
        ),
        warnings=warnings,
    )


def _warnings(results: Sequence[ExtractedVerb], missing: Sequence[str], count: int) -> list[str]:
    notes = []
    if missing:
        notes.append(f"association words without a vector ({len(missing)}): {', '.join(missing)}")
    if len(results) < 2 * count:
        notes.append(f"only {len(results)} verbs were found, not {count} on each side")
    stand_ins = sum(row.form != row.word for row in results)
    if stand_ins:
        notes.append(
            "verbs rated by their most frequent conjugation (see 'form'), because the base form "
            f"is not among the words looked at: {stand_ins}"
        )
    in_sets = sum(row.association_word for row in results)
    if in_sets:
        notes.append(
            "verbs that are association words themselves, as in the papers, which lifts their "
            f"score by their cosine of 1 with themselves: {in_sets}"
        )
    return notes
