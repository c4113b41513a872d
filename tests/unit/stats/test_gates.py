"""Gates: what they read, what they refuse, what they find."""

import pytest

from moralscope.core.errors import GateNotMet, InputError, UnknownName
from moralscope.stats.gates import Condition, check_gate, parse_gate

NAMES = ["r", "spearman", "changed", "max_shift"]


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("r>=0.7", [("r", ">=", 0.7)]),
        (" r > .7 ", [("r", ">", 0.7)]),
        ("r>=0.7 and changed<=3", [("r", ">=", 0.7), ("changed", "<=", 3)]),
        ("R>=0.7 AND max_shift < 1e-1", [("r", ">=", 0.7), ("max_shift", "<", 0.1)]),
        ("r>=-0.5,changed==0", [("r", ">=", -0.5), ("changed", "==", 0)]),
    ],
)
def test_conditions_are_read(text, conditions):
    assert parse_gate(text, NAMES).conditions == tuple(Condition(*each) for each in conditions)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "r",
        "r>=",
        ">=0.7",
        "r>=0.7 and",
        "r>=0.7,,changed<=3",
        "r>=0.7 or changed<=3",
        "r>=nan",
        "r>=inf",
        "r>=1e999",
        "r=>0.7",
        "0.7<=r",
        "r>=0.7; import os",
        "__import__('os').system('true')>=0",
        "r.__class__>=0",
        "r>=0.7\u0663",
        "r>=" + "1" * 2000,
    ],
)
def test_anything_else_is_refused_in_one_line(text):
    with pytest.raises(InputError, match="--gate") as caught:
        parse_gate(text, NAMES)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_an_unknown_figure_gets_a_hint():
    with pytest.raises(UnknownName, match="did you mean 'spearman'"):
        parse_gate("speerman>=0.7", NAMES)


@pytest.mark.parametrize(
    ("sign", "holds"),
    [
        (">=", (False, True, True)),
        (">", (False, False, True)),
        ("<=", (True, True, False)),
        ("<", (True, False, False)),
        ("==", (False, True, False)),
    ],
)
def test_operators_at_below_and_above_the_limit(sign, holds):
    condition = Condition("r", sign, 0.5)
    assert tuple(condition.holds(value) for value in (0.4, 0.5, 0.6)) == holds
    assert not condition.holds(float("nan"))


def test_every_place_must_keep_the_limit_and_the_worst_is_shown():
    gate = parse_gate("r>=0.7 and changed<=3", NAMES)
    figures = {"a vs b": {"r": 0.9, "changed": 9}, "a vs c": {"r": 0.6, "changed": 1}}
    result = check_gate(gate, figures)
    assert not result.met
    assert result.values == {"r": 0.6, "changed": 9}
    assert [check.where for check in result.checks] == ["a vs c", "a vs b"]
    with pytest.raises(GateNotMet) as caught:
        result.require()
    assert caught.value.exit_code == 3
    line = str(caught.value)
    assert "r is 0.6 for a vs c, wanted >= 0.7" in line
    assert "changed is 9 for a vs b, wanted <= 3" in line


def test_only_what_missed_is_named():
    result = check_gate(parse_gate("r>=0.5,changed<=3", NAMES), {"": {"r": 0.6, "changed": 4}})
    with pytest.raises(GateNotMet, match=r"gate not met: changed is 4, wanted <= 3; "):
        result.require()


def test_a_gate_that_is_met_raises_nothing():
    result = check_gate(parse_gate("r>=0.7 and r<=0.9", NAMES), {"": {"r": 0.8}})
    assert result.met
    result.require()


def test_the_value_that_missed_is_shown_when_a_name_is_asked_for_twice():
    figures = {"one": {"r": 0.95}, "two": {"r": 0.8}}
    result = check_gate(parse_gate("r<=0.9 and r>=0.7", NAMES), figures)
    assert result.values == {"r": 0.95}
    assert [check.met for check in result.checks] == [False, True]


def test_a_figure_that_is_not_defined_misses_every_limit():
    result = check_gate(parse_gate("r<=0.7", NAMES), {"": {"r": float("nan")}})
    with pytest.raises(GateNotMet, match=r"r is not defined, wanted <= 0\.7"):
        result.require()
