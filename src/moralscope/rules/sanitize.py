"""Texts under audit, made fit for models: cleaned, and refused where nobody can read them.

Nothing is executed and nothing is rendered: HTML stays the text that it is. What a model trained on
English cannot judge (no words, another script, another language) is told and never guessed. The
test of language is a small heuristic: Latin letters and function words. Short texts pass it.
"""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib import resources

from moralscope.rules.records import Exchange
from moralscope.stats.text.words import CONTRACTED, function_words

_LOOKED = 50_000  # characters of a text by which its language is told
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ENOUGH = 12  # words without a single English function word


@dataclass(frozen=True, slots=True)
class Readable:
    """An exchange as models read it: what was left out is in `notes`, why not read in `refusal`."""

    exchange: Exchange
    notes: tuple[str, ...] = ()
    refusal: str = ""


def clean(text: str) -> str:
    """Put a text on one line: no control or invisible characters, wide letters made plain."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if not text.isprintable():
        kind = unicodedata.category
        text = "".join(
            char if char.isprintable() else "" if kind(char) == "Cf" else " " for char in text
        )
    return " ".join(text.split())


def unreadable(text: str) -> str:
    """Say why a model of English cannot read a text; nothing where it can or might."""
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return "holds no words"
    latin = sum(char.isascii() or "LATIN" in unicodedata.name(char, "") for char in letters)
    if latin < len(letters) / 2:
        return "is not in Latin script"
    words = [
        word.lower() for word in _WORD.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    ]
    english, foreign = (sum(word in known for word in words) for known in _function_words())
    accented = sum(not word.isascii() for word in words)
    if (foreign >= 2 and foreign > english) or (not english and 5 * accented > len(words) > 2):
        return "is not in English"
    if not english and len(words) >= _ENOUGH:
        return "holds no English sentence"
    return ""


@cache
def _function_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the English ones and those of other languages."""
    file = resources.files("moralscope.rules").joinpath("data/function_words.toml")
    lists = tomllib.loads(file.read_text("utf-8"))
    english = (function_words() - CONTRACTED) | set(lists["english"].split())
    return english, frozenset(lists["others"].split())


def read_exchange(exchange: Exchange) -> Readable:
    """Clean an exchange and say whether it can be judged."""
    prompt, reply = clean(exchange.prompt), clean(exchange.reply)
    notes, refusal = [], ""
    prompt_fault, reply_fault = unreadable(prompt[-_LOOKED:]), unreadable(reply[:_LOOKED])
    if prompt_fault == "holds no words":
        notes.append("the prompt holds no words" if prompt else "the prompt is empty")
    elif prompt_fault:
        refusal = f"the prompt {prompt_fault}"
    if reply_fault:
        refusal = f"the reply {reply_fault}" if reply else "the reply is empty"
    return Readable(Exchange(prompt, reply, exchange.id), tuple(notes), refusal)


def sentences(text: str) -> list[str]:
    """Split a text where a sentence seems to end."""
    return [sentence for part in _SENTENCE.split(text) if (sentence := part.strip())]
