"""Third person to first: "Mike lies to his boss." becomes "lie to my boss", as a reply tells it.

Text in, text out, by rules; no model is used. A sentence is rewritten when it starts with a name
(or he, she) and a verb in the present tense, and it is clear whom its pronouns mean; else the
answer is None. `present_verbs` finds the verbs of a set of sentences by where they stand.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from moralscope.io.documents import shipped_toml
from moralscope.stories.norms.inflection import base_of_finite, gerund_of_base, third_person
from moralscope.stories.norms.phrases import (
    first_verb,
    gerund_phrase,
    gerund_to_base,
    starts_with_gerund,
)

__all__ = ["OwnAct", "gender_of", "own_act", "own_phrase", "past_of_base", "present_verbs"]

_WORD = re.compile(r"\w+(?:['-]\w+)*|[^\w\s]")
_NAME = re.compile(r"[A-Z][a-z]+")
_MALE = {"he": "I", "him": "me", "his": "my", "himself": "myself"}
_FEMALE = {"she": "I", "her": "my", "hers": "mine", "herself": "myself"}
_GENDERS = {"m": _MALE, "f": _FEMALE}
_SECOND = {"your": "my", "yours": "mine", "yourself": "myself", "you're": "I'm", "you've": "I've"}
_AUXILIARY = {"is": "am", "has": "have", "does": "do", "doesn't": "don't", "isn't": "am not"}
_PAST_AUXILIARY = {"am": "was", "have": "had", "do": "did", "don't": "didn't", "am not": "wasn't"}
_AUXILIARIES = (*_AUXILIARY, "was", "will", "would", "can", "could", "should")
_JOINS = ("and", "but", "or", "then", ",")
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class OwnAct:
    """An act as the one who does it tells it: "lie to my boss", "lied …", "lying …"."""

    base: str
    past: str
    gerund: str

    @property
    def present(self) -> str:
        """The act after "I", now."""
        return "am" + self.base[2:] if self.base.startswith("be ") else self.base


def past_of_base(word: str) -> str:
    """Return the past tense of a base form.

    Examples
    --------
    >>> [past_of_base(w) for w in ("lie", "try", "stop", "bake", "panic", "take", "play")]
    ['lied', 'tried', 'stopped', 'baked', 'panicked', 'took', 'played']
    """
    known: dict[str, str] = _tables()["past"]
    if word in known:
        return known[word]
    if word.endswith("e"):
        return word + "d"
    return word[:-1] + "ied" if re.search(r"[^aeiou]y$", word) else gerund_of_base(word)[:-3] + "ed"


def own_phrase(phrase: str) -> OwnAct | None:
    """Return a norm's behaviour ("steal from your boss", or -ing) as an act of one's own."""
    line = " ".join(phrase.split()).strip().rstrip(".!?;, ")
    if not line or len(line) > _LONGEST:
        return None
    if starts_with_gerund(line):
        line = gerund_to_base(line)
    if line.startswith(("not ", "never ")):
        return None
    words = line[:1].lower() + line[1:]
    base = re.sub(r"[\w']+", lambda match: _SECOND.get(match[0].lower(), match[0]), words)
    base = re.sub(r"\bI are\b", "I am", _own_you(base))
    adverb, verb, rest = first_verb(base)
    return OwnAct(base, adverb + past_of_base(verb.lower()) + rest, gerund_phrase(base))


def own_act(sentence: str, verbs: frozenset[str], gender: str | None = None) -> OwnAct | None:
    """Rewrite what somebody does in the first person; None where that is not clear.

    Parameters
    ----------
    sentence
        Starts with a name, he or she, and a verb in the present tense.
    verbs
        Verbs in the third person that may follow "and" (`present_verbs`).
    gender
        m or f where it is known; else the sentence's only pronouns say it.
    """
    words = _WORD.findall(sentence.translate(_PLAIN).strip().rstrip(".!"))[:100]
    subject = _subject(words)
    if subject is None or len(sentence) > _LONGEST or '"' in sentence:
        return None
    name, start = subject
    verb = start
    while verb < len(words) and words[verb].endswith("ly"):
        verb += 1
    if verb >= len(words) or words[verb].lower() not in verbs:
        return None
    if words[verb : verb + 2] == ["decides", "to"] and words[verb + 2 : verb + 3] != ["not"]:
        words[verb : verb + 3] = [third_person(word) for word in words[verb + 2 : verb + 3]]
    if verb >= len(words):
        return None
    rest = words[start:]
    gender = gender or gender_of(words)
    if gender is None:  # of both genders, the first "his" or "her" is most often the subject's
        first = next((word.lower() for word in rest if _gendered([word])), "")
        gender = {"his": "m", "her": "f"}.get(first)
    if gender is None and _gendered(rest):
        return None
    # Where somebody else is named, a pronoun may mean either.
    others = any(_NAME.fullmatch(word) and word != name for word in rest)
    loose = {"m": ("he", "him"), "f": ("she",)}.get(gender or "", ())
    if others and any(word.lower() in loose for word in rest):
        return None
    wordings = zip(*_rewritten(words, start, verb, (name, gender, verbs)), strict=True)
    # Punctuation stands at the word before it.
    return OwnAct(*(re.sub(r" ([,;:.!?)%])", r"\1", " ".join(wording)) for wording in wordings))


def gender_of(words: Iterable[str]) -> str | None:
    """Return m or f where words have pronouns of one of the two alone."""
    genders = _gendered(words)
    return genders.pop() if len(genders) == 1 else None


def present_verbs(sentences: Iterable[str], fewest: int = 2) -> frozenset[str]:
    """Return words in -s that follow the name with which several of the sentences start."""
    counts: Counter[str] = Counter({"is": fewest, "has": fewest})
    for sentence in sentences:
        words = _WORD.findall(sentence.translate(_PLAIN))
        subject = _subject(words)
        if subject and subject[1] < len(words) and words[subject[1]].endswith("s"):
            counts[words[subject[1]]] += 1
    return frozenset(
        word
        for word, count in counts.items()
        if count >= fewest and word.islower() and not _no_verb(word)
    )


_PLAIN = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})


def _subject(words: list[str]) -> tuple[str, int] | None:
    """Return the name that a sentence starts with and where the rest begins."""
    if not words or words[0] in _words("no_names") or not _NAME.fullmatch(words[0]):
        return None
    second = len(words) > 1 and _NAME.fullmatch(words[1])
    return words[0], 2 if second else 1


def _gendered(words: Iterable[str]) -> set[str]:
    return {key for word in words for key, table in _GENDERS.items() if word.lower() in table}


def _no_verb(word: str) -> bool:
    return word in _words("no_verbs") or word.endswith(("'s", "ss", "ous"))


def _rewritten(
    words: list[str], start: int, verb: int, who: tuple[str, str | None, frozenset[str]]
) -> list[tuple[str, str, str]]:
    """Return every word after the subject in its base, its past and its -ing wording."""
    name, gender, verbs = who
    table = _GENDERS.get(gender or "", {})
    forms: list[tuple[str, str, str]] = []
    for index in range(start, len(words)):
        word, lower = words[index], words[index].lower()
        before = forms[-1][0] if forms else ""
        finite = lower.endswith("s") and len(lower) > len("is") and not _no_verb(lower)
        if index == verb or (lower in verbs and _is_joined(forms)):
            base = base_of_finite(lower)
            forms.append((base, past_of_base(base), gerund_of_base(base)))
        elif before == "I" and (lower in _AUXILIARY or finite):
            base = _AUXILIARY.get(lower) or base_of_finite(lower)
            forms.append((base, _PAST_AUXILIARY.get(base) or past_of_base(base), base))
        elif lower in ("he's", "she's") and lower[:-2] in table:
            forms.append(("I'm", "I was", "I'm"))
        else:
            follows = words[index + 1].lower() if index + 1 < len(words) else ""
            new = _own_word(word, name, table, follows, before)
            forms.append((new, new, new))
    return forms


def _is_joined(forms: list[tuple[str, str, str]]) -> bool:
    """Tell whether what comes next is joined to the verb: after "and", "then", a comma, adverbs."""
    words = [base for base, _, _ in forms]
    while words and words[-1].endswith("ly"):
        words.pop()
    return bool(words) and words[-1] in _JOINS


def _own_word(word: str, name: str, table: dict[str, str], follows: str, before: str) -> str:
    lower = word.lower()
    if word == f"{name}'s":
        return "my"
    if word == name:
        return "I" if follows in _AUXILIARIES or follows.endswith("s") else "me"
    if lower == "her" and lower in table:
        owned = follows.removesuffix("'s") in _words("persons")
        receives = before in _words("gives") and not owned
        alone = not follows[:1].isalpha() or follows in _words("no_noun") or receives
        return "me" if alone else "my"
    return table.get(lower, word)


def _own_you(phrase: str) -> str:
    """Turn "you" to "I" where it begins a clause ("money you found"), else to "me"."""
    words = phrase.split(" ")
    ends_phrase = _words("no_noun")
    takes = {first_verb(phrase)[1]} | _words("gives") | ends_phrase
    for index, word in enumerate(words):
        if word.strip(",") == "you":
            before = words[index - 1] if index else ""
            last = index + 1 == len(words) or word.endswith(",")
            ends = last or words[index + 1] in ends_phrase
            clause = before in _words("clause") or not (before in takes or ends)
            words[index] = word.replace("you", "I" if clause else "me")
    return " ".join(words)


@cache
def _words(kind: str) -> frozenset[str]:
    return frozenset(_tables()["words"][kind])


@cache
def _tables() -> dict[str, Any]:
    return shipped_toml("moralscope.stories", "first_person.toml")
