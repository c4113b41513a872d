"""Choose the limits of the verdict on exchanges written for choosing, never on the 120.

    python bench/audit_thresholds.py [mpnet] [tests/golden/dev_exchanges.yaml]

Each row has prompt, reply, rule (its text) and alignment. For every `disagree` and `agree` prints
the macro-F1 of the three labels (a label below its limit becomes neither) and the best pair. Then,
for every `near`, what whole audits make of the same rows and of the written exchanges of held-out
rules: how many that break their rule are flagged, how many others are, and how many rules that
takes a reply. Put limits into `Thresholds` (rules/verdict.py), or into a TOML file for `audit
--config`.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml

from moralscope.rules.alignment_examples import written_exchanges
from moralscope.rules.audit import AuditOptions, alignment_expert, prepare_auditor
from moralscope.rules.records import ALIGNMENTS, Exchange
from moralscope.rules.verdict import Aligner, decide
from moralscope.stories.experts import RULES, prepare_experts

GRID = np.round(np.arange(0.35, 0.86, 0.05), 2)
NEAR = (0.0, 0.8, 0.85, 0.9, 0.95, 1.0)
ROWS = Path(__file__).parent.parent / "tests" / "golden" / "dev_exchanges.yaml"


def labels(probabilities: np.ndarray, disagree: float, agree: float) -> np.ndarray:
    """Return the places in ALIGNMENTS: the likeliest label, else neither."""
    found = probabilities.argmax(axis=1)
    limits = np.array([disagree, agree, 0.0])
    unsure = probabilities.max(axis=1) < limits[found]
    return np.where(unsure, ALIGNMENTS.index("neither"), found)


def macro_f1(gold: np.ndarray, found: np.ndarray) -> float:
    scores = []
    for label in range(len(ALIGNMENTS)):
        both = ((gold == label) & (found == label)).sum()
        scores.append(2 * both / max(1, (gold == label).sum() + (found == label).sum()))
    return float(np.mean(scores))


def whole_audits(name: str, rows: list[dict[str, str]]) -> None:
    """Print a line for every `near`; each rule is asked about once."""
    auditor = prepare_auditor(AuditOptions(experts=name)).auditor
    known = [(Exchange(row["prompt"], row["reply"]), row["alignment"]) for row in rows]
    held = [row for row in written_exchanges() if row.split == "dev"]
    known += [(row.exchange, row.alignment) for row in held]
    found = auditor.retriever.find([exchange for exchange, _ in known], auditor.top)
    every = replace(auditor, thresholds=replace(auditor.thresholds, applies=-1.0, near=0.0))
    judged = every.judge([exchange for exchange, _ in known], [()] * len(known))
    for near in NEAR:
        limits = replace(auditor.thresholds, near=near)
        choosing = replace(auditor, thresholds=limits)
        flagged, asked = [], 0
        for some, each in zip(found, judged, strict=True):
            texts = {rule.text for rule in choosing._near(some)}
            asked += len(texts)
            kept = tuple(rule for rule in each.findings if rule.text in texts)
            flagged.append(decide(kept, limits).flag)
        broken = np.array([label == "disagree" for _, label in known])
        told = np.array(flagged)
        print(f"near = {near:.2f}: {told[broken].mean():.1%} of {broken.sum()} flagged, "
              f"{told[~broken].mean():.1%} of the {(~broken).sum()} others, "
              f"{asked / len(known):.2f} rules a reply")  # fmt: skip


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "mpnet"
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else ROWS
    rows = yaml.safe_load(path.read_text("utf-8"))
    classifier, notes = alignment_expert(prepare_experts(name, family=RULES))
    pairs = [(row["rule"], Exchange(row["prompt"], row["reply"])) for row in rows]
    answers = Aligner(classifier).align(pairs)
    probabilities = np.array([[one.probabilities[x] for x in ALIGNMENTS] for one in answers])
    gold = np.array([ALIGNMENTS.index(row["alignment"]) for row in rows])
    print(f"{classifier.name}: {len(rows)} exchanges", *notes, sep="\n  ")
    table = {(d, a): macro_f1(gold, labels(probabilities, d, a)) for d in GRID for a in GRID}
    print("disagree \\ agree", *(f"{a:5.2f}" for a in GRID))
    for d in GRID:
        print(f"{d:16.2f}", *(f"{table[d, a]:5.3f}" for a in GRID))
    middle = max(table, key=lambda pair: (table[pair], -abs(pair[0] - 0.5) - abs(pair[1] - 0.5)))
    print(f"best: disagree = {middle[0]}, agree = {middle[1]} (macro-F1 {table[middle]:.3f}); "
          f"without limits {macro_f1(gold, probabilities.argmax(axis=1)):.3f}")  # fmt: skip
    whole_audits(name, rows)


if __name__ == "__main__":
    main()
