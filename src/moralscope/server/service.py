"""The jobs as a server runs them: the same records and numbers, on models that stay loaded.

Everything that a request may name is a name of the catalogue or a text in the request itself; no
path of a request is ever opened.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moralscope.axes.build import build_axis
from moralscope.axes.choice import rank
from moralscope.axes.compare import compare
from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.options import AxisOptions, RankOptions, ScoreOptions
from moralscope.axes.ratings import parse_ratings
from moralscope.axes.score import score
from moralscope.core.errors import InputError
from moralscope.core.protocols import Axis, ExpertSet, Report
from moralscope.core.records import RunRecord
from moralscope.io.actions import check_actions
from moralscope.models.language.text_check import CHECKER, TextCheck
from moralscope.models.store import Progress, Store
from moralscope.models.store.commands import ModelStatus, list_models
from moralscope.rules.audit import (
    AuditModels,
    audit,
    audit_conversations,
    check_options,
    set_budget,
)
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.conversations.audit import ConversationAuditor
from moralscope.rules.conversations.conversation import AuditedTurn, Conversation
from moralscope.rules.labels import LabelRow, match_labels
from moralscope.rules.load_auditor import RuleIndex, index_rules, join_auditor, needs_encoder
from moralscope.rules.options import CheckOptions, LintOptions, WarrantOptions
from moralscope.rules.records import AuditedReply, Exchange
from moralscope.rules.rulebook import Rulebook, layer_rulebooks, parse_rulebook, shipped_rulebook
from moralscope.rules.rulebooks.check import check_rules
from moralscope.rules.rulebooks.show import lint_book
from moralscope.rules.rulebooks.warrant import warrant_book
from moralscope.rules.thresholds import GivenLimits
from moralscope.rules.writing.revision import ReplyWriter, asking
from moralscope.server.memory import KEEP_MINUTES, Memory
from moralscope.server.models import SCRIPTED, Models, SingleFlightCache
from moralscope.stories.experts import RULES, STORIES
from moralscope.surveys.items import read_item
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.survey import survey

USUAL = ("minilm", "mpnet")  # what a request uses that names no model
MAX_RULES = 2000  # of a rulebook in a request
_AXES, _BOOKS = 16, 8  # how many are kept


@dataclass(frozen=True, slots=True)
class RulebookText:
    """A rulebook as a request brings it."""

    text: str
    form: str = "yaml"  # or csv, txt

    def read(self) -> Rulebook:
        """Parse and check it; what is wrong is named with its line."""
        book = parse_rulebook(self.text, f"yours.{self.form}")
        if len(book.rules) > MAX_RULES:
            raise InputError(
                f"the rulebook has {len(book.rules):,} rules",
                f"send at most {MAX_RULES:,}, or use the command line",
            )
        return book


@dataclass(frozen=True, slots=True)
class AuditRules:
    """What an audit judges by, beside its options: rulebooks in turn (None: ours), limits."""

    rulebooks: tuple[RulebookText | None, ...] = ()
    limits: GivenLimits = field(default_factory=GivenLimits)


Books = tuple[RulebookText | None, ...]


def fetch(names: Iterable[str] = USUAL, progress: Progress | None = None) -> None:
    """Put weights on this machine where they are not yet: requests fetch nothing."""
    store = Store()
    for name in dict.fromkeys(names):
        if name != SCRIPTED:
            store.ensure(name, progress)


class Service:
    """All jobs that are served, on shared models."""

    def __init__(self, keep_minutes: float = KEEP_MINUTES) -> None:
        self.models = Models(Memory(keep_minutes))
        self._axes = SingleFlightCache[AxisOptions, Axis](_AXES)
        self._books = SingleFlightCache[Books, Rulebook](_BOOKS)
        self._indexes = SingleFlightCache[Hashable, RuleIndex](_BOOKS)

    def close(self) -> None:
        """Finish what was handed in and end the models' threads."""
        self.models.close()

    def listed(self) -> list[tuple[ModelStatus, bool]]:
        """Return every entry of the catalogue, and whether it is in memory."""
        loaded = {name.removeprefix("stories-") for name in self.models.loaded()}
        return [(status, status.name in loaded) for status in list_models()]

    def score(
        self,
        actions: Sequence[str],
        options: ScoreOptions,
        human: str | None = None,
        report: Report | None = None,
    ) -> RunRecord:
        """Score actions; `human` is the text of a CSV file of ratings."""
        listed = check_actions(actions)
        rated = None if human is None else parse_ratings(human, "human")
        return score(listed, options, built=self._axis(options), ratings=rated, report=report)

    def compare(
        self, actions: Sequence[str], options: CompareOptions, report: Report | None = None
    ) -> RunRecord:
        """Compare encoders on the same actions."""
        listed = check_actions(actions)
        built = [self._axis(options.for_encoder(name)) for name in options.names]
        return compare(listed, options, built=built, report=report)

    def survey(
        self,
        rows: Sequence[Mapping[str, str]],
        options: SurveyOptions,
        report: Report | None = None,
    ) -> RunRecord:
        """Put dilemmas or statements, given as rows, to language models."""
        items = [read_item(row, number, "items") for number, row in enumerate(rows, 1)]
        if len({type(item) for item in items}) > 1:
            raise InputError("items are dilemmas and statements", "send one kind at a time")
        speakers = [self.models.speaker(name) for name in options.models]
        auditor = None
        if options.free:
            auditor = self.auditor(AuditOptions(experts=options.experts), AuditRules())
        return survey(items, options, speakers=speakers, auditor=auditor, report=report)

    def rank(self, question: str, answers: Sequence[str], options: RankOptions) -> RunRecord:
        """Rank answers to a question."""
        return rank(question, answers, options, model=self.models.encoder(options.encoder))

    def audit(
        self,
        exchanges: Sequence[Exchange],
        options: AuditOptions,
        rules: AuditRules | None = None,
        report: Report | None = None,
        tell: Callable[[AuditedReply], None] | None = None,
        benign: Sequence[Exchange] | None = None,
    ) -> RunRecord:
        """Audit replies; a false-alarm budget is set on `benign`."""
        check_options(options)
        models = self.auditor(options, rules or AuditRules())
        if benign is not None and options.false_alarms is not None:
            models = set_budget(models, benign, options.false_alarms)
        return audit(exchanges, options, models=models, report=report, tell=tell)

    def audit_conversations(
        self,
        conversations: Any,
        options: AuditOptions,
        rules: AuditRules | None = None,
        report: Report | None = None,
    ) -> RunRecord:
        """Audit whole conversations, given as messages."""
        models = self.auditor(options, rules or AuditRules())
        stories = self._stories(options)
        return audit_conversations(
            conversations, options, models=models, stories=stories, report=report
        )

    def last_turns(
        self, conversations: Sequence[Conversation], options: AuditOptions, rules: AuditRules
    ) -> list[AuditedTurn]:
        """Judge the last turn of each conversation in its context."""
        models = self.auditor(options, rules)
        auditor = ConversationAuditor(models.auditor, self._stories(options))
        return [auditor.audit(one, last=True).turns[-1] for one in conversations]

    def _stories(self, options: AuditOptions) -> Callable[[], ExpertSet]:
        """Return what loads the experts for acts, once there are some."""
        light = not options.exact
        return lambda: self.models.experts(options.experts, family=STORIES, eight_bits=light)

    def auditor(
        self, options: AuditOptions, rules: AuditRules, *, ours: bool | None = None
    ) -> AuditModels:
        """Return an auditor on shared models; `ours` is as for `load_auditor`."""
        books = rules.rulebooks
        book = self._book(books)
        light = not options.exact
        experts = self.models.experts(options.experts, family=RULES, eight_bits=light)
        encoder = None
        if needs_encoder(options, experts):
            encoder = self.models.encoder(options.encoder_name, eight_bits=light)
        if ours is None:
            ours = not books or None in books
        how = {"ours": ours, "trained": not options.encoder}
        key = (books, experts.ref, encoder and encoder.name, *how.values(), light)
        index = self._indexes.get(key, lambda: index_rules(book, experts, encoder, **how))
        revises = self._reply_writer(options.generator) if options.revise else None
        writers = (revises, None)
        return join_auditor(options, index, experts, rules.limits, ours=ours, writers=writers)

    def _reply_writer(self, name: str) -> ReplyWriter:
        """Return what writes better replies, and what reads them, on shared models."""
        generator = self.models.generator(name)
        if name == SCRIPTED:
            return ReplyWriter(generator)
        check = TextCheck(self.models.speaker(CHECKER))
        return ReplyWriter(generator, asking(self.models.speaker(name)), check)

    def check(
        self,
        rulebooks: Sequence[RulebookText | None],
        options: CheckOptions,
        replies: Sequence[Exchange] | None = None,
    ) -> RunRecord:
        """Check rulebooks against each other and against replies."""
        books = tuple(rulebooks)
        audit = AuditOptions(experts=options.experts, exact=options.exact)
        models = self.auditor(audit, AuditRules(books), ours=False)
        return check_rules(options, replies=replies, book=self._book(books), models=models)

    def warrant(
        self,
        rulebooks: Sequence[RulebookText | None],
        options: WarrantOptions,
        benign: Sequence[Exchange] | None = None,
        labels: Sequence[LabelRow] = (),
    ) -> RunRecord:
        """Try whether experts can enforce the rules of a book; `benign` are fine replies."""
        books = tuple(rulebooks)
        if not books or None in books:
            raise InputError("our rulebook has no warrant", "send rules of your own")
        book = self._book(books)
        known = match_labels(labels, book, "the request").labels if labels else ()
        models = self.auditor(AuditOptions(experts=options.experts), AuditRules(books))
        return warrant_book(book, models, options, labels=known, fine=benign)

    def lint(self, rulebooks: Sequence[RulebookText | None], options: LintOptions) -> RunRecord:
        """Lint rulebooks laid over each other."""
        model = self.models.encoder(options.encoder) if options.encoder else None
        return lint_book(self._book(tuple(rulebooks)), options, encoder=model)

    def _book(self, books: Books) -> Rulebook:
        def read() -> Rulebook:
            every = books or (None,)
            parts = [shipped_rulebook() if text is None else text.read() for text in every]
            return parts[0] if len(parts) == 1 else layer_rulebooks(parts)

        return self._books.get(books, read)

    def _axis(self, options: AxisOptions) -> Axis:
        return self._axes.get(options, lambda: build_axis(options, self.models))
