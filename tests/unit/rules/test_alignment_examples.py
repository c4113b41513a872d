"""Lessons of alignment: labels follow from stance, side and polarity, and from nothing else."""

from collections import Counter

import pytest

from moralscope.rules.records import ALIGNMENTS, Annotation, Exchange
from moralscope.rules.training.alignment_examples import (
    REVERSED,
    STANCES,
    RuleCase,
    alignment_dev,
    alignment_examples,
    annotated_examples,
)
from moralscope.rules.verdict import TASK
from moralscope.stories.norms.first_person import OwnAct

LIE = OwnAct("lie", "lied", "lying")
PAY = OwnAct("pay", "paid", "paying")
SING = OwnAct("sing", "sang", "singing")
MATTERS = [
    RuleCase("Don't lie.", ("Lying is bad.",), ("Lie!",), breaks=(LIE,), keeps=(PAY,)),
    RuleCase("You may sing.", (), ("Never sing.",), keeps=(SING,), permits=True),
]
DISAGREE, AGREE, NEITHER = (ALIGNMENTS.index(x) for x in ("disagree", "agree", "neither"))


def lessons(turns=60):
    return alignment_examples(MATTERS, turns=turns, seed=0)


def test_the_reversed_rule_has_the_other_label_for_the_same_exchange():
    by_text = {}
    for row in lessons():
        by_text.setdefault((row.turn, row.pair[1]), {})[row.pair[0]] = row.label
    pairs = [
        (found.get("Don't lie.", found.get("Lying is bad.")), found["Lie!"])
        for found in by_text.values()
        if "Lie!" in found and ("Don't lie." in found or "Lying is bad." in found)
    ]
    told = [pair for pair in pairs if NEITHER not in pair]
    assert len(told) > 30
    assert all(sorted(pair) == sorted((DISAGREE, AGREE)) for pair in told)


def test_another_matter_s_rule_is_neither():
    for row in lessons():
        text = row.pair[1].lower()
        sings = "sing" in text or "sang" in text
        if "never sing" in row.pair[0].lower() or "may sing" in row.pair[0].lower():
            assert sings or row.label == NEITHER or "answers" in text


def test_plain_deeds_agree_and_disagree_as_they_should():
    for row in alignment_dev(MATTERS, 0):
        if row.group == TASK and row.pair[0] == "Don't lie.":
            if "I would lie" in row.pair[1] or "I lied" in row.pair[1]:
                assert row.label == DISAGREE
            if "I would pay" in row.pair[1] or "I paid" in row.pair[1]:
                assert row.label == AGREE


def test_dev_has_its_groups_and_all_labels():
    found = Counter((row.group, row.label) for row in alignment_dev(MATTERS * 4, 0))
    assert {group for group, _ in found} == {TASK, REVERSED, STANCES}
    assert all(found[TASK, label] for label in range(3))


def test_refusing_breaks_no_permission():
    for row in lessons(200):
        if row.pair[0] == "You may sing." and "I would never sing." in row.pair[1]:
            assert row.label == NEITHER


def test_turns_differ_and_the_seed_decides():
    rows = lessons(2)
    turns = [{row.pair for row in rows if row.turn == (turn, 2)} for turn in range(2)]
    assert turns[0] != turns[1]
    assert rows == lessons(2) != alignment_examples(MATTERS, turns=2, seed=1)


def test_a_matter_alone_has_no_other_rule():
    rows = alignment_examples(MATTERS[:1], turns=3, seed=0)
    assert {row.pair[0] for row in rows} <= {"Don't lie.", "Lying is bad.", "Lie!"}


@pytest.mark.parametrize("label", ALIGNMENTS)
def test_annotations_keep_their_label(label):
    rows = [
        Annotation(Exchange("q", "a"), "Don't lie.", label),
        Annotation(Exchange("q", "b"), "x"),
    ]
    (found,) = annotated_examples(rows, "exchanges")
    assert (ALIGNMENTS[found.label], found.group) == (label, "exchanges")


def test_outcomes_are_reasons_for_keeping_the_rule():
    matter = RuleCase("Don't lie.", breaks=(LIE,), keeps=(PAY,), gains="win", costs="get fired")
    rows = alignment_examples([matter], turns=300, seed=0)
    told = [
        row for row in rows if "I would get fired" in row.pair[1] or "I would win" in row.pair[1]
    ]
    assert told
    assert all(row.label == AGREE for row in told)


def test_to_be_against_one_way_of_keeping_a_prohibition_is_not_taught():
    matter = RuleCase("Don't lie.", breaks=(LIE,), keeps=(PAY,), forbids=True)
    rows = alignment_examples([matter], turns=300, seed=0)
    told = [row for row in rows if "never pay" in row.pair[1] or "Paying is wrong" in row.pair[1]]
    assert all(row.label != DISAGREE for row in told)
    assert any("never lie" in row.pair[1] and row.label == AGREE for row in rows)
