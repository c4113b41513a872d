"""How well the zero-shot filters do on exchanges that were written before they were run."""

from pathlib import Path

import pytest
import yaml

from moralscope.rules.collect.filters import ZeroShotMoralContent, ZeroShotSufficiency
from moralscope.rules.collect.lexicons import load_lexicon
from moralscope.rules.collect.train import measure_filter
from moralscope.rules.rulebook import shipped_rulebook

CASES = yaml.safe_load(Path(__file__).with_name("collect.yaml").read_text("utf-8"))


def pairs(rows):
    return [(row["prompt"], row["reply"]) for row in rows]


@pytest.fixture(scope="module")
def measured(remembering_minilm):
    rules = [rule.text for rule in shipped_rulebook().rules]
    makers = {
        "sufficient": ZeroShotSufficiency(remembering_minilm),
        "moral": ZeroShotMoralContent(remembering_minilm, rules),
    }
    found = {}
    for part, rows in CASES.items():
        for name, classifier in makers.items():
            # Moral content is asked of what says something: the rest is dropped before.
            own = [row for row in rows if name == "sufficient" or row["sufficient"]]
            told = classifier.probabilities(pairs(own))[:, 1] > 0.5
            found[part, name] = measure_filter([bool(row[name]) for row in own], told.tolist())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sufficient", "moral"])
def test_the_zero_shot_filters_hold_on_test(measured, name):
    assert measured["dev", name].f1 >= 85
    assert measured["test", name].f1 >= 75  # the paper's trained ones have 55.6 to 72.2 on theirs


def test_the_exchanges_are_balanced_and_different():
    seen = [pair for rows in CASES.values() for pair in pairs(rows)]
    assert len(seen) == len(set(seen)) >= 78
    for rows in CASES.values():
        assert 0.3 <= sum(row["sufficient"] for row in rows) / len(rows) <= 0.7
        assert 0.25 <= sum(row["moral"] for row in rows) / len(rows) <= 0.6


def test_our_lexicon_lets_most_moral_exchanges_through():
    lexicon = load_lexicon("moralscope")
    hit = [
        (row["moral"], bool(lexicon.find(" ".join(pair))))
        for rows in CASES.values()
        for row, pair in zip(rows, pairs(rows), strict=True)
        if row["sufficient"]
    ]
    moral = [found for kind, found in hit if kind]
    other = [found for kind, found in hit if not kind]
    assert sum(moral) / len(moral) >= 0.9
    assert sum(other) / len(other) <= 0.5
