"""Looking into rulebooks: `rules show` lists their rules, `RuleSearch` answers a search box.

The search beside an annotator's rule is lexical on purpose: it answers in a millisecond without
weights, and what it finds shows why.
"""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.annotation.records import Project
from moralscope.core.errors import UnknownName
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.rules.judgments import words_of
from moralscope.rules.options import SHIPPED, ShowOptions
from moralscope.rules.rulebook import NOT_LAW, layer_rulebooks, load_layers, load_rulebook

_LONGEST = 300  # characters of a query
_SHORTEST = 3  # letters of a word that may stand for longer ones
_MOST = 50


def show_rules(options: ShowOptions | None = None, **given: Any) -> RunRecord:
    """List the rules of rulebooks by theme and foundation.

    Examples
    --------
    >>> record = show_rules(theme="self-harm")
    >>> record.results[0].id, record.statistics["rules"]
    ('care-suicide-help', 6)
    """
    wanted = chosen_options(ShowOptions, options, given)
    book = load_layers(wanted.rulebooks)
    theme, foundation = wanted.theme or "", wanted.foundation or ""
    known = set(book.themes.values())
    if theme and theme not in known:
        raise UnknownName(f"there is no theme '{theme[:40]}'", did_you_mean(theme, known))
    chosen = book.chosen(theme, foundation)
    counts = Counter(book.themes.get(rule.text, "") for rule in chosen.rules)
    return RunRecord(
        "rules show",
        seed=wanted.seed,
        config={
            "rulebook": book.name,
            "theme": theme or None,
            "foundation": foundation or None,
            "options": plain_options(wanted),
        },
        models=[],
        results=[book.listed(rule) for rule in chosen.rules],
        statistics={
            "rules": len(chosen.rules),
            "themes": dict(sorted(counts.items())),
            "foundations": chosen.by_foundation(),
        },
        warnings=[*book.warnings[:5], NOT_LAW],
    )


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
