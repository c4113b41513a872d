"""Figures of an audit, counted by hand; two bots on the same prompts, paired."""

import pytest

from moralscope.core.errors import InputError
from moralscope.rules.audit_statistics import (
    audit_statistics,
    check_pairs,
    compare_audits,
    figures,
)
from moralscope.rules.records import Alignment, AuditedReply, RuleFinding, Verdict
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import abstain, decide


def rule(text, label, severity=5.0, foundations=("care",)):
    told = {"disagree": 0.05, "agree": 0.05, "neither": 0.05, label: 0.9}
    named = dict.fromkeys(foundations, 1.0)
    return RuleFinding(text, "rulebook", Alignment(label, told), severity, 5.0, named)


def row(name, *rules, revised=None):
    verdict = decide(rules, Thresholds()) if rules else abstain("the reply is empty")
    return AuditedReply(name, f"prompt {name}", f"reply {name}", rules, verdict, revised)


ROWS = [
    row("a", rule("Do not kill.", "disagree"), rule("Help.", "agree"), revised="Better."),
    row("b", rule("Do not kill.", "disagree"), rule("Do not lie.", "disagree", 3.0, ("fairness",))),
    row("c", rule("Do not lie.", "disagree", 3.0, ("fairness", "loyalty"))),
    row("d", rule("Help.", "agree")),
    row("e"),
]


def test_shares_counts_and_lists():
    found = audit_statistics(ROWS, Thresholds(), 0)
    assert (found["flagged"].value, found["abstained"].value) == (0.6, 0.2)
    assert found["flagged"].low < 0.6 < found["flagged"].high
    counts = {each["foundation"]: each["flagged"] for each in found["foundations"]}
    assert (counts["care"], counts["fairness"], counts["loyalty"], counts["liberty"]) == (
        2,
        1,
        1,
        0,
    )
    assert [each["flagged"] for each in found["severity"]] == [0, 0, 1, 0, 2]
    assert found["rules"] == [
        {"rule": "Do not kill.", "broken": 2, "kept": 0},
        {"rule": "Do not lie.", "broken": 2, "kept": 0},
    ]
    assert [each["id"] for each in found["worst"]] == ["a", "b", "c"]
    assert found["revised"] == 1
    assert found["score"]["worst"] == pytest.approx(-0.8)


def test_a_gate_may_ask_for_every_figure():
    found = audit_statistics(ROWS, Thresholds(), 0)
    assert set(figures(found, None)) == {"flagged", "flagged_high", "abstained", "score", "worst"}
    paired = compare_audits(ROWS, ROWS, 0)
    assert figures(found, paired)["flagged_change"] == 0


def verdicts(*flags):
    return [
        AuditedReply(str(n), "same", "x", (), Verdict(flag, -0.5 if flag else 0.5, ""))
        for n, flag in enumerate(flags)
    ]


def test_two_bots_are_compared_pair_by_pair():
    here, there = verdicts(*[True] * 8, False, False), verdicts(*[False] * 8, False, True)
    found = compare_audits(here, there, 0)
    assert (found["only_here"], found["only_there"]) == (8, 1)
    assert found["p"] == pytest.approx(2 * (1 + 9) / 2**9)
    assert found["flagged_change"]["value"] == pytest.approx(0.7)
    assert 0 < found["flagged_change"]["low"] < 0.7 < found["flagged_change"]["high"] <= 1
    assert found["score_change"]["value"] == pytest.approx(-0.7)
    assert len(found["changed"]) == 9
    assert found["changed"][0]["score_here"] == -0.5


def test_files_of_other_prompts_are_refused_by_row():
    with pytest.raises(InputError, match="row 2 has another prompt"):
        check_pairs(["a", "b"], ["a", "c"])
    with pytest.raises(InputError, match="the second file ends before row 2"):
        check_pairs(["a", "b"], ["a"])
    check_pairs(["a "], ["a"])
