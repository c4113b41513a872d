"""When a candidate is finished, and what its text is then."""

from collections.abc import Sequence
from typing import Any

from moralscope.core.records import Candidate, Decoding
from moralscope.models.language.sentences import sentence_end

_MARKS = (
    ".",
    "!",
    "?",
    "…",
    "\n",
    "Ċ",
    "âĢ¦",
    "<0x0A>",
)  # also as byte-level vocabularies write them


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

    def is_end(self, token: int) -> bool:
        """Tell whether `token` is no text but an end."""
        return token in self._ends

    def candidate(
        self, tokens: Sequence[int], scores: Sequence[float], decoding: Decoding
    ) -> Candidate | None:
        """Return the finished candidate, or None while it goes on."""
        if self.is_end(tokens[-1]):
            return Candidate(self._text(tokens[:-1]).strip(), tuple(scores), "stop")
        if decoding.sentence and not self._marks.isdisjoint(tokens[-2:]):
            text = self._text(tokens)
            end = sentence_end(text)
            if end is not None:
                kept = self._needed(tokens, len(text[:end].rstrip()))
                return Candidate(text[:end].strip(), tuple(scores[:kept]), "sentence")
        if len(tokens) >= decoding.max_tokens:
            text = self._text(tokens).rstrip("\ufffd")  # the start of a character cut in two
            return Candidate(text.strip(), tuple(scores), "length")
        return None

    def _needed(self, tokens: Sequence[int], end: int) -> int:
        count = len(tokens)
        while count > 1 and len(self._text(tokens[: count - 1])) >= end:
            count -= 1
        return count

    def _text(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(
            list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text
