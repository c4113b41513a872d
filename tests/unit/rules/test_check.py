"""`rules check`: what is found of rules, each with the exchange that shows it."""

import json

import pytest

from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.rules.load_auditor import AuditModels
from moralscope.rules.records import Exchange, RuleOfThumb
from moralscope.rules.rulebook import Rulebook
from moralscope.rules.rulebooks.check import check_rules

from .scripted_audit import auditor

TIP = RuleOfThumb("You should tip waiters.", severity=2.0, consensus=3.0)
NEVER_TIP = RuleOfThumb("You should not tip waiters at all.", severity=4.0, consensus=3.0)
PAY = RuleOfThumb("It's good to tip waiters well.")
PEACE = RuleOfThumb("It is wrong to start wars.")
RULES = (TIP, NEVER_TIP, PAY, PEACE)
TABLE = {
    ("not tip", "you should tip"): "disagree",
    ("not tip", "good to tip"): "disagree",
    ("not tip", "keep your change"): "agree",
    ("should tip", "not tip"): "disagree",
    ("good to tip", "not tip"): "disagree",
    ("good to tip", "should tip"): "agree",
    ("should tip", "good to tip"): "agree",
    ("should tip", "keep your change"): "disagree",
}
REPLIES = [Exchange("Tip?", "Just keep your change.")] + [
    Exchange("Hello?", f"It is day {n}.") for n in range(11)
]


def checked(replies=REPLIES, table=TABLE, rules=RULES):
    made = auditor((), house=rules, table=table, general=False)
    models = AuditModels(made, config={"experts": "table"})
    return check_rules(book=Rulebook("ours", rules), models=models, replies=replies)


def findings(kind, **more):
    return [each for each in checked(**more).results if each.kind == kind]


def test_rules_that_contradict_each_other_come_with_what_shows_it():
    found = findings("contradiction")
    pairs = [set(each.rules) for each in found]
    assert {TIP.text, NEVER_TIP.text} in pairs
    one = found[pairs.index({TIP.text, NEVER_TIP.text})]
    assert one.reply == one.rules[1]  # a reply that says so breaks the other
    assert one.probability >= 0.5


def test_rules_that_overlap():
    (one,) = findings("overlap")
    assert set(one.rules) == {TIP.text, PAY.text}


def test_replies_that_keep_one_rule_and_break_another_show_a_collision():
    (one,) = findings("collision")
    assert one.rules == (NEVER_TIP.text, TIP.text)
    assert (one.reply, one.wins) == (REPLIES[0].reply, TIP.text)


def test_rules_that_never_fire():
    names = [each.rules[0] for each in findings("never")]
    assert names == [PAY.text, PEACE.text]


def test_rules_that_fire_on_everything():
    table = {**TABLE, ("wars", "it is day"): "disagree"}
    (one,) = findings("always", table=table)
    assert one.rules == (PEACE.text,)
    assert "11 of 12 replies" in one.message
    assert one.reply.startswith("It is day")


def test_nothing_is_said_of_everything_on_a_handful_of_replies():
    table = {**TABLE, ("wars", "it is day"): "disagree"}
    assert findings("always", table=table, replies=REPLIES[:4]) == []


def test_uses_are_counted():
    uses = {each.rule: each for each in checked().statistics["uses"]}
    assert (uses[TIP.text].broken, uses[NEVER_TIP.text].kept, uses[PEACE.text].kept) == (1, 1, 0)


def test_no_replies_are_refused_and_unreadable_ones_are_told():
    with pytest.raises(InputError, match="no replies to try"):
        checked(replies=[])
    record = checked(replies=[*REPLIES, Exchange("Hi", "😀")])
    assert "1 replies could not be read" in record.warnings


def test_the_command(tmp_path, capsys):
    book, replies = tmp_path / "house.txt", tmp_path / "replies.csv"
    book.write_text("You should tip waiters.\nYou should not tip waiters.\n")
    replies.write_text("Q,A\nTip?,Never tip a waiter.\n")
    words = ["rules", "check", str(book), "--replies", str(replies), "--columns"]
    with pytest.raises(SystemExit) as caught:
        main([*words, "prompt=Q,reply=A", "--experts", "scripted", "--json"])
    plain = json.loads(capsys.readouterr().out)
    assert (caught.value.code, plain["job"]) == (0, "rules check")
    assert (plain["statistics"]["rules"], plain["statistics"]["replies"]) == (2, 1)
    with pytest.raises(SystemExit) as caught:
        main(["rules", "check", str(book), "--replies", "none.csv", "--experts", "scripted"])
    done = capsys.readouterr()
    assert caught.value.code == 2
    assert len(done.err.strip().splitlines()) == 1
