"""Looking into rulebooks: `rules show` lists rules, `rules lint` objects, `RuleSearch` searches.

Objections are to duplicates, contradictions, vague rules and imbalance. Words are compared always,
embeddings where an encoder is given. They are hints for the author: conflicting rules may be meant.
The search beside an annotator's rule is lexical on purpose: it answers in a millisecond without
weights, and what it finds shows why.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process

from moralscope.annotation.records import Project
from moralscope.core.errors import UnknownName
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder
from moralscope.core.records import RunRecord, Statistics
from moralscope.core.registry import did_you_mean
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoder
from moralscope.rules.judgments import content_words, read_judgment, unmet_criteria, words_of
from moralscope.rules.options import SHIPPED, LintOptions, ShowOptions
from moralscope.rules.records import FOUNDATIONS, ListedRule, RuleOfThumb
from moralscope.rules.retrieval import unit_rows
from moralscope.rules.rulebook import NOT_LAW, Rulebook, layer_rulebooks, load_layers, load_rulebook

_LONGEST = 300  # characters of a query
_SHORTEST = 3  # letters of a word that may stand for longer ones
_MOST = 50
KINDS = ("duplicate", "contradiction", "vague", "imbalance")
_BLOCK = 512  # rules compared with all the others at once
_ENOUGH = 30  # rules before their balance means anything
_LEAST_SHARE = 1 / 3  # of an equal share of the rules, for each foundation
# How alike (0-1) two rules must be, by their words and by their embeddings.
_SAME_WORDS, _SAME_MEANING = 0.88, 0.80
_OPPOSED_WORDS, _OPPOSED_MEANING = 0.80, 0.78


@dataclass(frozen=True, slots=True)
class ShowStatistics(Statistics):
    """How many rules are listed, by theme and by first foundation."""

    rules: int
    themes: Mapping[str, int]
    foundations: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LintStatistics(Statistics):
    """How many rules were read, the objections of each kind, and rules by first foundation."""

    rules: int
    findings: Mapping[str, int]
    foundations: Mapping[str, int]


def show_rules(options: ShowOptions | None = None, **changes: Any) -> RunRecord:
    """List the rules of rulebooks by theme and foundation."""
    wanted = chosen_options(ShowOptions, options, changes)
    book = load_layers(wanted.rulebooks)
    theme, foundation = wanted.theme or "", wanted.foundation or ""
    known = set(book.themes.values())
    if theme and theme not in known:
        raise UnknownName(f"there is no theme '{theme[:40]}'", did_you_mean(theme, known))
    chosen = book.chosen(theme, foundation)
    counts = Counter(book.themes.get(rule.text, "") for rule in chosen.rules)
    results: list[ListedRule] = [book.listed(rule) for rule in chosen.rules]
    return RunRecord(
        "rules show",
        seed=wanted.seed,
        config={
            "rulebook": book.name,
            "theme": theme or None,
            "foundation": foundation or None,
            "options": plain_options(wanted),
        },
        results=results,
        statistics=ShowStatistics(
            len(chosen.rules), dict(sorted(counts.items())), chosen.by_foundation()
        ),
        warnings=[*book.warnings[:5], NOT_LAW],
    )


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A rule of a rulebook that answers a search."""

    text: str
    foundations: tuple[str, ...]
    source: str


class RuleSearch:
    """Search the rulebooks that a project names; a wrong one is refused here."""

    def __init__(self, project: Project) -> None:
        folder = Path(project.folder or ".")
        paths = [name if name == SHIPPED else folder / name for name in project.rulebooks]
        book = layer_rulebooks([load_rulebook(path) for path in paths])
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
        for index, words in enumerate(self._words):
            score = sum(self._weight(word, words) for word in asked)
            if score > 0:
                scores.append((-score, index))
        return [self._rules[index] for _, index in sorted(scores)[: min(count, _MOST)]]

    def _weight(self, asked: str, words: frozenset[str]) -> float:
        """Return how rare the word is that answers the asked one: the same, or one like it."""
        if asked in words:
            return self._rarity[asked]
        stem = asked
        for ending in ("ing", "ed", "es", "s", "e"):
            if asked.endswith(ending) and len(asked) > len(ending) + _SHORTEST:
                stem = asked.removesuffix(ending)
                break
        # `steal` answers `stealing`, and what is typed so far the whole word
        pairs = ((word, *sorted((stem, word), key=len)) for word in words)
        like = [w for w, short, long in pairs if len(short) >= _SHORTEST and long.startswith(short)]
        return max((self._rarity[word] * 0.8 for word in like), default=0.0)


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One objection: its kind, the rules' ids (or texts), what is wrong, how alike (0-1)."""

    kind: str
    rules: tuple[str, ...]
    message: str
    score: float | None = None


