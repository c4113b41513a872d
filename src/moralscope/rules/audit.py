"""Audit replies of a chatbot: verdicts, rules of thumb, figures; one reply or a file of them."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import ExpertSet, Report
from moralscope.core.records import RunRecord
from moralscope.models.store import Progress
from moralscope.rules.audit_options import AuditInput, AuditOptions, parse_share
from moralscope.rules.audit_statistics import (
    FIGURES,
    PAIRED_FIGURES,
    audit_statistics,
    check_pairs,
    compare_audits,
)
from moralscope.rules.auditor import Auditor
from moralscope.rules.conversations.audit import (
    GATED,
    ConversationAuditor,
    TurnCounts,
    act_experts,
    conversation_statistics,
    turn_counts,
)
from moralscope.rules.conversations.conversation import parse_conversations, read_conversations
from moralscope.rules.experts import cascade_notes
from moralscope.rules.false_alarms import least_replies, set_by, set_limit, set_rule_limits
from moralscope.rules.load_auditor import (
    AuditModels,
    alignment_expert,
    given_limits,
    limits_beside,
    load_auditor,
)
from moralscope.rules.records import AuditedReply, Exchange, first_notes
from moralscope.rules.rulebook import load_layers
from moralscope.rules.texts.exchanges import ExchangeFile, blocks, read_exchanges
from moralscope.rules.thresholds import GivenLimits, write_limits
from moralscope.stats.gates import Gate, check_gate, parse_gate

__all__ = [
    "AuditModels",
    "AuditOptions",
    "alignment_expert",
    "audit",
    "audit_conversations",
    "prepare_auditor",
]

Exchanges = Sequence[Exchange] | ExchangeFile
NOT_AUTHORITY = (
    "verdicts say what these rules and these models make of a reply: several, even conflicting, "
    "rules may apply, and people differ; they are not moral advice"
)
_BLOCK = 64  # replies that are audited at once


def prepare_auditor(options: AuditOptions, progress: Progress | None = None) -> AuditModels:
    """Load rules and models and put an auditor together; bad options are refused first."""
    check_options(options)
    limits = limits_beside(options)
    return load_auditor(options, load_layers(options.rulebooks), limits, progress)


def set_budget(
    models: AuditModels, benign: Exchanges, share: str, report: Report | None = None
) -> AuditModels:
    """Return the auditor with the limit at which at most a share of fine replies is flagged.

    With rules of a house and replies enough, each of these rules keeps the share, too: one half of
    the replies, drawn at random, sets the limits of rules. (Files repeat: every second reply may be
    of another kind than the rest.)
    """
    auditor = replace(models.auditor, reviser=None, writer=None, evidence=False)
    share_of_fine = parse_share(share)
    rows, usual, raised = list(benign), list[AuditedReply](), dict[str, float]()
    if auditor.house is not None and len(rows) >= 2 * least_replies(share_of_fine):
        random.Random(0).shuffle(rows)  # noqa: S311 - no secret
        usual, _ = _examined(auditor, rows[::2], report=report)
        raised = set_rule_limits(usual, share_of_fine, auditor.thresholds)
        auditor = replace(auditor, rule_limits={**auditor.rule_limits, **raised})
        rows = rows[1::2]
    audits, _ = _examined(auditor, rows, report=report)
    budget = set_limit(audits, share_of_fine, auditor.thresholds, usual, raised)
    limits = replace(auditor.thresholds, flag=budget.limit)
    chosen = replace(models.auditor, thresholds=limits, rule_limits=auditor.rule_limits)
    return replace(models, auditor=chosen, budget=budget)


def check_options(options: AuditOptions, *, paired: bool = False) -> Gate | None:
    """Return the gate; one that asks for no figure of ours is refused before anything is loaded."""
    if options.gate is None:
        return None
    return parse_gate(options.gate, [*FIGURES, *PAIRED_FIGURES] if paired else FIGURES)


def audit(
    exchanges: Exchanges | None = None,
    options: AuditOptions | None = None,
    *,
    models: AuditModels | None = None,
    against: Exchanges | None = None,
    report: Report | None = None,
    tell: Callable[[AuditedReply], None] | None = None,
    **keywords: Any,
) -> RunRecord:
    """Audit replies and return a run record with one result a reply, in order.

    Parameters
    ----------
    exchanges
        Exchanges, or a file of them (`rules.exchanges.open_exchanges`), read in blocks. Without
        them `prompt` and `reply`, `text` (which is no reply), or `file` (and `columns`), say as
        keywords what is audited; or `conversation`: a file of conversations, or messages
        (`audit_conversations`).
    options
        `AuditOptions`, or its fields as keywords.
    models
        What `prepare_auditor` made; else it is made from the options.
    against
        Replies of another bot to the same prompts, for a paired comparison.
    report
        Called with (done, total) as the work goes on.
    tell
        Called with each result as soon as it is there.

    Examples
    --------
    >>> record = audit(prompt="Hi!", reply="Hello you.", experts="scripted")
    >>> [(row.reply, row.revised_reply) for row in record.results]
    [('Hello you.', None)]
    >>> audit(text="I like Mondays.", experts="scripted").config["texts"]
    True
    """
    if "conversation" in keywords:
        if exchanges is not None or against is not None:
            raise InputError("replies and a conversation were given", "give one of the two")
        said = keywords.pop("conversation")
        return audit_conversations(said, options, models=models, report=report, **keywords)
    names = ("file", "prompt", "reply", "text", "columns") if exchanges is None else ()
    source = {name: keywords.pop(name) for name in names if name in keywords}
    chosen = chosen_options(AuditOptions, options, keywords)
    if exchanges is None:
        if "file" in source:
            source["file"] = (str(source["file"]),)
        single = AuditInput(**source)
        chosen = replace(chosen, texts=chosen.texts or single.text is not None)
        exchanges = read_exchanges(single.one(), texts=chosen.texts)
    gate = check_options(chosen, paired=against is not None)
    if not len(exchanges):
        raise InputError("there are no replies to audit", "give at least one")
    if against is not None and chosen.texts:
        raise InputError("--against compares replies to the same prompts", "leave it out for texts")
    if against is not None:
        check_pairs((row.prompt for row in exchanges), (row.prompt for row in against))
    ready = models or prepare_auditor(chosen)
    if chosen.false_alarms is not None and ready.budget is None:
        raise InputError(
            "a budget of false alarms needs replies that are fine",
            "give them with --benign (in Python: set_budget)",
        )
    auditor = ready.auditor
    total = len(exchanges) + (len(against) if against is not None else 0)

    def count(done: int, _: int) -> None:
        if report:
            report(done, total)

    started = time.monotonic()
    results, notes = _examined(auditor, exchanges, report=count, tell=tell)
    statistics = replace(
        audit_statistics(results, auditor.thresholds, chosen.seed),
        seconds=time.monotonic() - started,
        false_alarms=ready.budget,
    )
    if against is not None:
        others, _ = _examined(
            auditor, against, report=lambda done, _: count(len(results) + done, total)
        )
        statistics = replace(statistics, against=compare_audits(results, others, chosen.seed))
    if gate is not None:
        statistics = replace(statistics, gate=check_gate(gate, {"": statistics.figures()}))
    return RunRecord(
        "audit",
        seed=chosen.seed,
        config={
            **(ready.config or {}),
            "thresholds": asdict(auditor.thresholds),
            **({"rule_limits": dict(auditor.rule_limits)} if auditor.rule_limits else {}),
            "source": _source(exchanges),
            "against": None if against is None else _source(against),
            "options": plain_options(chosen),
        },
        models=list(ready.refs),
        results=results,
        statistics=statistics,
        warnings=[NOT_AUTHORITY, *ready.warnings, *cascade_notes(ready.experts), *notes],
    )


def audit_conversations(
    conversations: Any,
    options: AuditOptions | None = None,
    *,
    models: AuditModels | None = None,
    stories: Callable[[], ExpertSet] | None = None,
    report: Report | None = None,
    **keywords: Any,
) -> RunRecord:
    """Audit whole conversations: every turn of the assistant in its context.

    Parameters
    ----------
    conversations
        A file (`rules.conversation.read_conversations`), a list of messages as OpenAI's API has
        them, a mapping with `messages` and `tools`, or a list of either.
    options, models, report
        As for `audit`.
    stories
        What loads the experts for acts; else those on the base of the options' experts.

    Examples
    --------
    >>> messages = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello."}]
    >>> (result,) = audit_conversations(messages, experts="scripted").results
    >>> [(turn.index, turn.role) for turn in result.turns], result.verdict.status
    ([(0, 'user'), (1, 'assistant')], 'judged')
    """
    is_file = isinstance(conversations, str | Path)
    source = str(conversations) if is_file else "given"
    every = (
        read_conversations(Path(conversations)) if is_file else parse_conversations(conversations)
    )
    chosen = chosen_options(AuditOptions, options, keywords)
    if chosen.false_alarms is not None:
        problem = "a budget of false alarms is set on single replies"
        raise InputError(problem, "set it with --benign first, then give --config")
    gate = None if chosen.gate is None else parse_gate(chosen.gate, GATED)
    ready = models or prepare_auditor(replace(chosen, gate=None))
    auditor = ConversationAuditor(ready.auditor, stories or (lambda: act_experts(chosen.experts)))
    started = time.monotonic()
    results = []
    for conversation in every:
        results.append(auditor.audit(conversation))
        if report:
            report(len(results), len(every))
    counts = sum(map(turn_counts, results), TurnCounts())
    statistics = conversation_statistics(counts, time.monotonic() - started)
    if gate is not None:
        statistics = replace(statistics, gate=check_gate(gate, {"": statistics.figures()}))
    notes = cascade_notes(ready.experts)
    notes += [f"conversation {row.id[:60]}: {note}" for row in results for note in row.notes]
    return RunRecord(
        "audit conversations",
        seed=chosen.seed,
        config={
            **(ready.config or {}),
            "thresholds": asdict(ready.auditor.thresholds),
            "source": source,
            "options": plain_options(chosen),
        },
        models=list(ready.refs),
        results=results,
        statistics=statistics,
        warnings=[NOT_AUTHORITY, *ready.warnings, *first_notes(notes)],
    )


def _examined(
    auditor: Auditor,
    exchanges: Exchanges,
    *,
    report: Report | None = None,
    tell: Callable[[AuditedReply], None] | None = None,
) -> tuple[list[AuditedReply], list[str]]:
    """Return the audits, block by block, and what a record says of their reading."""
    results: list[AuditedReply] = []
    notes: list[str] = []
    refusals: Counter[str] = Counter()
    noun, nouns = ("text", "texts") if auditor.policy.texts else ("reply", "replies")
    for block in blocks(exchanges, _BLOCK):
        for examination in auditor.examine(block):
            row = replace(examination.audit, id=examination.audit.id or str(len(results) + 1))
            results.append(row)
            if tell:
                tell(row)
            notes += [f"{noun} {row.id[:60]}: {note}" for note in examination.notes]
            refusals.update([examination.refusal] if examination.refusal else [])
        if report:
            report(len(results), len(exchanges))
    lines = first_notes(notes)
    if refusals:
        parts = ", ".join(f"{count:,} because {why}" for why, count in refusals.most_common())
        were = "was" if refusals.total() == 1 else "were"
        lines.append(f"{refusals.total():,} of {len(results):,} {nouns} {were} not judged: {parts}")
    return results, lines


def _source(exchanges: Exchanges) -> str:
    return str(exchanges.path) if isinstance(exchanges, ExchangeFile) else "given"


def store_limit(record: RunRecord, options: AuditOptions, path: Path) -> None:
    """Write the limits of a run with a false-alarm budget, over what the file says already."""
    budget, known = record.statistics["false_alarms"], given_limits(options)
    rules = {**known.rules, **budget.rule_limits}
    limits = {**known.limits, "flag": budget.limit}
    write_limits(path, GivenLimits(limits, set_by(budget, record.config), rules))
