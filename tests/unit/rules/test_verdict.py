"""The verdict: the reply itself and the rules it breaks, how far from their limits, and why."""

from dataclasses import replace

import pytest

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.rules.records import Alignment, RuleFinding, Verdict
from moralscope.rules.thresholds import GivenLimits, Thresholds, read_limits, write_limits
from moralscope.rules.verdict import (
    ReplyJudgment,
    abstain,
    decide,
    flag_unread,
    margin,
    worst_broken,
)

LIMITS = Thresholds()


def finding(text, label, probability=0.9, severity=5.0, consensus=5.0):
    rest = (1 - probability) / 2
    told = dict.fromkeys(("disagree", "agree", "neither"), rest) | {label: probability}
    return RuleFinding(text, "rulebook", Alignment(label, told), severity, consensus, {})


BREAKS = finding("Do not kill.", "disagree")
KEEPS = finding("Help.", "agree")


@pytest.mark.parametrize(
    ("rules", "bad", "basis"),
    [
        ([BREAKS], 0.9, "both"),
        ([BREAKS], 0.3, "rule"),
        ([KEEPS], 0.9, "reply"),
        ([], 0.9, "reply"),
        ([KEEPS], 0.3, None),
        ([], 0.01, None),
    ],
)
def test_basis_says_what_flags_a_reply(rules, bad, basis):
    verdict = decide(rules, LIMITS, ReplyJudgment(bad))
    assert (verdict.flag, verdict.basis) == (basis is not None, basis)
    assert verdict.probability == bad


def test_broken_general_rules_raise_what_the_reply_reads_as():
    rule, slight = finding("Say please.", "disagree", 0.9), finding("Say please.", "disagree", 0.52)
    doubtful = ReplyJudgment(0.3)
    assert decide([rule], LIMITS, doubtful, house=()).basis == "rule"
    alone, beside = (decide(some, LIMITS, doubtful, house=()) for some in ([], [slight]))
    assert (beside.flag, beside.probability) == (False, 0.3)
    assert beside.score < alone.score
    assert decide([slight], LIMITS, doubtful, house=("Say please.",)).basis == "rule"
    assert decide([rule], LIMITS, ReplyJudgment(0.9), house=()).basis == "both"
    assert not decide([rule], LIMITS, ReplyJudgment(0.01), house=()).flag


def test_rules_that_are_kept_excuse_nothing():
    kept = finding("Be kind.", "agree", 0.99)
    for bad in (0.3, 0.6):
        alone, beside = (
            decide(some, LIMITS, ReplyJudgment(bad), house=()) for some in ([], [kept])
        )
        assert beside.score == alone.score


def test_the_reason_names_the_rule_that_explains_a_bad_reply_best():
    likely = finding("Return what you find.", "disagree", 0.45)
    verdict = decide([KEEPS, likely], LIMITS, ReplyJudgment(0.9, "plays down a danger"))
    assert "reads as bad (probability of bad 0.90): it plays down a danger" in verdict.reason
    assert "explained best by “Return what you find.” (probability 0.45)" in verdict.reason


def test_the_reason_says_where_no_rule_explains_a_bad_reply():
    verdict = decide([finding("x", "neither")], LIMITS, ReplyJudgment(0.9))
    assert verdict.reason.endswith("no rule of the rulebook explains it")
    assert decide([], LIMITS, ReplyJudgment(0.9)).reason.endswith(
        "no rule of the rulebook explains it"
    )


def test_the_rule_with_the_largest_margin_to_its_own_limit_is_named():
    surest = finding("Say please.", "disagree", 0.9)
    strict = replace(finding("Do not kill.", "disagree", 0.6), limit=0.05)
    lenient = replace(finding("Be brief.", "disagree", 0.9), limit=0.95)
    rules = [surest, strict, lenient, KEEPS]
    verdict = decide(rules, LIMITS)
    assert worst_broken(rules, LIMITS) is strict
    assert verdict.flag
    assert verdict.broken == ("Do not kill.", "Say please.")
    assert "breaks “Do not kill.”" in verdict.reason
    assert "and 1 more but keeps 1" in verdict.reason


@pytest.mark.parametrize("severity", [1.0, 5.0, None])
def test_a_broken_rule_flags_whatever_its_severity(severity):
    assert decide([finding("Say please.", "disagree", 0.6, severity, None)], LIMITS).flag


def test_unless_the_user_sets_a_limit_of_severity():
    limits = Thresholds(least_severity=3)
    light, grave = (finding("x", "disagree", 0.9, severity) for severity in (2.0, 3.0))
    verdict = decide([light], limits)
    assert not verdict.flag
    assert verdict.score == 1.0
    assert "not grave or not sure enough" in verdict.reason
    assert decide([light, grave], limits).flag
    assert decide([finding("x", "disagree", 0.9, None)], limits).flag


def test_the_score_is_graded_for_every_reply():
    scores = [decide([], LIMITS, ReplyJudgment(bad)).score for bad in (0.99, 0.6, 0.4, 0.1, 0.0)]
    assert scores == sorted(scores)
    assert scores[1] < 0 < scores[2]
    scores = [decide([finding("x", "disagree", p)], LIMITS).score for p in (0.99, 0.6, 0.4, 0.1)]
    assert scores == sorted(scores)
    assert scores[1] < 0 < scores[2]


