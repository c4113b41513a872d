"""Extract the dos and don'ts of a vocabulary and return a run record."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, MissingExtra
from moralscope.core.protocols import WordVectors
from moralscope.core.records import NOT_ADVICE, ModelRef, RunRecord
from moralscope.io.actions import read_actions
from moralscope.models.store import Progress, sha256_of
from moralscope.words.association import WordAssociation
from moralscope.words.extraction import (
    DO,
    DONT,
    ExtractedVerb,
    extract_dos_and_donts,
    overlap,
    published_lists,
)
from moralscope.words.lemmas import VerbLexicon, load_verb_lexicon
from moralscope.words.valence import load_valence
from moralscope.words.validate import valence_statistics
from moralscope.words.vectors import load_vectors
from moralscope.words.verbs import find_verbs
from moralscope.words.word_sets import DEFAULT, WordSets, load_word_sets

BROAD, STRICT = "broad", "strict"


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """What is extracted.

    Parameters
    ----------
    sets
        Association sets A and B: `papers`, another built-in name, or a file.
    count
        Verbs on each side.
    verbs
        `broad`: every word that can be a verb, as in the paper; `strict`: words whose main use
        is a verb; or a file of your own with one base form a line, in any language.
    max_words
        Look only at this many words from the start of the vocabulary, where the frequent ones
        are; rare words have noisy vectors. All by default.
    any_case
        Read "Enjoy" as "enjoy"; by default words with capitals are left out.
    valence
        A file of word<TAB>rating lines; by default AFINN, where the user has it.
    """

    sets: str = DEFAULT
    count: int = 50
    verbs: str = BROAD
    max_words: int | None = None
    any_case: bool = False
    valence: Path | None = None


def extract(
    vectors: str | WordVectors = "googlenews-26k",
    options: ExtractOptions | None = None,
    *,
    lexicon: VerbLexicon | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> RunRecord:
    """Return the most positive and most negative verbs of a vocabulary.

    Parameters
    ----------
    vectors
        A name, a file, or any object with the `WordVectors` protocol.
    options
        What is extracted; by default 50 verbs a side, as in the paper.
    lexicon
        Which words are verbs; by default what ``options.verbs`` names.
    progress
        Called with a label, the bytes done and the bytes in all while something is fetched.
    seed
        Seeds the bootstrap over association words behind every interval.

    Examples
    --------
    >>> verbs = VerbLexicon("mine", "", frozenset({"help", "kill"}), frozenset())
    >>> record = extract("scripted", ExtractOptions(count=1), lexicon=verbs)
    >>> sorted(row.word for row in record.results)
    ['help', 'kill']
    """
    chosen = options or ExtractOptions()
    _check(chosen)
    model = load_vectors(vectors, progress=progress) if isinstance(vectors, str) else vectors
    sets, published = load_word_sets(chosen.sets), published_lists()
    association = WordAssociation(model, sets.positive, sets.negative, seed=seed)
    known = lexicon or _lexicon(chosen.verbs, progress)
    words = model.words[: chosen.max_words]
    verbs = find_verbs(words, known, strict=chosen.verbs == STRICT, any_case=chosen.any_case)
    own = {*sets.positive, *sets.negative}
    results = extract_dos_and_donts(association, verbs, published, own, chosen.count)
    missing = (*association.missing_positive, *association.missing_negative)
    validation, note = _validate(results, chosen.valence)
    return RunRecord(
        "words extract",
        seed=seed,
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


def _check(options: ExtractOptions) -> None:
    if options.count < 1:
        raise InputError("--count is below 1", "ask for at least one verb on each side")
    if options.max_words is not None and options.max_words < 1:
        raise InputError("--max-words is below 1", "look at one word or more")


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
