"""Which rule an audit names for flagged replies that nobody wrote for a rule.

    python bench/lead_rule.py [mpnet] [--out leads.tsv]
    python bench/lead_rule.py --read bench/lead_readings.tsv

The first prints what is flagged of 120 exchanges (`lead_exchanges.tsv`), with evidence, concern and
the rule that leads, for readers to say yes or no: does this rule explain the flag? The second sums
up what two readers said: columns reply, rule, first, second (1 yes, 0 no; no rule named: left out).
"""

import argparse
import csv
import sys
from pathlib import Path

from moralscope.rules.audit import prepare_auditor
from moralscope.rules.audit_options import AuditOptions
from moralscope.rules.records import Exchange
from moralscope.stats.intervals import wilson

HERE = Path(__file__).parent


def exchanges() -> list[Exchange]:
    lines = (HERE / "lead_exchanges.tsv").read_text("utf-8").splitlines()
    return [Exchange(*line.split("\t")) for line in lines]


def sum_up(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    named = [row for row in rows if row["rule"]]
    for reader in ("first", "second"):
        yes = wilson(sum(row[reader] == "1" for row in named), len(named))
        print(f"{reader} reader: {yes.value:.3f} [{yes.low:.2f}, {yes.high:.2f}] of {len(named)}")
    same = wilson(sum(row["first"] == row["second"] for row in named), len(named))
    print(f"agreement {same.value:.3f}; {len(rows) - len(named)} flags are explained by no rule")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("experts", nargs="?", default="mpnet")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path)
    arguments = parser.parse_args()
    if arguments.read is not None:
        sum_up(arguments.read)
        return
    auditor = prepare_auditor(AuditOptions(experts=arguments.experts)).auditor
    rows = auditor.audit(exchanges())
    file = arguments.out.open("w", encoding="utf-8") if arguments.out else sys.stdout
    for row in rows:
        if row.verdict.flag:
            words = " … ".join(span.text for span in row.evidence if span.turns)
            concern = row.verdict.concern or ""
            print(
                row.prompt, row.reply, words, concern, row.verdict.lead or "", sep="\t", file=file
            )
    flagged = wilson(sum(row.verdict.flag for row in rows), len(rows))
    print(f"{flagged.value:.3f} of {len(rows)} flagged", file=sys.stderr)


if __name__ == "__main__":
    main()
