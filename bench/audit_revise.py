"""Revised replies for those of the 120 golden exchanges that the audit flags.

    python bench/audit_revise.py [EXPERTS]

Prints how many are flagged, how many get a better reply (bar: 60 %), by what, and how many of those
break a rule that the reply kept (bar: none).
"""

import sys
from collections import Counter
from pathlib import Path

import yaml

from moralscope.rules.audit import AuditOptions, prepare_auditor
from moralscope.rules.records import Exchange
from moralscope.rules.verdict import is_broken, is_kept

ROWS = Path(__file__).parent.parent / "tests" / "golden" / "exchanges.yaml"


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "mpnet"
    auditor = prepare_auditor(AuditOptions(experts=name, revise=True)).auditor
    rows = yaml.safe_load(ROWS.read_text("utf-8"))
    exchanges = [Exchange(row["prompt"], row["reply"]) for row in rows]
    judged = auditor.judge(exchanges, [()] * len(exchanges))
    audits = list(auditor.audit(exchanges))
    flagged = [place for place, each in enumerate(audits) if each.verdict.flag]
    revised = [place for place in flagged if audits[place].revised_reply]
    again = auditor.judge(
        [Exchange(exchanges[p].prompt, audits[p].revised_reply or "") for p in revised],
        [judged[place].rules for place in revised],
    )
    limits, worse = auditor.thresholds, 0
    for place, after in zip(revised, again, strict=True):
        kept = {rule.text for rule in judged[place].findings if is_kept(rule, limits)}
        worse += bool(kept & {rule.text for rule in after.findings if is_broken(rule, limits)})
    ways = Counter(audits[place].revised_by for place in revised)
    print(f"{name}: {len(flagged)} of {len(rows)} flagged, {len(revised)} of them revised "
          f"({len(revised) / max(1, len(flagged)):.0%}; {dict(ways)}), {worse} break a rule "
          "that the reply kept")  # fmt: skip


if __name__ == "__main__":
    main()
