"""Counts and bars are those of a small set counted by hand; agreement has known values."""

import numpy as np
import pytest

from moralscope.rules.annotations.statistics import counts, distributions, reliability
from moralscope.rules.records import FOUNDATIONS, Annotation, Exchange
from moralscope.stats.agreement import agreement

ONE, TWO = Exchange("Steal?", "Yes."), Exchange("Steal?", "No.")
ROWS = [
    Annotation(ONE, "Do not steal.", "disagree", 4, 5, ("care", "fairness"), "No."),
    Annotation(ONE, "do not  STEAL.", "disagree", 5, 5, ("fairness",), chatbot="gpt-neo"),
    Annotation(TWO, "Say what you mean.", "agree", 1, 4, (), chatbot="gpt-neo"),
    Annotation(TWO, "Be brief.", None, None, 2.5, None),
]


def bars():
    return {(bar.attribute, bar.value): bar for bar in distributions(ROWS)}


def test_counts():
    found = counts(ROWS)
    assert (found.annotations, found.exchanges, found.prompts, found.rules) == (4, 2, 1, 3)
    assert (found.repeated_rules, found.several, found.per_exchange, found.revised) == (1, 2, 2, 1)
    assert found.words == pytest.approx((3 + 3 + 4 + 2) / 4)
    assert found.chatbots == {"gpt-neo": 2}


def test_bars_are_shares_of_those_that_have_the_attribute():
    found = bars()
    assert found["alignment", "disagree"].share == pytest.approx(2 / 3)
    assert found["alignment", "neither"].count == 0
    assert found["severity", "4"].share == pytest.approx(1 / 3)
    assert found["consensus", "5"].share == 0.5
    assert found["consensus", "3"].count == 1  # 2.5 is nearest to 3, halves go up


def test_foundations_overlap_and_tell_how_often_the_reply_disagrees():
    found = bars()
    assert found["foundations", "fairness"].share == pytest.approx(2 / 3)
    assert found["foundations", "fairness"].disagree == 1.0
    assert found["foundations", "none"].disagree == 0.0
    assert found["foundations", "liberty"].disagree is None


def test_an_attribute_that_nobody_gave_has_no_bars():
    assert distributions([Annotation(ONE, "Do not steal.")]) == []


def rated(values, units, **named):
    return [
        Annotation(Exchange(f"p{unit}", "r"), "Rule.", **{named["name"]: value})
        for unit in range(units)
        for value in values(unit)
    ]


def test_perfect_agreement_is_one_and_the_same_rule_is_needed():
    rows = rated(lambda unit: [1 + unit % 5] * 3, 20, name="severity")
    (found,) = [row for row in reliability(rows) if row.attribute == "severity"]
    assert (found.alpha, found.icc, found.units, found.ratings) == (1.0, 1.0, 20, 60)
    own = [Annotation(ONE, f"Rule {n}.", severity=3) for n in range(4)]
    assert all(row.units == 0 for row in reliability(own, unit="rule"))
    assert {row.attribute: row.units for row in reliability(own, unit="exchange")}["severity"] == 1


def test_many_units_have_the_interval_that_a_bootstrap_gives():
    draw = np.random.default_rng(0)
    table = draw.integers(1, 6, (2400, 3)).astype(float)
    rows = rated(lambda unit: table[unit].tolist(), 2400, name="consensus")
    (found,) = [row for row in reliability(rows) if row.attribute == "consensus"]
    wanted = agreement(table.T.tolist(), "ordinal")
    assert found.alpha == pytest.approx(wanted.alpha)
    assert abs(found.alpha) < 0.05  # chance
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=0.01)


def test_all_attributes_are_reported():
    names = [row.attribute for row in reliability(ROWS)]
    assert names == ["alignment", "severity", "consensus", *FOUNDATIONS]
