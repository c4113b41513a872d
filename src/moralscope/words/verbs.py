"""English verbs and their base forms, and the verbs of a vocabulary, each once.

Which words can be verbs, main use first: Moby Part-of-Speech (Grady Ward, public domain). Which
base form a conjugation has: the lemma table of LemmInflect (MIT), made from the NIH SPECIALIST
Lexicon; it also adds the verbs that Moby lacks. The store pins both tables by checksum. Words only:
no sentence is tagged, so "left" is a form of "leave" wherever it stands.

Jentzsch et al. 2019 filter the vocabulary by "a huge external list of verbs" and rate words "in
stemmed form" so that conjugations do not repeat. Here a verb is rated by the vector of its base
form; where the vocabulary lacks that, by the vector of its most frequent conjugation. Spellings
stay as they are: "savor" and "savour" are two verbs.
"""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from moralscope.models.store import Progress, Store

ENTRY = "english-verbs"
MOBY, LEMMAS = "mobypos.txt", "lemma_lu.csv.gz"
_VERB_CODES = frozenset("Vti")  # Moby: participle and other, transitive, intransitive
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxyz")


@dataclass(frozen=True, slots=True)
class VerbLexicon:
    """Verbs, those whose main use is a verb, and the base forms of conjugations."""

    name: str
    checksum: str
    verbs: frozenset[str]
    mainly_verbs: frozenset[str]
    lemmas: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def base(self, word: str) -> str | None:
        """Return the base form of a lower-case verb or conjugation; None if it is neither."""
        lemmas = self.lemmas.get(word, ())
        others = [lemma for lemma in lemmas if lemma != word]
        # "lay" is a base form although it is the past of "lie" too; "bungling" is none.
        if others and (word not in lemmas or word.endswith(("ed", "ing"))):
            return others[0]
        if lemmas:
            return word
        if word not in self.verbs:
            return None
        return next((stem for stem in _stems(word) if stem in self.verbs), word)


def load_verb_lexicon(progress: Progress | None = None) -> VerbLexicon:
    """Return the English verbs of the store, pulling them (4 MB) if they are not here."""
    store = Store()
    return read_verb_lexicon(store.ensure(ENTRY, progress), ENTRY, store.entry(ENTRY).sha256)


def read_verb_lexicon(folder: Path, name: str, checksum: str) -> VerbLexicon:
    """Read the two tables of `folder`."""
    # Rows end in CR; a word may have spaces in it.
    rows = (row.partition("\u00d7") for row in (folder / MOBY).read_text("utf-8").splitlines())
    uses = {
        word: codes
        for word, _, codes in rows
        if codes and len(word) > 1 and word.islower() and " " not in word
    }
    lemmas: dict[str, tuple[str, ...]] = {}
    not_only_verbs = set()
    with gzip.open(folder / LEMMAS, "rt", encoding="utf-8") as lines:
        for line in lines:
            word, part, bases = line.rstrip("\n").split(",")
            if word[0].isalpha() and part == "verb":  # not 'd, 'll
                lemmas[word] = tuple(bases.split("/"))
            elif word[0].isalpha():
                not_only_verbs.add(word)
    base_forms = {base for row in lemmas.values() for base in row}
    verbs = base_forms | {word for word, codes in uses.items() if _VERB_CODES.intersection(codes)}
    mainly = {word for word, codes in uses.items() if codes[0] in _VERB_CODES}
    mainly |= base_forms - uses.keys() - not_only_verbs
    return VerbLexicon(name, checksum, frozenset(verbs), frozenset(mainly), lemmas)


def _stems(word: str) -> Iterator[str]:
    """Yield what a regular conjugation that no table knows may come from, likeliest first."""
    for ending, replacements in (("ied", ("y",)), ("ed", ("e", "")), ("ing", ("e", ""))):
        stem = word.removesuffix(ending)
        if stem != word:
            yield from (stem + replacement for replacement in replacements)
            if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] in _CONSONANTS:
                yield stem[:-1]


@dataclass(frozen=True, slots=True)
class Verb:
    """A base form, the vocabulary's word that stands for it, and that word's place (from 1)."""

    base: str
    form: str
    place: int


def find_verbs(
    words: Sequence[str], lexicon: VerbLexicon, *, strict: bool = False, any_case: bool = False
) -> list[Verb]:
    """Return the verbs of `words` (the most frequent word first), in the order of their forms.

    Parameters
    ----------
    strict
        Only words whose main use is a verb: "kill", not "poison" or "joy".
    any_case
        Read "Enjoy" as "enjoy"; by default words with capitals are names and left out.
    """
    verbs: dict[str, Verb] = {}
    for rank, word in enumerate(words, 1):
        plain = word.lower() if any_case else word
        base = lexicon.base(plain)
        if base is None or (strict and base not in lexicon.mainly_verbs):
            continue
        known = verbs.get(base)
        if known is None or (plain == base and known.form.lower() != base):
            verbs[base] = Verb(base, word, rank)
    return sorted(verbs.values(), key=lambda verb: verb.place)
