"""The models of an audit: loaded, joined with rules and limits into an `Auditor`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from hashlib import sha256
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier, Encoder, ExpertSet, Generator, LanguageModel
from moralscope.core.records import ModelRef
from moralscope.models.encoders import load_encoder
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.language import (
    generator_refs,
    load_generator,
    load_language_model,
    load_steered,
)
from moralscope.models.language.text_check import CHECKER, TextCheck
from moralscope.models.options import ON_MPNET
from moralscope.models.store import Progress, Store
from moralscope.rules.attributes import Attributes
from moralscope.rules.audit_options import WEAK_AUDITOR, AuditOptions
from moralscope.rules.auditor import Auditor, Policy
from moralscope.rules.experts import prepare_rule_experts
from moralscope.rules.false_alarms import FalseAlarms
from moralscope.rules.learnt import (
    LearntAlignment,
    learnt_for,
    learnt_path,
    read_learnt,
)
from moralscope.rules.options import SHIPPED
from moralscope.rules.records import TEXT_CONCERNS, RuleOfThumb, first_notes
from moralscope.rules.reply_reader import CLEARLY_FINE, CONCERN, VERDICT, ReplyReader
from moralscope.rules.retrieval import TRAINED_SEARCH, Finds, Retriever, TrainedRetriever
from moralscope.rules.rulebook import Rulebook, shipped_rulebook
from moralscope.rules.thresholds import GivenLimits, operating_points, read_limits
from moralscope.rules.verdict import TASK, Aligner, StoriesAlignment
from moralscope.rules.warrant_file import check_warrants, known_warrants, read_warrant, warrant_path
from moralscope.rules.writing.revision import ReplyWriter, Reviser, asking
from moralscope.rules.writing.rule_writer import RuleWriter
from moralscope.rules.writing.written_rules import WrittenRuleJudge

READ_WHOLE = 40  # rules of one's own of which each is asked about every reply: bench/own_rules.py
# Texts that are no replies have a limit of their own: bench/audit_texts.py.
TEXT_POINTS: Mapping[str, Mapping[str, float]] = {name: {"bad": 0.6} for name in ON_MPNET}
# By bench/lead_rule.py. minilm calls few rules broken, and none with such certainty: each may lead.
EXPLAINS: Mapping[str, float] = dict.fromkeys(ON_MPNET, 0.42)
_WEAK = (
    "the experts on minilm are fast and miss much that those on mpnet find: take --experts mpnet "
    "where a verdict matters"
)
_STALE = "the warrant was made with other models and holds no longer: run 'rules warrant' again"
_ADAPTED = (
    "alignment comes from an expert trained on everyday stories, not on chatbots' replies: read "
    "its probabilities as a ranking"
)


@dataclass(frozen=True, slots=True)
class AuditModels:
    """A ready auditor, the weights in it, and what a record says of it.

    `budget` is how its limit was set, where `set_budget` set it.
    """

    auditor: Auditor
    refs: Sequence[ModelRef] = ()
    config: Mapping[str, Any] | None = None
    warnings: Sequence[str] = ()
    budget: FalseAlarms | None = None
    experts: ExpertSet | None = None


def given_limits(options: AuditOptions) -> GivenLimits:
    """Return the limits in the config; a file that is to be written need not be there."""
    path = options.config
    if path is not None and options.false_alarms is not None and not path.exists():
        return GivenLimits()
    return read_limits(path)


def limits_beside(options: AuditOptions, *, warranted: bool = True) -> GivenLimits:
    """Return the limits in the config, and what lies beside the rulebooks: learnt, warranted."""
    limits = given_limits(options)
    books = [name for name in options.rulebooks if name != SHIPPED]
    if warranted:
        paths = [path for path in map(warrant_path, books) if path.is_file()]
        limits = replace(limits, warrants=tuple(map(read_warrant, paths)))
    stored = [read_learnt(path) for path in map(learnt_path, books) if path.is_file()]
    if len(stored) > 1:
        raise InputError(
            f"{len(stored)} of the rulebooks have learnt from labels",
            "join the rulebooks and their labels, and run 'moralscope rules learn' on one",
        )
    return replace(limits, learnt=stored[0]) if stored else limits


def load_auditor(
    options: AuditOptions,
    book: Rulebook,
    limits: GivenLimits,
    progress: Progress | None = None,
    *,
    cached: bool = True,
    ours: bool | None = None,
) -> AuditModels:
    """Load the models that options name and put an auditor together over rules that were read.

    `ours` says whether our rules explain what the verdict expert decides; else the options do.
    """
    light = not options.exact
    experts = prepare_rule_experts(options.experts, eight_bits=light, progress=progress)
    encoder = None
    if needs_encoder(options, experts):
        encoder = load_encoder(options.encoder_name, progress, eight_bits=light, cached=cached)
    revises = load_reply_writer(options, progress) if options.revise else None
    writer = load_generator(options.writer, progress=progress) if options.generate else None
    if ours is None:
        ours = not options.rulebooks or SHIPPED in options.rulebooks
    how = {"ours": ours, "trained": not options.encoder, "cached": cached}
    index = index_rules(book, experts, encoder, **how)
    return join_auditor(options, index, experts, limits, ours=ours, writers=(revises, writer))


def load_reply_writer(options: AuditOptions, progress: Progress | None = None) -> ReplyWriter:
    """Load what writes better replies, and what reads them."""
    generator = load_steered(options.generator, options.steer, progress=progress)
    if not isinstance(generator, LanguageModel):
        return ReplyWriter(generator)
    same = generator.name == CHECKER
    check = generator if same else load_language_model(CHECKER, progress=progress)
    return ReplyWriter(generator, asking(generator), TextCheck(check))


def needs_encoder(options: AuditOptions, experts: ExpertSet) -> bool:
    """Tell whether texts must be compared by an encoder beside the experts."""
    return bool(options.encoder or options.revise or options.generate or not experts.retrieval)


@dataclass(frozen=True, slots=True)
class RuleIndex:
    """A rulebook that models have read: what costs time to make and hangs on nothing else."""

    book: Rulebook
    retriever: Finds | None  # of rules that are ours
    house: Finds | None  # of all others
    attributes: Attributes
    encoder: Encoder | None = None
    whole: int = 0  # how many rules are not ours, where each is asked about every reply


def index_rules(
    book: Rulebook,
    experts: ExpertSet,
    encoder: Encoder | None = None,
    *,
    ours: bool = True,
    trained: bool = True,
    cached: bool = True,
) -> RuleIndex:
    """Let models read a rulebook, ours and the others apart.

    Parameters
    ----------
    ours
        Whether our rulebook is among those that were laid over each other.
    trained
        Find rules by vectors of the experts, where these were trained for it; else by `encoder`.
    cached
        Keep the vectors of rules on disk.
    """
    cache = None
    if cached and experts.retrieval and trained and experts.ref.name != "scripted":
        key = sha256(f"rules {experts.ref.sha256} {experts.bits}".encode()).hexdigest()
        width = experts.embed([]).shape[1]
        cache = EmbeddingCache(Store().home / "cache" / "embeddings", key, width)

    def finder(rules: Sequence[RuleOfThumb]) -> Finds | None:
        if not rules:
            return None
        if encoder is None or (trained and experts.retrieval):
            return TrainedRetriever(rules, experts, cache)
        return Retriever(rules, encoder)

    known = set(shipped_rulebook().rules) if ours else set()
    general = [rule for rule in book.rules if rule in known]
    house = [rule for rule in book.rules if rule not in known]
    embed = experts.embed if encoder is None else encoder.encode
    attributes = Attributes(book.rules, embed=embed, experts=experts)
    whole = len(house) if len(house) <= READ_WHOLE else 0
    return RuleIndex(book, finder(general), finder(house), attributes, encoder, whole)


def join_auditor(
    options: AuditOptions,
    index: RuleIndex,
    experts: ExpertSet,
    limits_given: GivenLimits,
    *,
    ours: bool = True,
    writers: tuple[ReplyWriter | None, Generator | None] = (None, None),
) -> AuditModels:
    """Put an auditor together from loaded parts: one writer revises, one writes rules.

    `ours` says that our rulebook is among the rules: then the verdict expert decides, too.
    """
    book, encoder = index.book, index.encoder
    classifier, warnings = alignment_expert(experts)
    if options.experts == WEAK_AUDITOR:
        warnings = [*warnings, _WEAK]
    points = operating_points(experts)
    if options.texts:
        points |= TEXT_POINTS.get(options.experts, {})
    if experts.retrieval and not options.encoder:
        points = {**TRAINED_SEARCH, "explains": EXPLAINS.get(options.experts, 0.0), **points}
    named = {} if options.severity is None else {"least_severity": options.severity}
    limits = GivenLimits({**limits_given.limits, **named}).over(points)
    learnt, said = learnt_for(limits_given.learnt, experts)
    warnings = [*warnings, said] if said else warnings
    rule_limits = dict(learnt.limits) if learnt else {}
    tried, judges = bool(limits_given.warrants), learnt.checksum if learnt else ""
    warrants = known_warrants(limits_given.warrants, experts.ref.sha256, judges)
    warnings = [*warnings, _STALE] if tried and not warrants else warnings
    if options.require_warrant:
        known = set(shipped_rulebook().rules) if ours else set()
        house = [rule.text for rule in book.rules if rule not in known]
        warranted, notes = check_warrants(warrants, house, tried=tried)
        rule_limits, warnings = {**rule_limits, **warranted}, [*warnings, *notes]
    revises, writes = writers
    reviser = Reviser(revises, encoder, limits, seed=options.seed) if encoder and revises else None
    writer = None
    if encoder is not None and writes:
        writer = RuleWriter(writes, encoder, book.rules, seed=options.seed)
        if {VERDICT, TASK} <= set(experts.tasks):
            writer.judge = WrittenRuleJudge(experts, limits)
    policy = Policy(
        general=options.general or ours,
        explain=options.explain == "all",
        expertise=options.expertise,
        fears=_concern_points(experts, texts=options.texts),
        on_unread=options.on_unread,
        texts=options.texts,
    )
    auditor = Auditor(
        # Rules of a house are asked about every part of a long reply, however fine it reads.
        reader=ReplyReader(experts, CLEARLY_FINE if index.house is None else -1.0),
        retriever=index.retriever,
        house=index.house,
        whole=index.whole,
        rule_limits={**rule_limits, **limits_given.rules},
        warrants={text: row.word for text, row in warrants.items()},
        aligner=Aligner(LearntAlignment(experts, learnt) if learnt else classifier),
        attributes=index.attributes,
        thresholds=limits,
        policy=policy,
        reviser=reviser,
        writer=writer,
        top=options.top,
        evidence=options.evidence != "no",
    )
    everything = json.dumps([astuple(rule) for rule in book.rules])
    config = {
        "rulebook": book.name,
        "rules": len(book.rules),
        "rules_sha256": sha256(everything.encode()).hexdigest(),
        "experts": experts.ref.name,
        "experts_sha256": experts.ref.sha256,
        "encoder": encoder.name if encoder else None,
        "bits": experts.bits,
        "top": options.top,
        "general": policy.general,
        "explain": options.explain,
        **({"texts": True} if policy.texts else {}),
        "revise": options.generator if revises else None,
        "generate": options.writer if writes else None,
        "thresholds": asdict(limits),
        **({"learnt": {"sha256": judges, "rules": len(learnt.rules)}} if learnt else {}),
        **({"rule_limits": auditor.rule_limits} if auditor.rule_limits else {}),
        **({"warrants": auditor.warrants} if auditor.warrants else {}),
    }
    models = [model for model in (revises and revises.generator, writes) if model]
    refs = [ModelRef(encoder.name, encoder.checksum)] if encoder else []
    refs += [experts.ref, *(ref for model in models for ref in generator_refs(model))]
    warnings += other_models(limits_given, config)
    warnings = [*warnings, *first_notes(book.warnings)]
    return AuditModels(auditor, refs, config, warnings, experts=experts)


def _concern_points(experts: ExpertSet, *, texts: bool) -> dict[str, float]:
    """Return from which probability on each concern of texts, or of replies, is likely."""
    if CONCERN not in experts.tasks:
        return {}
    points = zip(experts.labels(CONCERN), experts.thresholds(CONCERN), strict=True)
    return {name: point for name, point in points if texts or name not in TEXT_CONCERNS}


def other_models(limits: GivenLimits, config: Mapping[str, Any]) -> list[str]:
    """Warn where the limit of a false-alarm budget was set with other models or other rules."""
    what = {"experts_sha256": "experts", "rules_sha256": "rules"}
    other = [
        name for key, name in what.items() if limits.set_by.get(key, config[key]) != config[key]
    ]
    if not other:
        return []
    return [
        f"the limit in the config was set with other {' and '.join(other)}: its budget of false "
        "alarms does not hold here; set it again with --false-alarms"
    ]


def alignment_expert(experts: ExpertSet) -> tuple[Classifier, list[str]]:
    """Return the expert for alignment, else the one for norms in its place, and what to say."""
    if TASK in experts.tasks:
        return experts.expert(TASK), []
    return StoriesAlignment(experts.expert("action+norm")), [_ADAPTED]
