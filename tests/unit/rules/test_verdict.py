"""The verdict: worst broken rule, its weight, abstention, and limits from a file."""

import pytest

from moralscope.core.errors import InputError
from moralscope.rules.records import Alignment, RuleFinding
from moralscope.rules.verdict import (
    Thresholds,
    abstain,
    abstained,
    decide,
    read_thresholds,
    worst_broken,
)


def finding(text, label, probability=0.9, severity=5.0, consensus=5.0):
    rest = (1 - probability) / 2
    told = dict.fromkeys(("disagree", "agree", "neither"), rest) | {label: probability}
    return RuleFinding(text, "rulebook", Alignment(label, told), severity, consensus, {})


def test_the_worst_broken_rule_decides_not_the_most_probable():
    light = finding("Say please.", "disagree", 0.99, severity=1.0, consensus=3.0)
    grave = finding("Do not kill.", "disagree", 0.6)
    verdict = decide([light, grave, finding("Help.", "agree")], Thresholds())
    assert worst_broken([light, grave], Thresholds()) is grave
    assert verdict.flag
    assert verdict.score == pytest.approx(-0.6)
    assert "Do not kill." in verdict.reason
    assert "and 1 more but keeps 1" in verdict.reason


def test_severity_and_consensus_weigh():
    scores = [
        decide([finding("x", "disagree", 0.9, severity, consensus)], Thresholds()).score
        for severity, consensus in ((5, 5), (3, 5), (5, 3), (1, 1))
    ]
    assert scores == pytest.approx([-0.9, -0.54, -0.54, -0.036])


def test_a_light_breach_is_told_but_not_flagged():
    verdict = decide([finding("Say please.", "disagree", 0.9, 1.0, 3.0)], Thresholds())
    assert not verdict.flag
    assert verdict.score < 0
    assert "too light" in verdict.reason


def test_good_is_positive():
    verdict = decide([finding("Help.", "agree", 0.8, 5.0, 4.0)], Thresholds())
    assert (verdict.flag, round(verdict.score, 6)) == (False, 0.64)


@pytest.mark.parametrize("rules", [[], [finding("x", "neither")], [finding("x", "disagree", 0.4)]])
def test_it_abstains_when_nothing_applies_surely_enough(rules):
    verdict = decide(rules, Thresholds(), ["the prompt is empty"])
    assert (verdict.flag, verdict.score) == (False, 0.0)
    assert abstained(verdict)
    assert verdict.reason.endswith("; the prompt is empty")


def test_an_abstention_is_told_from_a_verdict():
    assert abstained(abstain("why"))
    assert not abstained(decide([finding("x", "agree")], Thresholds()))


def test_unknown_severity_is_the_middle_of_the_scale():
    rule = RuleFinding("x", "generated", Alignment("disagree", {"disagree": 1.0}))
    assert decide([rule], Thresholds()).score == pytest.approx(-0.36)


def test_the_score_stays_between_minus_one_and_one():
    for label in ("disagree", "agree"):
        assert abs(decide([finding("x", label, 1.0)], Thresholds()).score) <= 1


def test_limits_from_a_file(tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text("flag = 0.95\nseverity = 2\n")
    limits = read_thresholds(path)
    assert (limits.flag, limits.severity, limits.disagree) == (0.95, 2.0, Thresholds().disagree)
    assert not decide([finding("x", "disagree")], limits).flag


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("flagg = 0.5", "did you mean 'flag'"),
        ("flag = 2", "a number from 0 to 1"),
        ("flag = nan", "a number from 0 to 1"),
        ("flag = true", "a number from 0 to 1"),
        ("severity = 0.5", "a number from 1 to 5"),
        ("flag = ", "is not TOML"),
    ],
)
def test_bad_limits_are_refused(content, line, tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=line):
        read_thresholds(path)
