"""The audit of replies: the reply read, rules found, a verdict, and a revised reply where asked.

A cascade: the verdict expert reads every reply, and general rules are asked about only where it is
not clearly fine. Rules of a house (a user's own) are asked about always. One class serves one
reply, an HTTP request, a block of a file and a Ray actor: texts in, audits out, in order; a row
does not depend on its neighbours. It knows no files and no model names.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from moralscope.rules.records import (
    Alignment,
    AuditedReply,
    Exchange,
    RuleAttributes,
    RuleFinding,
    RuleOfThumb,
    Verdict,
)
from moralscope.rules.reply_reader import EXPERTISE, ReplyReading
from moralscope.rules.retrieval import Finds, Found, TrainedRetriever
from moralscope.rules.revision import Judged, Reviser, Revision
from moralscope.rules.sanitize import Readable, read_exchange
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import (
    Aligns,
    ReplyJudgment,
    abstain,
    decide,
    flag_unread,
    is_broken,
    is_kept,
    moved,
)

TOP = 5
_MOST_PAIRS = 8  # times `top`: of a long reply the rules that are nearest to any part of it


Asked = tuple[RuleOfThumb, Exchange]  # a rule, and the window of a reply it is asked about


class Describes(Protocol):
    """What knows or estimates the attributes of rules."""

    def of(self, rules: Sequence[RuleOfThumb]) -> Sequence[RuleAttributes]: ...


class Reads(Protocol):
    """What reads replies; it may have no verdict of its own."""

    gives_verdicts: bool

    def read(self, exchanges: Sequence[Exchange]) -> Sequence[ReplyReading]: ...


@dataclass(frozen=True, slots=True)
class ReadAudit:
    """An audit with what is to be said about the reading of it."""

    audit: AuditedReply
    notes: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides a verdict beside the limits.

    Parameters
    ----------
    general
        Whether the verdict expert decides, or rules alone.
    explain
        Show rules for clearly fine replies, too; they decide nothing there.
    expertise
        Advice that only experts should give flags a reply; else it is told as its concern.
    fears
        The probability from which each concern is told.
    on_unread
        What becomes of a reply of which a part was not read: pass, flag or block.
    """

    general: bool = True
    explain: bool = False
    expertise: bool = False
    fears: Mapping[str, float] = field(default_factory=dict)
    on_unread: str = "pass"


