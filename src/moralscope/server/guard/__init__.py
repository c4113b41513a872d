"""A guard in front of a chatbot: each reply is audited, then passed on, revised or withheld.

Decides what becomes of a reply and says why; knows nothing of HTTP. What is flagged follows
`action`. What could not be judged (another language, no rule that applies, a part that is no text)
follows `on_abstain`, and a reply that no model read whole follows `on_unread`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.rules.audit import AuditOptions
from moralscope.rules.options import SHIPPED
from moralscope.rules.records import AuditedReply
from moralscope.rules.rulebook import read_text
from moralscope.rules.verdict import abstained
from moralscope.server.options import GuardOptions
from moralscope.server.service import AuditRules, RulebookText, Service

WITHHELD_BAD = "I would rather not answer that: my reply read as harmful."
WITHHELD = "I would rather not answer that: my reply would have broken the rule “{}”"
UNJUDGED = "I would rather not answer that: my reply could not be judged."
UNREAD = "I would rather not answer that: my reply could not be read whole."
THOUGHTS = "reasoning"  # what is left out of a reply without making it another one


@dataclass(frozen=True, slots=True)
class Reply:
    """What is to be judged: a text, and the names of parts that nobody here can judge."""

    text: str
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Guarded:
    """What goes out for a reply, and what is said of it.

    `outcome` is passed, flagged (annotated only), revised or blocked; `without` names the parts
    that do not go out though the text does.
    """

    text: str
    outcome: str
    verdict: str  # kept, flagged, abstained or none
    note: Mapping[str, Any]
    without: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether another text goes out than came in."""
        return self.outcome in ("revised", "blocked")

    @property
    def is_filtered(self) -> bool:
        """Whether something that the client waits for was withheld."""
        return self.outcome == "blocked" or any(name != THOUGHTS for name in self.without)


class Guard:
    """Audits replies and decides.

    Examples
    --------
    >>> service = Service()
    >>> guard = Guard(service, GuardOptions(experts="scripted"))
    >>> (found,) = guard("Hi!", [Reply("Hello you.")])
    >>> found.text
    'Hello you.'
    >>> service.close()
    """

    def __init__(self, service: Service, options: GuardOptions) -> None:
        self._service, self.options = service, options
        self._rules = AuditRules(tuple(map(_book, options.rulebooks)))
        revise = options.action == "revise"
        self._audit = AuditOptions(
            experts=options.experts, revise=revise, generator=options.generator
        )

    def prepare(self) -> None:
        """Load everything now, so that the first reply does not wait for it."""
        self._service.auditor(self._audit, self._rules)

    def __call__(self, prompt: str, replies: Sequence[Reply]) -> list[Guarded]:
        """Return what goes out for each reply to a prompt, in order."""
        given = [(prompt, reply.text, "") for reply in replies if reply.text.strip()]
        rows = iter(self._service.audit(given, self._audit, self._rules).results if given else ())
        return [
            self._with_parts(self._decided(next(rows)) if reply.text.strip() else None, reply)
            for reply in replies
        ]

    def _decided(self, row: AuditedReply) -> Guarded:
        """Decide by the text alone."""
        verdict = "abstained" if abstained(row.verdict) else "kept"
        unread = self.options.unread_policy if row.unread else "pass"
        text, outcome = row.reply, "passed"
        if row.verdict.flag:
            verdict = "flagged"
            text, outcome = self._replaced(row)
        elif unread == "block":
            verdict, text, outcome = "flagged", UNREAD, "blocked"
        elif verdict == "abstained" and self.options.on_abstain == "block":
            text, outcome = UNJUDGED, "blocked"
        elif unread == "flag":
            verdict, outcome = "flagged", "flagged"
        note = {
            "outcome": outcome,
            "verdict": to_plain(row.verdict),
            "rules": to_plain(row.rules),
            "unread": row.unread,
            "revised_reply": row.revised_reply if outcome != "blocked" else None,
        }
        return Guarded(text, outcome, verdict, note)

    def _with_parts(self, found: Guarded | None, reply: Reply) -> Guarded:
        """Decide about the parts that are no text, too."""
        others, withhold = reply.unjudged, self.options.on_abstain == "block"
        if found is None:
            verdict = "abstained" if others else "none"
            found = Guarded("", "passed", verdict, {"outcome": "passed"})
            if withhold and any(name != THOUGHTS for name in others):
                found = Guarded(UNJUDGED, "blocked", verdict, {"outcome": "blocked"})
        note = {**found.note, "unjudged": list(others)}
        return replace(found, note=note, without=others if withhold else ())

    def _replaced(self, row: AuditedReply) -> tuple[str, str]:
        if self.options.action == "annotate":
            return row.reply, "flagged"
        if self.options.action == "revise" and row.revised_reply is not None:
            return row.revised_reply, "revised"
        broken = [rule for rule in row.rules if rule.alignment.label == "disagree"]
        if not broken:
            return WITHHELD_BAD, "blocked"
        worst = max(broken, key=lambda rule: rule.alignment.probabilities["disagree"])
        return WITHHELD.format(worst.text), "blocked"


def _book(name: str) -> RulebookText | None:
    if name == SHIPPED:
        return None
    path = Path(name).expanduser()
    text = RulebookText(read_text(path), path.suffix.lower().removeprefix("."))
    text.read()  # refused now, not at the first reply
    return text


def last_prompt(messages: Any) -> str:
    """Return what the person said last in a chat; text parts of it are joined.

    Examples
    --------
    >>> last_prompt([{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Ho!"}])
    'Hi!'
    """
    if not isinstance(messages, list):
        raise InputError("'messages' is no list", "send messages as OpenAI's API has them")
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
