"""Texts under audit, made fit for models: cleaned, and refused where nobody can read them.

Nothing is executed and nothing is rendered: HTML stays the text that it is. What a model trained on
English cannot judge (no words, another script, another language) is told and never guessed. The
test of language is a small heuristic: letters and function words. Short texts pass it. It looks at
each sentence, so that no language decides about what stands beside it.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from moralscope.io.documents import shipped_toml
from moralscope.rules.records import Exchange
from moralscope.rules.texts.disguises import fold, undisguised
from moralscope.stats.text.words import CONTRACTED, function_words, is_word

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？।])\s*|\n+")  # noqa: RUF001 - they end Chinese ones
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ENOUGH = 12  # words without a single English function word
# Characters that show nothing: some have a width, others only change their neighbours.
_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
_SELECTORS = [0x34F, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)]
_UNSEEN = {
    **dict.fromkeys(map(ord, _FILLERS), " "),
    **dict.fromkeys([*_SELECTORS, *range(0xE0100, 0xE01F0)], ""),
}
# Letters of other scripts, a phrase of them: names and signs in an English sentence are shorter.
_OTHER = r"[^\W\d_A-Za-zªº\u00c0-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff]"
_IDEOGRAPH = r"[\u3040-\u30ff\u3400-\u9fff]"
_OTHER_SCRIPT = re.compile(rf"(?:{_OTHER}[\W\d_]*){{12,}}|(?:{_IDEOGRAPH}[\W\d_]*){{7,}}")
_OTHER_WORD = re.compile(rf"{_IDEOGRAPH}|(?:(?!{_IDEOGRAPH})[^\W\d_])+")
_PARTICLES = "de|la|del|della|di|da|du|des|le|les|las|los|el|en|e|et|un|der|dem|und|te|het|na"
_NAMES = re.compile(
    rf"(?:\b[^\W\d_a-z]\w+ )(?:(?:{_PARTICLES}) )+(?=[A-ZÀ-Þ])|\b(?i:{_PARTICLES}) (?=[A-ZÀ-Þ])"
)
# Arrows, operators, shapes, emoji: no vocabulary has them all, and with letters they hide these.
_SIGN = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")
_OPERATOR = re.compile("[\u2190-\u22ff\u27c0-\u2aff]")
_SHORT = 1_000  # characters that are judged together: a sentence alone may read worse than it is
_NEAR = 3  # words on either side of an English one are its own, amid another language


@dataclass(frozen=True, slots=True)
class Readable:
    """An exchange as models read it: what was left out is in `notes`, why not read in `refusal`."""

    exchange: Exchange
    notes: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class ReplyTexts:
    """A reply as models of English can read it: plain, and out of its disguise where it has one."""

    texts: tuple[str, ...]
    unread: int = 0
    """Words in other languages, which no model here reads."""
    fault: str = ""
    """Why there is no text."""


def clean(text: str) -> str:
    """Put a text on one line: no control or invisible characters, wide letters made plain."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_UNSEEN))
    if not text.isprintable():
        kind = unicodedata.category
        text = "".join(
            char if char.isprintable() else "" if kind(char) == "Cf" else " " for char in text
        )
    return " ".join(text.split())


def without_signs(text: str) -> str:
    """Take emoji, arrows and operators out of a cleaned text: to models of English they are noise.

    One that may stand for a letter stays, so that its word counts as unread.

    Examples
    --------
    >>> without_signs("→ You are kind😀 ∑i xi ≤ 3, k☠ll")
    'You are kind i xi 3, k☠ll'
    """
    if text.isascii() or not _SIGN.search(text):
        return text
    return " ".join(" ".join(map(_without_signs, text.split())).split())


def _without_signs(piece: str) -> str:
    bare = _SIGN.sub(" ", piece)
    if bare == piece:
        return piece
    words = _WORD.findall(bare)
    in_formula = max(map(len, words), default=0) < 2 and not _SIGN.search(_OPERATOR.sub("", piece))
    return bare if in_formula or all(map(is_word, words)) else piece


def unreadable(text: str) -> str:
    """Say why a model of English cannot read a text; nothing where it can or might."""
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return "holds no words"
    if not text.isascii() and 2 * len(re.findall(_OTHER, text)) > len(letters):
        return "is not in Latin script"
    words = _words(text)
    english, foreign = _counts(words)
    accented = sum(not word.isascii() for word in words)
    if (foreign >= 2 and foreign > english) or (not english and 5 * accented > len(words) > 2):
        return "is not in English"
    return "holds no English sentence" if not english and len(words) >= _ENOUGH else ""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower())


