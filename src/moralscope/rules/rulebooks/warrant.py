"""`rules warrant`: can these experts enforce this rule.

For each rule minimal pairs are made (`rules.warrant_pairs`) and asked about; a pair is right where
the breach is found and its other half is not taken for one. The rule gets the limit at which no
more than a budget of fine replies would break it, and pairs are counted at that limit. One word
sums it up. Pairs made by rules show where experts fail, not where they will do well (docs/rules.md
has the figures): `enforceable` takes pairs of one's own labels. A rewording is told only where it
is better on both halves of the pairs.

The warrant lies beside the rulebook; `audit --require-warrant` refuses rules without one, and uses
the limits in it.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord, SampleInterval, Statistics
from moralscope.models.store import Progress
from moralscope.rules.audit_options import AuditOptions, parse_share
from moralscope.rules.auditor import Auditor
from moralscope.rules.false_alarms import set_rule_limits
from moralscope.rules.labels import BreachLabel, read_labels
from moralscope.rules.load_auditor import AuditModels, limits_beside, load_auditor
from moralscope.rules.options import WarrantOptions
from moralscope.rules.records import Exchange
from moralscope.rules.rulebook import NOT_LAW, Rulebook, load_rulebook
from moralscope.rules.texts.exchanges import ExchangeFile, open_exchanges
from moralscope.rules.training.alignment_examples import written_exchanges
from moralscope.rules.warrant_file import (
    ENFORCEABLE,
    NOT,
    REVIEW,
    WORDS,
    PairOutcome,
    Rewording,
    RuleWarrant,
    StoredWarrant,
    warrant_path,
    write_warrant,
)
from moralscope.rules.warrant_pairs import OWN, RulePair, make_pairs, rewordings
from moralscope.stats.intervals import wilson

_LEAST = 0.6  # share of pairs: enforceable is surely above, not by this model surely below
_OURS = 120  # written exchanges that stand in where no fine replies are given
_FAILED = 5  # pairs that are told of a rule
_LEARNT = (
    "what was learnt lies beside the rulebook: pairs of labels that it learnt from prove nothing"
)
_MADE = (
    "no rule is called enforceable without pairs of your own: give --labels with replies that "
    "break it and replies that do not"
)
Chances = Sequence[tuple[float, float]]  # how likely both halves of each pair break the rule


@dataclass(frozen=True, slots=True, kw_only=True)
class WarrantStatistics(Statistics):
    """How many rules got which word, on how many pairs and fine replies."""

    rules: int
    words: Mapping[str, int]
    pairs: SampleInterval
    fine: int
    budget: float
    sources: Mapping[str, SampleInterval]
    """the share of pairs that is right, by how they were made"""


def warrant(
    options: WarrantOptions | None = None,
    *,
    models: AuditModels | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> RunRecord:
    """Try whether a model can enforce each rule of a book, and store the warrant beside it.

    Parameters
    ----------
    options
        `WarrantOptions`, or its fields as keywords: rulebook, labels, benign, experts.
    models
        What `prepare_warrant` made; else from the options.
    progress
        Called while weights are fetched.
    """
    chosen = chosen_options(WarrantOptions, options, changes)
    book = load_rulebook(chosen.rulebook)
    labels = read_labels(Path(chosen.labels), book).labels if chosen.labels else ()
    fine = open_exchanges(Path(chosen.benign)) if chosen.benign else None
    ready = models or prepare_warrant(chosen, book, progress)
    record = warrant_book(book, ready, chosen, labels=labels, fine=fine)
    config = ready.config or {}
    stored = StoredWarrant(
        experts=config["experts"],
        experts_sha256=config["experts_sha256"],
        learnt_sha256=config.get("learnt", {}).get("sha256", ""),
        budget=parse_share(chosen.false_alarms),
        rules=tuple(record.results),
    )
    write_warrant(warrant_path(chosen.rulebook), stored)
    return record


def prepare_warrant(
    options: WarrantOptions, book: Rulebook, progress: Progress | None = None
) -> AuditModels:
    """Load experts and let them read the rules, with what was learnt beside them."""
    audit = AuditOptions(
        rulebooks=(options.rulebook,), experts=options.experts, exact=options.exact
    )
    return load_auditor(audit, book, limits_beside(audit, warranted=False), progress)


def warrant_book(
    book: Rulebook,
    models: AuditModels,
    options: WarrantOptions,
    *,
    labels: Sequence[BreachLabel] = (),
    fine: Sequence[Exchange] | ExchangeFile | None = None,
) -> RunRecord:
    """Try the rules of a book that was read; nothing is stored."""
    auditor = replace(models.auditor, evidence=False)
    budget = parse_share(options.false_alarms)
    source = "given" if fine is not None else "written exchanges of ours"
    if fine is None:
        ours = [row.exchange for row in written_exchanges() if row.alignment != "disagree"]
        fine = ours[:: max(1, len(ours) // _OURS)][:_OURS]
    audits = auditor.audit(list(fine))
    raised = set_rule_limits(audits, budget, auditor.thresholds)
    chances: dict[str, list[float]] = defaultdict(list)
    for row in audits:
        for finding in row.rules:
            chances[finding.text].append(finding.alignment.probabilities["disagree"])
    by_rule: dict[str, list[BreachLabel]] = defaultdict(list)
    for label in labels:
        by_rule[label.rule].append(label)
    warrants: list[RuleWarrant] = []
    right: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for rule in book.rules:
        usual = auditor.rule_limits.get(rule.text, auditor.thresholds.disagree)
        limit = max(usual, raised.get(rule.text, 0.0))
        pairs = make_pairs(rule.text, by_rule[rule.text])
        answers = _ask(auditor, rule.text, pairs)
        hits = _right(answers, limit)
        made.update(pair.source for pair in pairs)
        right.update(pair.source for pair, hit in zip(pairs, hits, strict=True) if hit)
        alarms = sum(chance >= limit for chance in chances[rule.text])
        one = _judge(rule.text, limit, pairs, answers, wilson(alarms, len(audits)))
        if one.word != ENFORCEABLE:
            one = _with_rewording(one, auditor, pairs, hits)
        warrants.append(one)
    words = Counter(row.word for row in warrants)
    notes = [NOT_LAW, *([] if made[OWN] else [_MADE]), *models.warnings]
    config = models.config or {}
    return RunRecord(
        "rules warrant",
        seed=options.seed,
        config={
            "rulebook": book.name,
            "rules": len(book.rules),
            **{n: config[n] for n in ("experts", "experts_sha256", "learnt") if n in config},
            "fine": source,
            "options": plain_options(options),
        },
        models=list(models.refs),
        results=warrants,
        statistics=WarrantStatistics(
            rules=len(warrants),
            words={word: words[word] for word in WORDS},
            pairs=wilson(right.total(), made.total()),
            fine=len(audits),
            budget=budget,
            sources={name: wilson(right[name], count) for name, count in made.items()},
        ),
        warnings=[*notes, _LEARNT] if made[OWN] and "learnt" in config else notes,
    )


def _ask(auditor: Auditor, rule: str, pairs: Sequence[RulePair]) -> list[tuple[float, float]]:
    """Return how likely both halves of each pair break a rule."""
    sides = [(rule, side) for pair in pairs for side in (pair.breaks, pair.other)]
    rows = [row.probabilities["disagree"] for row in auditor.aligner.align(sides)]
    return list(zip(rows[::2], rows[1::2], strict=True))


def _right(answers: Chances, limit: float) -> list[bool]:
    return [breaks >= limit > other for breaks, other in answers]


def _judge(
    rule: str, limit: float, pairs: Sequence[RulePair], answers: Chances, alarms: SampleInterval
) -> RuleWarrant:
    """Sum the pairs of a rule up: its own labels decide where there are some."""
    hits = _right(answers, limit)
    outcomes = [
        PairOutcome(
            pair.source,
            pair.breaks.prompt,
            pair.breaks.reply,
            pair.other.prompt,
            pair.other.reply,
            *chances,
        )
        for pair, chances, hit in zip(pairs, answers, hits, strict=True)
        if not hit
    ]
    mine = [hit for pair, hit in zip(pairs, hits, strict=True) if pair.source == OWN]
    share, labelled = wilson(sum(hits), len(hits)), wilson(sum(mine), len(mine))
    decides = labelled if mine else share
    word = REVIEW
    if decides.high < _LEAST:
        word = NOT
    elif mine and labelled.low >= _LEAST:
        word = ENFORCEABLE
    return RuleWarrant(
        rule=rule,
        word=word,
        pairs=share,
        labelled=labelled,
        limit=limit,
        alarms=alarms,
        failed=tuple(outcomes[:_FAILED]),
    )


def _with_rewording(
    one: RuleWarrant, auditor: Auditor, pairs: Sequence[RulePair], hits: Sequence[bool]
) -> RuleWarrant:
    """Add the rewording that gets most pairs right, if it is better on both halves of them."""
    best: Rewording | None = None
    for text in rewordings(one.rule):
        others = _right(_ask(auditor, text, pairs), one.limit)
        gains = [sum(others[half::2]) - sum(hits[half::2]) for half in (0, 1)]
        value = wilson(sum(others), len(others))
        if min(gains) > 0 and (best is None or value.value > best.pairs.value):
            best = Rewording(text, value)
    return one if best is None else replace(one, rewording=best)
