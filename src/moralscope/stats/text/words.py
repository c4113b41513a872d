"""The words of a text, as diversity and length count them."""

import re
from collections.abc import Sequence
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Return runs of letters and digits in lower case; punctuation is left out.

    Examples
    --------
    >>> words("It's rude to shout!")
    ['it', 's', 'rude', 'to', 'shout']
    """
    return _WORD.findall(text.lower())


def average_length(texts: Sequence[str]) -> float:
    """Return the mean number of words.

    Examples
    --------
    >>> average_length(["Be kind.", "Pay back what you owe."])
    3.5
    """
    return sum(len(words(text)) for text in texts) / len(texts) if texts else float("nan")


@lru_cache(maxsize=1 << 16)
def lemma(word: str) -> str:
    """Return the base form of an English word (simplemma)."""
    import simplemma

    return str(simplemma.lemmatize(word, "en")).lower()
