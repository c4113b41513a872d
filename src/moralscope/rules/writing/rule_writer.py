"""Rules of thumb written for exchanges by a generator, and which of them are worth keeping.

Section 5.1 of Ziems et al. 2022: greedy, or three hypotheses by beam search or nucleus sampling. A
hypothesis is only text: what the exchange tells the generator to say changes neither how it is
asked nor the checks. It must read as a rule, say what "it" is, copy nothing from the exchange (a
reply would agree with a rule it states itself), and repeat no other. Where experts judge, a rule
that a bad reply keeps is left out: it would endorse the reply. Rules are ranked by how near they
are to the exchange and how surely the reply keeps or breaks them. Their attributes are estimates.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder, Generator, Matrix
from moralscope.core.records import Decoding, ModelRef, RunRecord, Statistics
from moralscope.io.files import check_writable, model_refs, write_whole
from moralscope.models.encoders import load_encoder
from moralscope.models.language import generator_refs, load_generator
from moralscope.models.store import Progress
from moralscope.rules.attributes import Attributes
from moralscope.rules.experts import prepare_rule_experts
from moralscope.rules.judgments import read_judgment
from moralscope.rules.options import HYPOTHESES, RulesGenerateOptions
from moralscope.rules.records import Exchange, GeneratedRule, RuleOfThumb, first_notes
from moralscope.rules.reply_reader import VERDICT
from moralscope.rules.retrieval import Found, Retriever, unit_rows
from moralscope.rules.rulebook import NOT_LAW, load_layers
from moralscope.rules.texts.exchanges import ExchangeFile, blocks
from moralscope.rules.texts.sanitize import clean, read_exchange
from moralscope.rules.thresholds import GivenLimits, operating_points
from moralscope.rules.verdict import TASK
from moralscope.rules.writing.written_rules import RuleJudgment, WrittenRuleJudge, why_unusable

ESTIMATED = "severity, consensus and foundations are estimates: `evidence` says of what"
_BLOCK = 64  # exchanges whose rules are written at once

Report = Callable[[int, int], None]
Exchanges = Sequence[Exchange] | ExchangeFile
PROMPT, REPLY, RULE = MARKERS = ("<|PROMPT|>", "<|REPLY|>", "<|RULE|>")
MAX_PROMPT = 400  # characters, the last ones
MAX_REPLY = 600  # characters, the first ones
_OPEN = re.compile(r"<(?=\S)")  # where a special token of any model may begin
MAX_TOKENS = 40
DECODINGS = {
    "greedy": Decoding("greedy", count=1, max_tokens=MAX_TOKENS),
    "beam": Decoding("beam", count=HYPOTHESES, beams=HYPOTHESES, max_tokens=MAX_TOKENS),
    "nucleus": Decoding("nucleus", count=HYPOTHESES, p=0.9, max_tokens=MAX_TOKENS),
}
LEAST_SHARE = 0.5  # of the best rule's score: what is below speaks of something else
_FAR = "says little about the reply beside another rule"
SAME_MEANING = 0.80  # cosine of two behaviours that are judged the same way


def rule_prompt(exchange: Exchange) -> str:
    """Return what a generator completes with a rule; nothing in a text can pose as a marker."""
    prompt = _OPEN.sub("< ", clean(exchange.prompt))[-MAX_PROMPT:]
    reply = _OPEN.sub("< ", clean(exchange.reply))[:MAX_REPLY]
    return " ".join(f"{PROMPT} {prompt} {REPLY} {reply} {RULE}".split())


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A hypothesis that was not kept, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class WrittenRules:
    """What a generator wrote for one exchange."""

    exchange: Exchange
    rules: tuple[tuple[RuleOfThumb, float], ...] = ()
    """Those worth keeping with their similarity to the exchange, most applicable first."""
    best: str = ""
    """Of those worth keeping, the most applicable where experts judge, else the likeliest."""
    likeliest: str = ""
    """The hypothesis with the highest score, as the paper keeps it, whatever is said against it."""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    refusal: str = ""
    alignments: Mapping[str, str] = field(default_factory=dict)


class RuleWriter:
    """Writes rules for exchanges: one for a reply, a block of a file, or an audit.

    `judge` leaves out rules that endorse bad replies, and ranks the others; None does neither.
    """

    def __init__(
        self,
        generator: Generator,  # trained by `rules train generator`; it completes `rule_prompt`
        encoder: Encoder,  # compares rules with each other and with the exchange
        known: Sequence[RuleOfThumb] = (),  # need not be written again: those of the rulebook
        *,
        decoding: Decoding = DECODINGS["beam"],
        keep: int = HYPOTHESES,  # how many, those with the highest score
        seed: int = 0,  # together with the texts: the same rules in any batch
    ) -> None:
        self.generator = generator
        self.judge: WrittenRuleJudge | None = None
        self._encoder = encoder
        self._known = _meanings([rule.text for rule in known], encoder)
        self._names = {rule.text: rule.id for rule in known}
        self._decoding, self._keep, self._seed = decoding, keep, seed

    def find(self, exchanges: Sequence[Exchange], k: int) -> list[Found]:
        """Return up to `k` written rules an exchange, as a `Retriever` returns those it finds."""
        return [list(written.rules[:k]) for written in self.write(exchanges)]

    def write(self, exchanges: Sequence[Exchange]) -> list[WrittenRules]:
        """Return what was written for each exchange, in order; unreadable ones get nothing."""
        readings = [read_exchange(exchange) for exchange in exchanges]
        readable = [reading.exchange for reading in readings if not reading.refusal]
        hypotheses = self._hypotheses(readable)
        meanings = _meanings([text for texts in hypotheses for text in texts], self._encoder)
        pairs = [
            (exchange, text)
            for exchange, texts in zip(readable, hypotheses, strict=True)
            for text in texts
        ]
        judgments = dict(zip(pairs, self.judge.judge(pairs), strict=True)) if self.judge else {}
        nearness: list[dict[str, float]] = [{} for _ in readable]
        if meanings:  # the similarity of each exchange with every text, as rules are found
            finder = Retriever([RuleOfThumb(text) for text in meanings], self._encoder)
            ranked = finder.find(readable, len(meanings))
            nearness = [{rule.text: round(score, 4) for rule, score in some} for some in ranked]
        rest = iter(zip(hypotheses, nearness, strict=True))
        written = []
        for original, reading in zip(exchanges, readings, strict=True):
            if reading.refusal:
                written.append(WrittenRules(original, notes=reading.notes, refusal=reading.refusal))
                continue
            exchange = reading.exchange
            texts, scores = next(rest)
            judged = {text: one for text in texts if (one := judgments.get((exchange, text)))}
            kept, left_out = self._sorted_out(exchange, texts, meanings, judged)
            for text, one in judged.items():
                near = scores[text] if one.near is None else one.near
                scores[text] = round(near * one.certainty, 4)
            if judged:
                least = LEAST_SHARE * max((scores[text] for text in kept), default=0.0)
                left_out += [LeftOut(text, _FAR) for text in kept if scores[text] < least]
                kept = [text for text in kept if scores[text] >= least]
            rules = [(RuleOfThumb(text, source="generated"), scores[text]) for text in kept]
            rules.sort(key=lambda rule: -rule[1])
            notes = list(reading.notes)  # and what the generator did not read
            if len(exchange.prompt) > MAX_PROMPT:
                notes.append(
                    f"rules were written from the last {MAX_PROMPT} characters of the prompt"
                )
            if len(exchange.reply) > MAX_REPLY:
                notes.append(
                    f"rules were written from the first {MAX_REPLY} characters of the reply"
                )
            written.append(
                WrittenRules(
                    original,
                    rules=tuple(rules),
                    best=(rules[0][0].text if judged else kept[0]) if rules else "",
                    likeliest=next(iter(texts), ""),
                    left_out=tuple(left_out),
                    notes=tuple(notes),
                    alignments={text: one.label for text, one in judged.items()},
                )
            )
        return written

    def _hypotheses(self, exchanges: Sequence[Exchange]) -> list[list[str]]:
        """Return the texts written for each exchange, those with the highest score first."""
        asked = [rule_prompt(exchange) for exchange in exchanges]
        prompts = list(dict.fromkeys(asked))
        seeds = [crc32(f"{self._seed} {p}".encode("utf-8", "surrogatepass")) for p in prompts]
        made = self.generator.generate(prompts, self._decoding, seeds) if prompts else []
        by_prompt = {}
        for prompt, candidates in zip(prompts, made, strict=True):
            # By the mean log-probability of a token; 0 where the source gives none.
            ordered = sorted(
                candidates,
                key=lambda one: -sum(one.log_probabilities) / max(1, len(one.log_probabilities)),
            )
            texts = dict.fromkeys(clean(candidate.text) for candidate in ordered)
            by_prompt[prompt] = [text for text in texts if text]
        return [by_prompt[prompt] for prompt in asked]

    def _sorted_out(
        self,
        exchange: Exchange,
        texts: Sequence[str],
        meanings: "Mapping[str, _Meaning]",
        judged: Mapping[str, RuleJudgment],
    ) -> tuple[list[str], list[LeftOut]]:
        kept: list[str] = []
        left_out = []
        for text in texts:
            reason = why_unusable(text, exchange)
            if not reason and (one := judged.get(text)) and one.bad and one.label == "agree":
                reason = "endorses a reply that reads as bad"
            if not reason and (same := _same(meanings[text], self._known)):
                reason = f"the rulebook says it: {self._names[same] or same}"
            if not reason and _same(meanings[text], {one: meanings[one] for one in kept}):
                reason = "says the same as one with a higher score"
            if not reason and len(kept) >= self._keep:
                reason = "others have a higher score"
            if reason:
                left_out.append(LeftOut(text, reason))
            else:
                kept.append(text)
        return kept, left_out


@dataclass(frozen=True, slots=True)
class _Meaning:
    """How a rule judges (+1, -1, 0), and the embedding of what it judges."""

    polarity: int
    behaviour: Matrix


def _meanings(texts: Sequence[str], encoder: Encoder) -> dict[str, _Meaning]:
    judged = {text: read_judgment(text) for text in texts}
    if not judged:
        return {}
    rows = unit_rows(
        encoder, [judgment.behaviour.removeprefix("to ") for judgment in judged.values()]
    )
    return {
        text: _Meaning(judgment.polarity, row)
        for (text, judgment), row in zip(judged.items(), rows, strict=True)
    }


def _same(one: _Meaning, others: Mapping[str, _Meaning]) -> str:
    """Return the first of the others that judges the same behaviour the same way, if any does."""
    alike = (
        text
        for text, other in others.items()
        if other.polarity == one.polarity and one.behaviour @ other.behaviour >= SAME_MEANING
    )
    return next(alike, "")


@dataclass(frozen=True, slots=True)
class GeneratedRules:
    """What was written for one exchange: rules worth keeping, most applicable first."""

    id: str
    prompt: str
    reply: str
    best: str  # the rule that is first; empty where none was kept
    rules: tuple[GeneratedRule, ...]
    left_out: tuple[LeftOut, ...] = ()
    refusal: str = ""
    likeliest: str = ""  # the hypothesis with the highest score, kept or not: the paper's measure


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateStatistics(Statistics):
    """How many rules were written for how many exchanges."""

    exchanges: int
    with_rules: int  # exchanges for which a rule was kept
    rules: int
    left_out: int  # hypotheses that were not kept
    refusals: Mapping[str, int]  # exchanges that could not be read, by the reason
    seconds: float


@dataclass(frozen=True, slots=True)
class RuleWriting:
    """A ready writer, what estimates attributes, and the weights in both."""

    writer: RuleWriter
    attributes: Attributes
    rulebook: str
    refs: Sequence[ModelRef] = ()


def prepare_writing(options: RulesGenerateOptions, progress: Progress | None = None) -> RuleWriting:
    """Load the generator, the encoder and the rulebook."""
    book = load_layers(options.rulebooks)
    generator = load_generator(options.generator, adapter=options.adapter, progress=progress)
    encoder = load_encoder(options.encoder, progress)
    refs = [*model_refs([encoder]), *generator_refs(generator)]
    experts = judge = None
    if options.experts != "none":
        experts = prepare_rule_experts(options.experts, eight_bits=True, progress=progress)
        refs.append(experts.ref)
        if {VERDICT, TASK} <= set(experts.tasks):
            judge = WrittenRuleJudge(experts, GivenLimits().over(operating_points(experts)))
    writer = RuleWriter(
        generator,
        encoder,
        book.rules,
        decoding=DECODINGS[options.decoding],
        keep=options.keep,
        seed=options.seed,
    )
    writer.judge = judge
    attributes = Attributes(book.rules, embed=encoder.encode, experts=experts)
    return RuleWriting(writer, attributes, book.name, refs)


def generate_rules(
    exchanges: Exchanges,
    options: RulesGenerateOptions | None = None,
    *,
    ready: RuleWriting | None = None,
    report: Report | None = None,
    **changes: Any,
) -> RunRecord:
    """Write rules for exchanges and return a run record with one result an exchange, in order.

    Parameters
    ----------
    exchanges
        Exchanges, or a file of them (`rules.exchanges.open_exchanges`), read in blocks.
    options
        `RulesGenerateOptions`, or its fields as keywords.
    ready
        What `prepare_writing` made; else it is made from the options.
    report
        Called with (done, total) as the work goes on.
    """
    chosen = chosen_options(RulesGenerateOptions, options, changes)
    if not len(exchanges):
        raise InputError("there are no exchanges to write rules for", "give at least one")
    ready = ready or prepare_writing(chosen)
    started = time.monotonic()
    results: list[GeneratedRules] = []
    notes: list[str] = []
    for block in blocks(exchanges, _BLOCK):
        for written in ready.writer.write(block):
            name = written.exchange.id or str(len(results) + 1)
            known = ready.attributes.of([rule for rule, _ in written.rules])
            rules = tuple(
                GeneratedRule(
                    rule.text,
                    score,
                    **estimate.scales,
                    foundations=estimate.foundations,
                    source=rule.source,
                    evidence=estimate.evidence,
                    alignment=written.alignments.get(rule.text),
                )
                for (rule, score), estimate in zip(written.rules, known, strict=True)
            )
            results.append(
                GeneratedRules(
                    name,
                    written.exchange.prompt,
                    written.exchange.reply,
                    written.best,
                    rules,
                    written.left_out,
                    written.refusal,
                    written.likeliest,
                )
            )
            notes += [f"reply {name[:60]}: {note}" for note in written.notes]
        if report:
            report(len(results), len(exchanges))
    return RunRecord(
        "rules generate",
        seed=chosen.seed,
        config={
            **asdict(chosen),
            "adapter": str(chosen.adapter) if chosen.adapter else None,
            "rulebook": ready.rulebook,
            "source": str(exchanges.path) if isinstance(exchanges, ExchangeFile) else "given",
            "options": plain_options(chosen),
        },
        models=list(ready.refs),
        results=results,
        statistics=GenerateStatistics(
            exchanges=len(results),
            with_rules=sum(bool(row.rules) for row in results),
            rules=sum(len(row.rules) for row in results),
            left_out=sum(len(row.left_out) for row in results),
            refusals=dict(Counter(row.refusal for row in results if row.refusal)),
            seconds=time.monotonic() - started,
        ),
        warnings=[NOT_LAW, ESTIMATED, *first_notes(notes)],
    )


def write_best(record: RunRecord, path: Path) -> None:
    """Write the likeliest hypothesis of each exchange as JSONL, as `reproduce integrity` reads it.

    Kept or not: the paper measures what a model writes, and choosing would flatter it.
    """
    check_writable(path)
    model = f"{record.config['generator']} {record.config['decoding']}"
    rows = (
        {"model": model, "prompt": row.prompt, "reply": row.reply, "rule": row.likeliest}
        for row in record.results
        if row.likeliest
    )
    write_whole(path, (f"{json.dumps(row)}\n".encode() for row in rows))
