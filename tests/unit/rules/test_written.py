"""Exchanges written for training: for every rule, of every label, and none of the tests'."""

from collections import Counter
from pathlib import Path

import yaml

from moralscope.rules.records import ALIGNMENTS
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.training.alignment_examples import (
    annotated_examples,
    written_examples,
    written_exchanges,
)

GOLDEN = Path(__file__).parents[2] / "golden"
ROWS = written_exchanges()


def test_every_rule_has_every_label():
    found = Counter((row.rule, row.alignment) for row in ROWS)
    for rule in shipped_rulebook().rules:
        assert all(found[rule.text, label] for label in ALIGNMENTS), rule.id


def test_no_exchange_stands_twice_or_in_the_tests():
    own = [(row.exchange.prompt, row.exchange.reply) for row in ROWS]
    assert len(set(own)) == len(own)
    for name in ("exchanges.yaml", "dev_exchanges.yaml"):
        rows = yaml.safe_load((GOLDEN / name).read_text("utf-8"))
        replies = {row["reply"] for row in rows}
        assert not replies & {reply for _, reply in own}


def test_rules_of_dev_train_nothing():
    parts = {part: {row.rule for row in ROWS if row.split == part} for part in ("train", "dev")}
    assert not parts["train"] & parts["dev"]
    assert len(parts["dev"]) > 40


def test_reversed_rules_turn_the_label_and_other_rules_take_it_away():
    train = [row for row in ROWS if row.split == "train"][:400]
    own = {(row.exchange.prompt, row.rule): row.alignment for row in train}
    lessons = written_examples(train, lambda rule: [f"not: {rule}"], weight=2.0, seed=0)
    kinds = Counter()
    for lesson in lessons:
        rule, text = lesson.pair
        prompt = next(row.exchange.prompt for row in train if row.exchange.prompt in text)
        told = ALIGNMENTS[lesson.label]
        if rule.startswith("not: "):
            wanted = {"agree": "disagree", "disagree": "agree"}
            was = own[prompt, rule.removeprefix("not: ")]
            assert told == wanted.get(was, "neither")
            kinds["reversed"] += 1
        elif (prompt, rule) not in own:
            assert told == "neither"
            assert lesson.weight == 1.0
            kinds["other"] += 1
    assert kinds["reversed"] > 100
    assert kinds["other"] > 50


def test_dev_is_one_group():
    assert {row.group for row in annotated_examples(ROWS[:3], "written")} == {"written"}
