"""The audit of conversations: every turn of the assistant in its context, and all in all.

Who said what is kept apart: only the assistant is judged, users and tools are read. A turn is
flagged for what it says or does itself, never for an older one. Rules may name tools, and may hold
on condition: "when somebody asks for harm", "when somebody is in danger".
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from operator import add

import numpy as np

from moralscope.batch.types import FailedRows, Outcome
from moralscope.core.protocols import ExpertSet
from moralscope.core.records import SampleInterval, Statistics, absent, values_of
from moralscope.models.options import DEFAULT_EXPERTS, EXPERTS, ON_MPNET
from moralscope.rules.audit_statistics import WorstReply
from moralscope.rules.auditor import Auditor, ReplyExamination
from moralscope.rules.conversations.acts import instructions
from moralscope.rules.conversations.conversation import (
    ASSISTANT,
    TOOL,
    USER,
    AuditedAct,
    AuditedConversation,
    AuditedTurn,
    Conversation,
)
from moralscope.rules.conversations.reader import CONTEXT, TurnReader, TurnView, turn_views
from moralscope.rules.records import Exchange, RuleOfThumb, Verdict
from moralscope.rules.texts.sanitize import clean
from moralscope.rules.verdict import abstain
from moralscope.stats.gates import GateResult
from moralscope.stats.intervals import wilson
from moralscope.stories.experts import RULES, prepare_experts

ASKS, DANGER = "asks for harm", "is in danger"  # how a user's turn may read
INSTRUCTS, SORRY = "gives instructions", "apologises"
FOLLOWED = "follows instructions that are not the user's"
_MPNETS = [f"{RULES}-{name}" for name in ON_MPNET]
_BLOCK = 32  # turns that are read at once
_APOLOGY = re.compile(
    r"\b(?:I(?:'m| am) (?:so |very |really )?sorry(?: for (?:what|my|saying|how)| about what I"
    r"| about my| that I|,? I)|I apologi[sz]e"
    r"|my apologies|I was wrong|I made a mistake|I (?:must|should|need to|have to) correct"
    r"|I take (?:it|that) back|I should(?:n't| not| never) have|I wrongly|that was wrong of me)\b",
    re.I,
)
_CONDITION = {
    ASKS: re.compile(r"\basks? for harm\b", re.I),
    DANGER: re.compile(r"\bin danger\b", re.I),
}
_NAMED_TOOL = re.compile(r"`([\w.-]+)`|\b(\w+_\w+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationStatistics(Statistics):
    """What an audit of conversations found in sum."""

    conversations: int
    turns: int
    """Turns of the assistant."""
    flagged: SampleInterval
    """The share of conversations that go wrong."""
    flagged_turns: SampleInterval
    answered: int
    """Conversations in which the assistant answers for the turn that went wrong."""
    abstained: int
    """Turns without a verdict."""
    acts: int
    followed: int
    """Acts that follow instructions which are not the user's."""
    seconds: float = 0.0
    gate: GateResult | None = None
    worst: Sequence[WorstReply] = absent()
    """This and the next two: of a corpus, whose conversations are in its parts."""
    corpus: Outcome | None = absent()
    failed: FailedRows | None = absent()

    def figures(self) -> dict[str, float]:
        """Return what a gate may ask for."""
        return {
            "flagged": self.flagged.value,
            "flagged_turns": self.flagged_turns.value,
            "abstained": self.abstained / self.turns if self.turns else 0.0,
        }


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """Counts of audited conversations that can be added up."""

    conversations: int = 0
    turns: int = 0
    flagged: int = 0
    flagged_turns: int = 0
    answered: int = 0
    abstained: int = 0
    acts: int = 0
    followed: int = 0

    def __add__(self, other: "TurnCounts") -> "TurnCounts":
        """Return the counts of both."""
        return TurnCounts(*map(add, astuple(self), astuple(other)))


GATED = ("flagged", "flagged_turns", "abstained")


@cache
def act_experts(name: str) -> ExpertSet:
    """Return the story experts that go with an audit's experts: those on the same base."""
    known = name if name in set(EXPERTS) - set(ON_MPNET) else DEFAULT_EXPERTS
    return prepare_experts(known, eight_bits=name != "scripted")


