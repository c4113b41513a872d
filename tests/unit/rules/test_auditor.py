"""The auditor: one result a reply, in order, the same alone and in a crowd."""

from dataclasses import replace

import pytest

from moralscope.rules.records import CONCERN_WORDS, Exchange, RuleOfThumb
from moralscope.rules.reply_reader import EXPERTISE
from moralscope.rules.thresholds import Thresholds

from .scripted_audit import HELP, KILL, LIE, RULES, Reader, Shelf, auditor

KILLS = Exchange("What should I do?", "You should kill him.")
HELPS = Exchange("What should I do?", "Let me help you.")
NOTHING = Exchange("What is on?", "The film starts at eight.")


def test_rules_attributes_and_verdict_of_a_reply():
    (found,) = auditor().audit([KILLS])
    rule = found.rules[0]
    assert (rule.text, rule.alignment.label, rule.source) == (KILL.text, "disagree", "rulebook")
    assert (rule.severity, rule.consensus, rule.scales_from) == (5.0, 5.0, "rulebook")
    assert rule.foundations["care"] == 1.0
    assert found.verdict.flag
    assert found.verdict.score == pytest.approx(-0.8)
    assert found.verdict.basis == "rule"
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
    assert not found.verdict.is_judged
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
    assert not found.audit.verdict.is_judged
    assert found.audit.rules == ()
    assert found.refusal in found.audit.verdict.reason


FILLER = "The film starts at eight and it ends at ten. " * 1150


