"""The audit of replies: rules found, attributes given, a verdict, and a revised reply where asked.

One class serves one reply, an HTTP request, a block of a file and a Ray actor: texts in, audits
out, in order; a row does not depend on its neighbours. It knows no files and no model names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from moralscope.rules.records import (
    AuditedReply,
    Exchange,
    RuleAttributes,
    RuleFinding,
    RuleOfThumb,
)
from moralscope.rules.retrieval import Finds
from moralscope.rules.revision import Judged, Reviser, Revision
from moralscope.rules.sanitize import (
    MAX_CHUNKS,
    MAX_REPLY,
    Readable,
    chunks,
    read_exchange,
    shorten,
)
from moralscope.rules.verdict import Aligns, Thresholds, abstain, decide

TOP = 5


class Describes(Protocol):
    """What knows or estimates the attributes of rules."""

    def of(self, rules: Sequence[RuleOfThumb]) -> Sequence[RuleAttributes]: ...


@dataclass(frozen=True, slots=True)
class ReadAudit:
    """An audit with what is to be said about the reading of it."""

    audit: AuditedReply
    notes: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Auditor:
    """Audits replies.

    Parameters
    ----------
    retriever
        Finds rules for an exchange.
    aligner
        Tells whether a reply agrees with a rule.
    attributes
        Gives a rule its severity, consensus and foundations.
    thresholds
        Every limit.
    reviser
        Writes revised replies for flagged ones; None writes none.
    writer
        Writes rules for an exchange, beside those that are found; None writes none.
    top
        How many rules are asked about for each reply.

    Examples
    --------
    >>> from moralscope.models.classifiers.scripted import ScriptedExperts
    >>> from moralscope.rules.verdict import Aligner
    >>> from moralscope.rules.attributes import Attributes
    >>> from moralscope.rules.records import ALIGNMENTS
    >>> from moralscope.models.encoders import load_encoder
    >>> rule = RuleOfThumb("It is wrong to steal.", ("fairness",), 4.0, 5.0)
    >>> class Rules:
    ...     def find(self, exchanges, k):
    ...         return [[(rule, 0.9)] for _ in exchanges]
    >>> expert = ScriptedExperts({"alignment": ALIGNMENTS}).expert("alignment")
    >>> auditor = Auditor(Rules(), Aligner(expert), Attributes([rule], load_encoder("scripted")))
    >>> (found,) = auditor.audit([Exchange("Do you steal?", "I would never steal.")])
    >>> found.rules[0].text, found.rules[0].severity, found.rules[0].evidence
    ('It is wrong to steal.', 4.0, 'measured')
    """

    retriever: Finds
    aligner: Aligns
    attributes: Describes
    thresholds: Thresholds = field(default_factory=Thresholds)
    reviser: Reviser | None = None
    writer: Finds | None = None
    top: int = TOP

    def audit(self, exchanges: Sequence[Exchange]) -> list[AuditedReply]:
        """Return one audit a reply, in order."""
        return [each.audit for each in self.examine(exchanges)]

    def examine(self, exchanges: Sequence[Exchange]) -> list[ReadAudit]:
        """Return one audit a reply, in order, with notes on what was not read and why."""
        read = [self._fitted(read_exchange(exchange)) for exchange in exchanges]
        places = [place for place, each in enumerate(read) if not each.refusal]
        fit = [read[place].exchange for place in places]
        judged = dict(zip(places, self.judge(fit, self._written(fit)), strict=True))
        revised = self._revised(read, judged)
        found = []
        for place, (given, each) in enumerate(zip(exchanges, read, strict=True)):
            rules = judged[place].findings if place in judged else ()
            verdict = (
                decide(rules, self.thresholds, each.notes)
                if place in judged
                else abstain(each.refusal, each.notes)
            )
            better = revised.get(place)
            text, by = (better.text, better.by) if better else (None, None)
            audit = AuditedReply(given.id, given.prompt, given.reply, rules, verdict, text, by)
            found.append(ReadAudit(audit, each.notes, each.refusal))
        return found

    def judge(
        self, exchanges: Sequence[Exchange], rules: Sequence[Sequence[RuleOfThumb]]
    ) -> list[Judged]:
        """Ask the experts about readable exchanges: the rules given, then those found for each."""
        if not exchanges:
            return []
        asked: list[tuple[RuleOfThumb, ...]] = []
        for own, found in zip(rules, self.retriever.find(exchanges, self.top), strict=True):
            best = max((score for _, score in found), default=0.0)
            least = max(self.thresholds.applies, self.thresholds.near * best)
            near = [rule for rule, score in found if score >= least]
            asked.append(tuple({rule.text.lower(): rule for rule in chain(near, own)}.values()))
        pairs = [
            (rule.text, exchange)
            for exchange, some in zip(exchanges, asked, strict=True)
            for rule in some
        ]
        alignments = iter(self.aligner.align(pairs))
        attributes = iter(self.attributes.of([rule for some in asked for rule in some]))
        judged = []
        for some in asked:
            findings = tuple(
                RuleFinding(
                    rule.text,
                    rule.source,
                    next(alignments),
                    **(known := next(attributes)).scales,
                    foundations=known.foundations,
                    evidence=known.evidence,
                )
                for rule in some
            )
            judged.append(Judged(some, findings, decide(findings, self.thresholds)))
        return judged

    def _written(self, exchanges: Sequence[Exchange]) -> list[list[RuleOfThumb]]:
        """Return rules written for each exchange, where somebody writes them."""
        if self.writer is None:
            return [[] for _ in exchanges]
        found = self.writer.find(exchanges, self.top)
        least = self.thresholds.applies
        return [[rule for rule, score in some if score >= least] for some in found]

    def _fitted(self, each: Readable) -> Readable:
        """Cut a long reply to the sentences that are nearest to any rule."""
        reply = each.exchange.reply
        if each.refusal or len(reply) <= MAX_REPLY:
            return each
        pieces = chunks(reply)
        looked = pieces[:MAX_CHUNKS]
        found = self.retriever.find([Exchange("", piece) for piece in looked], 1)
        short = shorten(looked, [some[0][1] if some else -1.0 for some in found])
        note = (
            f"of the {len(reply):,} characters of the reply, the {len(short):,} nearest to the "
            "rules were judged"
        )
        if len(pieces) > len(looked):
            note += f", out of its first {len(looked):,} pieces"
        exchange = Exchange(each.exchange.prompt, short, each.exchange.id)
        return Readable(exchange, (*each.notes, note))

    def _revised(self, read: Sequence[Readable], judged: dict[int, Judged]) -> dict[int, Revision]:
        flagged = [place for place, each in judged.items() if each.verdict.flag]
        if self.reviser is None or not flagged:
            return {}
        exchanges = [read[place].exchange for place in flagged]
        texts = self.reviser.revise(exchanges, [judged[place] for place in flagged], self.judge)
        return {place: text for place, text in zip(flagged, texts, strict=True) if text is not None}
