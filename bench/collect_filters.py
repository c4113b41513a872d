"""Print how well the zero-shot filters of `collect` do on tests/golden/collect.yaml.

Run by hand: python bench/collect_filters.py [ENCODER ...]
"""

import sys
from pathlib import Path

import yaml

from moralscope.models.encoders import load_encoder
from moralscope.rules.collect.filters import ZeroShotMoralContent, ZeroShotSufficiency
from moralscope.rules.collect.train import measure_filter
from moralscope.rules.rulebook import shipped_rulebook

CASES = Path(__file__).parents[1] / "tests" / "golden" / "collect.yaml"


def main() -> None:
    """Measure each encoder named, minilm by default, on dev and test."""
    cases = yaml.safe_load(CASES.read_text("utf-8"))
    rules = [rule.text for rule in shipped_rulebook().rules]
    for name in sys.argv[1:] or ["minilm"]:
        encoder = load_encoder(name)
        filters = {
            "sufficient": ZeroShotSufficiency(encoder),
            "moral": ZeroShotMoralContent(encoder, rules),
        }
        for part, rows in cases.items():
            for label, classifier in filters.items():
                own = [row for row in rows if label == "sufficient" or row["sufficient"]]
                pairs = [(row["prompt"], row["reply"]) for row in own]
                told = (classifier.probabilities(pairs)[:, 1] > 0.5).tolist()
                found = measure_filter([bool(row[label]) for row in own], told)
                span = f"({found.low:.1f} … {found.high:.1f})"
                print(f"{name:8} {part:5} {label:11} F1 {found.f1:5.1f} {span} n = {found.n}")


if __name__ == "__main__":
    main()