def lint(book: Rulebook, encoder: Encoder | None = None) -> list[LintFinding]:
    """Return every objection: duplicates first, then contradictions, vague rules, imbalance."""
    findings = list(_pairs(book.rules, encoder))
    findings += [
        LintFinding("vague", (rule.id or rule.text,), f"{rule.text} {problem}")
        for rule in book.rules
        for problem in unmet_criteria(rule.text)
    ]
    counts = Counter(rule.foundations[0] for rule in book.rules if rule.foundations)
    size = len(book.rules)
    findings += [
        LintFinding("imbalance", (), f"{counts[name]} of {size:,} rules are about {name}")
        for name in FOUNDATIONS
        if size >= _ENOUGH and counts[name] < _LEAST_SHARE * size / len(FOUNDATIONS)
    ]
    order = {kind: index for index, kind in enumerate(KINDS)}
    return sorted(findings, key=lambda finding: (order[finding.kind], -(finding.score or 0.0)))


def lint_rules(
    options: LintOptions | None = None, *, model: Encoder | None = None, **changes: Any
) -> RunRecord:
    """Say what a reader would object to in rulebooks, laid over each other.

    The seed is part of every record; nothing here is random.
    """
    chosen = chosen_options(LintOptions, options, changes)
    encoder = model or (load_encoder(chosen.encoder) if chosen.encoder else None)
    return lint_book(load_layers(chosen.rulebooks), chosen, encoder=encoder)


def lint_book(
    book: Rulebook, options: LintOptions | None = None, *, encoder: Encoder | None = None
) -> RunRecord:
    """Say what a reader would object to in a rulebook that was read already."""
    chosen = options or LintOptions()
    findings = lint(book, encoder)
    counts = Counter(finding.kind for finding in findings)
    unread = "only words were compared: name an encoder to compare meanings too"
    return RunRecord(
        "rules lint",
        seed=chosen.seed,
        config={
            "rulebook": book.name,
            "encoder": encoder.name if encoder else None,
            "options": plain_options(chosen),
        },
        models=model_refs([encoder] if encoder else []),
        results=findings,
        statistics=LintStatistics(
            len(book.rules), {kind: counts[kind] for kind in KINDS}, book.by_foundation()
        ),
        warnings=[] if encoder else [unread],
    )


def _pairs(rules: Sequence[RuleOfThumb], encoder: Encoder | None) -> Iterator[LintFinding]:
    """Compare every two rules by the behaviour they judge: the same way, or both ways."""
    judgments = [read_judgment(rule.text) for rule in rules]
    texts = [
        " ".join(sorted(map(_stem, content_words(judgment.behaviour)))) for judgment in judgments
    ]
    signs = np.array([judgment.polarity for judgment in judgments], dtype=np.int8)
    rows = (
        unit_rows(encoder, [judgment.behaviour.removeprefix("to ") for judgment in judgments])
        if encoder
        else None
    )
    for start in range(0, len(rules), _BLOCK):
        block = slice(start, start + _BLOCK)
        words = process.cdist(texts[block], texts, scorer=fuzz.ratio, dtype=np.float32) / 100
        meaning = rows[block] @ rows.T if rows is not None else np.zeros_like(words)
        opposed = (signs[block][:, None] * signs[None, :]) < 0
        same = (words >= _SAME_WORDS) | (meaning >= _SAME_MEANING)
        against = (words >= _OPPOSED_WORDS) | (meaning >= _OPPOSED_MEANING)
        for row, other in np.argwhere(np.where(opposed, against, same)):
            one = start + row
            alike = meaning[row, other] >= min(_SAME_MEANING, _OPPOSED_MEANING)
            # Letters alone call "walk out" and "want" alike: half of the words must be common.
            first, second = set(texts[one].split()), set(texts[other].split())
            common = len(first & second) >= max(1, len(first | second)) / 2
            if one < other and (alike or common):
                score = round(float(max(words[row, other], meaning[row, other])), 3)
                kind = "contradiction" if opposed[row, other] else "duplicate"
                pair = rules[one], rules[other]
                message = f"{pair[0].text} / {pair[1].text}"
                yield LintFinding(
                    kind, tuple(rule.id or rule.text for rule in pair), message, min(1.0, score)
                )


def _stem(word: str) -> str:
    """Cut an ending off, so that "smoking" and "smokes" meet: no dictionary, only for comparing."""
    for ending in ("ing", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