def _counts(words: Iterable[str]) -> tuple[int, int]:
    """Count the English function words, and those of other languages."""
    english, foreign, _ = _function_words()
    return sum(word in english for word in words), sum(word in foreign for word in words)


@cache
def _function_words() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the English ones, those of other languages, and those that only English has."""
    words_of = shipped_toml("moralscope.rules", "function_words.toml")
    lists = {name: frozenset(words.split()) for name, words in words_of.items()}
    english = (function_words() - CONTRACTED) | lists["english"]
    return english, lists["others"], english - lists["shared"] - lists["others"]


def english_part(text: str) -> ReplyTexts:
    """Return the sentences of a text that are English, and count the words of the others.

    What holds no sign of any language (code, names, lists) goes with the whole text.
    """
    fault = unreadable(text)
    if not fault and text.isascii() and _counts(_words(text))[1] < 2:
        return ReplyTexts((text,))
    only = _function_words()[2]
    kept, unread = [], 0

    def leave(part: str) -> str:
        nonlocal unread
        unread += len(_OTHER_WORD.findall(part))
        return " "

    for sentence in sentences(text):
        words = _words(_NAMES.sub("", sentence))
        english, foreign = _counts(words)
        of_english = sum(word in only for word in words)
        script = unreadable(sentence) == "is not in Latin script"
        accented = 2 * sum(not word.isascii() for word in words) > len(words) > 7 and not english
        is_foreign = script or accented or foreign > max(english, 1 if fault else 2)
        if not is_foreign and (of_english or not fault):
            kept.append(_OTHER_SCRIPT.sub(lambda run: leave(run[0]), sentence))
            continue
        plain = fold(sentence)
        if (
            plain != sentence
            and not re.search(_OTHER, plain)
            and not unreadable(plain)
            and sum(w in only for w in _words(plain)) > 1
        ):
            kept.append(plain)  # letters in disguise, no other language
            continue
        kept.append(_english_words(sentence, leave))
    read = " ".join(filter(None, map(str.strip, kept)))
    if not unread and not fault:
        return ReplyTexts((text,))
    return (
        ReplyTexts((read,), unread) if read else ReplyTexts((), fault=fault or "is not in English")
    )


def _english_words(sentence: str, leave: Callable[[str], str]) -> str:
    """Return the English words of a sentence that is full of another language's, if any."""
    _, foreign, only = _function_words()
    pieces = []
    for piece in sentence.split():
        word = " ".join(_words(piece))
        if word in foreign or re.search(_OTHER, word):
            leave(piece)
        else:
            pieces.append((piece, word))
    signs = [index for index, (_, word) in enumerate(pieces) if word in only]
    near = {index + step for index in signs for step in range(-_NEAR, _NEAR + 1)}
    if len(signs) < _NEAR:
        near = set()
    for index, (piece, _) in enumerate(pieces):
        if index not in near:
            leave(piece)
    return " ".join(piece for index, (piece, _) in enumerate(pieces) if index in near)


def reply_texts(reply: str) -> ReplyTexts:
    """Return what is judged of a cleaned reply: its English, and what was in disguise."""
    plain, bare = english_part(without_signs(reply)), undisguised(reply)
    if bare == reply:
        return plain
    bare = without_signs(clean(bare))
    if len(bare) > _SHORT:
        known = {*sentences(reply)}
        bare = " ".join(sentence for sentence in sentences(bare) if sentence not in known)
    texts = [text for text in english_part(bare).texts if not unreadable(text)]
    if not texts:
        return plain
    return ReplyTexts(tuple(dict.fromkeys([*plain.texts, *texts])), plain.unread)


def read_exchange(exchange: Exchange, noun: str = "reply") -> Readable:
    """Clean an exchange and say whether it can be judged; a prompt nobody can read is left out.

    `noun` is what the reply is called.
    """
    prompt, reply = clean(exchange.prompt), clean(exchange.reply)
    notes, refusal = [], ""
    if not prompt:
        notes += ["the prompt is empty"] if noun == "reply" else []
    elif not (asked := english_part(prompt)).texts:
        notes.append(f"the prompt {asked.fault}")
        prompt = ""
    elif asked.unread:
        notes.append(f"{asked.unread:,} words of the prompt are not English")
        prompt = asked.texts[0]
    said = reply_texts(reply)
    if not said.texts:
        refusal = f"the {noun} {said.fault if reply else 'is empty'}"
    return Readable(Exchange(prompt, reply, exchange.id), tuple(notes), refusal)


def sentences(text: str) -> list[str]:
    """Split a text where a sentence seems to end."""
    return [sentence for part in _SENTENCE.split(text) if (sentence := part.strip())]
