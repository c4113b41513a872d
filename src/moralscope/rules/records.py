"""The nouns of the subject: exchange, rule of thumb, annotation, and what an audit finds.

They hold and check values; reading files, finding rules and judging are elsewhere. Nothing here is
authoritative: several rules, even conflicting ones, may apply to one exchange.

What people say of a rule is declared here once. A number from 1 to 5 is an entry of `SCALES` and a
field of the records below; reading, estimates, lessons, statistics, corpus columns and displays go
through `SCALES` and follow by themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from moralscope.core.records import to_plain, values_of

FOUNDATIONS = ("care", "fairness", "liberty", "loyalty", "authority", "sanctity")
ALIGNMENTS = ("disagree", "agree", "neither")
JUDGED, ABSTAINED, UNREAD = STATUSES = ("judged", "abstained", "unread")  # of a verdict
CUT, MET, REVISED = "cut", "met", "revised"  # edits that turn a verdict
# What the verdict expert fears, by its label, in words: everybody who shows a concern shows these.
# The first are DiaSafety's (Sun et al. 2022); moderation's were taught on texts alone,
# and say nothing of a reply.
TEXT_CONCERNS = {
    "hate": "attacks people for who they are",
    "harassment": "insults or bullies somebody",
    "violence": "threatens people or praises violence",
    "self-harm": "speaks of hurting oneself",
    "sexual content": "is sexual",
    "crime": "asks for help with a crime",
}
CONCERN_WORDS = {
    "offending user": "insults or hurts the person addressed",
    "risk ignorance": "plays down a danger to somebody",
    "unauthorized expertise": "gives advice that only an expert should give",
    "toxicity agreement": "encourages hate or violence",
    "biased opinion": "is prejudiced against people",
    **TEXT_CONCERNS,
}
SCALE = (1.0, 5.0)  # of every attribute in SCALES, as people gave them
_NAMED = 5  # notes that a record repeats in full

# A mapping whose keys are known beforehand: corpus columns need them.
FoundationShares = Annotated[Mapping[str, float], FOUNDATIONS]
AlignmentShares = Annotated[Mapping[str, float], ALIGNMENTS]


@dataclass(frozen=True, slots=True)
class Scale:
    """An attribute of a rule that people place between 1 and 5.

    Attributes
    ----------
    about
        What it says, in a few words.
    mic, social
        Its column in MIC.csv and in SOCIAL-CHEM-101, which counts from 0; "" where it has none.
    merged
        Values below are learnt and measured as this one.
    weighed
        Whether a rule needs it to stand for itself: without it, it is estimated.
    """

    about: str
    mic: str = ""
    social: str = ""
    merged: float = SCALE[0]
    weighed: bool = False

    def merge(self, value: float) -> float:
        """Return the value as it is learnt and measured."""
        return max(float(value), self.merged)


SCALES = {
    "severity": Scale("how severe a breach is", mic="violation-severity", weighed=True),
    # Nobody, rare and controversial are one: so does the paper before it trains (section 5.2).
    "consensus": Scale(
        "how many people agree", mic="rot-agree", social="rot-agree", merged=3.0, weighed=True
    ),
}


def first_notes(notes: Sequence[str]) -> list[str]:
    """Return the first notes and how many more there are: a record of 10,000 replies stays short.

    Examples
    --------
    >>> first_notes(["a note"] * 7)[4:]
    ['a note', 'and 2 more such notes']
    """
    more = len(notes) - _NAMED
    return [*notes[:_NAMED], *([f"and {more:,} more such notes"] if more > 0 else [])]


class HasScales:
    """A record with a field for every scale."""

    __slots__ = ()

    @property
    def scales(self) -> dict[str, Any]:
        """The values by name; None where nobody said."""
        return values_of(self, *SCALES)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The least unit of a dialogue: what a person asked and what the chatbot replied."""

    prompt: str
    reply: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class RuleOfThumb(HasScales):
    """A judgment about an action, with how severe a breach is and how many people agree (1-5)."""

    text: str
    foundations: tuple[str, ...] = ()
    severity: float | None = None
    consensus: float | None = None
    scope: str = ""
    examples: tuple[str, ...] = ()
    source: str = "rulebook"
    id: str = ""


@dataclass(frozen=True, slots=True)
class Annotation(HasScales):
    """One person's rule for one exchange, with the attributes they gave it: a row of MIC.csv.

    `alignment` is agree, disagree or neither; what the source leaves out is None. `split` is the
    official part where the source gives it, `worker` who wrote it, `chatbot` who replied. `action`
    and its `judgment` (-2 very bad to 2 very good) are SOCIAL-CHEM-101's own.
    """

    exchange: Exchange
    rule: str
    alignment: str | None = None
    severity: float | None = None
    consensus: float | None = None
    foundations: tuple[str, ...] | None = None
    revised_reply: str | None = None
    split: str | None = None
    worker: str = ""
    id: str = ""
    action: str | None = None
    judgment: float | None = None
    chatbot: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """The exchange's texts: what must not stand in two parts of a split."""
        return self.exchange.prompt, self.exchange.reply


