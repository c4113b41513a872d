"""What a reader would object to in a rulebook: duplicates, contradictions, vague rules, imbalance.

Words are compared always, embeddings where an encoder is given. Findings are hints for the author:
conflicting rules may be meant, and no rule is changed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process

from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder
from moralscope.core.records import RunRecord
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoder
from moralscope.rules.judgments import content_words, read_judgment, unmet_criteria
from moralscope.rules.options import LintOptions
from moralscope.rules.records import FOUNDATIONS, RuleOfThumb
from moralscope.rules.retrieval import unit_rows
from moralscope.rules.rulebook import Rulebook, load_layers

KINDS = ("duplicate", "contradiction", "vague", "imbalance")
_BLOCK = 512  # rules compared with all the others at once
_ENOUGH = 30  # rules before their balance means anything


@dataclass(frozen=True, slots=True)
class Limits:
    """How alike (0-1) two rules must be, by their words and by their embeddings."""

    same_words: float = 0.88
    same_meaning: float = 0.80
    opposed_words: float = 0.80
    opposed_meaning: float = 0.78
    least_share: float = 1 / 3  # of an equal share of the rules, for each foundation


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One objection: its kind, the rules' ids (or texts), what is wrong, how alike (0-1)."""

    kind: str
    rules: tuple[str, ...]
    message: str
    score: float | None = None


def lint(
    book: Rulebook, encoder: Encoder | None = None, limits: Limits | None = None
) -> list[LintFinding]:
    r"""Return every objection: duplicates first, then contradictions, vague rules, imbalance.

    Examples
    --------
    >>> from moralscope.rules.rulebook import parse_rulebook
    >>> text = "It's wrong to eat cake.\nIt's okay to eat cake.\nYou should be good people.\n"
    >>> for found in lint(parse_rulebook(text, "ours.txt")):
    ...     print(found.kind, "-", found.message)
    contradiction - It's wrong to eat cake. / It's okay to eat cake.
    vague - You should be good people. is too general: say which action is meant
    """
    limits = limits or Limits()
    found = list(_pairs(book.rules, encoder, limits))
    found += [
        LintFinding("vague", (_name(rule),), f"{rule.text} {problem}")
        for rule in book.rules
        for problem in unmet_criteria(rule.text)
    ]
    found += _imbalance(book.rules, limits)
    order = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(found, key=lambda each: (order[each.kind], -(each.score or 0.0)))


def lint_rules(
    options: LintOptions | None = None, *, model: Encoder | None = None, **given: Any
) -> RunRecord:
    """Say what a reader would object to in rulebooks, laid over each other.

    The seed is part of every record; nothing here is random.

    Examples
    --------
    >>> lint_rules().statistics["findings"]
    {'duplicate': 0, 'contradiction': 0, 'vague': 0, 'imbalance': 0}
    """
    chosen = chosen_options(LintOptions, options, given)
    encoder = model or (load_encoder(chosen.encoder) if chosen.encoder else None)
    return lint_book(load_layers(chosen.rulebooks), chosen, encoder=encoder)


def lint_book(
    book: Rulebook, options: LintOptions | None = None, *, encoder: Encoder | None = None
) -> RunRecord:
    """Say what a reader would object to in a rulebook that was read already."""
    chosen = options or LintOptions()
    found = lint(book, encoder)
    counts = Counter(each.kind for each in found)
    warnings = []
    if encoder is None:
        warnings.append("only words were compared: name an encoder to compare meanings too")
    return RunRecord(
        "rules lint",
        seed=chosen.seed,
        config={
            "rulebook": book.name,
            "encoder": encoder.name if encoder else None,
            "options": plain_options(chosen),
        },
        models=model_refs([encoder] if encoder else []),
        results=found,
        statistics={
            "rules": len(book.rules),
            "findings": {kind: counts[kind] for kind in KINDS},
            "foundations": book.by_foundation(),
        },
        warnings=warnings,
    )


def _pairs(
    rules: Sequence[RuleOfThumb], encoder: Encoder | None, limits: Limits
) -> Iterator[LintFinding]:
    """Compare every two rules by the behaviour they judge: the same way, or both ways."""
    judgments = [read_judgment(rule.text) for rule in rules]
    texts = [" ".join(sorted(map(_stem, content_words(each.behaviour)))) for each in judgments]
    signs = np.array([each.polarity for each in judgments], dtype=np.int8)
    rows = (
        unit_rows(encoder, [each.behaviour.removeprefix("to ") for each in judgments])
        if encoder
        else None
    )
    for start in range(0, len(rules), _BLOCK):
        block = slice(start, start + _BLOCK)
        words = process.cdist(texts[block], texts, scorer=fuzz.ratio, dtype=np.float32) / 100
        meaning = rows[block] @ rows.T if rows is not None else np.zeros_like(words)
        opposed = (signs[block][:, None] * signs[None, :]) < 0
        same = (words >= limits.same_words) | (meaning >= limits.same_meaning)
        against = (words >= limits.opposed_words) | (meaning >= limits.opposed_meaning)
        for row, other in np.argwhere(np.where(opposed, against, same)):
            one = start + row
            alike = meaning[row, other] >= min(limits.same_meaning, limits.opposed_meaning)
            if one < other and (alike or _shared(texts[one], texts[other]) >= 0.5):
                score = round(float(max(words[row, other], meaning[row, other])), 3)
                kind = "contradiction" if opposed[row, other] else "duplicate"
                pair = rules[one], rules[other]
                message = f"{pair[0].text} / {pair[1].text}"
                yield LintFinding(kind, tuple(map(_name, pair)), message, min(1.0, score))


def _stem(word: str) -> str:
    """Cut an ending off, so that "smoking" and "smokes" meet: no dictionary, only for comparing."""
    for ending in ("ing", "es", "ed", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _shared(one: str, other: str) -> float:
    """Return the share of common words: letters alone call "walk out" and "want" alike."""
    first, second = set(one.split()), set(other.split())
    return len(first & second) / max(1, len(first | second))


def _imbalance(rules: Sequence[RuleOfThumb], limits: Limits) -> list[LintFinding]:
    if len(rules) < _ENOUGH:
        return []
    counts = Counter(rule.foundations[0] for rule in rules if rule.foundations)
    least = limits.least_share * len(rules) / len(FOUNDATIONS)
    return [
        LintFinding("imbalance", (), f"{counts[name]} of {len(rules):,} rules are about {name}")
        for name in FOUNDATIONS
        if counts[name] < least
    ]


def _name(rule: RuleOfThumb) -> str:
    return rule.id or rule.text
