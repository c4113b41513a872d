"""What 8 bits change: alignment, verdict and rules found, beside those of 32 bits.

    python bench/audit_drift.py [mpnet] [60]

Pairs are the first two rules found for exchanges of tests/golden/retrieval_dev.yaml.
"""

import sys
from pathlib import Path

import numpy as np
import yaml

from moralscope.rules.audit import alignment_expert
from moralscope.rules.records import Exchange
from moralscope.rules.retrieval import Found, TrainedRetriever
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.verdict import Aligner
from moralscope.stories.experts import RULES, ExpertSet, prepare_experts

ROWS = Path(__file__).parent.parent / "tests" / "golden" / "retrieval_dev.yaml"


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "mpnet"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    rows = [row.split(" | ") for row in yaml.safe_load(ROWS.read_text("utf-8"))][:count]
    asked = [Exchange(prompt, reply) for _, prompt, reply in rows]
    rules = shipped_rulebook().rules
    sets = [prepare_experts(name, family=RULES, eight_bits=light) for light in (False, True)]
    if sets[1].bits == sets[0].bits:
        raise SystemExit("this machine computes in 32 bits only")
    exact, lighter = (TrainedRetriever(rules, each).find(asked, 5) for each in sets)
    pairs = [
        (rule.text, each) for each, some in zip(asked, exact, strict=True) for rule, _ in some[:2]
    ]
    told = [(each.prompt, each.reply) for each in asked]

    def answers(experts: ExpertSet) -> tuple[np.ndarray, np.ndarray]:
        aligned = Aligner(alignment_expert(experts)[0]).align(pairs)
        labels = np.array([list(one.probabilities.values()) for one in aligned])
        return labels, experts.told("verdict", experts.read(told)[0])[:, 1]

    before, after = map(answers, sets)
    one, other = before[0], after[0]
    same = (one.argmax(1) == other.argmax(1)).mean()
    bad = abs(before[1] - after[1])
    print(f"{name}: of {len(pairs)} pairs {same:.1%} keep their label; a probability moves by "
          f"{abs(one - other).mean():.3f} on average and {abs(one - other).max():.3f} at most; "
          f"P(bad) by {bad.mean():.3f} and {bad.max():.3f}; "
          f"{_shared(exact, lighter):.1%} of the first five rules are the same")  # fmt: skip


def _shared(exact: list[Found], lighter: list[Found]) -> float:
    texts = ([{rule.text for rule, _ in some} for some in found] for found in (exact, lighter))
    return float(np.mean([len(one & other) / 5 for one, other in zip(*texts, strict=True)]))


if __name__ == "__main__":
    main()