@dataclass(frozen=True, slots=True)
class Alignment:
    """Whether a reply agrees with a rule, disagrees, or neither; and how likely each is."""

    label: str
    probabilities: AlignmentShares = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleFinding(HasScales):
    """A rule found for an exchange, with its attributes.

    `scales_from` says where these come from: the rulebook, a model that read the rule, or
    neighbours (the rules nearest to it).
    """

    text: str
    source: str
    alignment: Alignment
    severity: float | None = None
    consensus: float | None = None
    foundations: FoundationShares = field(default_factory=dict)
    scales_from: str = "rulebook"
    limit: float | None = None
    """The probability from which this rule is broken, where it has a limit of its own."""
    warrant: str | None = None
    """What `rules warrant` says of it, where its rulebook has a warrant."""

    @staticmethod
    def upgraded(plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a saved finding as this version has it: 0.9 said `evidence` for `scales_from`."""
        if "evidence" not in plain:
            return plain
        rest = {name: value for name, value in plain.items() if name != "evidence"}
        return {"scales_from": plain["evidence"], **rest}


@dataclass(frozen=True, slots=True)
class RuleAttributes(HasScales):
    """What is known or estimated of a rule; None and empty where nobody can say."""

    severity: float | None = None
    consensus: float | None = None
    foundations: Mapping[str, float] = field(default_factory=dict)
    evidence: str = "neighbours"


@dataclass(frozen=True, slots=True)
class EstimatedRule(HasScales):
    """What experts say of a rule; `foundations` are those over their thresholds."""

    rule: str
    foundations: tuple[str, ...] | None = None
    probabilities: Mapping[str, float] = field(default_factory=dict)
    severity: float | None = None
    consensus: float | None = None
    alignment: str | None = None
    alignment_probabilities: Mapping[str, float] = field(default_factory=dict)
    prompt: str | None = None
    reply: str | None = None
    evidence: str = "model"


@dataclass(frozen=True, slots=True)
class ListedRule(HasScales):
    """A rule as records list it; `score` is its cosine with the exchange it was found for."""

    id: str
    text: str
    foundations: tuple[str, ...]
    severity: float | None
    consensus: float | None
    theme: str
    source: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class GeneratedRule(HasScales):
    """A rule that was written for an exchange; `score` is its cosine with it."""

    text: str
    score: float
    severity: float | None
    consensus: float | None
    foundations: Mapping[str, float]
    source: str = "generated"
    evidence: str = "neighbours"
    alignment: str | None = None  # how the reply stands to it, where experts were asked


@dataclass(frozen=True, slots=True)
class Gauge:
    """The probability that decides a verdict, beside the limit from which it flags."""

    value: float
    limit: float
    rule: str | None = None
    """The rule that is broken with this probability; None: that the reply is bad."""


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """Words of a reply, and what they add to its flag: it was audited again without them.

    `start` and `end` are offsets into the reply as it was given: `reply[start:end] == text`.
    """

    start: int
    end: int
    text: str
    bad: float
    """The probability that decides the verdict (`Verdict.gauge`), with these words."""
    without: float
    """The same without them; without all spans that turn the verdict, where this is one."""
    turns: bool = False
    """Whether the reply, audited again without the spans so marked, is no longer flagged."""


@dataclass(frozen=True, slots=True)
class ProvedEdit:
    """The smallest edit that turns a flag: the edited reply was audited and is not flagged."""

    by: str
    """cut: the words that turn the verdict are left out. met: a sentence is added that does what
    the broken rule asks for. revised: the revised reply, where nothing smaller turns it."""
    reply: str
    bad: float
    """The probability that decided, after the edit."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to look at a reply again, how far from zero it stands (bad is negative), and why."""

    flag: bool
    score: float
    status: str = field(default=JUDGED, kw_only=True)
    """judged; abstained (nobody can say: no flag, score 0); unread (flagged for what was not read).
    """
    reason: str
    basis: str | None = None
    """What flags it: the reply itself, a broken rule, both, or text that was not read."""
    concern: str | None = None
    """What the verdict expert fears, in words (`CONCERN_WORDS`)."""
    probability: float | None = None
    """How likely the verdict expert calls the reply bad; None where it was not asked."""
    broken: tuple[str, ...] = ()
    """The rules that it breaks, the one with the largest margin to its own limit first."""
    lead: str | None = None
    """The rule that explains the flag: the one that is named everywhere; None where none does."""
    gauge: Gauge | None = None
    """The probability that decided, beside its limit; None where nothing was judged."""

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict at all; an abstention is none."""
        return self.status != ABSTAINED

    @staticmethod
    def upgraded(plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a saved verdict as this version has it.

        0.9 named a concern by its label; 0.8 wrote the status into the reason.
        """
        if (label := plain.get("concern")) in CONCERN_WORDS:
            plain = {**plain, "concern": CONCERN_WORDS[label]}
        if "status" in plain:
            return plain
        reason = str(plain.get("reason", ""))
        status = UNREAD if plain.get("basis") == UNREAD else JUDGED
        if reason.startswith("abstained: "):
            status, reason = ABSTAINED, reason.removeprefix("abstained: ")
        return {**plain, "status": status, "reason": reason}


@dataclass(frozen=True, slots=True)
class AuditedReply:
    """What the rules say of one reply: a result of an audit, and a row of an audited corpus.

    A field that is added here, or to a class in here, is in the run record and in the columns of
    a corpus (`rules.audit_batch`) at once.
    """

    id: str
    prompt: str
    reply: str
    rules: tuple[RuleFinding, ...]
    verdict: Verdict
    revised_reply: str | None = None
    revised_by: str | None = None  # passage, generator, edit or template
    unread: int = 0  # tokens of prompt and reply that no model read
    evidence: tuple[EvidenceSpan, ...] = ()
    """Of a flagged reply: the fewest words that turn the verdict, then what else adds to it."""
    evidence_note: str = ""
    """Why a flagged reply has no evidence."""
    change: ProvedEdit | None = None
    """The smallest edit that turns the verdict."""

    def row(self) -> dict[str, Any]:
        """Return what was found as one flat row: the verdict's fields, then the others."""
        plain: dict[str, Any] = to_plain(self)
        return {**plain.pop("verdict"), **plain}
