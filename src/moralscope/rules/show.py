"""Rules of thumb as jobs: find those that concern exchanges, lint a rulebook, list its rules."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from moralscope.core.errors import UnknownName
from moralscope.core.options import chosen_options
from moralscope.core.protocols import Encoder
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.io.run_records import model_refs
from moralscope.models.encoders import load_encoder
from moralscope.rules.annotations import load_annotations
from moralscope.rules.lint import KINDS, lint
from moralscope.rules.options import LintOptions, RetrieveOptions, ShowOptions
from moralscope.rules.records import FOUNDATIONS, Exchange, ListedRule, RuleOfThumb
from moralscope.rules.retrieval import Found, NearestExchange, RandomRules, Retriever
from moralscope.rules.rulebook import Rulebook, load_layers

NOT_LAW = "rules are opinions that many hold; several, even conflicting ones, may apply at once"


@dataclass(frozen=True, slots=True)
class FoundRules:
    """The rules found for one exchange, best first."""

    prompt: str
    reply: str
    rules: tuple[ListedRule, ...]
    id: str = ""


class _Finds(Protocol):
    def find(self, exchanges: Sequence[Exchange], k: int) -> list[Found]: ...


def retrieve(
    exchanges: Iterable[Exchange],
    options: RetrieveOptions | None = None,
    *,
    model: Encoder | None = None,
    **given: Any,
) -> RunRecord:
    """Find rules for exchanges; only `random` needs no encoder.

    Parameters
    ----------
    exchanges
        Prompts and replies.
    options
        `RetrieveOptions`, or its fields as keywords.
    model
        An encoder that is loaded already; else the one that the options name.

    Examples
    --------
    >>> asked = [Exchange("Do you lie?", "I lie to my friends")]
    >>> record = retrieve(asked, encoder="scripted")
    >>> len(record.results[0].rules), record.config["rulebook"]
    (5, 'moralscope')
    """
    chosen = chosen_options(RetrieveOptions, options, given)
    asked = list(exchanges)
    book = load_layers(chosen.rulebooks)
    uses = [] if chosen.method == "random" else [model or load_encoder(chosen.encoder)]
    found = _finder(book, chosen, uses).find(asked, chosen.top)
    return RunRecord(
        "rules retrieve",
        seed=chosen.seed,
        config={
            "rulebook": str(chosen.known) if chosen.method == "sbert" else book.name,
            "method": chosen.method,
            "top": chosen.top,
            "encoder": uses[0].name if uses else None,
        },
        models=model_refs(uses),
        results=[
            FoundRules(
                each.prompt,
                each.reply,
                tuple(_listed(rule, book, score) for rule, score in rules),
                each.id,
            )
            for each, rules in zip(asked, found, strict=True)
        ],
        statistics={"exchanges": len(asked), "rules": len(book.rules)},
        warnings=[*book.warnings[:5], NOT_LAW],
    )


def _finder(book: Rulebook, options: RetrieveOptions, encoders: Sequence[Encoder]) -> _Finds:
    if not encoders:
        return RandomRules(book.rules, options.seed)
    if options.method == "rules":
        return Retriever(book.rules, encoders[0])
    return NearestExchange(load_annotations(options.known).annotations, encoders[0], options.seed)


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
    return lint_book(load_layers(chosen.rulebooks), encoder=encoder, seed=chosen.seed)


def lint_book(book: Rulebook, *, encoder: Encoder | None = None, seed: int = 0) -> RunRecord:
    """Say what a reader would object to in a rulebook that was read already."""
    found = lint(book, encoder)
    counts = Counter(each.kind for each in found)
    warnings = []
    if encoder is None:
        warnings.append("only words were compared: name an encoder to compare meanings too")
    return RunRecord(
        "rules lint",
        seed=seed,
        config={"rulebook": book.name, "encoder": encoder.name if encoder else None},
        models=model_refs([encoder] if encoder else []),
        results=found,
        statistics={
            "rules": len(book.rules),
            "findings": {kind: counts[kind] for kind in KINDS},
            "foundations": _foundations(book),
        },
        warnings=warnings,
    )


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
        config={"rulebook": book.name, "theme": theme or None, "foundation": foundation or None},
        models=[],
        results=[_listed(rule, book) for rule in chosen.rules],
        statistics={
            "rules": len(chosen.rules),
            "themes": dict(sorted(counts.items())),
            "foundations": _foundations(chosen),
        },
        warnings=[*book.warnings[:5], NOT_LAW],
    )


def _foundations(book: Rulebook) -> dict[str, int]:
    first = Counter(rule.foundations[0] for rule in book.rules if rule.foundations)
    return {name: first[name] for name in FOUNDATIONS}


def _listed(rule: RuleOfThumb, book: Rulebook, score: float | None = None) -> ListedRule:
    return ListedRule(
        rule.id,
        rule.text,
        rule.foundations,
        **rule.scales,
        theme=book.themes.get(rule.text, ""),
        source=rule.source,
        score=None if score is None else round(score, 4),
    )
