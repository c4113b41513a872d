"""The 120 exchanges: what they are, and how often the right rule is among the first five."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from moralscope.integrity.records import ALIGNMENTS, Exchange
from moralscope.integrity.retrieval import RandomRules, Retriever
from moralscope.integrity.rulebook import shipped_rulebook

ROWS = yaml.safe_load((Path(__file__).parent / "exchanges.yaml").read_text("utf-8"))


def test_the_exchanges_are_balanced_and_name_our_rules():
    rules = shipped_rulebook().by_id()
    assert Counter(row["label"] for row in ROWS) == dict.fromkeys(ALIGNMENTS, 40)
    assert all(row["rule"] in rules and 1 <= row["severity"] <= 5 for row in ROWS)
    assert len({(row["prompt"], row["reply"]) for row in ROWS}) == 120
    assert {f"hard-{n}" for n in (1, 2, 3, 4)} <= {row["kind"] for row in ROWS}
    assert {"sarcasm", "negation", "quoting", "refusal"} <= {row["kind"] for row in ROWS}
    first = Counter(rules[row["rule"]].foundations[0] for row in ROWS)
    assert len(first) == 6
    assert min(first.values()) >= 10


def share_in_first_five(finder):
    found = finder.find([Exchange(row["prompt"], row["reply"]) for row in ROWS], 5)
    hits = [
        row["rule"] in [rule.id for rule, _ in rules]
        for row, rules in zip(ROWS, found, strict=True)
    ]
    return sum(hits) / len(hits)


# Measured once, when the way of searching had been chosen on 36 other exchanges: minilm 0.708,
# mpnet 0.783. The aim is 0.80 and is not reached; these floors only keep it from getting worse.
@pytest.mark.slow
def test_minilm_finds_the_right_rule_among_five(minilm):
    assert share_in_first_five(Retriever(shipped_rulebook().rules, minilm)) >= 0.69


@pytest.mark.slow
def test_mpnet_finds_the_right_rule_among_five(mpnet):
    assert share_in_first_five(Retriever(shipped_rulebook().rules, mpnet)) >= 0.76


def test_chance_finds_hardly_any():
    assert share_in_first_five(RandomRules(shipped_rulebook().rules)) <= 0.1
