"""What every generator shares: whether a request is sound, and when a candidate is finished.

The first sentence of a growing text is found by English punctuation, without a grammar. Generates
nothing and knows no model.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.protocols import LanguageModel
from moralscope.core.records import Candidate, Decoding

STRATEGIES = ("greedy", "beam", "nucleus")


def check_layers(model: LanguageModel, layers: Iterable[int]) -> None:
    """Raise `InputError` where a model does not have one of some layers."""
    for layer in layers:
        if not 1 <= layer <= model.layers:
            problem = f"{model.name} has no layer {layer}"
            raise InputError(problem, f"its layers are 1 to {model.layers}")


class Talk(str):
    """A prompt of several turns, a person's and the model's in turn, as a JSON list."""

    __slots__ = ()


def as_messages(turns: Iterable[str]) -> list[dict[str, str]]:
    """Return turns as chat templates and servers take them: a person's and the model's in turn."""
    roles = cycle(("user", "assistant"))
    return [{"role": role, "content": turn} for turn, role in zip(turns, roles, strict=False)]


def check_request(prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]) -> None:
    """Raise `InputError` unless the request makes sense.

    Examples
    --------
    >>> check_request(["Jo"], Decoding(count=10), [7])
    """
    if decoding.strategy not in STRATEGIES:
        problem = f"there is no decoding strategy '{decoding.strategy}'"
        raise InputError(problem, f"use one of {', '.join(STRATEGIES)}")
    if len(seeds) != len(prompts):
        raise InputError(f"{len(prompts)} prompts came with {len(seeds)} seeds", "give one each")
    limits = {
        "count": (decoding.count, decoding.count >= 1),
        "p": (decoding.p, 0 < decoding.p <= 1),
        "temperature": (decoding.temperature, 0 < decoding.temperature <= 100),
        "beams": (decoding.beams, decoding.beams >= 1),
        "max_tokens": (decoding.max_tokens, decoding.max_tokens >= 1),
    }
    for name, (value, sound) in limits.items():
        if not sound:
            problem = f"{name} = {value} is out of range"
            raise InputError(problem, "see the documentation of Decoding")
    if decoding.strategy == "greedy" and decoding.count > 1:
        raise InputError("greedy decoding has one candidate", "ask for one, or use nucleus or beam")
    if decoding.strategy == "beam" and decoding.count > decoding.beams:
        problem = f"{decoding.count} candidates need as many beams and there are {decoding.beams}"
        raise InputError(problem, "raise beams or lower count")


_END = re.compile(r"(?:[.!?…]+[\"'”\u2019)\]]*)(?=\s|$)|\n")
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "vs", "e.g", "i.e", "mt", "fr", "cf"})
_SHORT = frozenset({"a.m", "p.m", "etc", "jr", "sr", "inc", "ltd", "co", "no", "u.s", "u.k"})


def sentence_end(text: str) -> int | None:
    """Return the index just after the first sentence of `text`, or None while it may go on.

    A full stop after a title, an initial or inside an open quotation ends nothing; one after a
    number, an abbreviation or an ellipsis ends the sentence only if a capital follows. A line
    break ends it.
    """
    start = len(text) - len(text.lstrip())
    for mark in _END.finditer(text, start):
        before = text[start : mark.start()]
        if mark[0] == "\n":
            return start + len(before.rstrip())
        if _is_final(before, mark[0], text[mark.end() :]):
            return mark.end()
    return None


def _is_final(before: str, mark: str, after: str) -> bool:
    if (before + mark).count('"') % 2 or before.count("“") > (before + mark).count("”"):
        return False
    if mark[-1] not in ".!?…" and after.lstrip()[:1].islower():  # "Go!" he says.
        return False
    word = before.rsplit(None, 1)[-1].lstrip("\"'“\u2018([") if before.strip() else ""
    if mark[0] == "." and (word.lower() in _TITLES or (len(word) == 1 and word.isupper())):
        return word == "I"
    unsure = word.lower() in _SHORT or word[-1:].isdigit() or mark[0] == "…" or mark[:2] == ".."
    return after.lstrip()[:1].isupper() if mark[0] in ".…" and unsure else bool(word)


_MARKS = (*".!?…\n", "Ċ", "âĢ¦", "<0x0A>")  # also as byte-level vocabularies write them


class Ending:
    """Looks at the newest token: an end token, the end of a sentence, or the last one allowed.

    Any special token ends a candidate: none of them is text.
    """

    def __init__(self, tokenizer: Any, ends: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._ends = {*ends, *tokenizer.all_special_ids}
        self._marks = {
            number
            for token, number in tokenizer.get_vocab().items()
            if any(mark in token for mark in _MARKS)
        }

    def candidate(
        self, tokens: Sequence[int], scores: Sequence[float], decoding: Decoding
    ) -> Candidate | None:
        """Return the finished candidate, or None while it goes on."""
        if tokens[-1] in self._ends:
            return Candidate(self._text(tokens[:-1]).strip(), tuple(scores), "stop")
        if decoding.sentence and not self._marks.isdisjoint(tokens[-2:]):
            text = self._text(tokens)
            end = sentence_end(text)
            if end is not None:
                length, kept = len(text[:end].rstrip()), len(tokens)
                while kept > 1 and len(self._text(tokens[: kept - 1])) >= length:
                    kept -= 1
                return Candidate(text[:end].strip(), tuple(scores[:kept]), "sentence")
        if len(tokens) >= decoding.max_tokens:
            text = self._text(tokens).rstrip("\ufffd")  # the start of a character cut in two
            return Candidate(text.strip(), tuple(scores), "length")
        return None

    def _text(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text
