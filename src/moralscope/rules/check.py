"""`rules check`: rules that collide, overlap, never fire or fire on everything, and what shows it.

Two rules are compared by what an expert says of a reply that states the one: does it break the
other (they contradict each other), or keep it (they overlap)? Then replies are audited by all the
rules: a reply that keeps one and breaks another shows a collision, a rule that no reply keeps or
breaks never fires, and one that most replies break fires on everything. Hints for the author: what
an expert says of a rule may be wrong, and colliding rules may be meant.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder, ExpertSet
from moralscope.core.records import RunRecord
from moralscope.models.encoders import load_encoder
from moralscope.models.store import Progress
from moralscope.rules.alignment_examples import written_exchanges
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.exchanges import ExchangeFile
from moralscope.rules.experts import prepare_rule_experts
from moralscope.rules.load_auditor import AuditModels, index_rules, join_auditor, needs_encoder
from moralscope.rules.options import CheckOptions
from moralscope.rules.records import Exchange, RuleOfThumb
from moralscope.rules.revision import ExchangeJudgment
from moralscope.rules.rulebook import NOT_LAW, Rulebook, load_layers
from moralscope.rules.sanitize import read_exchange
from moralscope.rules.thresholds import GivenLimits, Thresholds
from moralscope.rules.verdict import breach, is_broken, is_kept, weight

KINDS = ("contradiction", "collision", "overlap", "always", "never")
_NEIGHBOURS = 5  # rules that each rule is compared with: those nearest to it
_SURE = 0.8  # probability at which a stated rule keeps another: they overlap
_EVERYTHING = 0.5  # share of the replies that a rule which fires on everything breaks
_ENOUGH = 10  # replies, to say so
_OURS = 120  # written exchanges that stand in where no replies are given
_LISTED = 20


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What was found about one rule or two, and the exchange that shows it.

    `wins` is the rule that decides the verdict on that exchange, of two that collide.
    """

    kind: str
    rules: tuple[str, ...]
    message: str
    prompt: str | None = None
    reply: str | None = None
    probability: float | None = None
    wins: str | None = None


@dataclass(frozen=True, slots=True)
class RuleUse:
    """How often a rule was asked about, broken and kept."""

    rule: str
    asked: int
    broken: int
    kept: int


def prepare_check(
    options: CheckOptions, book: Rulebook, progress: Progress | None = None
) -> AuditModels:
    """Load experts and let them read the rules."""
    light = not options.exact
    experts = prepare_rule_experts(options.experts, eight_bits=light, progress=progress)
    encoder = None
    audit = AuditOptions(experts=options.experts, exact=options.exact)
    if needs_encoder(audit, experts):
        encoder = load_encoder(audit.encoder_name, progress, eight_bits=light)
    return join_check(audit, book, experts, encoder)


def join_check(
    options: AuditOptions, book: Rulebook, experts: ExpertSet, encoder: Encoder | None
) -> AuditModels:
    """Return an auditor whose rules, ours too, decide alone and are asked about every reply."""
    index = index_rules(book, experts, encoder, ours=False)
    return join_auditor(options, index, experts, GivenLimits(), ours=False)


def check_rules(
    options: CheckOptions | None = None,
    *,
    replies: Sequence[Exchange] | ExchangeFile | None = None,
    book: Rulebook | None = None,
    models: AuditModels | None = None,
    **given: Any,
) -> RunRecord:
    """Check rulebooks, laid over each other, against each other and against replies.

    Parameters
    ----------
    options
        `CheckOptions`, or its fields as keywords.
    replies
        Exchanges to try the rules on; else some of those that we wrote.
    book, models
        A rulebook that was read, and what `prepare_check` made; else from the options.

    Examples
    --------
    >>> record = check_rules(experts="scripted", replies=[Exchange("Hi!", "I steal bikes.")])
    >>> record.statistics["replies"], set(record.statistics["findings"]) == set(KINDS)
    (1, True)
    """
    chosen = chosen_options(CheckOptions, options, given)
    rules = book or load_layers(chosen.rulebooks)
    if replies is not None and not len(replies):
        raise InputError("there are no replies to try the rules on", "give some, or none at all")
    ready = models or prepare_check(chosen, rules)
    auditor, limits = ready.auditor, ready.auditor.thresholds
    asked = [read_exchange(each) for each in (_ours() if replies is None else replies)]
    tried = [each.exchange for each in asked if not each.refusal]
    judged = auditor.judge(tried, [()] * len(tried))
    uses = _uses(rules.rules, judged, limits)
    found = [
        *_stated(rules.rules, ready),
        *_collisions(tried, judged, limits),
        *_extremes(uses, tried, judged, limits),
    ]
    counts = Counter(each.kind for each in found)
    order = {kind: place for place, kind in enumerate(KINDS)}
    return RunRecord(
        "rules check",
        seed=chosen.seed,
        config={
            "rulebook": rules.name,
            "rules": len(rules.rules),
            "experts": (ready.config or {}).get("experts"),
            "replies": "written exchanges of ours" if replies is None else _source(replies),
            "options": plain_options(chosen),
        },
        models=list(ready.refs),
        results=sorted(found, key=lambda each: (order[each.kind], -(each.probability or 0.0))),
        statistics={
            "rules": len(rules.rules),
            "replies": len(tried),
            "findings": {kind: counts[kind] for kind in KINDS},
            "uses": sorted(uses, key=lambda use: -use.broken)[:_LISTED],
        },
        warnings=[
            NOT_LAW,
            *(
                [f"{len(asked) - len(tried):,} replies could not be read"]
                if len(asked) > len(tried)
                else []
            ),
        ],
    )


