"""`rules check`: rules that collide, overlap, never fire or fire on everything, and what shows it.

Two rules are compared by what an expert says of a reply that states the one: does it break the
other (they contradict each other), or keep it (they overlap)? Then replies are audited by all the
rules: a reply that keeps one and breaks another shows a collision, a rule that no reply keeps or
breaks never fires, and one that most replies break fires on everything. Hints for the author: what
an expert says of a rule may be wrong, and colliding rules may be meant.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord, Statistics
from moralscope.models.store import Progress
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.load_auditor import AuditModels, load_auditor
from moralscope.rules.options import CheckOptions
from moralscope.rules.records import Exchange, RuleOfThumb
from moralscope.rules.rulebook import NOT_LAW, Rulebook, load_layers
from moralscope.rules.texts.exchanges import ExchangeFile
from moralscope.rules.texts.sanitize import read_exchange
from moralscope.rules.thresholds import GivenLimits, Thresholds
from moralscope.rules.training.alignment_examples import written_exchanges
from moralscope.rules.verdict import is_broken, is_kept, worst_broken
from moralscope.rules.writing.revision import ExchangeJudgment

KINDS = ("contradiction", "collision", "overlap", "always", "never")
_NEIGHBOURS = 5  # rules that each rule is compared with: those nearest to it
_SURE = 0.8  # probability at which a stated rule keeps another: they overlap
_EVERYTHING = 0.5  # share of the replies that a rule which fires on everything breaks
_ENOUGH = 10  # replies, to say so
_OURS = 120  # written exchanges that stand in where no replies are given
_LISTED = 20


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What was found about one rule or two, and the exchange that shows it."""

    kind: str
    rules: tuple[str, ...]
    message: str
    prompt: str | None = None
    reply: str | None = None
    probability: float | None = None
    wins: str | None = None  # of two that collide, the rule that flags the reply


@dataclass(frozen=True, slots=True)
class RuleUse:
    """How often a rule was asked about, broken and kept."""

    rule: str
    asked: int
    broken: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckStatistics(Statistics):
    """How many rules were tried on how many replies, and what was found."""

    rules: int
    replies: int
    findings: Mapping[str, int]  # of each kind
    uses: Sequence[RuleUse]  # the rules that are broken most


def prepare_check(
    options: CheckOptions, book: Rulebook, progress: Progress | None = None
) -> AuditModels:
    """Load experts and let them read the rules, which decide alone, ours too."""
    audit = AuditOptions(experts=options.experts, exact=options.exact)
    return load_auditor(audit, book, GivenLimits(), progress, ours=False)


def check_rules(
    options: CheckOptions | None = None,
    *,
    replies: Sequence[Exchange] | ExchangeFile | None = None,
    book: Rulebook | None = None,
    models: AuditModels | None = None,
    **changes: Any,
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
    """
    chosen = chosen_options(CheckOptions, options, changes)
    rules = book or load_layers(chosen.rulebooks)
    if replies is not None and not len(replies):
        raise InputError("there are no replies to try the rules on", "give some, or none at all")
    ready = models or prepare_check(chosen, rules)
    auditor, limits = ready.auditor, ready.auditor.thresholds
    if replies is None:
        exchanges = [row.exchange for row in written_exchanges()]
        replies = exchanges[:: max(1, len(exchanges) // _OURS)][:_OURS]
        source = "written exchanges of ours"
    else:
        source = str(replies.path) if isinstance(replies, ExchangeFile) else "given"
    asked = [read_exchange(exchange) for exchange in replies]
    tried = [reading.exchange for reading in asked if not reading.refusal]
    judged = auditor.judge(tried, [()] * len(tried))
    answers = [rule for judgment in judged for rule in judgment.findings]
    found_for = Counter(rule.text for rule in answers)
    broken = Counter(rule.text for rule in answers if is_broken(rule, limits))
    kept = Counter(rule.text for rule in answers if is_kept(rule, limits))
    uses = [
        RuleUse(rule.text, found_for[rule.text], broken[rule.text], kept[rule.text])
        for rule in rules.rules
    ]
    findings = [
        *_stated(rules.rules, ready),
        *_collisions(tried, judged, limits),
        *_extremes(uses, tried, judged),
    ]
    counts = Counter(finding.kind for finding in findings)
    order = {kind: index for index, kind in enumerate(KINDS)}
    return RunRecord(
        "rules check",
        seed=chosen.seed,
        config={
            "rulebook": rules.name,
            "rules": len(rules.rules),
            "experts": (ready.config or {}).get("experts"),
            "replies": source,
            "options": plain_options(chosen),
        },
        models=list(ready.refs),
        results=sorted(
            findings, key=lambda finding: (order[finding.kind], -(finding.probability or 0.0))
        ),
        statistics=CheckStatistics(
            rules=len(rules.rules),
            replies=len(tried),
            findings={kind: counts[kind] for kind in KINDS},
            uses=sorted(uses, key=lambda use: -use.broken)[:_LISTED],
        ),
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
        for one, others in zip(rules, near, strict=True)
        for other, _ in others
        if other.text != one.text
    ]
    alignments = models.auditor.aligner.align(
        [(two.text, Exchange("", one.text)) for one, two in pairs]
    )
    answers = {
        (one.text, two.text): chances.probabilities
        for (one, two), chances in zip(pairs, alignments, strict=True)
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
        against = min(chances.get("disagree", 0.0) for chances in both)
        same = min(chances.get("agree", 0.0) for chances in both)
        if against >= limits.disagree:
            message = (
                f"“{one.text}” contradicts “{two.text}”: a reply that takes either side breaks "
                "the other and is flagged"
            )
            yield CheckFinding(
                "contradiction",
                (name_of(one), name_of(two)),
                message,
                prompt="",
                reply=two.text,
                probability=against,
            )
        elif len(both) == 2 and same >= _SURE:
            message = f"a reply that keeps “{one.text}” keeps “{two.text}”, and the reverse"
            yield CheckFinding("overlap", (name_of(one), name_of(two)), message, "", one.text, same)


def _collisions(
    tried: Sequence[Exchange], judged: Sequence[ExchangeJudgment], limits: Thresholds
) -> Iterator[CheckFinding]:
    """Find replies that keep one rule and break another."""
    seen: set[tuple[str, str]] = set()
    for exchange, judgment in zip(tried, judged, strict=True):
        names = {rule.text: name_of(rule) for rule in judgment.rules}
        rule = worst_broken(judgment.findings, limits)
        if rule is None:
            continue
        for kept in judgment.findings:
            if not is_kept(kept, limits) or (kept.text, rule.text) in seen:
                continue
            seen.add((kept.text, rule.text))
            message = f"the reply keeps “{kept.text}” and breaks “{rule.text}”: that one flags it"
            yield CheckFinding(
                "collision",
                (names[kept.text], names[rule.text]),
                message,
                exchange.prompt,
                exchange.reply,
                rule.alignment.probabilities["disagree"],
                names[rule.text],
            )


def _extremes(
    uses: Sequence[RuleUse], tried: Sequence[Exchange], judged: Sequence[ExchangeJudgment]
) -> Iterator[CheckFinding]:
    """Find rules that fire never, or on everything."""
    nearest: dict[str, tuple[float, Exchange]] = {}
    for exchange, judgment in zip(tried, judged, strict=True):
        for rule in judgment.findings:
            chances = rule.alignment.probabilities
            chance = max(chances.get("disagree", 0.0), chances.get("agree", 0.0))
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
