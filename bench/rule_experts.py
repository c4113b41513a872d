"""How well experts of rules do on the whole test parts: alignment, and foundations.

    MORALSCOPE_DATA=… python bench/rule_experts.py [mpnet] [--dev] [--limit N] [--exact]

Alignment: macro-F1 (agree, disagree, neither) on exchanges made of Moral Stories, norm-distance
test, as they are and with the rule's polarity reversed (wanted: 0.80 and 0.75). Foundations:
macro-F1 over the five of SOCIAL-CHEM-101 (wanted: 0.55). In 8 bits, as audits compute; `--exact`
in 32.
"""

import sys

import numpy as np

from moralscope.models.training.metrics import label_f1
from moralscope.rules.alignment_examples import REVERSED
from moralscope.rules.attribute_examples import FOUNDATIONS_TASK
from moralscope.rules.training_data import examples_at_hand
from moralscope.rules.verdict import TASK
from moralscope.stories.experts import RULES, prepare_experts


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    limit = int(words.pop()) if "--limit" in sys.argv else None
    name, part = (words or ["mpnet"])[0], "dev" if "--dev" in sys.argv else "test"
    experts = prepare_experts(name, family=RULES, eight_bits="--exact" not in sys.argv)
    lessons = examples_at_hand((TASK, FOUNDATIONS_TASK), None, limit, 1, 0).parts[part]
    for group in (TASK, REVERSED):
        rows = [row for row in lessons if row.group == group]
        found = experts.values(TASK, [row.pair for row in rows]).argmax(axis=1)
        columns = np.arange(len(experts.labels(TASK)))
        gold = np.array([row.label for row in rows])
        each = label_f1(gold[:, None] == columns, found[:, None] == columns)
        told = ", ".join(f"{n} {f:.3f}" for n, f in zip(experts.labels(TASK), each, strict=True))
        print(f"{name}, {part}, {group}: macro-F1 {each.mean():.3f} ({told}; {len(rows):,} pairs)")
    rows = [row for row in lessons if row.task == FOUNDATIONS_TASK]
    values = experts.values(FOUNDATIONS_TASK, [row.pair for row in rows])
    taken = values >= np.array(experts.thresholds(FOUNDATIONS_TASK))
    each = label_f1(np.array([row.values for row in rows]) > 0, taken)
    print(f"{name}, {part}, foundations: macro-F1 {each.mean():.3f} ({len(rows):,} rules)")


if __name__ == "__main__":
    main()
