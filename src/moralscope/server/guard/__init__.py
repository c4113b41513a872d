"""A guard in front of a chatbot: each reply is audited, then passed on, revised or withheld.

Decides what becomes of a reply and says why; knows nothing of HTTP. What is flagged follows
`action`. What could not be judged (another language, no rule that applies, a part that is no text)
follows `on_abstain`, and a reply that no model read whole follows `on_unread`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.pages.audit import audit_card
from moralscope.pages.page import VerdictCard
from moralscope.pages.terminal import card_text
from moralscope.rules.audit import AuditOptions
from moralscope.rules.conversations.acts import ToolCall
from moralscope.rules.conversations.conversation import (
    ASSISTANT,
    USER,
    AuditedTurn,
    Conversation,
    Turn,
)
from moralscope.rules.load_auditor import limits_beside
from moralscope.rules.options import SHIPPED
from moralscope.rules.records import AuditedReply, Exchange
from moralscope.rules.rulebook import read_text
from moralscope.server.guard.log import GuardLog, LoggedDecision
from moralscope.server.options import GuardOptions
from moralscope.server.service import AuditRules, RulebookText, Service

WITHHELD_BAD = "I would rather not answer that: my reply read as harmful."
WITHHELD = "I would rather not answer that: my reply would have broken the rule “{}”"
UNJUDGED = "I would rather not answer that: my reply could not be judged."
UNREAD = "I would rather not answer that: my reply could not be read whole."
THOUGHTS, ALTERNATIVES = "reasoning", "top_logprobs"
_ASIDE = (THOUGHTS, ALTERNATIVES)  # left out of a reply without making it another one


@dataclass(frozen=True, slots=True)
class GuardedReply:
    """What is to be judged: a text, and the names of parts that nobody here can judge."""

    text: str
    unjudged: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """names of what came with it and was not kept"""
    calls: tuple[ToolCall, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to judge."""
        return not self.text.strip() and not self.calls


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """What goes out for a reply, and what is said of it."""

    text: str
    outcome: str
    """passed, flagged (annotated only), revised or blocked"""
    verdict: str
    """kept, partly (kept, and parts were not judged), flagged, abstained or none"""
    note: Mapping[str, Any]
    without: tuple[str, ...] = ()
    """the parts that do not go out though the text does"""
    card: VerdictCard | None = None
    """of a flagged reply: the verdict, as reports show it"""

    @property
    def is_changed(self) -> bool:
        """Whether another text goes out than came in."""
        return self.outcome in ("revised", "blocked")

    @property
    def is_filtered(self) -> bool:
        """Whether something that the client waits for was withheld."""
        return self.outcome == "blocked" or any(name not in _ASIDE for name in self.without)


