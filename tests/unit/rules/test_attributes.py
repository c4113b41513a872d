"""Attributes: a rule's own values are kept, missing ones are estimated and marked."""

import pytest

from moralscope.models.encoders import load_encoder
from moralscope.rules.attributes import Attributes
from moralscope.rules.records import RuleOfThumb

from .scripted_audit import HELP, KILL, LIE, RULES

ENCODER = load_encoder("scripted")


def test_values_of_the_rulebook_are_measured():
    found = Attributes(RULES, embed=ENCODER.encode).of([LIE])[0]
    assert (found.severity, found.consensus, found.evidence) == (3.0, 4.0, "rulebook")
    assert {name for name, value in found.foundations.items() if value} == {"fairness", "loyalty"}
    assert len(found.foundations) == 6


def test_a_bare_rule_is_estimated_nearest_first():
    near = RuleOfThumb("It is wrong to kill people now.", source="generated")
    far = RuleOfThumb("You should not lie to friends ever.", source="generated")
    first, second = Attributes(RULES, embed=ENCODER.encode).of([near, far])
    assert first.evidence == second.evidence == "neighbours"
    assert first.severity > second.severity
    assert first.foundations["care"] > second.foundations["care"]
    assert 1 <= second.severity <= 5


def test_the_estimate_is_the_weighted_mean():
    rule = RuleOfThumb(KILL.text + " ")
    rows = ENCODER.encode([rule.text, *(each.text for each in RULES)])
    weights = [max(float(rows[0] @ row), 1e-6) for row in rows[1:]]
    wanted = sum(w * each.severity for w, each in zip(weights, RULES, strict=True)) / sum(weights)
    assert Attributes(RULES, embed=ENCODER.encode).of([rule])[0].severity == pytest.approx(
        wanted, rel=1e-5
    )


def test_what_a_rule_says_itself_is_kept_beside_the_estimate():
    half = RuleOfThumb("You should water plants.", ("sanctity",), severity=1.0)
    found = Attributes(RULES, embed=ENCODER.encode).of([half])[0]
    assert (found.severity, found.evidence) == (1.0, "rulebook and neighbours")
    assert found.consensus is not None
    assert found.foundations["sanctity"] == 1.0


def test_order_is_kept_and_nothing_known_estimates_nothing():
    bare = RuleOfThumb("Be kind.")
    found = Attributes([bare], embed=ENCODER.encode).of([bare, HELP, bare])
    assert [each.evidence for each in found] == ["neighbours", "rulebook", "neighbours"]
    assert (found[0].severity, found[0].foundations) == (None, {})


def test_an_estimate_is_made_once_for_all_replies(monkeypatch):
    asked = []

    def embed(texts):
        asked.extend(texts)
        return ENCODER.encode(texts)

    bare = [RuleOfThumb("Be kind."), RuleOfThumb("Be kind.", severity=2.0), RuleOfThumb("Be fair.")]
    attributes = Attributes(RULES, embed=embed)
    first = attributes.of(bare)
    assert [asked.count(rule.text) for rule in bare] == [1, 1, 1]
    assert attributes.of(bare[::-1]) == first[::-1]
    assert first[1].severity == 2.0 != first[0].severity
    assert asked.count("Be kind.") == 1
    monkeypatch.setattr("moralscope.rules.attributes._REMEMBERED", 1)
    assert attributes.of(bare) == first
    assert asked.count("Be kind.") == 2
