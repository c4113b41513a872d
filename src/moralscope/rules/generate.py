"""Write rules of thumb for exchanges with a generator: one reply, or a file of them.

Every attribute of a written rule is an estimate from like rules of the rulebook, and says so. No
reply is judged here: that is `audit --generate`.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import ModelRef, RunRecord
from moralscope.io.files import check_writable, model_refs, write_whole
from moralscope.models.encoders import load_encoder
from moralscope.models.language import generator_refs, load_generator
from moralscope.models.store import Progress
from moralscope.rules.attributes import Attributes
from moralscope.rules.audit_files import ExchangeFile, blocks
from moralscope.rules.options import GenerateOptions
from moralscope.rules.records import Exchange, GeneratedRule, first_notes
from moralscope.rules.rule_writer import DECODINGS, LeftOut, RuleWriter, WrittenRules
from moralscope.rules.rulebook import NOT_LAW, load_layers

ESTIMATED = "severity, consensus and foundations are estimates from like rules of the rulebook"
_BLOCK = 64  # exchanges whose rules are written at once

Report = Callable[[int, int], None]
Exchanges = Sequence[Exchange] | ExchangeFile


@dataclass(frozen=True, slots=True)
class GeneratedRules:
    """What was written for one exchange: rules worth keeping, most applicable first.

    `best` is the hypothesis with the highest score, which is what the paper measures.
    """

    id: str
    prompt: str
    reply: str
    best: str
    rules: tuple[GeneratedRule, ...]
    left_out: tuple[LeftOut, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class RuleWriting:
    """A ready writer, what estimates attributes, and the weights in both."""

    writer: RuleWriter
    attributes: Attributes
    rulebook: str
    refs: Sequence[ModelRef] = ()


def prepare_writing(options: GenerateOptions, progress: Progress | None = None) -> RuleWriting:
    """Load the generator, the encoder and the rulebook.

    Examples
    --------
    >>> ready = prepare_writing(GenerateOptions(generator="scripted", encoder="scripted"))
    >>> ready.rulebook, [ref.name for ref in ready.refs]
    ('moralscope', ['scripted', 'scripted'])
    """
    book = load_layers(options.rulebooks)
    generator = load_generator(options.generator, adapter=options.adapter, progress=progress)
    encoder = load_encoder(options.encoder, progress)
    writer = RuleWriter(
        generator,
        encoder,
        book.rules,
        decoding=DECODINGS[options.decoding],
        keep=options.keep,
        seed=options.seed,
    )
    refs = [*model_refs([encoder]), *generator_refs(generator)]
    return RuleWriting(writer, Attributes(book.rules, encoder), book.name, refs)


def generate_rules(
    exchanges: Exchanges,
    options: GenerateOptions | None = None,
    *,
    ready: RuleWriting | None = None,
    report: Report | None = None,
    **given: Any,
) -> RunRecord:
    """Write rules for exchanges and return a run record with one result an exchange, in order.

    Parameters
    ----------
    exchanges
        Exchanges, or a file of them (`rules.audit_files.open_exchanges`), read in blocks.
    options
        `GenerateOptions`, or its fields as keywords.
    ready
        What `prepare_writing` made; else it is made from the options.
    report
        Called with (done, total) as the work goes on.

    Examples
    --------
    >>> options = GenerateOptions(generator="scripted", encoder="scripted", decoding="greedy")
    >>> record = generate_rules([Exchange("Hi!", "Hello you.")], options)
    >>> record.results[0].rules, record.results[0].left_out[0].text == record.results[0].best
    ((), True)
    """
    chosen = chosen_options(GenerateOptions, options, given)
    if not len(exchanges):
        raise InputError("there are no exchanges to write rules for", "give at least one")
    ready = ready or prepare_writing(chosen)
    started = time.monotonic()
    results: list[GeneratedRules] = []
    notes: list[str] = []
    for block in blocks(exchanges, _BLOCK):
        for each in ready.writer.write(block):
            name = each.exchange.id or str(len(results) + 1)
            results.append(_result(name, each, ready.attributes))
            notes += [f"reply {name[:60]}: {note}" for note in each.notes]
        if report:
            report(len(results), len(exchanges))
    seconds = time.monotonic() - started
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
        statistics={**_counts(results), "seconds": seconds},
        warnings=[NOT_LAW, ESTIMATED, *first_notes(notes)],
    )


def write_best(record: RunRecord, path: Path) -> None:
    """Write the best rule of each exchange as JSONL, as `reproduce integrity` reads it."""
    check_writable(path)
    model = f"{record.config['generator']} {record.config['decoding']}"
    rows = (
        {"model": model, "prompt": row.prompt, "reply": row.reply, "rule": row.best}
        for row in record.results
        if row.best
    )
    write_whole(path, (f"{json.dumps(row)}\n".encode() for row in rows))


def _result(name: str, each: WrittenRules, attributes: Attributes) -> GeneratedRules:
    known = attributes.of([rule for rule, _ in each.rules])
    rules = tuple(
        GeneratedRule(
            rule.text,
            score,
            **own.scales,
            foundations=own.foundations,
            source=rule.source,
            evidence=own.evidence,
        )
        for (rule, score), own in zip(each.rules, known, strict=True)
    )
    given = each.exchange
    return GeneratedRules(
        name, given.prompt, given.reply, each.best, rules, each.left_out, each.refusal
    )


def _counts(results: Sequence[GeneratedRules]) -> dict[str, Any]:
    return {
        "exchanges": len(results),
        "with_rules": sum(bool(row.rules) for row in results),
        "rules": sum(len(row.rules) for row in results),
        "left_out": sum(len(row.left_out) for row in results),
        "refusals": dict(Counter(row.refusal for row in results if row.refusal)),
    }