class Guard:
    """Audits replies and decides."""

    def __init__(
        self, service: Service, options: GuardOptions, log: GuardLog | None = None
    ) -> None:
        self._service, self.options, self.log = service, options, log
        limits = limits_beside(AuditOptions(rulebooks=options.rulebooks))
        self._rules = AuditRules(tuple(map(_book, options.rulebooks)), limits)
        revise = options.action == "revise"
        self._audit = AuditOptions(
            experts=options.experts,
            revise=revise,
            generator=options.generator,
            evidence="yes" if options.evidence else "no",
            require_warrant=options.require_warrant,
        )

    def prepare(self) -> None:
        """Load everything now, so that the first reply does not wait for it."""
        self._service.auditor(self._audit, self._rules)

    def __call__(
        self, prompt: str, replies: Sequence[GuardedReply], history: Conversation | None = None
    ) -> list[GuardDecision]:
        """Return what goes out for each reply to a prompt, in order; decisions are logged."""
        began = time.monotonic()
        decisions = self.decide(prompt, replies, history)
        if self.log is not None:
            seconds = time.monotonic() - began
            pairs = zip(replies, decisions, strict=True)
            texts = self.log.texts
            self.log.add([_logged(prompt, reply, made, seconds, texts) for reply, made in pairs])
        return decisions

    def decide(
        self, prompt: str, replies: Sequence[GuardedReply], history: Conversation | None
    ) -> list[GuardDecision]:
        """Return what may go out for replies, or for the beginning of one; nothing is logged.

        With a history in which the assistant spoke before, and for tool calls, a reply is judged as
        a turn of the conversation.
        """
        said = [reply for reply in replies if not reply.is_empty]
        if not said:
            return [self._with_parts(None, reply) for reply in replies]
        before = history.turns if history else (Turn(USER, prompt),)
        if any(reply.calls for reply in said) or any(turn.role == ASSISTANT for turn in before):
            tools = history.tools if history else {}
            conversations = [
                Conversation((*before, Turn(ASSISTANT, one.text, one.calls)), str(number), tools)
                for number, one in enumerate(said, 1)
            ]
            rows: Iterator[AuditedReply] = iter(
                self._service.last_turns(conversations, self._audit, self._rules)
            )
        else:
            exchanges = [Exchange(prompt, reply.text) for reply in said]
            rows = iter(self._service.audit(exchanges, self._audit, self._rules).results)
        return [
            self._with_parts(None if reply.is_empty else self._by_text(next(rows), reply), reply)
            for reply in replies
        ]

    def _by_text(self, row: AuditedReply, reply: GuardedReply) -> GuardDecision:
        """Decide by the text, and by what tool calls do in words."""
        verdict = "kept" if row.verdict.is_judged else "abstained"
        unread = self.options.unread_policy if row.unread else "pass"
        text, outcome, action = reply.text, "passed", self.options.action
        if row.verdict.flag:
            verdict, outcome = "flagged", "flagged"
            if action == "revise" and row.revised_reply is not None and not reply.calls:
                text, outcome = row.revised_reply, "revised"
            elif action != "annotate":
                lead = row.verdict.lead
                text = WITHHELD.format(lead) if lead in row.verdict.broken else WITHHELD_BAD
                outcome = "blocked"
        elif unread == "block":
            verdict, text, outcome = "flagged", UNREAD, "blocked"
        elif verdict == "abstained" and self.options.abstain_policy == "block":
            text, outcome = UNJUDGED, "blocked"
        elif unread == "flag":
            verdict, outcome = "flagged", "flagged"
        note = {
            "outcome": outcome,
            "verdict": to_plain(row.verdict),
            "rules": to_plain(row.rules),
            "unread": row.unread,
            "revised_reply": row.revised_reply if outcome == "revised" else None,
        }
        if isinstance(row, AuditedTurn) and row.acts and outcome not in ("revised", "blocked"):
            note["acts"] = to_plain(row.acts)  # their words say what a withheld call would say
        if self.options.evidence:  # what is withheld is not repeated: offsets say where it was
            spans = [to_plain(span) for span in row.evidence]
            kept = ("start", "end", "bad", "without", "turns")
            if outcome in ("blocked", "revised"):
                spans = [{name: span[name] for name in kept} for span in spans]
            note["evidence"] = spans
        card = None
        if verdict == "flagged" and self.log is not None:
            limits = self._service.auditor(self._audit, self._rules).auditor.thresholds
            card = audit_card(row, limits)
        return GuardDecision(text, outcome, verdict, note, card=card)

    def _with_parts(self, decision: GuardDecision | None, reply: GuardedReply) -> GuardDecision:
        """Decide about the parts that are no text, too."""
        withhold = self.options.abstain_policy == "block"
        # Alternatives of tokens say what nobody judges: a guard that withholds leaves them out.
        aside = () if self.options.action == "annotate" else (ALTERNATIVES,)
        judged = ("tool_calls", "function_call") if reply.calls else ()
        others = tuple(name for name in reply.unjudged if name not in (*aside, *judged))
        if decision is None:
            verdict = "abstained" if others else "none"
            decision = GuardDecision("", "passed", verdict, {"outcome": "passed"})
            if withhold and any(name not in _ASIDE for name in others):
                decision = GuardDecision(UNJUDGED, "blocked", verdict, {"outcome": "blocked"})
        elif decision.verdict == "kept" and others:
            decision = replace(decision, verdict="partly")
        all_of_it = withhold or decision.is_changed
        without = tuple(
            name
            for name in reply.unjudged
            if decision.is_changed or (all_of_it and name not in judged) or name in aside
        )
        dropped = [*without, *reply.dropped]
        note = {**decision.note, "unjudged": list(others), "dropped": dropped}
        return replace(decision, note=note, without=without)


def _logged(
    prompt: str, reply: GuardedReply, decision: GuardDecision, seconds: float, texts: bool
) -> LoggedDecision:
    verdict, card = decision.note.get("verdict") or {}, decision.card
    if card is not None and not texts:  # the card without what anybody said
        facts = [fact for fact in card.facts if fact[0] in ("Rule", "Concern")]
        card = replace(card, pieces=(), facts=facts)
    changed = decision.outcome in ("blocked", "revised")
    return LoggedDecision(
        time=time.time(),
        kind=decision.outcome if changed else decision.verdict,
        rule=(verdict.get("lead") or "") if verdict.get("flag") else "",
        concern=(verdict.get("concern") or "") if verdict.get("flag") else "",
        seconds=seconds,
        prompt=prompt,
        reply=reply.text,
        card=None if card is None else card_text(card),
    )


def _book(name: str) -> RulebookText | None:
    if name == SHIPPED:
        return None
    path = Path(name).expanduser()
    text = RulebookText(read_text(path), path.suffix.lower().removeprefix("."))
    text.read()  # refused now, not at the first reply
    return text


def last_prompt(messages: Any) -> str:
    """Return what the person said last in a chat; text parts of it are joined."""
    if not isinstance(messages, list):
        raise InputError("'messages' is not a list", "send messages as OpenAI's API has them")
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or parts of which some are text.

    Examples
    --------
    >>> text_of([{"type": "text", "text": "Hi!"}, {"type": "image_url"}]), text_of(None)
    ('Hi!', '')
    """
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