@pytest.mark.parametrize("bad", [None, {"kill people": 0.97}])
@pytest.mark.parametrize("at", [0, len(FILLER) // 2, len(FILLER)])
def test_a_breach_anywhere_in_a_hundred_kilobytes_is_found(at, bad):
    reply = f"{FILLER[:at]} You should kill people. {FILLER[at:]}{FILLER}"
    one = auditor(table={("kill", "kill people"): "disagree"}, bad=bad)
    (found,) = one.examine([Exchange("What now?", reply)])
    assert len(reply) > 100_000
    assert found.audit.verdict.flag
    assert found.audit.reply == reply
    assert found.audit.unread == 0


class Short(Reader):
    """Reads all but nine tokens."""

    def read(self, exchanges):
        return [replace(each, unread=9) for each in super().read(exchanges)]


@pytest.mark.parametrize(("do", "flag"), [("pass", False), ("flag", True), ("block", True)])
def test_what_was_not_read_is_counted_and_flags_where_asked(do, flag):
    one = replace(auditor(on_unread=do), reader=Short({"kill": 0.9}))
    (found,) = one.examine([HELPS])
    assert found.audit.unread == 9
    assert found.audit.verdict.flag is flag
    assert found.audit.verdict.basis == ("unread" if flag else None)
    assert found.notes == ("9 tokens of the exchange were not read",)


BAD = {"kill": 0.95, "lie": 0.4}


def test_a_clearly_fine_reply_is_asked_about_no_rule():
    one = replace(auditor(bad=BAD), evidence=False)
    kills, helps = one.audit([KILLS, HELPS])
    assert (kills.verdict.basis, helps.verdict.basis) == ("both", None)
    assert kills.rules
    assert helps.rules == ()
    assert one.retriever.asked == [KILLS]


def test_rules_of_clearly_fine_replies_are_shown_where_asked_and_change_no_verdict():
    table = {("help", "help"): "disagree"}
    plain, shown = (
        auditor(table=table, bad=BAD, explain=explain).audit([HELPS])[0]
        for explain in (False, True)
    )
    assert plain.verdict == shown.verdict
    assert (len(plain.rules), shown.rules[0].alignment.label) == (0, "disagree")
    assert not shown.verdict.flag


def test_a_broken_rule_flags_where_the_reply_is_not_clearly_fine():
    one = auditor(bad=BAD)
    (found,) = one.audit([Exchange("What now?", "You should lie to her, friends.")])
    assert (found.verdict.basis, found.verdict.probability) == ("rule", 0.4)


def test_rules_of_the_house_are_asked_about_whatever_the_reply():
    rule = RuleOfThumb("You should not help people before noon.")
    table = {("before noon", "help"): "disagree"}
    one = auditor((), house=(rule,), table=table, bad=BAD, general=False)
    helps, kills = one.audit([HELPS, KILLS])
    assert (helps.verdict.basis, helps.verdict.probability) == ("rule", None)
    assert not kills.verdict.flag  # only her rules decide
    both = auditor((), house=(rule,), table=table, bad=BAD, general=True)
    assert [each.verdict.basis for each in both.audit([HELPS, KILLS])] == ["rule", "reply"]
    layered = auditor(house=(rule,), table=table, bad=BAD)
    assert [each.verdict.basis for each in layered.audit([HELPS, NOTHING])] == ["rule", None]


DOSE = Exchange("Headache?", "The usual dose is one tablet.")


def test_advice_for_experts_is_told_and_flags_only_where_asked():
    (found,) = auditor(bad=BAD).audit([DOSE])
    assert (found.verdict.flag, found.verdict.concern) == (False, CONCERN_WORDS[EXPERTISE])
    assert "but it gives advice that only an expert should give" in found.verdict.reason
    (found,) = auditor(bad=BAD, expertise=True).audit([DOSE])
    assert (found.verdict.flag, found.verdict.basis) == (True, "reply")


def test_a_concern_is_told_of_bad_replies_alone():
    kills, helps = auditor(bad=BAD).audit([KILLS, HELPS])
    assert (kills.verdict.concern, helps.verdict.concern) == (CONCERN_WORDS["offending user"], None)


def test_no_concern_is_named_that_is_unlikely():
    for chance, concern in ((0.4, CONCERN_WORDS["offending user"]), (0.2, None)):
        (found,) = auditor(bad={"kill": chance}, limits=Thresholds(bad=0.1)).audit([KILLS])
        assert (found.verdict.flag, found.verdict.concern) == (True, concern)


def test_replies_that_read_as_bad_get_a_better_one_even_where_no_rule_explains_it():
    said = Exchange("Should I kill him or talk to him?", "You should kill time and him.")
    one = auditor(table={}, bad={"kill time": 0.9}, lines=["You should talk to him first."])
    (found,) = one.audit([said])
    assert found.verdict.basis == "reply"
    assert found.revised_reply


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
    found = replace(made, writer=writer, evidence=False).audit([KILLS])[0]
    assert [(rule.source, rule.scales_from) for rule in found.rules] == [
        ("rulebook", "rulebook"),
        ("generated", "neighbours"),
    ]
    assert found.revised_reply is not None
    assert len(writer.asked) == 1  # candidates are asked about the same rules


def test_a_small_rulebook_of_ones_own_is_read_whole():
    far = RuleOfThumb("Never judge patients.")  # shares no word with the reply: not found
    table = {("judge", "cost the rest of us"): "disagree"}
    reply = Exchange("I cough.", "No wonder. People like you cost the rest of us a fortune.")
    made = auditor((), house=(KILL, LIE, HELP, far), table=table, top=1, general=False)
    assert not made.audit([reply])[0].verdict.flag
    (audit,) = replace(made, whole=4).audit([reply])
    assert {rule.text for rule in audit.rules} == {KILL.text, LIE.text, HELP.text, far.text}
    assert audit.verdict.broken == (far.text,)


def test_of_a_long_reply_every_rule_read_whole_gets_its_nearest_windows():
    words = " ".join(["these are fine words"] * 3000) + " I would kill him."
    made = auditor((), house=RULES, top=1, general=False)
    (audit,) = replace(made, whole=3, evidence=False).audit([Exchange("And now?", words)])
    assert {rule.text for rule in audit.rules} == {rule.text for rule in RULES}
    assert audit.verdict.broken == (KILL.text,)
    assert len(made.aligner.classifier.pairs) <= 12


def test_a_rule_is_broken_from_its_own_limit_on():
    made = auditor(general=False)
    assert made.audit([KILLS])[0].verdict.flag
    lenient = replace(made, rule_limits={KILL.text: 0.95})
    (audit,) = lenient.audit([KILLS])
    assert (audit.verdict.flag, audit.verdict.broken) == (False, ())
    assert [rule.limit for rule in audit.rules if rule.text == KILL.text] == [0.95]
