"""Figures of an audit, counted by hand; two bots on the same prompts, paired."""

from dataclasses import replace

import pytest

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.rules.audit_statistics import (
    FIGURES,
    PAIRED_FIGURES,
    AuditStatistics,
    RuleCount,
    audit_statistics,
    check_pairs,
    compare_audits,
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
    return AuditedReply(
        name, f"prompt {name}", f"reply {name}", rules, verdict, revised, revised and "edit"
    )


ROWS = [
    row("a", rule("Do not kill.", "disagree"), rule("Help.", "agree"), revised="Better."),
    row("b", rule("Do not kill.", "disagree"), rule("Do not lie.", "disagree", 3.0, ("fairness",))),
    row("c", rule("Do not lie.", "disagree", 3.0, ("fairness", "loyalty"))),
    row("d", rule("Help.", "agree")),
    row("e"),
]


def test_shares_counts_and_lists():
    statistics = audit_statistics(ROWS, Thresholds(), 0)
    assert (statistics.flagged.value, statistics.abstained.value) == (0.6, 0.2)
    assert statistics.flagged.low < 0.6 < statistics.flagged.high
    counts = {share.foundation: share.flagged for share in statistics.foundations}
    named = ("care", "fairness", "loyalty", "liberty")
    assert [counts[name] for name in named] == [2, 1, 1, 0]
    assert [share.flagged for share in statistics.severity] == [0, 0, 1, 0, 2]
    assert statistics.rules == [RuleCount("Do not kill.", 2, 0), RuleCount("Do not lie.", 2, 0)]
    assert [reply.id for reply in statistics.worst] == ["a", "b", "c"]
    assert (statistics.revised, statistics.revised_by) == (1, {"edit": 1})
    assert statistics.score.worst == pytest.approx(-0.8)


def test_statistics_are_read_back_as_they_were_written():
    statistics = audit_statistics(ROWS, Thresholds(), 0)
    plain = to_plain(statistics)
    assert not {"corpus", "failed", "scores", "quantiles"} & set(plain)
    assert to_plain(decode(AuditStatistics, plain)) == plain


def test_a_gate_may_ask_for_every_figure():
    statistics = audit_statistics(ROWS, Thresholds(), 0)
    assert set(statistics.figures()) == set(FIGURES)
    paired = replace(statistics, against=compare_audits(ROWS, ROWS, 0))
    assert set(paired.figures()) == {*FIGURES, *PAIRED_FIGURES}
    assert paired.figures()["flagged_change"] == 0


def verdicts(*flags):
    return [
        AuditedReply(str(n), "same", "x", (), Verdict(flag, -0.5 if flag else 0.5, ""))
        for n, flag in enumerate(flags)
    ]


def test_two_bots_are_compared_pair_by_pair():
    here, there = verdicts(*[True] * 8, False, False), verdicts(*[False] * 8, False, True)
    paired = compare_audits(here, there, 0)
    assert (paired.only_here, paired.only_there) == (8, 1)
    assert paired.p == pytest.approx(2 * (1 + 9) / 2**9)
    assert paired.flagged_change.value == pytest.approx(0.7)
    assert 0 < paired.flagged_change.low < 0.7 < paired.flagged_change.high <= 1
    assert paired.score_change.value == pytest.approx(-0.7)
    assert len(paired.changed) == 9
    assert paired.changed[0].score_here == -0.5


def test_files_of_other_prompts_are_refused_by_row():
    with pytest.raises(InputError, match="row 2 has another prompt"):
        check_pairs(["a", "b"], ["a", "c"])
    with pytest.raises(InputError, match="the second file ends before row 2"):
        check_pairs(["a", "b"], ["a"])
    check_pairs(["a "], ["a"])
