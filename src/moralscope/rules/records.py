"""The nouns of the room: exchange, rule of thumb, annotation, and what an audit finds.

They hold and check values; reading files, finding rules and judging are elsewhere. Nothing here is
authoritative: several rules, even conflicting ones, may apply to one exchange.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

FOUNDATIONS = ("care", "fairness", "liberty", "loyalty", "authority", "sanctity")
ALIGNMENTS = ("disagree", "agree", "neither")
SOURCES = ("rulebook", "generated", "retrieved")
EVIDENCE = ("measured", "estimated")
SCALE = (1.0, 5.0)  # severity and consensus, as people gave them


@dataclass(frozen=True, slots=True)
class Exchange:
    """The least unit of a dialogue: what a person asked and what the chatbot replied.

    Examples
    --------
    >>> Exchange("Do you steal?", "Only on Sundays.").reply
    'Only on Sundays.'
    """

    prompt: str
    reply: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class RuleOfThumb:
    """A judgment about an action, with how severe a breach is and how many people agree (1-5).

    Examples
    --------
    >>> rule = RuleOfThumb("It is wrong to steal.", ("fairness",), severity=4.0)
    >>> rule.severity, rule.consensus, rule.source
    (4.0, None, 'rulebook')
    """

    text: str
    foundations: tuple[str, ...] = ()
    severity: float | None = None
    consensus: float | None = None
    scope: str = ""
    examples: tuple[str, ...] = ()
    source: str = "rulebook"
    id: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's rule for one exchange, with the attributes they gave it: a row of MIC.csv.

    `alignment` is agree, disagree or neither; what the source leaves out is None. `split` is the
    official part where the source gives it, `worker` who wrote it, `chatbot` who
    replied. `action` and its `judgment` (-2
    very bad to 2 very good) are SOCIAL-CHEM-101's own.

    Examples
    --------
    >>> one = Annotation(Exchange("Do you steal?", "Yes."), "It is wrong to steal.", "disagree")
    >>> one.pair, one.as_rule().source
    (('Do you steal?', 'Yes.'), 'retrieved')
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

    def as_rule(self) -> RuleOfThumb:
        """Return the rule alone, as it can be retrieved for another exchange."""
        return RuleOfThumb(
            self.rule,
            self.foundations or (),
            self.severity,
            self.consensus,
            source="retrieved",
            id=self.id,
        )


@dataclass(frozen=True, slots=True)
class Alignment:
    """Whether a reply agrees with a rule, disagrees, or neither; and how likely each is."""

    label: str
    probabilities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A rule found for an exchange, with its attributes; `evidence` is measured or estimated."""

    text: str
    source: str
    alignment: Alignment
    severity: float | None = None
    consensus: float | None = None
    foundations: Mapping[str, float] = field(default_factory=dict)
    evidence: str = "measured"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to look at a reply again, how far from zero it stands (bad is negative), and why."""

    flag: bool
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class ReplyAudit:
    """What the rules say of one reply, in the shape of the audit's result.

    Examples
    --------
    >>> ReplyAudit("Hi!", "Hello.", (), Verdict(False, 0.0, "no rule applies")).revised_reply
    """

    prompt: str
    reply: str
    rules: tuple[RuleFinding, ...]
    verdict: Verdict
    revised_reply: str | None = None
    revised_by: str | None = None  # generator, edit or template
