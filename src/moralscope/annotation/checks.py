"""Checks of an answer, before it is saved: does it fit its form, and is it written with care.

The rules for rules of thumb are those of Ziems et al. 2022, appendix E.2; those for stories are
Emelin et al. 2021, section 2.1, as far as a program can see them (the rest is asked of the writer
and of those who validate). A finding is worded for the person who reads it beside the field. Those
that a program can get wrong (spelling, grammar, names, the form of a rule) never block: the offline
dictionary (pyspellchecker, MIT) knows English as written, not what is meant.

Texts are bounded and hold nothing that a database refuses; nothing is escaped or altered here:
whoever shows a text escapes it.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from moralscope.annotation.forms import shipped_data
from moralscope.annotation.grammar import grammar_hint, rule_hint
from moralscope.annotation.questions import Texts
from moralscope.annotation.records import Answer, FieldFinding, TaskForm
from moralscope.core.errors import InputError

if TYPE_CHECKING:
    from spellchecker import SpellChecker

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")  # noqa: RUF001
MAX_ANSWER = 100_000  # characters of all texts of an answer together
_REMEDY = "remove it and save again"
_SPELT = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")  # noqa: RUF001
_LONGEST_WORD = 30  # letters; what is longer is no word, and correcting it would take long
_MOST_WORDS = 10  # that are named
_LOADING = threading.Lock()
_SENTENCE_END = re.compile(r"[.!?][\"'”’)]*(?=\s+\S)")  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class _Text:
    """What a check looks at: its argument, the text, and everything around it."""

    argument: Any
    text: str
    answer: Answer
    texts: Texts

    def other(self, name: str) -> str:
        value = self.answer.get(name, self.texts.get(name, ""))
        return value if isinstance(value, str) else ""


def find(form: TaskForm, texts: Texts, answer: Answer) -> tuple[FieldFinding, ...]:
    """Return what is to be said about an answer, in the order of the form."""
    findings: list[FieldFinding] = []
    for field in form.fields:
        value, kind = answer.get(field.name), field.kind
        if kind.is_missing(value):
            if field.required:
                findings.append(FieldFinding(field.name, "required", kind.request))
        elif not kind.fits(field.with_choices(texts), value):
            problem = "This answer does not fit the question."
            findings.append(FieldFinding(field.name, "value", problem))
        elif isinstance(value, str) and len(value) > field.longest:
            problem = f"Please shorten this to {field.longest:,} characters."
            findings.append(FieldFinding(field.name, "length", problem))
        elif isinstance(value, str):
            for name, argument in field.checks.items():
                blocks, rule = CHECKS[name]
                message = rule(_Text(argument, value, answer, texts))
                if message:
                    findings.append(FieldFinding(field.name, name, message, blocks))
    return tuple(findings)


def words(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return [word.lower().replace("’", "'") for word in _WORD.findall(text)]  # noqa: RUF001


def _unique_words(written: _Text) -> str | None:
    if len({word.lower() for word in written.text.split()}) >= written.argument:
        return None
    number = {2: "two", 3: "three", 4: "four"}.get(written.argument, written.argument)
    return f"Please use at least {number} different words."


def _differs(written: _Text) -> str | None:
    if words(written.text) != words(written.other(written.argument)):
        return None
    return f"Please write something else here than under '{written.argument.replace('_', ' ')}'."


def _bigrams(written: _Text) -> str | None:
    """Refuse a pair of words that stands `argument` times or more."""
    counts = Counter(pairwise(words(written.text)))
    pair, times = max(counts.items(), key=lambda entry: entry[1], default=(("", ""), 0))
    if times < written.argument:
        return None
    return f"'{' '.join(pair)}' appears {times} times; please write it once."


def _spelling(written: _Text) -> str | None:
    known = " ".join(written.texts.values())
    slips = misspelt(written.text, words(known))
    if not slips:
        return None
    listed = ", ".join(f"{word} ({better}?)" if better else word for word, better in slips[:3])
    return f"Please look at the spelling: {listed}."


def _plain_words(written: _Text) -> str | None:
    """Point at words that already judge: Emelin et al. name praised, joyous, assaulted, steal."""
    charged = [word for word in words(written.text) if word in charged_words()]
    if not charged:
        return None
    named = ", ".join(f"'{word}'" for word in dict.fromkeys(charged))
    return f"{named} already says what is good or bad; please describe what happens instead."


def _known_names(written: _Text) -> str | None:
    """Point at names that come from nowhere: `argument` lists the fields that may introduce one."""
    before = {word for name in written.argument for word in words(written.other(name))}
    new = [name for name in _names(written.text) if name.lower() not in before]
    if not new:
        return None
    return f"Who is {' and '.join(new[:2])}? Please keep to the names of the situation."


def _same_actor(written: _Text) -> str | None:
    """Ask for the person of another field: somebody named there should act here."""
    actors = {name.lower() for name in _names(written.other(written.argument), first=True)}
    if not actors or actors & set(words(written.text)):
        return None
    return f"Please name who acts here, as under '{written.argument.replace('_', ' ')}'."


CHECKS: Mapping[str, tuple[bool, Callable[[_Text], str | None]]] = {
    "unique_words": (True, _unique_words),
    "differs_from": (True, _differs),
    "repeated_pair": (True, _bigrams),
    "spelling": (False, _spelling),
    "grammar": (False, lambda written: grammar_hint(written.text)),
    "rule_form": (False, lambda written: rule_hint(written.text)),
    "plain_words": (True, _plain_words),
    "one_sentence": (
        False,
        lambda written: (
            "One sentence is best here." if _SENTENCE_END.search(written.text.strip()) else ""
        ),
    ),
    "known_names": (False, _known_names),
    "same_actor": (False, _same_actor),
}


@cache
def charged_words() -> frozenset[str]:
    """Return our list of words that judge what they name."""
    lists = shipped_data("charged_words.yaml")
    return frozenset(word for kind in ("bad", "good") for word in lists[kind].split())


def _names(text: str, *, first: bool = False) -> list[str]:
    """Return words that look like names: capital letters, not where a sentence begins.

    With `first`, the first word counts too unless it is one that begins many sentences.
    """
    names = []
    begins = True
    nobody = set(shipped_data("not_names.yaml")["words"].split())
    for match in re.finditer(r"[^\W\d_]+|[.!?]", text):
        word = match.group()
        if word in ".!?":
            begins = True
            continue
        looks = word[0].isupper() and word not in nobody and len(word) > 1
        if looks and (not begins or first):
            names.append(word)
        begins = False
    return list(dict.fromkeys(names))


def misspelt(text: str, known: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return words that no dictionary has, each with a likely correction or ""."""
    slips: dict[str, str] = {}
    for match in _SPELT.finditer(text):
        word = match.group().replace("’", "'")  # noqa: RUF001
        small = word.lower().removesuffix("'s")
        if word != word.lower() or small in known or not 2 < len(small) <= _LONGEST_WORD:
            continue
        if small in slips or len(slips) >= _MOST_WORDS:
            continue
        dictionary = _dictionary()
        if all(dictionary.unknown([spelt]) for spelt in (small, small.replace("'", ""))):
            better = dictionary.correction(small)
            slips[small] = better if better and better != small else ""
    return list(slips.items())


