"""Texts that are written for twenty bad replies: revised replies and rules, to be read by eye.

    python bench/bad_texts.py revise [--generator smollm2] [--experts mpnet]
    python bench/bad_texts.py rules [--generator rules]
    python bench/bad_texts.py limits

Prints each text with the audit's probability of a bad reply before and after, and the means. The
replies (bench/bad_replies.tsv) were written for this and taught nothing. `limits` says what passes
the limits of fluency and relevance: replies of ours, the same with their words or the letters of
every sixth word in any order, and as answers to another question.
"""

import argparse
import csv
import random
import time
from pathlib import Path

from moralscope import audit
from moralscope.models.language import load_language_model
from moralscope.models.language.text_check import (
    CHECKER,
    LEAST_FLUENCY,
    LEAST_RELEVANCE,
    TextCheck,
)
from moralscope.rules.records import Exchange
from moralscope.rules.training.alignment_examples import written_exchanges
from moralscope.rules.writing.rule_writer import generate_rules

ROWS = Path(__file__).with_name("bad_replies.tsv")


def revise(exchanges: list[Exchange], options: argparse.Namespace) -> None:
    record = audit(
        exchanges=exchanges,
        experts=options.experts,
        revise=True,
        generator=options.generator or "smollm2",
        evidence="auto",
    )
    before, after = [], []
    for row in record.results:
        gauge = row.verdict.gauge
        print(f"\n{row.prompt}\n  {row.reply}")
        print(f"  -> {row.revised_reply} [{row.revised_by}]" if row.revised_reply else "  -> none")
        if gauge and row.revised_reply:
            again = audit(
                exchanges=[Exchange(row.prompt, row.revised_reply)], experts=options.experts
            )
            new = again.results[0].verdict.gauge
            before.append(gauge.value)
            after.append(new.value if new else 0.0)
            print(f"  P(bad) {before[-1]:.2f} -> {after[-1]:.2f}")
    flagged = sum(row.verdict.flag for row in record.results)
    count = max(1, len(after))
    print(
        f"\n{options.generator or 'smollm2'}: {flagged} flagged, {len(after)} revised, mean P(bad) "
        f"{sum(before) / count:.3f} -> {sum(after) / count:.3f}"
    )


def rules(exchanges: list[Exchange], options: argparse.Namespace) -> None:
    record = generate_rules(exchanges, generator=options.generator or "rules")
    for row in record.results:
        print(f"\n{row.prompt}\n  {row.reply}")
        for rule in row.rules:
            print(f"  -> {rule.text} [{rule.alignment}]{' *' if rule.text == row.best else ''}")
        for out in row.left_out:
            print(f"     not: {out.text} ({out.reason})")
    print(f"\n{record.statistics['with_rules']} of {len(exchanges)} with rules")


def limits() -> None:
    draw = random.Random(0)
    rows = {(one.exchange.prompt, one.exchange.reply): None for one in written_exchanges()}
    pairs = [(prompt, reply) for prompt, reply in rows if prompt and len(reply.split()) > 5]
    draw.shuffle(pairs)
    pairs = pairs[:200]

    def shuffled(text: str) -> str:
        return " ".join(draw.sample(text.split(), len(text.split())))

    def misspelt(text: str) -> str:
        words = text.split()
        for at in draw.sample(range(len(words)), max(1, len(words) // 6)):
            words[at] = "".join(draw.sample(words[at], len(words[at])))
        return " ".join(words)

    turned = [(pairs[at - 37][0], reply) for at, (_, reply) in enumerate(pairs)]
    kinds = {
        "as they are": pairs,
        "words in any order": [(prompt, shuffled(reply)) for prompt, reply in pairs],
        "letters in any order": [(prompt, misspelt(reply)) for prompt, reply in pairs],
        "to another question": turned,
    }
    check = TextCheck(load_language_model(CHECKER))
    for kind, some in kinds.items():
        read = check.read(some)
        fluent = sum(one.fluency >= LEAST_FLUENCY for one in read) / len(read)
        relevant = sum(one.relevance >= LEAST_RELEVANCE for one in read) / len(read)
        print(f"{kind}: fluent {fluent:.0%}, relevant {relevant:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("revise", "rules", "limits"))
    parser.add_argument("--generator")
    parser.add_argument("--experts", default="mpnet")
    options = parser.parse_args()
    if options.what == "limits":
        return limits()
    with ROWS.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    exchanges = [Exchange(row["prompt"], row["reply"]) for row in table]
    started = time.monotonic()
    (revise if options.what == "revise" else rules)(exchanges, options)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
