"""The verbs of a vocabulary, each once, in base form (Jentzsch et al. 2019, verb extraction).

The paper filters the vocabulary by "a huge external list of verbs" and rates words "in stemmed
form" so that conjugations do not repeat. Here a verb is rated by the vector of its base form;
where the vocabulary lacks that, by the vector of its most frequent conjugation.
Spellings stay as they are: "savor" and "savour" are two verbs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from moralscope.words.lemmas import VerbLexicon


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

    Examples
    --------
    >>> lemmas = {"killed": ("kill",), "kill": ("kill",), "harmed": ("harm",)}
    >>> lexicon = VerbLexicon("mine", "", frozenset({"kill", "harm"}), frozenset(), lemmas)
    >>> [(verb.base, verb.form) for verb in find_verbs(["killed", "harmed", "kill"], lexicon)]
    [('harm', 'harmed'), ('kill', 'kill')]
    """
    found: dict[str, Verb] = {}
    for place, word in enumerate(words, 1):
        plain = word.lower() if any_case else word
        base = lexicon.base(plain)
        if base is None or (strict and base not in lexicon.mainly_verbs):
            continue
        known = found.get(base)
        if known is None or (plain == base and known.form.lower() != base):
            found[base] = Verb(base, word, place)
    return sorted(found.values(), key=lambda verb: verb.place)
