"""Dos and don'ts of a vocabulary: its most positive and most negative verbs by association.

Jentzsch et al. 2019, "Extracting Verbs for Atomic Moral Choices". Every verb w of the vocabulary
is scored by their Eq. 1,

    s(w, A, B) = mean over a in A of cos(w, a)  -  mean over b in B of cos(w, b),

and the N highest and N lowest are returned. Intervals: bootstrap over the words of A and B.
Which words are verbs is decided in `verbs`, whether people agree in `valence`.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import WordVectors
from moralscope.models.store import data_file
from moralscope.words.association import WordAssociation
from moralscope.words.paper import load_paper
from moralscope.words.verbs import Verb

DO, DONT = "do", "don't"
_PUBLISHED = "figures/mcm_dos_donts.json"


@dataclass(frozen=True, slots=True)
class PublishedLists:
    """The papers' dos and don'ts in their order, and where these lists come from."""

    dos: tuple[str, ...]
    donts: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class ExtractedVerb:
    """A verb with its association; `form` is the word rated, `place` its place in the vocabulary.

    `paper_rank` is the place of the verb in the papers' list of that side, if it is there.
    An `association_word` is in A or B: its cosine of 1 with itself is part of its score.
    """

    word: str
    side: str
    score: float | None
    low: float | None
    high: float | None
    form: str
    place: int
    paper_rank: int | None
    association_word: bool


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many of the `of` verbs extracted stand in the papers' list of `listed` words.

    No more than `in_vocabulary` of the listed words have a vector at all.
    """

    found: int
    of: int
    listed: int
    in_vocabulary: int


def published_lists() -> PublishedLists:
    """Return the papers' lists: 100 words a side from MORALSCOPE_DATA, else the 50 printed.

    Examples
    --------
    >>> published_lists().dos[:3]
    ('joy', 'enjoy', 'cherish')
    """
    path = data_file(_PUBLISHED)
    if path is None:
        paper = load_paper()
        return PublishedLists(paper.dos, paper.donts, "the 50 + 50 words printed in the paper")
    try:
        rows = json.loads(path.read_text("utf-8"))
        dos, donts = (tuple(row["word"] for row in rows[key]) for key in ("dos_100", "donts_100"))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} does not hold the published lists ({type(error).__name__})",
            "restore the file, or unset MORALSCOPE_DATA to use the printed lists",
        ) from error
    return PublishedLists(dos, donts, f"the 100 + 100 words of {_PUBLISHED}")


def extract_dos_and_donts(
    association: WordAssociation,
    verbs: Sequence[Verb],
    published: PublishedLists,
    sets: Collection[str],
    count: int,
) -> list[ExtractedVerb]:
    """Return the `count` most positive verbs, best first, then the most negative, worst first.

    Of fewer than two times `count` verbs each side gets half, so that no verb is both.

    Parameters
    ----------
    association
        Eq. 1 with its vectors and sets.
    verbs
        What may be extracted; a verb whose vector has no direction is left out.
    published
        The lists in which the verbs' ranks are looked up.
    sets
        The words of A and B, to tell verbs that are rated by themselves.
    count
        Verbs on each side.
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
        DO: [verbs[place] for place in order[:middle][:count]],
        DONT: [verbs[place] for place in order[middle:][::-1][:count]],
    }
    listed = {DO: published.dos, DONT: published.donts}
    found = []
    for side, rows in chosen.items():
        ranks = {word: rank for rank, word in enumerate(listed[side], 1)}
        rated = association.associate([verb.form for verb in rows])
        for verb, by in zip(rows, rated, strict=True):
            numbers = by.score, by.low, by.high
            rank, own = ranks.get(verb.base), verb.form in sets
            found.append(ExtractedVerb(verb.base, side, *numbers, verb.form, verb.place, rank, own))
    return found


def overlap(
    extracted: Sequence[ExtractedVerb], vectors: WordVectors, published: PublishedLists
) -> dict[str, Overlap]:
    """Count, for each side, what the extraction shares with the papers' list."""
    counts = {}
    for name, side, listed in (("dos", DO, published.dos), ("donts", DONT, published.donts)):
        rows = [row for row in extracted if row.side == side]
        found = sum(row.paper_rank is not None for row in rows)
        known = sum(word in vectors for word in listed)
        counts[name] = Overlap(found, len(rows), len(listed), known)
    return counts
