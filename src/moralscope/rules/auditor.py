"""The audit of replies: the reply read, rules found, a verdict, and a revised reply where asked.

A cascade: the verdict expert reads every reply, and general rules are asked about only where it is
not clearly fine. Rules of a house (a user's own) are asked about always. One class serves one
reply, an HTTP request, a block of a file and a Ray actor: texts in, audits out, in order; a row
does not depend on its neighbours. It knows no files and no model names.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from moralscope.rules.attributes import Attributes
from moralscope.rules.evidence import Evidence, by_sentence, find_evidence, passage, search
from moralscope.rules.records import (
    CONCERN_WORDS,
    REVISED,
    SCALE,
    Alignment,
    AuditedReply,
    Exchange,
    ProvedEdit,
    RuleFinding,
    RuleOfThumb,
    Verdict,
)
from moralscope.rules.reply_reader import EXPERTISE, ReplyReader, ReplyReading
from moralscope.rules.retrieval import Finds, Found, TrainedRetriever
from moralscope.rules.texts.sanitize import read_exchange
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import (
    RULE,
    Aligner,
    ReplyJudgment,
    abstain,
    before_rules,
    beside_rules,
    decide,
    explained,
    flag_unread,
    is_broken,
    is_kept,
    moved,
)
from moralscope.rules.warrant_pairs import kept_by
from moralscope.rules.writing.revision import ExchangeJudgment, RevisedReply, Reviser

TOP = 5
_MOST_PAIRS = 8  # times `top`: of a long reply the rules that are nearest to any part of it
_MOST_WINDOWS = 4  # of a long reply, beside each rule of a house that is read whole
_MOST_SPANS = 2  # of the evidence, by which the rule that leads is looked for
_NEAREST = 2  # rules that are asked about each of them
_GRAVITY = 0.3  # power of the severity there: bench/lead_rule.py
# Where no concern is likely, the likeliest is named from here. So 89 % of the flagged bad replies
# of DiaSafety (dev) have the right one, 6 % have none, and of the fine ones that are flagged 15 %.
_NAMED = 0.3


Question = tuple[RuleOfThumb, Exchange]  # a rule, and the window of a reply it is asked about
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Answers:
    """What experts said while some replies were examined: evidence asks much of it again."""

    readings: dict[Exchange, ReplyReading] = field(default_factory=dict)
    alignments: dict[tuple[str, Exchange], Alignment] = field(default_factory=dict)


def _once(
    ask: Callable[[Sequence[Key]], list[Value]], asked: Sequence[Key], known: dict[Key, Value]
) -> list[Value]:
    """Return the answers to all that is asked, in order; only what is new is asked."""
    new = list(dict.fromkeys(key for key in asked if key not in known))
    known.update(zip(new, ask(new), strict=True))
    return [known[key] for key in asked]


@dataclass(frozen=True, slots=True)
class ReplyExamination:
    """An audit with what is to be said about the reading of it."""

    audit: AuditedReply
    notes: tuple[str, ...] = ()
    refusal: str = ""  # why the reply was not judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What decides a verdict beside the limits."""

    general: bool = True
    """Whether the verdict expert decides, or rules alone."""
    explain: bool = False
    """Show rules for clearly fine replies, too; they decide nothing there."""
    expertise: bool = False
    """Advice that only experts should give flags a reply; else it is told as its concern."""
    fears: Mapping[str, float] = field(default_factory=dict)
    """The probability from which each concern is likely; others are never named."""
    on_unread: str = "pass"
    """What becomes of a reply of which a part was not read: pass, flag or block."""
    texts: bool = False
    """Whether texts that are no replies are audited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditor:
    """Audits replies."""

    reader: ReplyReader
    """Reads a reply in windows, and may say how bad it is."""
    retriever: Finds | None = None
    """Finds general rules for an exchange, which explain and flag what is not clearly fine."""
    house: Finds | None = None
    """Finds rules of a house, which every reply is asked about."""
    whole: int = 0
    """How many rules the house has, where they are few enough to ask about each of them."""
    rule_limits: Mapping[str, float] = field(default_factory=dict)
    """The probability from which a rule is broken, by the text of rules with one of their own."""
    warrants: Mapping[str, str] = field(default_factory=dict)
    """Whether a rule can be enforced (`warrant_file.WORDS`), by the text of rules that were tried.
    """
    aligner: Aligner
    """Tells whether a reply agrees with a rule."""
    attributes: Attributes
    """Gives a rule its severity, consensus and foundations."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    policy: Policy = field(default_factory=Policy)
    reviser: Reviser | None = None
    """Writes revised replies for flagged ones; None writes none."""
    writer: Finds | None = None
    """Writes rules for an exchange, beside those that are found; None writes none."""
    applies: Callable[[RuleOfThumb, Exchange], bool] | None = None
    """Whether a rule may be asked about a reply at all; None: every rule."""
    top: int = TOP
    """How many rules are asked about for each reply."""
    evidence: bool = True
    """Whether the words that a flag rests on are looked for."""
    answers: Answers | None = None
    """What the experts said before, of which nothing is asked again."""

    def audit(self, exchanges: Sequence[Exchange]) -> list[AuditedReply]:
        """Return one audit a reply, in order."""
        return [examination.audit for examination in self.examine(exchanges)]

    def examine(self, exchanges: Sequence[Exchange]) -> list[ReplyExamination]:
        """Return one audit a reply, in order, with notes on what was not read and why."""
        if self.answers is None:
            return replace(self, answers=Answers()).examine(exchanges)
        policy, noun = self.policy, "text" if self.policy.texts else "reply"
        alone = [replace(one, prompt="") if policy.texts else one for one in exchanges]
        texts = [read_exchange(one, noun) for one in alone]
        fit = [index for index, text in enumerate(texts) if not text.refusal]
        answers = self.judge([texts[index].exchange for index in fit], [()] * len(fit), write=True)
        judgments = dict(zip(fit, answers, strict=True))
        revisions: dict[int, RevisedReply | None] = {}
        flagged = [index for index, judgment in judgments.items() if judgment.verdict.flag]
        evidence = {index: Evidence() for index in flagged}
        if self.evidence and flagged:
            asked = [
                Exchange(texts[index].exchange.prompt, exchanges[index].reply) for index in flagged
            ]
            some = self._evidence(asked, [judgments[index] for index in flagged])
            evidence = dict(zip(flagged, some, strict=True))
            better_told = self._explained(asked, [judgments[index] for index in flagged], some)
            judgments |= dict(zip(flagged, better_told, strict=True))
        if self.reviser is not None and flagged:
            bad = [texts[index].exchange for index in flagged]
            passages = [passage(exchanges[i].reply, evidence[i].spans) for i in flagged]
            before, house = [judgments[index] for index in flagged], self.house is not None
            better = self.reviser.revise(bad, before, self.judge, passages, house)
            revisions = dict(zip(flagged, better, strict=True))
        examinations = []
        for index, (exchange, text) in enumerate(zip(exchanges, texts, strict=True)):
            judgment, revision, notes = judgments.get(index), revisions.get(index), [*text.notes]
            verdict = judgment.verdict if judgment else abstain(text.refusal)
            if judgment and judgment.unread:
                notes.append(f"{judgment.unread:,} tokens of the exchange were not read")
                if self.policy.on_unread != "pass":
                    verdict = flag_unread(verdict, judgment.unread)
            why = evidence.get(index, Evidence())
            if revision and self.evidence and why.change is None:
                why = why._replace(change=ProvedEdit(REVISED, revision.text, revision.bad))
            audit = AuditedReply(
                exchange.id,
                exchange.prompt,
                exchange.reply,
                rules=judgment.findings if judgment else (),
                verdict=replace(verdict, reason="; ".join([verdict.reason, *notes])),
                revised_reply=revision.text if revision else None,
                revised_by=revision.by if revision else None,
                unread=judgment.unread if judgment else 0,
                evidence=why.spans,
                evidence_note=why.note,
                change=why.change,
            )
            examinations.append(ReplyExamination(audit, tuple(notes), text.refusal))
        return examinations

    def _evidence(
        self, exchanges: Sequence[Exchange], judgments: Sequence[ExchangeJudgment]
    ) -> list[Evidence]:
        """Return the words that each flag rests on, proved by audits without them."""
        again = replace(self, reviser=None, evidence=False)

        def level(asked: Sequence[tuple[int, str]]) -> list[float]:
            texts = [read_exchange(replace(exchanges[i], reply=text)) for i, text in asked]
            levels = [0.0] * len(asked)
            by_rule: list[tuple[int, str, Exchange]] = []
            by_reply: list[int] = []
            for number, ((i, _), text) in enumerate(zip(asked, texts, strict=True)):
                gauge = judgments[i].verdict.gauge
                if not text.refusal and gauge is not None and gauge.rule is not None:
                    (windows,) = self.reader.cut([text.exchange])
                    for rule in judgments[i].verdict.broken:
                        by_rule += [(number, rule, window) for window in windows]
                elif not text.refusal:
                    by_reply.append(number)
            rows = self._align([(rule, window) for _, rule, window in by_rule])
            for (number, rule, _), row in zip(by_rule, rows, strict=True):
                # Every broken rule counts, as far as it is over its own limit.
                gauge = judgments[asked[number][0]].verdict.gauge
                limit = self.rule_limits.get(rule, self.thresholds.disagree)
                chance = moved(
                    row.probabilities["disagree"], limit, gauge.limit if gauge else limit
                )
                levels[number] = max(levels[number], chance)
            readings = self._read([texts[number].exchange for number in by_reply])
            for number, reading in zip(by_reply, readings, strict=True):
                judgment = judgments[asked[number][0]]
                bad = reading.bad or 0.0
                if judgment.verdict.basis == RULE:
                    bad = beside_rules(bad, judgment.findings, self.thresholds)
                levels[number] = bad
            return levels

        def prove(texts: Sequence[Exchange]) -> list[Verdict]:
            return [row.verdict for row in again.audit(texts)]

        searches = []
        for exchange, judgment in zip(exchanges, judgments, strict=True):
            gauge, safe = judgment.verdict.gauge, 0.0
            broken = judgment.verdict.broken if gauge is not None and gauge.rule else ()
            meets = [sentence for rule in broken if (sentence := kept_by(rule))]
            if gauge is not None:
                by_reply = gauge.rule is None and judgment.verdict.basis != RULE
                rules = judgment.findings if by_reply else ()
                safe = before_rules(gauge.limit, rules, self.thresholds)
            searches.append(search(exchange.reply, judgment.verdict, safe, meets))
        return find_evidence(exchanges, searches, level, prove)

    def _explained(
        self,
        exchanges: Sequence[Exchange],
        judgments: Sequence[ExchangeJudgment],
        evidence: Sequence[Evidence],
    ) -> list[ExchangeJudgment]:
        """Let the general rule lead that concerns what the evidence says, where there is one.

        The rules nearest to the evidence are asked about it, as about one more window of the reply.
        A rule of a house that flags by itself leads in any case.
        """
        texts: list[tuple[int, Exchange]] = []
        for index, (exchange, judgment) in enumerate(zip(exchanges, judgments, strict=True)):
            gauge = judgment.verdict.gauge
            if self.retriever is not None and gauge is not None and gauge.rule is None:
                at = [span.start for span in evidence[index].spans if span.turns]
                spans = [
                    (start, end)
                    for start, end in by_sentence(exchange.reply)
                    if any(start <= one < end for one in at)
                ]
                for start, end in spans[:_MOST_SPANS] or [(0, len(exchange.reply))]:
                    read = read_exchange(Exchange(exchange.prompt, exchange.reply[start:end]))
                    texts += [] if read.refusal else [(index, read.exchange)]
        if self.retriever is None or not texts:
            return list(judgments)
        readings = self._read([text for _, text in texts])
        worst = [[int(np.argmax(text.window_bad)) if text.window_bad else 0] for text in readings]
        near = list(self._scored(self.retriever, readings, worst, _NEAREST))
        asked: list[list[Question]] = []
        for reading, (window,), scored in zip(readings, worst, near, strict=True):
            close = [rule for rule, score in scored if score >= self.thresholds.applies]
            asked.append([(rule, reading.windows[window]) for rule in close])
        best: dict[int, tuple[float, RuleOfThumb, RuleFinding]] = {}
        for (index, _), scored, findings in zip(texts, near, self._findings(asked), strict=True):
            scores = {rule.text: score for rule, score in scored}
            for rule, finding in findings:
                if is_broken(finding, self.thresholds):
                    sure = scores[rule.text] * finding.alignment.probabilities["disagree"]
                    # Praise of a small kindness is near to much that is bad, and explains little.
                    sure *= ((rule.severity or SCALE[1]) / SCALE[1]) ** _GRAVITY
                    if sure >= self.thresholds.explains and sure > best.get(index, (0.0,))[0]:
                        best[index] = (sure, rule, finding)
        explained_judgments = list(judgments)
        for index in {index for index, _ in texts}:
            old = judgments[index]
            lead, rules, rows = None, old.rules, {row.text: row for row in old.findings}
            if index in best:
                _, rule, finding = best[index]
                lead = rule.text
                rules = rules if lead in rows else (*rules, rule)
                chance = finding.alignment.probabilities["disagree"]
                if lead not in rows or chance > rows[lead].alignment.probabilities["disagree"]:
                    rows[lead] = finding
            elif old.verdict.basis == RULE:
                continue
            verdict = explained(old.verdict, tuple(rows.values()), self.thresholds, lead)
            explained_judgments[index] = replace(
                old, rules=rules, findings=tuple(rows.values()), verdict=verdict
            )
        return explained_judgments

    def judge(
        self,
        exchanges: Sequence[Exchange],
        rules: Sequence[Sequence[RuleOfThumb]],
        *,
        write: bool = False,
    ) -> list[ExchangeJudgment]:
        """Ask the experts about readable exchanges: the rules given, then those found for each.

        With `write`, rules are also written for those that are not clearly fine.
        """
        if not exchanges:
            return []
        readings = self._read(exchanges)
        limit = self.thresholds.fine if self.policy.general else -1.0
        doubtful = [reading.doubtful(limit) for reading in readings]
        asked = [_questions(some, text) for some, text in zip(rules, readings, strict=True)]
        decide_alone = [{rule.text for rule, _ in questions} for questions in asked]
        if self.house is not None:
            every = [range(len(reading.windows)) for reading in readings]
            for index, questions in enumerate(self._find(self.house, readings, every, self.whole)):
                asked[index] += questions
                decide_alone[index] |= {rule.text for rule, _ in questions}
        if self.retriever is not None:
            shown = [
                windows or (range(len(reading.windows)) if self.policy.explain else [])
                for windows, reading in zip(doubtful, readings, strict=True)
            ]
            for index, questions in enumerate(self._find(self.retriever, readings, shown)):
                asked[index] += questions
        if write and self.writer is not None:
            unsure = [index for index, windows in enumerate(doubtful) if windows]
            written = self.writer.find([exchanges[index] for index in unsure], self.top)
            for index, scored in zip(unsure, written, strict=True):
                near = [rule for rule, score in scored if score >= self.thresholds.applies]
                asked[index] += _questions(near, readings[index])
        if self.applies is not None:
            asked = [
                [(rule, window) for rule, window in questions if self.applies(rule, exchange)]
                for questions, exchange in zip(asked, exchanges, strict=True)
            ]
        judgments = []
        for index, findings in enumerate(self._findings(asked)):
            house = decide_alone[index]
            counts = [row for rule, row in findings if doubtful[index] or rule.text in house]
            judgments.append(
                ExchangeJudgment(
                    rules=tuple(rule for rule, _ in findings),
                    findings=tuple(row for _, row in findings),
                    verdict=self._verdict(readings[index], counts, house),
                    unread=readings[index].unread,
                )
            )
        return judgments

    @staticmethod
    def _scored(
        finder: Finds, readings: Sequence[ReplyReading], windows: Sequence[Sequence[int]], top: int
    ) -> Iterator[Found]:
        """Return the rules nearest to some windows of each reply, one list a window."""
        chosen = list(zip(readings, windows, strict=True))
        rows = [
            text.vectors[list(some)] for text, some in chosen if some and text.vectors is not None
        ]
        texts = [reading.windows[index] for reading, some in chosen for index in some]
        if isinstance(finder, TrainedRetriever) and rows:
            return iter(finder.nearest(np.concatenate(rows), top))
        return iter(finder.find(texts, top) if texts else [])

    def _find(
        self,
        finder: Finds,
        readings: Sequence[ReplyReading],
        windows: Sequence[Sequence[int]],
        whole: int = 0,
    ) -> list[list[Question]]:
        """Return rules for some windows of each reply: those nearest to any of them.

        Of a house that is read `whole` every rule is asked about, beside the windows nearest to it.
        """
        top, most = whole or self.top, max(_MOST_PAIRS * self.top, _MOST_WINDOWS * whole)
        chosen = list(zip(readings, windows, strict=True))
        scored = self._scored(finder, readings, windows, top)
        questions = []
        for reading, some in chosen:
            pairs = []
            for index in some:
                nearest = next(scored)
                # Near enough to ask about, and hardly behind the nearest of this window.
                best = max((score for _, score in nearest), default=0.0)
                least = max(self.thresholds.applies, self.thresholds.near * best)
                least = -math.inf if whole else least
                window = reading.windows[index]
                pairs += [(score, rule, window) for rule, score in nearest if score >= least]
            pairs.sort(key=lambda pair: -pair[0])  # stable: of equals the first window's
            if whole:
                turns: Counter[str] = Counter()
                ranked = []
                for pair in pairs:
                    ranked.append((turns[pair[1].text], pair))
                    turns[pair[1].text] += 1
                pairs = [pair for _, pair in sorted(ranked, key=lambda turn: turn[0])]
            questions.append([(rule, text) for _, rule, text in pairs[:most]])
        return questions

    def _read(self, exchanges: Sequence[Exchange]) -> list[ReplyReading]:
        return _once(self.reader.read, exchanges, (self.answers or Answers()).readings)

    def _align(self, pairs: Sequence[tuple[str, Exchange]]) -> list[Alignment]:
        return _once(self.aligner.align, pairs, (self.answers or Answers()).alignments)

    def _findings(
        self, asked: Sequence[Sequence[Question]]
    ) -> list[list[tuple[RuleOfThumb, RuleFinding]]]:
        """Ask the experts; what windows say of one rule is the gravest of it."""
        unique: list[dict[tuple[str, Exchange], Question]] = []
        for questions in asked:
            names: dict[str, RuleOfThumb] = {}  # a rule that two rulebooks have is asked about once
            once = [(names.setdefault(rule.text.lower(), rule), text) for rule, text in questions]
            unique.append({(rule.text, window): (rule, window) for rule, window in once})
        pairs = [(rule.text, text) for some in unique for rule, text in some.values()]
        alignments = iter(self._align(pairs))

        def gravity(rule: RuleOfThumb, alignment: Alignment) -> tuple[bool, float]:
            """Order what windows say: a breach first, then what is said most surely."""
            disagree, agree = (alignment.probabilities.get(n, 0.0) for n in ("disagree", "agree"))
            limit = self.rule_limits.get(rule.text, self.thresholds.disagree)
            return disagree >= limit, max(disagree, agree)

        worst: list[dict[RuleOfThumb, Alignment]] = []
        for questions_once in unique:
            by_rule: dict[RuleOfThumb, Alignment] = {}
            for rule, _ in questions_once.values():
                alignment = next(alignments)
                old = by_rule.get(rule)
                if old is None or gravity(rule, alignment) > gravity(rule, old):
                    by_rule[rule] = alignment
            worst.append(by_rule)
        attributes = iter(self.attributes.of([rule for by_rule in worst for rule in by_rule]))

        def finding(rule: RuleOfThumb, alignment: Alignment) -> RuleFinding:
            known = next(attributes)
            return RuleFinding(
                rule.text,
                rule.source,
                alignment,
                **known.scales,
                foundations=known.foundations,
                scales_from=known.evidence,
                limit=self.rule_limits.get(rule.text),
                warrant=self.warrants.get(rule.text),
            )

        return [[(rule, finding(rule, row)) for rule, row in rows.items()] for rows in worst]

    def _verdict(
        self, reading: ReplyReading, findings: Sequence[RuleFinding], house: Collection[str]
    ) -> Verdict:
        limits, concerns, bad = self.thresholds, reading.concerns, reading.bad
        if not self.policy.general:
            return decide(findings, limits)
        if bad is None:  # these experts cannot read a reply without a rule
            if any(is_broken(rule, limits) or is_kept(rule, limits) for rule in findings):
                return decide(findings, limits)
            none = f"none of the {len(findings)} nearest rules applies surely enough"
            return abstain(none if findings else "no rule was found for this exchange")
        points = self.policy.fears
        likely = [name for name in points if concerns[name] >= points[name]]
        if self.policy.expertise and EXPERTISE in likely:
            bad = max(bad, moved(concerns[EXPERTISE], points[EXPERTISE], limits.bad))
        named = likely or [name for name in points if concerns[name] >= _NAMED]
        concern = max(named, key=lambda name: concerns[name], default=None)
        if bad < limits.bad and (concern != EXPERTISE or not likely):
            concern = None  # what reads as fine is no cause to fear, but for advice
        words = CONCERN_WORDS.get(concern, f"may be a case of {concern}") if concern else None
        return decide(findings, limits, ReplyJudgment(bad, words), house=house)


def _questions(rules: Sequence[RuleOfThumb], reading: ReplyReading) -> list[Question]:
    return [(rule, window) for rule in rules for window in reading.windows]