def _stated(rules: Sequence[RuleOfThumb], models: AuditModels) -> Iterator[CheckFinding]:
    """Ask how a reply that states one rule stands to those nearest to it."""
    finder, limits = models.auditor.house, models.auditor.thresholds
    if finder is None or len(rules) < 2:
        return
    said = [Exchange("", rule.text) for rule in rules]
    near = finder.find(said, _NEIGHBOURS + 1)
    pairs = [
        (one, other)
        for one, found in zip(rules, near, strict=True)
        for other, _ in found
        if other.text != one.text
    ]
    told = models.auditor.aligner.align([(two.text, Exchange("", one.text)) for one, two in pairs])
    answers = {
        (one.text, two.text): each.probabilities
        for (one, two), each in zip(pairs, told, strict=True)
    }
    seen: set[frozenset[str]] = set()
    for one, two in pairs:
        key = frozenset((one.text, two.text))
        both = [
            answers[way] for way in ((one.text, two.text), (two.text, one.text)) if way in answers
        ]
        if key in seen:
            continue
        seen.add(key)
        against = min(each.get("disagree", 0.0) for each in both)
        same = min(each.get("agree", 0.0) for each in both)
        if against >= limits.disagree:
            yield _contradiction(one, two, against)
        elif len(both) == 2 and same >= _SURE:
            message = f"who keeps “{one.text}” keeps “{two.text}”, and the other way round"
            yield CheckFinding("overlap", (name_of(one), name_of(two)), message, "", one.text, same)


def _contradiction(one: RuleOfThumb, two: RuleOfThumb, chance: float) -> CheckFinding:
    first, second = weight(one), weight(two)
    heavier, lighter = (one, two) if first >= second else (two, one)
    decides = (
        f"“{heavier.text}” weighs more and is named"
        if first != second
        else f"both weigh the same, and the first, “{heavier.text}”, is named"
    )
    message = (
        f"“{one.text}” contradicts “{two.text}”: a reply that takes either side breaks the other "
        f"and is flagged; where a reply breaks both, {decides}"
    )
    names = name_of(one), name_of(two)
    return CheckFinding("contradiction", names, message, "", lighter.text, chance, name_of(heavier))


def _collisions(
    tried: Sequence[Exchange], judged: Sequence[ExchangeJudgment], limits: Thresholds
) -> Iterator[CheckFinding]:
    """Find replies that keep one rule and break another."""
    seen: set[tuple[str, str]] = set()
    for exchange, each in zip(tried, judged, strict=True):
        names = {rule.text: name_of(rule) for rule in each.rules}
        broken = sorted((r for r in each.findings if is_broken(r, limits)), key=breach)
        for kept in (rule for rule in each.findings if is_kept(rule, limits)):
            for rule in broken[-1:]:
                if (kept.text, rule.text) in seen:
                    continue
                seen.add((kept.text, rule.text))
                message = (
                    f"the reply keeps “{kept.text}” and breaks “{rule.text}”: that one flags it"
                )
                yield CheckFinding(
                    "collision",
                    (names[kept.text], names[rule.text]),
                    message,
                    exchange.prompt,
                    exchange.reply,
                    rule.alignment.probabilities["disagree"],
                    names[rule.text],
                )


def _uses(
    rules: Sequence[RuleOfThumb], judged: Sequence[ExchangeJudgment], limits: Thresholds
) -> list[RuleUse]:
    findings = [rule for each in judged for rule in each.findings]
    asked = Counter(rule.text for rule in findings)
    broken = Counter(rule.text for rule in findings if is_broken(rule, limits))
    kept = Counter(rule.text for rule in findings if is_kept(rule, limits))
    return [RuleUse(r.text, asked[r.text], broken[r.text], kept[r.text]) for r in rules]


def _extremes(
    uses: Sequence[RuleUse],
    tried: Sequence[Exchange],
    judged: Sequence[ExchangeJudgment],
    limits: Thresholds,
) -> Iterator[CheckFinding]:
    """Find rules that fire never, or on everything."""
    nearest: dict[str, tuple[float, Exchange]] = {}
    for exchange, each in zip(tried, judged, strict=True):
        for rule in each.findings:
            told = rule.alignment.probabilities
            chance = max(told.get("disagree", 0.0), told.get("agree", 0.0))
            if chance > nearest.get(rule.text, (-1.0, exchange))[0]:
                nearest[rule.text] = chance, exchange
    for use in uses:
        if len(tried) >= _ENOUGH and use.broken >= _EVERYTHING * len(tried):
            _, shown = nearest[use.rule]
            message = f"“{use.rule}” is broken by {use.broken:,} of {len(tried):,} replies"
            yield CheckFinding(
                "always", (use.rule,), message, shown.prompt, shown.reply, use.broken / len(tried)
            )
        elif not use.broken and not use.kept:
            message = f"“{use.rule}” is kept or broken by none of {len(tried):,} replies"
            if use.rule not in nearest:
                yield CheckFinding("never", (use.rule,), f"{message}: it was found for none")
                continue
            chance, shown = nearest[use.rule]
            message += f": the one that comes nearest does so with probability {chance:.2f}"
            yield CheckFinding("never", (use.rule,), message, shown.prompt, shown.reply, chance)


def name_of(rule: RuleOfThumb) -> str:
    """Return a rule's id, else its text."""
    return rule.id or rule.text


def _ours() -> list[Exchange]:
    rows = [row.exchange for row in written_exchanges()]
    return rows[:: max(1, len(rows) // _OURS)][:_OURS]


def _source(replies: Sequence[Exchange] | ExchangeFile) -> str:
    return str(replies.path) if isinstance(replies, ExchangeFile) else "given"