def _dictionary() -> "SpellChecker":
    with _LOADING:  # many ask at once after a start: one loads it, the others wait
        return _dictionary_of_english()


@cache
def _dictionary_of_english() -> "SpellChecker":
    from spellchecker import SpellChecker

    return SpellChecker(language="en", distance=1)


def plain_text(value: object, what: str, longest: int) -> str:
    """Return a text that both databases can hold."""
    if not isinstance(value, str):
        raise InputError(f"the {what} is not text", "give a text")
    if len(value) > longest:
        raise InputError(f"the {what} has {len(value):,} characters", f"at most {longest:,}")
    if not storable(value):
        raise InputError(f"the {what} holds a character that is not text", _REMEDY)
    return value.strip()


def storable(value: str) -> bool:
    """Say whether both databases can hold a text: no NUL, no half of a surrogate pair."""
    return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def clean_answer(answer: Answer, form: TaskForm) -> dict[str, Any]:
    """Return an answer that may be kept as a draft: known fields, plain values, bounded.

    Whether the values fit is not asked here; a draft may be half an answer.
    """
    if not isinstance(answer, dict):
        raise InputError("the answer is not an object", "send field names and values")
    known = {field.name for field in form.fields}
    kept: dict[str, Any] = {}
    total = 0
    for name, value in answer.items():
        if name not in known:
            raise InputError(f"the form has no field '{str(name)[:40]}'", ", ".join(sorted(known)))
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if part is not None and not isinstance(part, str | bool | int):
                raise InputError(f"'{name}' has a value of a wrong kind", "see the form")
            if isinstance(part, int) and abs(part) > 1_000_000:
                raise InputError(f"'{name}' has a number out of range", "see the form")
            if isinstance(part, str):
                total += len(plain_text(part, name, MAX_ANSWER))
        if len(parts) > 50 or total > MAX_ANSWER:
            raise InputError("the answer is too large", f"at most {MAX_ANSWER:,} characters")
        kept[name] = value
    return kept
