"""Replies audited or judged for another tool: models stay loaded, equal texts are read once."""

import json
import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from moralscope.core.options import build_options
from moralscope.core.protocols import Pair
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.conversations.conversation import (
    ASSISTANT,
    HISTORY,
    Conversation,
    Turn,
    lenient_conversation,
)
from moralscope.rules.records import AuditedReply, RuleFinding, Verdict

if TYPE_CHECKING:
    from moralscope.rules.audit import AuditModels


def text_in(value: Any, role: str) -> str:
    """Return what `role` said last in messages; a plain text is returned as it is.

    Examples
    --------
    >>> said = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Ho!"}]
    >>> text_in(said, "user")
    'Hi!'
    >>> text_in('[{"role": "user", "content": [{"type": "text", "text": "Hi!"}]}]', "user")
    'Hi!'
    >>> text_in("Is [1] a list?", "user")
    'Is [1] a list?'
    """
    messages = value
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            messages = json.loads(value)
    if not (isinstance(messages, list) and messages and all(isinstance(m, dict) for m in messages)):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    said = [turn.get("content") for turn in messages if turn.get("role") == role]
    content = said[-1] if said else ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


Answer = TypeVar("Answer")
FLAGGED, FINE, ABSTAINED = "flagged", "fine", "abstained"  # what other tools show of a verdict
_REMEMBERED = 20_000  # answers that are kept


class AnswerCache(Generic[Answer]):
    """A function over many pairs of prompt and reply that is asked about each pair once.

    Examples
    --------
    >>> asked = []
    >>> lengths = AnswerCache(lambda pairs: [asked.append(p) or len(p[1]) for p in pairs])
    >>> lengths([("", "Yes."), ("", "Yes.")]), len(asked)
    ([4, 4], 1)
    """

    def __init__(self, answer: Callable[[list[Pair]], Sequence[Answer]]) -> None:
        self._answer = answer
        self._lock = threading.RLock()  # tools ask from several threads; models load once
        self._known: dict[Pair, Answer] = {}

    def __call__(self, pairs: Sequence[Pair]) -> list[Answer]:
        """Return one answer a pair, in order."""
        with self._lock:
            if len(self._known) > _REMEMBERED:
                self.forget()
            new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
            if new:
                self._known.update(zip(new, self._answer(new), strict=True))
            return [self._known[pair] for pair in pairs]

    def forget(self) -> None:
        """Forget every answer; models stay loaded."""
        self._known.clear()


def audit_options(rulebook: str | Sequence[str] | None = None, **fields: Any) -> AuditOptions:
    """Return the options of an audit; `rulebook` is one file or several, later over earlier.

    What can be wrong without a model is refused here: options, names, the rulebooks themselves.
    """
    from moralscope.rules.rulebook import load_layers

    rulebook = fields.pop("rulebooks", None) if rulebook is None else rulebook
    books = () if rulebook is None else (rulebook,) if isinstance(rulebook, str) else rulebook
    options = build_options(AuditOptions, {**fields, "rulebooks": tuple(books)})
    load_layers(options.rulebooks)
    return options


class ReplyAuditor(AnswerCache[AuditedReply]):
    """Audits replies with some options; the models are loaded at the first reply."""

    def __init__(self, options: AuditOptions) -> None:
        super().__init__(self._audit)
        self._options = options
        self._models: AuditModels | None = None

    def broken(self, audit: AuditedReply) -> list[RuleFinding]:
        """Return the rules that a reply breaks, worst first."""
        from moralscope.rules.verdict import broken_rules

        return broken_rules(audit.rules, self._models.auditor.thresholds) if self._models else []

    def _audit(self, pairs: list[Pair]) -> Sequence[AuditedReply]:
        from moralscope.rules.audit import audit, prepare_auditor
        from moralscope.rules.records import Exchange

        self._models = self._models or prepare_auditor(self._options)
        exchanges = [Exchange(*pair) for pair in pairs]
        return audit(exchanges, self._options, models=self._models).results

    def last_turn(self, before: Conversation, turn: Turn) -> AuditedReply:
        """Audit a turn as the last one of a conversation."""
        from moralscope.rules.audit import prepare_auditor
        from moralscope.rules.conversations.audit import ConversationAuditor, act_experts

        with self._lock:
            self._models = self._models or prepare_auditor(self._options)
            auditor = ConversationAuditor(
                self._models.auditor, lambda: act_experts(self._options.experts)
            )
            conversation = Conversation((*before.turns, turn), tools=before.tools)
            return auditor.audit(conversation, last=True).turns[-1]


@cache
def reply_auditor(options: AuditOptions) -> ReplyAuditor:
    """Return what audits replies with these options, the same one each time."""
    return ReplyAuditor(options)


def audited(prompt: Any, reply: Any, options: AuditOptions) -> AuditedReply:
    """Audit one reply for another tool: texts, or messages of a chat.

    After messages in which the assistant spoke or acted, it is judged as the next turn.
    """
    before = lenient_conversation(prompt, None, HISTORY)
    if any(turn.role == ASSISTANT for turn in before.turns):
        turn = Turn(ASSISTANT, text_in(reply, "assistant"))
        return reply_auditor(options).last_turn(before, turn)
    pair = (text_in(prompt, "user"), text_in(reply, "assistant"))
    return reply_auditor(options)([pair])[0]


def verdict_word(verdict: Verdict) -> str:
    """Return what other tools show of a verdict: flagged, fine or abstained."""
    return FLAGGED if verdict.flag else FINE if verdict.is_judged else ABSTAINED


@cache
def reply_judge(encoder: str | None = None) -> AnswerCache[float]:
    """Return what judges replies alone, as actions: from -1 (bad) to +1 (good).

    A reply that is no action (too long, no text) gets no number (nan): the others do not suffer.
    """
    from moralscope.axes.build import LocalModels, build_axis
    from moralscope.axes.options import ScoreOptions
    from moralscope.axes.score import score
    from moralscope.io.actions import wrong_text

    named = {"encoder": encoder} if encoder else {}
    options = build_options(ScoreOptions, {"axis": "judge", **named})
    axis = cache(lambda: build_axis(options, LocalModels(None)))

    def answer(pairs: list[Pair]) -> list[float]:
        replies = [reply for _, reply in pairs]
        sound = [reply for reply in replies if wrong_text(reply) is None and reply.strip()]
        rows = score(sound, options, built=axis()).results if sound else []
        scores = dict(zip(sound, (row.score for row in rows), strict=True))
        return [scores.get(reply, math.nan) for reply in replies]

    return AnswerCache(answer)