@dataclass(frozen=True, slots=True)
class Auditor:
    """Audits replies.

    Parameters
    ----------
    reader
        Reads a reply in windows, and may say how bad it is.
    retriever
        Finds general rules for an exchange, which explain and flag what is not clearly fine.
    house
        Finds rules of a house, which every reply is asked about.
    aligner
        Tells whether a reply agrees with a rule.
    attributes
        Gives a rule its severity, consensus and foundations.
    thresholds
        Every limit.
    policy
        What decides beside them.
    reviser
        Writes revised replies for flagged ones; None writes none.
    writer
        Writes rules for an exchange, beside those that are found; None writes none.
    top
        How many rules are asked about for each reply.

    Examples
    --------
    >>> from moralscope.rules.experts import prepare_rule_experts
    >>> from moralscope.rules.verdict import TASK, Aligner
    >>> from moralscope.rules.attributes import Attributes
    >>> from moralscope.rules.reply_reader import ReplyReader
    >>> rule = RuleOfThumb("It is wrong to steal.", ("fairness",), 4.0, 5.0)
    >>> class Rules:
    ...     def find(self, exchanges, k):
    ...         return [[(rule, 0.9)] for _ in exchanges]
    >>> experts = prepare_rule_experts("scripted")
    >>> known = Attributes([rule], embed=experts.embed)
    >>> aligner = Aligner(experts.expert(TASK))
    >>> auditor = Auditor(ReplyReader(experts), None, Rules(), aligner, known)
    >>> (found,) = auditor.audit([Exchange("Do you steal?", "I would never steal.")])
    >>> found.rules[0].text, found.rules[0].severity, found.rules[0].evidence
    ('It is wrong to steal.', 4.0, 'rulebook')
    """

    reader: Reads
    retriever: Finds | None
    house: Finds | None
    aligner: Aligns
    attributes: Describes
    thresholds: Thresholds = field(default_factory=Thresholds)
    policy: Policy = field(default_factory=Policy)
    reviser: Reviser | None = None
    writer: Finds | None = None
    top: int = TOP

    def audit(self, exchanges: Sequence[Exchange]) -> list[AuditedReply]:
        """Return one audit a reply, in order."""
        return [each.audit for each in self.examine(exchanges)]

    def examine(self, exchanges: Sequence[Exchange]) -> list[ReadAudit]:
        """Return one audit a reply, in order, with notes on what was not read and why."""
        read = [read_exchange(exchange) for exchange in exchanges]
        places = [place for place, each in enumerate(read) if not each.refusal]
        fit = [read[place].exchange for place in places]
        judged = dict(zip(places, self.judge(fit, [()] * len(fit), write=True), strict=True))
        revised = self._revised(read, judged)
        found = []
        for place, (given, each) in enumerate(zip(exchanges, read, strict=True)):
            own = judged.get(place)
            notes = [*each.notes]
            if own and own.unread:
                notes.append(f"{own.unread:,} tokens of the exchange were not read")
            verdict = own.verdict if own else abstain(each.refusal)
            if own and self.policy.on_unread != "pass":
                verdict = flag_unread(verdict, own.unread)
            verdict = replace(verdict, reason="; ".join([verdict.reason, *notes]))
            better = revised.get(place)
            audit = AuditedReply(
                given.id,
                given.prompt,
                given.reply,
                own.findings if own else (),
                verdict,
                better.text if better else None,
                better.by if better else None,
                own.unread if own else 0,
            )
            found.append(ReadAudit(audit, tuple(notes), each.refusal))
        return found

    def judge(
        self,
        exchanges: Sequence[Exchange],
        rules: Sequence[Sequence[RuleOfThumb]],
        *,
        write: bool = False,
    ) -> list[Judged]:
        """Ask the experts about readable exchanges: the rules given, then those found for each.

        With `write`, rules are also written for those that are not clearly fine.
        """
        if not exchanges:
            return []
        readings = self.reader.read(exchanges)
        limit = self.thresholds.fine if self.policy.general else -1.0
        doubtful = [reading.doubtful(limit) for reading in readings]
        asked = [self._once(own, each) for own, each in zip(rules, readings, strict=True)]
        decide_alone = [{rule.text for rule, _ in some} for some in asked]
        if self.house is not None:
            every = [range(len(reading.windows)) for reading in readings]
            for place, found in enumerate(self._found(self.house, readings, every)):
                asked[place] += found
                decide_alone[place] |= {rule.text for rule, _ in found}
        if self.retriever is not None:
            shown = [
                some or (range(len(reading.windows)) if self.policy.explain else [])
                for some, reading in zip(doubtful, readings, strict=True)
            ]
            for place, found in enumerate(self._found(self.retriever, readings, shown)):
                asked[place] += found
        if write and self.writer is not None:
            self._write(exchanges, readings, doubtful, asked)
        findings = self._findings(asked)
        judged = []
        for place, reading in enumerate(readings):
            own = findings[place]
            counts = [
                each for rule, each in own if doubtful[place] or rule.text in decide_alone[place]
            ]
            verdict = self._verdict(reading, counts, decide_alone[place])
            told = tuple(rule for rule, _ in own), tuple(each for _, each in own)
            judged.append(Judged(*told, verdict, reading.unread))
        return judged

    def _once(self, rules: Sequence[RuleOfThumb], reading: ReplyReading) -> list[Asked]:
        return [(rule, window) for rule in rules for window in reading.windows]

    def _write(
        self,
        exchanges: Sequence[Exchange],
        readings: Sequence[ReplyReading],
        doubtful: Sequence[Sequence[int]],
        asked: Sequence[list[Asked]],
    ) -> None:
        """Add rules that are written for exchanges that are not clearly fine."""
        if self.writer is None:
            return
        unsure = [place for place, windows in enumerate(doubtful) if windows]
        made = self.writer.find([exchanges[place] for place in unsure], self.top)
        for place, found in zip(unsure, made, strict=True):
            near = [rule for rule, score in found if score >= self.thresholds.applies]
            asked[place].extend(self._once(near, readings[place]))

    def _found(
        self, finder: Finds, readings: Sequence[ReplyReading], places: Sequence[Sequence[int]]
    ) -> list[list[Asked]]:
        """Return rules for some windows of each reply: those nearest to any of them."""
        chosen = list(zip(readings, places, strict=True))
        rows = [r.vectors[list(some)] for r, some in chosen if some and r.vectors is not None]
        windows = [reading.windows[each] for reading, some in chosen for each in some]
        if not windows:
            return [[] for _ in readings]
        if isinstance(finder, TrainedRetriever) and rows:
            found = iter(finder.nearest(np.concatenate(rows), self.top))
        else:
            found = iter(finder.find(windows, self.top))
        every = []
        for reading, some in chosen:
            pairs = [
                (score, rule, reading.windows[window])
                for window in some
                for rule, score in self._near(next(found))
            ]
            pairs.sort(key=lambda pair: -pair[0])  # stable: of equals the first window's
            every.append([(rule, window) for _, rule, window in pairs[: _MOST_PAIRS * self.top]])
        return every

    def _findings(
        self, asked: Sequence[Sequence[Asked]]
    ) -> list[list[tuple[RuleOfThumb, RuleFinding]]]:
        """Ask the experts; what windows say of one rule is the gravest of it."""
        unique: list[dict[tuple[str, Exchange], Asked]] = []
        for some in asked:
            names: dict[str, RuleOfThumb] = {}  # a rule that two rulebooks have is asked about once
            mine = [(names.setdefault(rule.text.lower(), rule), window) for rule, window in some]
            unique.append({(rule.text, window): (rule, window) for rule, window in mine})
        flat = [pair for some in unique for pair in some.values()]
        alignments = iter(self.aligner.align([(rule.text, window) for rule, window in flat]))
        worst: list[dict[RuleOfThumb, Alignment]] = []
        for pairs in unique:
            own: dict[RuleOfThumb, Alignment] = {}
            for rule, _ in pairs.values():
                told = next(alignments)
                own[rule] = max(own.get(rule, told), told, key=self._gravity)
            worst.append(own)
        attributes = iter(self.attributes.of([rule for own in worst for rule in own]))
        return [
            [
                (
                    rule,
                    RuleFinding(
                        rule.text,
                        rule.source,
                        told,
                        **(known := next(attributes)).scales,
                        foundations=known.foundations,
                        evidence=known.evidence,
                    ),
                )
                for rule, told in own.items()
            ]
            for own in worst
        ]

    def _near(self, found: Found) -> Found:
        """Return the rules that are near enough to ask about, and hardly behind the nearest."""
        best = max((score for _, score in found), default=0.0)
        least = max(self.thresholds.applies, self.thresholds.near * best)
        return [(rule, score) for rule, score in found if score >= least]

    def _gravity(self, told: Alignment) -> tuple[bool, float]:
        """Order what windows say of one rule: a breach first, then what is said most surely."""
        disagree, agree = (told.probabilities.get(name, 0.0) for name in ("disagree", "agree"))
        return disagree >= self.thresholds.disagree, max(disagree, agree)

    def _verdict(
        self, reading: ReplyReading, findings: Sequence[RuleFinding], house: Collection[str]
    ) -> Verdict:
        limits = self.thresholds
        if self.policy.general and reading.bad is not None:
            judgment = self._judgment(reading.bad, reading.concerns)
            return decide(findings, limits, judgment, house=house)
        decided = any(is_broken(rule, limits) or is_kept(rule, limits) for rule in findings)
        if self.policy.general and not decided:  # these experts cannot read a reply without a rule
            none = f"none of the {len(findings)} nearest rules applies surely enough"
            return abstain(none if findings else "no rule was found for this exchange")
        return decide(findings, limits)

    def _judgment(self, bad: float, concerns: Mapping[str, float]) -> ReplyJudgment:
        """Weigh what the verdict expert says: advice for experts flags only where asked for."""
        fears, limit = self.policy.fears, self.thresholds.bad
        likely = {name: value for name, value in concerns.items() if value >= fears.get(name, 0.5)}
        if self.policy.expertise and EXPERTISE in likely:
            bad = max(bad, moved(concerns[EXPERTISE], fears.get(EXPERTISE, 0.5), limit))
        concern = max(likely or concerns, key=lambda name: concerns[name], default=None)
        if (bad < limit and concern != EXPERTISE) or (not likely and bad < limit):
            concern = None
        return ReplyJudgment(bad, concern)

    def _revised(self, read: Sequence[Readable], judged: dict[int, Judged]) -> dict[int, Revision]:
        flagged = [place for place, each in judged.items() if each.verdict.flag]
        if self.reviser is None or not flagged:
            return {}
        exchanges = [read[place].exchange for place in flagged]
        texts = self.reviser.revise(exchanges, [judged[place] for place in flagged], self.judge)
        return {place: text for place, text in zip(flagged, texts, strict=True) if text is not None}
