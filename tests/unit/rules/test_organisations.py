"""Rules of organisations as lessons: pairs, conditions, what breaks none, what teachers read."""

from moralscope.models.training.records import UNLABELLED
from moralscope.rules.reply_reader import FINE, VERDICTS
from moralscope.rules.training.organisations import (
    CONDITION,
    fine_replies,
    organisation_examples,
    organisations,
    unlabelled_pairs,
)
from moralscope.rules.verdict import alignment_pair

TRAIN = [one for one in organisations().values() if one.part == "train"]


def test_every_organisation_has_eight_rules_and_names_no_rule_that_it_lacks():
    for name, one in organisations().items():
        assert len(one.rules) == 8, name
        assert all(1 <= at <= 8 for row in one.mixed for at in row.breaks), name
        assert all(len(pair) == 2 for entry in one.rules for pair in entry.pairs), name


def test_a_condition_holds_where_the_rule_is_kept_or_broken():
    lessons = {
        row.pair: row.label for row in organisation_examples("train") if row.task == CONDITION
    }
    entries = [entry for one in TRAIN for entry in one.rules if entry.shape == CONDITION]
    sides = [(entry.rule, *side) for entry in entries for s in entry.sides() for side in s.items()]
    assert len(lessons) > len(entries)
    for rule, label, exchange in sides:
        assert lessons[alignment_pair(rule, exchange)] == (label != "neither")


def test_what_breaks_no_rule_is_a_fine_reply():
    rows = fine_replies("train")
    assert {VERDICTS[row.label] for row in rows} == {FINE}
    assert len(rows) == sum(not row.breaks for one in TRAIN for row in one.mixed)


def test_a_teacher_reads_exchanges_beside_rules_they_were_not_all_written_for():
    rows = unlabelled_pairs(0)
    assert {(row.label, row.group) for row in rows} == {(-1, UNLABELLED)}
    rules = {" ".join(entry.rule.split()) for one in TRAIN for entry in one.rules}
    assert {row.pair[0] for row in rows} <= rules  # nothing of what is held out
    assert rows == unlabelled_pairs(0)
