"""The search box beside an annotator's rule: examples out of rulebooks, by words, as she types.

It is lexical on purpose: it answers in a millisecond without weights, and what it finds shows why.
"""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from moralscope.annotation.records import Project
from moralscope.rules.judgments import words_of
from moralscope.rules.rulebook import SHIPPED, layer_rulebooks, load_rulebook

_LONGEST = 300  # characters of a query
_SHORTEST = 3  # letters of a word that may stand for longer ones
_MOST = 50


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A rule of a rulebook that answers a search."""

    text: str
    foundations: tuple[str, ...]
    source: str


class RuleSearch:
    """Search the rulebooks that a project names; a wrong one is refused here.

    Examples
    --------
    >>> found = RuleSearch(Project("rules", "rule-of-thumb", rulebooks=("moralscope",)))
    >>> "steal" in found.search("stealing a bike", 1)[0].text
    True
    """

    def __init__(self, project: Project) -> None:
        folder = Path(project.folder or ".")
        places = [name if name == SHIPPED else folder / name for name in project.rulebooks]
        book = layer_rulebooks([load_rulebook(place) for place in places])
        source = " + ".join(project.rulebooks)
        self._rules = [RuleExample(rule.text, rule.foundations, source) for rule in book.rules]
        self._words = [frozenset(words_of(rule.text)) for rule in book.rules]
        counts = Counter(word for words in self._words for word in words)
        size = len(self._rules)
        self._rarity = {  # a word of every tenth rule says nothing
            word: math.log(1 + size / count) if count <= max(3, size / 10) else 0.0
            for word, count in counts.items()
        }

    def search(self, query: str, count: int = 10) -> list[RuleExample]:
        """Return rules that share words with the query, those with the rarest words first."""
        asked = list(dict.fromkeys(words_of(query[:_LONGEST])))
        scores: list[tuple[float, int]] = []
        for place, words in enumerate(self._words):
            score = sum(self._weight(word, words) for word in asked)
            if score > 0:
                scores.append((-score, place))
        return [self._rules[place] for _, place in sorted(scores)[: min(count, _MOST)]]

    def _weight(self, asked: str, words: frozenset[str]) -> float:
        """Return how rare the word is that answers the asked one: the same, or one like it."""
        if asked in words:
            return self._rarity[asked]
        like = [word for word in words if _alike(asked, word)]
        return max((self._rarity[word] * 0.8 for word in like), default=0.0)


def _alike(asked: str, word: str) -> bool:
    """Say whether two words begin the same: `steal`, `stealing`; or what is typed so far."""
    shorter, longer = sorted((_stem(asked), word), key=len)
    return len(shorter) >= _SHORTEST and longer.startswith(shorter)


def _stem(word: str) -> str:
    """Take off an ending where enough is left to know the word by."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) > len(ending) + _SHORTEST:
            return word.removesuffix(ending)
    return word
