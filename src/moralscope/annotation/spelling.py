"""Spelling with the offline dictionary of pyspellchecker (MIT); loaded at the first question.

It knows English as written, not what is meant: names, numbers and words of the item are left
alone, and what it says is a hint.
"""

import re
import threading
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spellchecker import SpellChecker

_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")  # noqa: RUF001
_LONGEST = 30  # letters; what is longer is no word, and correcting it would take long
_MOST = 10
_LOADING = threading.Lock()


def misspelt(text: str, known: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return words that no dictionary has, each with a likely correction or "".

    Examples
    --------
    >>> misspelt("Jo recieves a qwxzrt from Anna.")
    [('recieves', 'receives'), ('qwxzrt', '')]
    """
    found: dict[str, str] = {}
    for match in _WORD.finditer(text):
        word = match.group().replace("’", "'")  # noqa: RUF001
        small = word.lower().removesuffix("'s")
        if word != word.lower() or small in known or not 2 < len(small) <= _LONGEST:
            continue
        if small not in found and _unknown(small) and len(found) < _MOST:
            better = _dictionary().correction(small)
            found[small] = better if better and better != small else ""
    return list(found.items())


def _unknown(word: str) -> bool:
    parts = word.replace("'", "")
    return bool(_dictionary().unknown([word])) and bool(_dictionary().unknown([parts]))


def _dictionary() -> "SpellChecker":
    with _LOADING:  # many ask at once after a start: one loads it, the others wait
        return _loaded()


@cache
def _loaded() -> "SpellChecker":
    from spellchecker import SpellChecker

    return SpellChecker(language="en", distance=1)