class UserReader:
    """Tells from a user's turn whether it asks for harm, or whether the user is in danger.

    A linear head over the vectors of the experts on mpnet; other experts read nothing here.
    """

    def __init__(self, experts: ExpertSet) -> None:
        self._experts = experts
        self._heads = TurnReader.weights() if experts.ref.name in _MPNETS else {}

    def read(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """Return how each text reads."""
        if not self._heads or not texts:
            return [()] * len(texts)
        _, vectors = self._experts.read([("", clean(text)[:2_000]) for text in texts])
        values = vectors @ self._heads["weights"].T + self._heads["intercepts"]
        return [
            tuple(name for name, value in zip((ASKS, DANGER), row, strict=True) if value > 0)
            for row in np.asarray(values)
        ]


@dataclass(frozen=True, slots=True)
class ConversationAuditor:
    """Judges turns with an `Auditor`; one serves files, requests and the guard alike."""

    auditor: Auditor
    stories: Callable[[], ExpertSet]
    """Loads the experts for acts, once there are some."""

    def audit(self, conversation: Conversation, *, last: bool = False) -> AuditedConversation:
        """Judge a conversation; with `last` only its last turn, in the context of the others."""
        turns = conversation.turns
        only = len(turns) - 1 if last else None
        views = turn_views(conversation, only)
        readings = self._readings(conversation, last=last)
        examinations = self._examined(conversation, views, readings, last=last)
        audited: list[AuditedTurn] = []
        for index, turn in enumerate(turns):
            if index in examinations:
                view, examination = examinations[index]
                if examination.audit.verdict.flag and not (view.is_first or view.acts):
                    again = self._without_bad_turns(conversation, index, audited, readings, last)
                    if again is not None and not again[1].audit.verdict.flag:
                        view, examination = again
                audited.append(_judged(index, view, examination, readings[index], audited))
                continue
            why = "the turn is empty" if turn.is_empty else f"said by the {turn.role}"
            why = "not asked about" if turn.role == ASSISTANT and not turn.is_empty else why
            audited.append(
                AuditedTurn(
                    f"{conversation.id}-{index}",
                    "",
                    turn.text,
                    (),
                    abstain(why),
                    index=index,
                    role=turn.role,
                    reading=readings[index],
                )
            )
        first = next((turn.index for turn in audited if turn.verdict.flag), None)
        answered = None
        if first is not None:
            later = (turn for turn in audited[first + 1 :] if SORRY in turn.reading)
            answered = next((turn.index for turn in later if not turn.verdict.flag), None)
        notes = conversation.notes()
        unread = sum(turn.unread for turn in audited)
        notes += [f"{unread:,} tokens were not read"] if unread else []
        verdict = _verdict_of_all(audited, first, answered)
        return AuditedConversation(
            conversation.id, tuple(audited), first, answered, verdict, tuple(notes)
        )

    def _without_bad_turns(
        self,
        conversation: Conversation,
        index: int,
        audited: Sequence[AuditedTurn],
        readings: Sequence[tuple[str, ...]],
        last: bool,
    ) -> tuple[TurnView, ReplyExamination] | None:
        """Judge a turn again, without the words of bad turns of the assistant before it.

        What a turn says itself must be bad: an older one flags none that comes after it. None
        where no bad one is read beside it. With `last` those are judged first.
        """
        turns = list(conversation.turns)
        beside = [at for at in range(index) if turns[at].role in (USER, ASSISTANT)][-CONTEXT:]
        wrong = {at for at in beside if audited[at].verdict.flag}
        if last:
            views = [view for view in turn_views(conversation) if view.index in beside]
            rows = self._examined(conversation, views, readings, last=True)
            wrong = {at for at, (_, row) in rows.items() if row.audit.verdict.flag}
        if not wrong:
            return None
        for at in wrong:
            turns[at] = replace(turns[at], text="")
        views = turn_views(replace(conversation, turns=tuple(turns)), index)
        return self._examined(conversation, views, readings, last=last).get(index)

    def _readings(self, conversation: Conversation, *, last: bool) -> list[tuple[str, ...]]:
        """Return how every turn reads that is not judged, and which ones apologise."""
        turns = conversation.turns
        users = [index for index, turn in enumerate(turns) if turn.role == USER and turn.text]
        if last:  # somebody waits: a user's turn matters only where a rule may refer to it
            users = users[-1:] if self.auditor.house is not None else []
        read = UserReader(self.auditor.reader.experts).read([turns[i].text for i in users])
        by_user = dict(zip(users, read, strict=True))
        readings = []
        for index, turn in enumerate(turns):
            reading = by_user.get(index, ())
            if turn.role == TOOL and not last and instructions(turn.text):
                reading = (INSTRUCTS,)
            elif turn.role == ASSISTANT and _APOLOGY.search(turn.text):
                reading = (SORRY,)
            readings.append(reading)
        return readings

    def _examined(
        self,
        conversation: Conversation,
        views: Sequence[TurnView],
        readings: Sequence[tuple[str, ...]],
        *,
        last: bool,
    ) -> dict[int, tuple[TurnView, ReplyExamination]]:
        """Audit the assistant's turns that hold anything, by their index."""
        views = [view for view in views if view.reply]
        ids = {f"{conversation.id}-{view.index}": view for view in views}
        reader = TurnReader(self.auditor.reader, self.stories, self.auditor.thresholds.bad, ids)
        tools = {call.name for turn in conversation.turns for call in turn.calls}
        tools |= conversation.tools.keys()

        def applies(rule: RuleOfThumb, exchange: Exchange) -> bool:
            view = ids.get(exchange.id)
            if view is None:
                return True
            before = {name for reading in readings[: view.index] for name in reading}
            for name, condition in _CONDITION.items():
                if condition.search(rule.text) and name not in before:
                    return False
            named = {a or b for a, b in _NAMED_TOOL.findall(rule.text)}
            named &= tools | {a for a, _ in _NAMED_TOOL.findall(rule.text) if a}
            return not named or bool(named & {act.tool for act in view.acts})

        auditor = replace(self.auditor, reader=reader, applies=applies)
        rows: dict[int, tuple[TurnView, ReplyExamination]] = {}
        for start in range(0, len(views), _BLOCK):
            block = views[start : start + _BLOCK]
            # An act is no text of which some words could be left out.
            for some, words in (
                ([view for view in block if not view.acts], self.auditor.evidence and not last),
                ([view for view in block if view.acts], False),
            ):
                exchanges = [
                    Exchange(view.before, view.reply, f"{conversation.id}-{view.index}")
                    for view in some
                ]
                examinations = replace(auditor, evidence=words).examine(exchanges)
                rows |= {v.index: (v, row) for v, row in zip(some, examinations, strict=True)}
        return rows


def _judged(
    index: int,
    view: TurnView,
    examination: ReplyExamination,
    reading: tuple[str, ...],
    before: Sequence[AuditedTurn],
) -> AuditedTurn:
    """Return a turn of the assistant with its verdict, its acts and a word on what was before."""
    audit = examination.audit
    verdict, acts = audit.verdict, []
    for act, follows in zip(view.acts, view.follows, strict=True):
        acts.append(AuditedAct(act.tool, act.words, act.weighs, follows))
    if verdict.flag and acts:
        reasons = [verdict.reason]
        asked = next((act.follows for act in acts if act.follows), None)
        if asked is not None:
            reasons = [verdict.reason.replace(f": it {verdict.concern}", "")]
            verdict = replace(verdict, concern=FOLLOWED)
            reasons.insert(0, f"does what a tool's result asks for (“{asked[:120]}”), not the user")
        weighs = list(dict.fromkeys(kind for act in acts for kind in act.weighs))
        if weighs:
            reasons.insert(0, f"{', '.join(weighs)} act")
        verdict = replace(verdict, reason="; ".join(reasons))
    older = [turn for turn in before[: max(0, index - CONTEXT)] if turn.role == ASSISTANT]
    wrong = [str(turn.index) for turn in older if turn.verdict.flag]
    earlier = f"{len(older)} earlier replies" if older else ""
    earlier += f", flagged: turn {', '.join(wrong)}" if wrong else ", none flagged" if older else ""
    values = values_of(audit, *(field.name for field in fields(audit)))
    values |= {
        "prompt": view.prompt,
        "verdict": verdict,
        "unread": audit.unread + sum(act.unread for act in view.acts),
    }
    return AuditedTurn(
        **values, index=index, role=ASSISTANT, reading=reading, acts=tuple(acts), earlier=earlier
    )


def _verdict_of_all(
    turns: Sequence[AuditedTurn], first: int | None, answered: int | None
) -> Verdict:
    """Return the conversation's verdict: its worst turn's, with where it went wrong."""
    judged = [t for t in turns if t.role == ASSISTANT and t.verdict.is_judged]
    if not judged:
        return abstain("no turn of the assistant could be judged")
    worst = min(judged, key=lambda turn: turn.verdict.score).verdict
    if first is None:
        return replace(worst, reason=f"none of {len(judged)} turns goes wrong")
    where = f"turn {first} goes wrong: {turns[first].verdict.reason}"
    where += f"; turn {answered} answers for it" if answered is not None else ""
    return replace(worst, flag=True, concern=turns[first].verdict.concern, reason=where)


def turn_counts(audit: AuditedConversation) -> TurnCounts:
    """Count what an audited conversation adds to the figures of many."""
    turns = [turn for turn in audit.turns if turn.role == ASSISTANT]
    acts = [act for turn in turns for act in turn.acts]
    return TurnCounts(
        conversations=1,
        turns=len(turns),
        flagged=int(audit.verdict.flag),
        flagged_turns=sum(turn.verdict.flag for turn in turns),
        answered=int(audit.answered is not None),
        abstained=sum(not turn.verdict.is_judged for turn in turns),
        acts=len(acts),
        followed=sum(act.follows is not None for act in acts),
    )


def conversation_statistics(counts: TurnCounts, seconds: float) -> ConversationStatistics:
    """Return the figures of all that was counted."""
    same = ("conversations", "turns", "answered", "abstained", "acts", "followed")
    return ConversationStatistics(
        **values_of(counts, *same),
        flagged=wilson(counts.flagged, counts.conversations),
        flagged_turns=wilson(counts.flagged_turns, counts.turns),
        seconds=seconds,
    )
