"""Labelled replies: votes, parts, lessons, figures."""

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.rules.collect.filters import MORAL_CONTENT, SUFFICIENCY, TASKS
from moralscope.rules.collect.train import (
    LabelledExchange,
    filter_examples,
    measure_filter,
    read_labelled,
    share_out,
)
from moralscope.rules.records import Exchange


def rows(count, replies=2):
    return [
        LabelledExchange(
            Exchange(f"Question {n}?", f"Reply {m}."),
            {SUFFICIENCY: (n + m) % 2 == 0, MORAL_CONTENT: m % 2 == 0},
            "ab"[m % 2],
        )
        for n in range(count)
        for m in range(replies)
    ]


def test_sufficient_needs_all_votes_and_moral_any(tmp_path):
    path = tmp_path / "a.csv"
    cells = ["1|1,0|0", "1|0,0|1", "yes,NO", "0 | 1 | 1,true"]
    path.write_text("Q,A,sufficient,moral\n" + "".join(f"q,a,{each}\n" for each in cells))
    found = read_labelled(path, {"prompt": "Q", "reply": "A"})
    assert [row.labels[SUFFICIENCY] for row in found] == [True, False, True, False]
    assert [row.labels[MORAL_CONTENT] for row in found] == [False, True, False, True]


def test_no_prompt_stands_in_two_parts_and_the_seed_decides():
    parts = share_out(rows(50))
    assert [len(own) for own in parts.values()] == [60, 20, 20]
    seen = [{row.exchange.prompt for row in own} for own in parts.values()]
    assert sum(map(len, seen)) == len(set.union(*seen)) == 50
    assert share_out(rows(50)) == parts
    assert share_out(rows(50), seed=1) != parts


def test_a_part_with_one_label_only_is_refused():
    one = [LabelledExchange(row.exchange, dict.fromkeys(TASKS, True)) for row in rows(50)]
    with pytest.raises(InputError, match="no reply of each label of sufficiency"):
        share_out(one)


def test_a_lesson_a_task_grouped_by_its_label():
    lessons = filter_examples(rows(1, replies=1))
    assert [(row.task, row.label, row.group) for row in lessons] == [
        (SUFFICIENCY, 1, "sufficiency: sufficient"),
        (MORAL_CONTENT, 1, "moral content: moral"),
    ]


def test_figures_are_those_of_scikit_learn():
    from sklearn.metrics import precision_recall_fscore_support

    rng = np.random.default_rng(0)
    gold, found = rng.random(200) < 0.3, rng.random(200) < 0.5
    measured = measure_filter(gold.tolist(), found.tolist())
    theirs = precision_recall_fscore_support(gold, found, average="macro")
    ours = (measured.precision, measured.recall, measured.f1)
    assert np.allclose(ours, 100 * np.array(theirs[:3], dtype=float))
    assert measured.low < measured.f1 < measured.high
    assert measured.n == 200


def test_a_filter_that_says_one_thing_only_has_figures_too():
    measured = measure_filter([True, False], [True, True])
    assert (measured.precision, measured.recall) == (25.0, 50.0)
