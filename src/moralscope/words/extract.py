"""Dos and don'ts of a vocabulary: its most positive and most negative verbs by association.

Jentzsch et al. 2019, "Extracting Verbs for Atomic Moral Choices". Every verb w of the vocabulary
is scored by their Eq. 1 (`association`), and the N highest and N lowest are returned, with
intervals: bootstrap over the words of A and B. Which words are verbs is decided in `verbs`,
whether people agree in `valence`.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError, MissingExtra
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import WordVectors
from moralscope.core.records import NOT_ADVICE, ModelRef, RunRecord
from moralscope.io.actions import read_actions
from moralscope.models.store import Progress, data_file, sha256_of
from moralscope.words.association import WordAssociation
from moralscope.words.options import BROAD, STRICT, ExtractOptions
from moralscope.words.paper import load_paper
from moralscope.words.valence import load_valence, valence_statistics
from moralscope.words.vectors import load_vectors
from moralscope.words.verbs import Verb, VerbLexicon, find_verbs, load_verb_lexicon
from moralscope.words.word_sets import WordSets, load_word_sets

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


def extract(
    vectors: str | WordVectors | None = None,
    options: ExtractOptions | None = None,
    *,
    lexicon: VerbLexicon | None = None,
    progress: Progress | None = None,
    **given: Any,
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
    chosen = chosen_options(ExtractOptions, options, given)
    name = vectors or chosen.vectors
    model = load_vectors(name, progress=progress) if isinstance(name, str) else name
    sets, published = load_word_sets(chosen.sets), published_lists()
    association = WordAssociation(model, sets.positive, sets.negative, seed=chosen.seed)
    known = lexicon or _lexicon(chosen.verbs, progress)
    words = model.words[: chosen.max_words]
    verbs = find_verbs(words, known, strict=chosen.verbs == STRICT, any_case=chosen.any_case)
    own = {*sets.positive, *sets.negative}
    results = extract_dos_and_donts(association, verbs, published, own, chosen.count)
    missing = (*association.missing_positive, *association.missing_negative)
    validation, note = _validate(results, chosen.valence)
    return RunRecord(
        "words extract",
        seed=chosen.seed,
        config=_config(model, chosen, sets, known),
        models=[ModelRef(model.name, model.checksum), ModelRef(known.name, known.checksum)],
        results=results,
        statistics={
            "words": len(words),
            "verbs": len(verbs),
            "missing_words": missing,
            "overlap": {"source": published.source, **overlap(results, model, published)},
            "validation": validation,
        },
        warnings=[NOT_ADVICE, *_warnings(results, missing, chosen.count), *note],
    )


def _lexicon(verbs: str, progress: Progress | None) -> VerbLexicon:
    if verbs in (BROAD, STRICT):
        return load_verb_lexicon(progress)
    path = Path(verbs).expanduser()
    if not path.is_file():
        raise InputError(f"--verbs '{verbs}' is no file", f"give {BROAD}, {STRICT} or a file")
    own = frozenset(read_actions(path).actions)
    # Each its own lemma: a list of base forms is taken at its word, in any language.
    return VerbLexicon(path.name, sha256_of(path), own, own, {verb: (verb,) for verb in own})


def _config(
    vectors: WordVectors, options: ExtractOptions, sets: WordSets, lexicon: VerbLexicon
) -> dict[str, Any]:
    return {
        "vectors": vectors.name,
        "sets": sets.name,
        "positive_words": sets.positive,
        "negative_words": sets.negative,
        "count": options.count,
        "verbs": options.verbs,
        "verb_lexicon": lexicon.name,
        "max_words": options.max_words,
        "any_case": options.any_case,
        "interval": "95 % percentile bootstrap over the association words",
        "options": plain_options(options),
    }


def _validate(
    results: Sequence[ExtractedVerb], path: Path | None
) -> tuple[dict[str, Any] | None, list[str]]:
    """Rate the extraction; without a lexicon say so, unless the user asked for one."""
    try:
        lexicon = load_valence(path)
    except MissingExtra as error:
        return None, [f"not validated: {error}"]
    dos = [row.word for row in results if row.side == DO]
    donts = [row.word for row in results if row.side == DONT]
    return valence_statistics(dos, donts, lexicon), []


def _warnings(results: Sequence[ExtractedVerb], missing: Sequence[str], count: int) -> list[str]:
    found = []
    if missing:
        found.append(f"association words without a vector ({len(missing)}): {', '.join(missing)}")
    if len(results) < 2 * count:
        found.append(f"only {len(results)} verbs were found, not {count} on each side")
    stand_ins = sum(row.form != row.word for row in results)
    if stand_ins:
        found.append(
            "verbs rated by their most frequent conjugation (see 'form'), because the base form "
            f"is not among the words looked at: {stand_ins}"
        )
    own = sum(row.association_word for row in results)
    if own:
        found.append(
            "verbs that are association words themselves, as in the papers, which lifts their "
            f"score by their cosine of 1 with themselves: {own}"
        )
    return found