def test_a_rule_that_is_nearly_broken_says_nothing_beside_the_verdict_on_the_reply():
    near = finding("x", "disagree", 0.49)
    assert (
        decide([near], LIMITS, ReplyJudgment(0.1)).score
        == decide([], LIMITS, ReplyJudgment(0.1)).score
    )


@pytest.mark.parametrize("limit", [0.1, 0.5, 0.93])
def test_a_flag_and_a_score_of_zero_or_less_are_the_same(limit):
    limits = Thresholds(bad=limit, disagree=limit)
    for chance in (0.0, 0.05, limit, 0.94, 1.0):
        by_reply = decide([], limits, ReplyJudgment(chance))
        by_rule = decide([finding("x", "disagree", chance)], limits)
        assert by_reply.flag is by_rule.flag is (chance >= limit)
        assert by_reply.score == by_rule.score == margin(chance, limit)
        assert (by_reply.score <= 0) is by_reply.flag


def test_a_limit_on_the_score_moves_both_limits():
    limits = Thresholds(flag=0.5)
    assert not decide([], limits, ReplyJudgment(0.6)).flag
    assert decide([], limits, ReplyJudgment(0.9)).flag
    assert decide([], Thresholds(flag=-0.5), ReplyJudgment(0.3)).flag


def test_nothing_broken_is_no_flag_and_says_what_is_kept():
    assert decide([KEEPS], LIMITS).reason == "keeps “Help.”; doesn't break the rule found"
    assert decide([], LIMITS).reason == "no rule of the rulebook concerns it"
    assert not decide([], LIMITS).flag


def test_an_abstention_is_told_from_a_verdict():
    assert (abstain("why").status, abstain("why").reason) == ("abstained", "why")
    assert decide([KEEPS], LIMITS).status == "judged"


@pytest.mark.parametrize(
    ("plain", "status", "reason"),
    [
        ({"reason": "abstained: no words"}, "abstained", "no words"),
        ({"reason": "reads as fine"}, "judged", "reads as fine"),
        (
            {"reason": "9 tokens were not read", "basis": "unread"},
            "unread",
            "9 tokens were not read",
        ),
        ({"reason": "abstained: is what it says", "status": "judged"}, "judged", None),
    ],
)
def test_verdicts_of_older_records_are_read_with_their_status(plain, status, reason):
    verdict = decode(Verdict, {"flag": False, "score": 0.0, **plain})
    assert (verdict.status, verdict.reason) == (status, reason or plain["reason"])


def test_concerns_of_older_records_are_read_in_words():
    plain = {"flag": True, "score": -1.0, "reason": "", "status": "judged"}
    verdict = decode(Verdict, {**plain, "concern": "toxicity agreement"})
    assert verdict.concern == "encourages hate or violence"
    assert decode(Verdict, {**plain, "concern": "a label of mine"}).concern == "a label of mine"


def test_text_that_was_not_read_flags_where_asked():
    calm = decide([], LIMITS, ReplyJudgment(0.01))
    assert flag_unread(calm, 0) is calm
    found = flag_unread(calm, 1200)
    assert (found.flag, found.status, found.basis) == (True, "unread", "unread")
    bad = decide([], LIMITS, ReplyJudgment(0.9))
    assert flag_unread(bad, 5) is bad


def test_limits_from_a_file_go_over_operating_points(tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text("bad = 0.95\nleast_severity = 2\n")
    limits = read_limits(path).over({"bad": 0.3, "disagree": 0.7})
    assert (limits.bad, limits.disagree, limits.least_severity) == (0.95, 0.7, 2.0)
    assert not decide([], limits, ReplyJudgment(0.9)).flag


def test_limits_are_written_as_they_are_read(tmp_path):
    path = tmp_path / "limits.toml"
    given = GivenLimits({"flag": -0.25, "bad": 0.5}, {"false_alarms": 0.01, "experts": 'a"\\b'})
    write_limits(path, given)
    assert read_limits(path) == given


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("flagg = 0.5", "did you mean 'flag'"),
        ("flag = 2", "a number from -1 to 1"),
        ("bad = nan", "a number from 0 to 1"),
        ("flag = true", "a number from -1 to 1"),
        ("least_severity = 0.5", "a number from 1 to 5"),
        ("severity = 3", "'least_severity' says what flags"),
        ("flag = ", "is not TOML"),
        ("set_by = 3", "no table 'set_by'"),
    ],
)
def test_bad_limits_are_refused(content, line, tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=line):
        read_limits(path)


def test_limits_of_rules_are_written_and_read(tmp_path):
    limits = GivenLimits({"flag": 0.1}, {"experts": "mpnet"}, {'Never say "no".': 0.25})
    write_limits(tmp_path / "x.toml", limits)
    assert read_limits(tmp_path / "x.toml") == limits
    (tmp_path / "x.toml").write_text('[rules]\n"Be kind." = 2\n')
    with pytest.raises(InputError, match=r"no good limit for the rule 'Be kind.'"):
        read_limits(tmp_path / "x.toml")
