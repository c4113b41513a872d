"""Judgments become ratings: levels are told or guessed, sets become yes and no, repeats refused."""

import pytest

from moralscope.annotation.judgments import PersonJudgment, by_field, guess_level
from moralscope.core.errors import InputError


@pytest.mark.parametrize(
    ("values", "level"),
    [
        (["agree", "disagree", None, ""], "nominal"),
        ([True, False], "nominal"),
        (["0", "1", "1"], "nominal"),
        ([1, 2, 5], "ordinal"),
        (["1", "5", ""], "ordinal"),
        ([0.5, 1.25], "interval"),
        ([1, 40, 100], "interval"),
        ([["care"], []], "several"),
        (["care|loyalty", "care"], "several"),
        ([f"a rule of my own, number {n}" for n in range(30)], "text"),
        (["short", "long " * 20], "text"),
        (["a | in a sentence that goes on for much longer than any label would ever do"], "text"),
        ([None, ""], "text"),
        ([{"a": 1}, {"b": [2]}], "text"),
        ([["care", {"a": 1}], []], "several"),
    ],
)
def test_levels_are_guessed_from_values(values, level):
    assert guess_level(values) == level


def test_a_set_becomes_a_yes_or_no_a_value():
    given = [
        PersonJudgment("1", "p", "foundations", ["care", "loyalty"]),
        PersonJudgment("1", "q", "foundations", []),
        PersonJudgment("1", "r", "foundations", None),
        PersonJudgment("2", "p", "foundations", ["care"]),
    ]
    found, left = by_field(given)
    assert [(one.field, one.counts()) for one in found] == [
        ("foundations: care", [{"no": 1, "yes": 1}, {"yes": 1}]),
        ("foundations: loyalty", [{"no": 1, "yes": 1}, {"no": 1}]),
    ]
    assert left == []


def test_an_empty_cell_of_a_set_is_none_of_them_and_of_a_scale_no_answer():
    rows = [("1", "p", "care|fairness", "3"), ("1", "q", "", "")]
    given = [PersonJudgment(i, p, "moral", m) for i, p, m, _ in rows]
    given += [PersonJudgment(i, p, "severity", s) for i, p, _, s in rows]
    found, _ = by_field(given, {"severity": "ordinal"})
    assert [one.counts() for one in found] == [[{"no": 1, "yes": 1}]] * 2 + [[{"3": 1}]]


def test_text_of_any_spelling_of_a_number_is_one_label():
    given = [
        PersonJudgment("1", who, "ok", value) for who, value in (("p", "1"), ("q", 1), ("r", "1.0"))
    ]
    assert by_field(given, {"ok": "nominal"})[0][0].counts() == [{"1": 3}]


def test_who_answered_nothing_is_nobody():
    given = [
        PersonJudgment(str(n), who, "x", n if who != "r" else None)
        for n in range(3)
        for who in "pqr"
    ]
    found = by_field(given, {"x": "interval"})[0][0]
    assert (found.people, found.table.raters) == (("p", "q"), 2)


def test_values_of_any_shape_are_counted():
    given = [PersonJudgment("1", who, "odd", {"a": [1]}) for who in "pq"]
    assert by_field(given, {"odd": "nominal"})[0][0].counts() == [{"{'a': [1]}": 2}]
    given = [PersonJudgment("1", who, "odd", [{"a": 1}, None]) for who in "pq"]
    assert {one.field for one in by_field(given)[0]} == {"odd: {'a': 1}", "odd: None"}
    mixed = [PersonJudgment("1", "p", "ok", True), PersonJudgment("1", "q", "ok", 1)]
    assert by_field(mixed, {"ok": "nominal"})[0][0].counts() == [{"1": 1, "yes": 1}]


@pytest.mark.parametrize(
    ("given", "levels", "problem"),
    [
        ([("1", "p", "a", 1), ("1", "p", "a", 2)], {}, "answers 'a' of item 1 twice"),
        ([("1", "p", "a", "high")], {"a": "ordinal"}, "is 'high', no number"),
        ([("1", "p", "a", -2)], {"a": "ratio"}, "is '-2', no ratio"),
        ([("1", "p", "a", 1)], {"a": "ordnal"}, "did you mean 'ordinal'"),
    ],
)
def test_what_cannot_be_counted_is_refused(given, levels, problem):
    with pytest.raises(InputError, match=problem):
        by_field([PersonJudgment(*row) for row in given], levels)
