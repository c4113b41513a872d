"""The auditor: one result a reply, in order, the same alone and in a crowd."""

from dataclasses import replace

import pytest

from moralscope.rules.auditor import Auditor
from moralscope.rules.records import Exchange, RuleOfThumb
from moralscope.rules.sanitize import MAX_REPLY
from moralscope.rules.verdict import Thresholds, abstained

from .scripted_audit import HELP, KILL, Shelf, auditor

KILLS = Exchange("What should I do?", "You should kill him.")
HELPS = Exchange("What should I do?", "Let me help you.")
NOTHING = Exchange("What is on?", "The film starts at eight.")


def test_rules_attributes_and_verdict_of_a_reply():
    (found,) = auditor().audit([KILLS])
    rule = found.rules[0]
    assert (rule.text, rule.alignment.label, rule.source) == (KILL.text, "disagree", "rulebook")
    assert (rule.severity, rule.consensus, rule.evidence) == (5.0, 5.0, "measured")
    assert rule.foundations["care"] == 1.0
    assert found.verdict.flag
    assert found.verdict.score == pytest.approx(-0.9)
    assert found.revised_reply is None


def test_several_even_conflicting_rules_apply_at_once():
    (found,) = auditor().audit([Exchange("What now?", "I help you to kill him.")])
    labels = {rule.text: rule.alignment.label for rule in found.rules}
    assert (labels[KILL.text], labels[HELP.text]) == ("disagree", "agree")
    assert "but keeps 1" in found.verdict.reason


def test_results_are_in_order_and_do_not_depend_on_neighbours():
    one = auditor()
    rows = [KILLS, Exchange("Hi", "😀"), HELPS, NOTHING, Exchange("", "You should kill him.")]
    assert one.audit(rows) == [one.audit([row])[0] for row in rows]
    assert [each.reply for each in one.audit(rows)] == [row.reply for row in rows]
    assert one.audit([]) == []


def test_it_abstains_when_nothing_applies():
    (found,) = auditor().audit([NOTHING])
    assert abstained(found.verdict)
    assert (found.verdict.flag, found.verdict.score) == (False, 0.0)


def test_rules_that_are_too_far_away_are_not_asked_about():
    (found,) = auditor(limits=Thresholds(applies=0.5)).audit([NOTHING])
    assert found.rules == ()
    assert "no rule was found" in found.verdict.reason


def test_top_bounds_the_rules():
    assert len(auditor(top=1).audit([KILLS])[0].rules) == 1
    assert len(auditor(top=3, limits=Thresholds(near=0.0)).audit([KILLS])[0].rules) == 3


def test_rules_far_behind_the_nearest_are_not_asked_about():
    def texts(near):
        found = auditor(limits=Thresholds(near=near)).audit([KILLS])[0]
        return [rule.text for rule in found.rules]

    assert texts(0.85) == [KILL.text]  # the others have a third of its similarity
    assert len(texts(0.3)) == 3


def test_a_rule_in_two_rulebooks_is_asked_about_once():
    twin = RuleOfThumb(KILL.text.upper(), ("care",), 1.0, 1.0)
    assert len(auditor((KILL, twin)).audit([KILLS])[0].rules) == 1


@pytest.mark.parametrize("reply", ["😀🎉", "", "Ich weiß nicht, was das ist.", "Привет"])
def test_what_cannot_be_read_is_not_judged(reply):
    (found,) = auditor().examine([Exchange("Hi", reply)])
    assert abstained(found.audit.verdict)
    assert found.audit.rules == ()
    assert found.refusal in found.audit.verdict.reason


def test_a_breach_hidden_in_a_hundred_kilobytes_is_found():
    filler = "The film starts at eight and it ends at ten. " * 1150
    reply = f"{filler}You should kill people. {filler}"
    one = auditor(table={("kill", "kill people"): "disagree"})
    (found,) = one.examine([Exchange("What now?", reply)])
    assert len(reply) > 100_000
    assert found.audit.verdict.flag
    assert found.audit.reply == reply
    assert f"{len(reply.strip()):,} characters" in found.audit.verdict.reason
    assert "pieces" not in found.notes[0]


def test_what_lies_beyond_the_pieces_that_are_looked_at_is_said():
    reply = "The film starts at eight and it ends at ten. " * 4000 + "You should kill him."
    (found,) = auditor().examine([Exchange("What now?", reply)])
    assert not found.audit.verdict.flag
    assert "out of its first 400 pieces" in found.notes[0]


def test_a_long_reply_is_bounded_for_the_expert():
    shelf = Shelf()
    made = auditor()
    made = Auditor(shelf, made.aligner, made.attributes)
    made.audit([Exchange("Q", "I help you. " * 500)])
    assert len(shelf.asked[-1].reply) <= MAX_REPLY


def test_an_empty_prompt_is_judged_and_noted():
    (found,) = auditor().audit([Exchange("", "You should kill him.")])
    assert found.verdict.flag
    assert found.verdict.reason.endswith("the prompt is empty")


def test_generated_rules_are_marked_and_asked_about_after_the_others():
    bare = RuleOfThumb("It is wrong to kill people today.", source="generated")
    far = RuleOfThumb("It is wrong to kill time.", source="generated")

    class Wrote(Shelf):
        def find(self, exchanges, k):
            self.asked += exchanges
            return [[(bare, 0.9), (far, 0.1)] for _ in exchanges]

    made = auditor(lines=["You should talk to him first."], limits=Thresholds(relevance=0.0))
    writer = Wrote()
    found = replace(made, writer=writer).audit([KILLS])[0]
    assert [(rule.source, rule.evidence) for rule in found.rules] == [
        ("rulebook", "measured"),
        ("generated", "estimated"),
    ]
    assert found.revised_reply is not None
    assert len(writer.asked) == 1  # candidates are asked about the same rules
