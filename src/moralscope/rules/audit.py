"""Audit replies of a chatbot: rules of thumb, verdicts, figures; one reply or a file of them."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Classifier, Encoder, Generator
from moralscope.core.records import ModelRef, RunRecord
from moralscope.models.encoders import load_encoder
from moralscope.models.language import generator_refs, load_generator
from moralscope.models.store import Progress
from moralscope.rules.attributes import Attributes
from moralscope.rules.audit_files import ExchangeFile, blocks
from moralscope.rules.audit_statistics import (
    FIGURES,
    PAIRED_FIGURES,
    audit_statistics,
    check_pairs,
    compare_audits,
    figures,
)
from moralscope.rules.auditor import Auditor
from moralscope.rules.options import AuditOptions
from moralscope.rules.records import AuditedReply, Exchange, first_notes
from moralscope.rules.retrieval import Retriever
from moralscope.rules.revision import Reviser
from moralscope.rules.rule_writer import RuleWriter
from moralscope.rules.rulebook import Rulebook, load_layers
from moralscope.rules.verdict import TASK, Aligner, StoriesAlignment, Thresholds, read_thresholds
from moralscope.stats.gates import Gate, check_gate, parse_gate
from moralscope.stories.experts import RULES, ExpertSet, prepare_experts

__all__ = ["AuditModels", "AuditOptions", "Auditor", "audit", "check_options", "prepare_auditor"]

Report = Callable[[int, int], None]
Exchanges = Sequence[Exchange] | ExchangeFile
NOT_AUTHORITY = (
    "verdicts say what these rules and these models make of a reply: several, even conflicting, "
    "rules may apply, and people differ; they are not moral advice"
)
_ADAPTED = (
    "alignment is told by an expert trained on everyday stories, not on chatbots' replies: read "
    "its probabilities as a ranking"
)
_BLOCK = 64  # replies that are audited at once


@dataclass(frozen=True, slots=True)
class AuditModels:
    """A ready auditor, the weights in it, and what a record says of it."""

    auditor: Auditor
    refs: Sequence[ModelRef] = ()
    config: Mapping[str, Any] | None = None
    warnings: Sequence[str] = ()


def prepare_auditor(options: AuditOptions, progress: Progress | None = None) -> AuditModels:
    """Load rules and models and put an auditor together; bad options are refused first.

    Examples
    --------
    >>> models = prepare_auditor(AuditOptions(experts="scripted"))
    >>> [audit.reply for audit in models.auditor.audit([Exchange("Hi!", "Hello you.")])]
    ['Hello you.']
    """
    check_options(options)
    limits = read_thresholds(options.config)
    return load_auditor(options, load_layers(options.rulebooks), limits, progress)


def load_auditor(
    options: AuditOptions,
    book: Rulebook,
    limits: Thresholds,
    progress: Progress | None = None,
    *,
    cached: bool = True,
) -> AuditModels:
    """Load the models that options name and put an auditor together over rules that were read."""
    light = not options.exact
    experts = prepare_experts(options.experts, family=RULES, eight_bits=light, progress=progress)
    encoder = load_encoder(options.encoder_name, progress, eight_bits=light, cached=cached)
    generator = load_generator(options.generator, progress=progress) if options.revise else None
    writer = load_generator(options.writer, progress=progress) if options.generate else None
    return join_auditor(options, index_rules(book, encoder), experts, limits, (generator, writer))


@dataclass(frozen=True, slots=True)
class RuleIndex:
    """A rulebook that an encoder has read: what costs time to make and hangs on nothing else."""

    book: Rulebook
    encoder: Encoder
    retriever: Retriever
    attributes: Attributes


def index_rules(book: Rulebook, encoder: Encoder) -> RuleIndex:
    """Let an encoder read a rulebook."""
    return RuleIndex(book, encoder, Retriever(book.rules, encoder), Attributes(book.rules, encoder))


def join_auditor(
    options: AuditOptions,
    index: RuleIndex,
    experts: ExpertSet,
    limits: Thresholds,
    generators: tuple[Generator | None, Generator | None] = (None, None),
) -> AuditModels:
    """Put an auditor together from loaded parts: one generator revises, one writes rules."""
    book, encoder = index.book, index.encoder
    classifier, warnings = alignment_expert(experts)
    refs = [ModelRef(encoder.name, encoder.checksum), experts.ref]
    revises, writes = generators
    reviser = Reviser(revises, encoder, limits, seed=options.seed) if revises else None
    writer = RuleWriter(writes, encoder, book.rules, seed=options.seed) if writes else None
    refs += [ref for each in generators if each is not None for ref in generator_refs(each)]
    auditor = Auditor(
        index.retriever,
        Aligner(classifier),
        index.attributes,
        limits,
        reviser,
        writer,
        options.top,
    )
    config = {
        "rulebook": book.name,
        "rules": len(book.rules),
        "experts": experts.ref.name,
        "encoder": encoder.name,
        "bits": experts.bits,
        "top": options.top,
        "revise": options.generator if revises else None,
        "generate": options.writer if writes else None,
        "thresholds": asdict(limits),
    }
    return AuditModels(auditor, refs, config, [*warnings, *first_notes(book.warnings)])


def check_options(options: AuditOptions, *, paired: bool = False) -> Gate | None:
    """Return the gate; one that asks for no figure of ours is refused before anything is loaded."""
    if options.gate is None:
        return None
    return parse_gate(options.gate, [*FIGURES, *PAIRED_FIGURES] if paired else FIGURES)


def alignment_expert(experts: ExpertSet) -> tuple[Classifier, list[str]]:
    """Return the expert for alignment, else the one for norms in its place, and what to say.

    Examples
    --------
    >>> alignment_expert(prepare_experts("scripted"))[0].labels
    ('disagree', 'agree', 'neither')
    """
    if TASK in experts.tasks:
        return experts.expert(TASK), []
    return StoriesAlignment(experts.expert("action+norm")), [_ADAPTED]


def audit(
    exchanges: Exchanges,
    options: AuditOptions | None = None,
    *,
    models: AuditModels | None = None,
    against: Exchanges | None = None,
    report: Report | None = None,
    tell: Callable[[AuditedReply], None] | None = None,
    **given: Any,
) -> RunRecord:
    """Audit replies and return a run record with one result a reply, in order.

    Parameters
    ----------
    exchanges
        Exchanges, or a file of them (`rules.audit_files.open_exchanges`), read in blocks.
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
    >>> record = audit([Exchange("Hi!", "Hello you.", "a")], experts="scripted")
    >>> [(row.id, row.reply, row.revised_reply) for row in record.results]
    [('a', 'Hello you.', None)]
    """
    chosen = chosen_options(AuditOptions, options, given)
    gate = check_options(chosen, paired=against is not None)
    if not len(exchanges):
        raise InputError("there are no replies to audit", "give at least one")
    if against is not None:
        check_pairs((each.prompt for each in exchanges), (each.prompt for each in against))
    ready = models or prepare_auditor(chosen)
    total = len(exchanges) + (len(against) if against is not None else 0)
    started = time.monotonic()
    results, notes = _work(ready.auditor, exchanges, _step(report, 0, total), tell)
    seconds = time.monotonic() - started
    limits = ready.auditor.thresholds
    found = audit_statistics(results, limits, chosen.seed)
    paired = None
    if against is not None:
        others, _ = _work(ready.auditor, against, _step(report, len(results), total))
        paired = compare_audits(results, others, chosen.seed)
    return RunRecord(
        "audit",
        seed=chosen.seed,
        config={
            **(ready.config or {}),
            "source": _source(exchanges),
            "against": _source(against),
            "options": plain_options(chosen),
        },
        models=list(ready.refs),
        results=results,
        statistics={
            **found,
            "seconds": seconds,
            "against": paired,
            "gate": check_gate(gate, {"": figures(found, paired)}) if gate else None,
        },
        warnings=[NOT_AUTHORITY, *ready.warnings, *notes],
    )


def _work(
    auditor: Auditor,
    exchanges: Exchanges,
    step: Callable[[int], None],
    tell: Callable[[AuditedReply], None] | None = None,
) -> tuple[list[AuditedReply], list[str]]:
    results: list[AuditedReply] = []
    notes: list[str] = []
    refusals: Counter[str] = Counter()
    for block in blocks(exchanges, _BLOCK):
        for each in auditor.examine(block):
            row = replace(each.audit, id=each.audit.id or str(len(results) + 1))
            results.append(row)
            if tell:
                tell(row)
            notes += [f"reply {row.id[:60]}: {note}" for note in each.notes]
            refusals.update([each.refusal] if each.refusal else [])
        step(len(results))
    told = first_notes(notes)
    if refusals:
        parts = ", ".join(f"{count:,} because {why}" for why, count in refusals.most_common())
        told.append(f"{refusals.total():,} of {len(results):,} replies were not judged: {parts}")
    return results, told


def _step(report: Report | None, before: int, total: int) -> Callable[[int], None]:
    return lambda done: report(before + done, total) if report else None


def _source(exchanges: Exchanges | None) -> str | None:
    if exchanges is None:
        return None
    return str(exchanges.path) if isinstance(exchanges, ExchangeFile) else "given"
