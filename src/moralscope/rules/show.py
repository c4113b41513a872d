"""Rules of thumb as jobs: find those that concern exchanges, lint a rulebook, list its rules."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.protocols import Encoder
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.io.run_records import model_refs
from moralscope.rules.annotations import load_annotations
from moralscope.rules.lint import KINDS, lint
from moralscope.rules.records import FOUNDATIONS, Exchange, RuleOfThumb
from moralscope.rules.retrieval import Found, NearestExchange, RandomRules, Retriever
from moralscope.rules.rulebook import Rulebook, load_layers

METHODS = ("rules", "sbert", "random")
NOT_LAW = "rules are opinions that many hold; several, even conflicting ones, may apply at once"


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule as records list it; `score` is its cosine with the exchange it was found for."""

    id: str
    text: str
    foundations: tuple[str, ...]
    severity: float | None
    consensus: float | None
    theme: str
    source: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class FoundRules:
    """The rules found for one exchange, best first."""

    prompt: str
    reply: str
    rules: tuple[ListedRule, ...]
    id: str = ""


@dataclass(frozen=True, slots=True)
class RetrieveOptions:
    """What is searched, and how: `sbert` and `random` are the paper's baselines.

    Examples
    --------
    >>> RetrieveOptions().method
    'rules'
    """

    rulebooks: tuple[str, ...] = ()  # files, later over earlier; none is ours
    top: int = 5
    method: str = "rules"
    known: Path | None = None  # annotated exchanges (MIC.csv) for sbert
    seed: int = 0


class _Finds(Protocol):
    def find(self, exchanges: Sequence[Exchange], k: int) -> list[Found]: ...


def check_options(options: RetrieveOptions) -> None:
    """Refuse options that cannot be met before anything is loaded."""
    if options.method not in METHODS:
        raise UnknownName(
            f"there is no method '{options.method[:40]}'", did_you_mean(options.method, METHODS)
        )
    if options.known is not None and options.method != "sbert":
        raise InputError("--known is for --method sbert only", "leave it out")


def retrieve(
    exchanges: Iterable[Exchange],
    options: RetrieveOptions | None = None,
    *,
    encoder: Encoder | None = None,
) -> RunRecord:
    """Find rules for exchanges; only `random` needs no encoder.

    Examples
    --------
    >>> from moralscope.models.encoders.prepare import prepare_encoder
    >>> asked = [Exchange("Do you lie?", "I lie to my friends")]
    >>> record = retrieve(asked, encoder=prepare_encoder("scripted"))
    >>> len(record.results[0].rules), record.config["rulebook"]
    (5, 'moralscope')
    """
    options = options or RetrieveOptions()
    check_options(options)
    asked = list(exchanges)
    book = load_layers(options.rulebooks)
    found = _finder(book, options, encoder).find(asked, options.top)
    uses = [encoder] if encoder is not None and options.method != "random" else []
    return RunRecord(
        "rules retrieve",
        seed=options.seed,
        config={
            "rulebook": str(options.known) if options.method == "sbert" else book.name,
            "method": options.method,
            "top": options.top,
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


def _finder(book: Rulebook, options: RetrieveOptions, encoder: Encoder | None) -> _Finds:
    if options.method == "random":
        return RandomRules(book.rules, options.seed)
    if encoder is None:
        raise InputError(f"the method '{options.method}' needs an encoder", "name one")
    if options.method == "rules":
        return Retriever(book.rules, encoder)
    return NearestExchange(load_annotations(options.known).annotations, encoder, options.seed)


def lint_rules(
    rulebooks: Sequence[str] = (), *, encoder: Encoder | None = None, seed: int = 0
) -> RunRecord:
    """Say what a reader would object to in rulebooks, laid over each other.

    The seed is part of every record; nothing here is random.

    Examples
    --------
    >>> lint_rules().statistics["findings"]
    {'duplicate': 0, 'contradiction': 0, 'vague': 0, 'imbalance': 0}
    """
    return lint_book(load_layers(rulebooks), encoder=encoder, seed=seed)


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


def show_rules(
    rulebooks: Sequence[str] = (), *, theme: str = "", foundation: str = "", seed: int = 0
) -> RunRecord:
    """List the rules of rulebooks by theme and foundation.

    Examples
    --------
    >>> record = show_rules(theme="self-harm")
    >>> record.results[0].id, record.statistics["rules"]
    ('care-suicide-help', 6)
    """
    book = load_layers(rulebooks)
    themes = set(book.themes.values())
    for what, name, known in (
        ("theme", theme, themes),
        ("foundation", foundation, set(FOUNDATIONS)),
    ):
        if name and name not in known:
            raise UnknownName(f"there is no {what} '{name[:40]}'", did_you_mean(name, known))
    chosen = book.chosen(theme, foundation)
    counts = Counter(book.themes.get(rule.text, "") for rule in chosen.rules)
    return RunRecord(
        "rules show",
        seed=seed,
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
        rule.severity,
        rule.consensus,
        book.themes.get(rule.text, ""),
        rule.source,
        None if score is None else round(score, 4),
    )
