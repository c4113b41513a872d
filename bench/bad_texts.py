"""Texts that are written for twenty bad replies: revised replies and rules, to be read by eye.

    python bench/bad_texts.py revise [--generator smollm2] [--experts mpnet]
    python bench/bad_texts.py rules [--generator rules]

Prints each text with the audit's probability of a bad reply before and after, and the means. The
replies (bench/bad_replies.tsv) were written for this and taught nothing.
"""

import argparse
import csv
import time
from pathlib import Path

from moralscope import audit
from moralscope.rules.records import Exchange
from moralscope.rules.rule_writer import generate_rules

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
        f"\n{options.generator}: {flagged} flagged, {len(after)} revised, mean P(bad) "
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("revise", "rules"))
    parser.add_argument("--generator")
    parser.add_argument("--experts", default="mpnet")
    options = parser.parse_args()
    with ROWS.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, delimiter="\t"))
    exchanges = [Exchange(row["prompt"], row["reply"]) for row in table]
    started = time.monotonic()
    (revise if options.what == "revise" else rules)(exchanges, options)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
