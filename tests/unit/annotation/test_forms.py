"""The forms that ship, and the bank of questions."""

import random

import pytest

from moralscope.annotation.forms import (
    FOUNDATIONS,
    draw_questions,
    form_names,
    foundation_choices,
    load_form,
    load_questionnaire,
    mark_test,
    mean_weights,
    question_bank,
    task_names,
)
from moralscope.annotation.options import Policies
from moralscope.annotation.questions import LEVELS
from moralscope.core.errors import InputError


@pytest.mark.parametrize("name", form_names())
def test_forms_are_complete(name):
    form = load_form(name)
    assert form.title
    assert form.instructions
    assert form.shows
    names = [field.name for field in form.fields]
    assert len(set(names)) == len(names) > 0
    keys = [field.shortcut for field in form.fields if field.shortcut]
    assert len(set(keys)) == len(keys), "one key, one field"
    for field in form.fields:
        assert field.level in LEVELS
        if field.type == "scale":
            assert [one.value for one in field.choices] == list("12345")
        if field.type in ("one", "many"):
            assert field.choices or field.choices_from
        for argument in field.checks.values():
            for other in argument if isinstance(argument, list) else [argument]:
                assert not isinstance(other, str) or other in names, (name, field.name, other)
    Policies(**form.policies)


def test_the_seven_tasks_of_the_house():
    assert set(task_names()) == {
        "rule-of-thumb", "attributes", "filter", "story-ratings-action",
        "story-ratings-consequence", "story-ratings-norm", "rule-ratings", "story-writing",
        "action-yes-no",
    }  # fmt: skip


def test_an_unknown_task_gets_the_nearest_name():
    with pytest.raises(InputError, match="did you mean 'filter'"):
        load_form("filtre")


def test_foundations_come_with_definitions_and_examples():
    found = foundation_choices()
    assert tuple(one.value for one in found) == FOUNDATIONS
    assert all(one.help and len(one.examples) >= 2 for one in found)


def test_the_bank_covers_every_foundation_and_is_answerable():
    assert len(question_bank()) >= 14
    for question in question_bank().values():
        assert question.right in {one.value for one in question.choices}
        assert question.why
    asked = {one.right for one in question_bank().values() if one.kind == "foundation"}
    assert asked == set(FOUNDATIONS)


def test_draws_differ_and_prefer_the_unseen():
    dice = random.Random(0)
    first = draw_questions(7, (), dice)
    second = draw_questions(7, first, dice)
    assert not set(first) & set(second)
    assert len(set(draw_questions(7, (*first, *second), dice))) == 7, "when all were seen, again"
    assert len({draw_questions(7, (), random.Random(seed)) for seed in range(20)}) > 15


def test_marking_tells_why_and_wants_all_answers():
    name = next(iter(question_bank()))
    wrong = next(
        one.value
        for one in question_bank()[name].choices
        if one.value != question_bank()[name].right
    )
    assert mark_test([name], {name: wrong}) == {name: question_bank()[name].why}
    for answers in ({}, {name: "nonsense"}, {name: None}):
        with pytest.raises(InputError):
            mark_test([name], answers)


def test_the_questionnaire_weighs_every_foundation_twice():
    asked = load_questionnaire().statements
    assert all(sum(one.foundation == name for one in asked) == 2 for name in FOUNDATIONS)
    assert mean_weights({one.id: 3 for one in asked}) == dict.fromkeys(FOUNDATIONS, 3.0)
