"""The printed figures are whole and fit the task table."""

from statistics import mean

import pytest

from moralscope.stories.paper import load_generation_paper
from moralscope.stories.tasks import classification_tasks, generation_tasks

PAPER = load_generation_paper()
CRITERIA = {
    "action": {"coherence", "intention", "norm"},
    "consequence": {"coherence", "plausibility"},
    "norm": {"coherence", "relevance"},
}
KINDS = {4: "action", 5: "consequence", 6: "norm"}


def test_every_table_has_its_rows():
    sizes = {number: len(PAPER.table(number)) for number in (4, 5, 6, 15, 16, 17)}
    assert sizes == {4: 4, 5: 4, 6: 4, 15: 4, 16: 4, 17: 6}


def test_rows_name_tasks_of_the_table_or_recipes():
    for row in PAPER.rows:
        assert bool(row.task) != bool(row.recipe)
        assert not row.task or row.task in generation_tasks()
        assert not row.recipe or row.recipe in PAPER.components
    parts = {name for components in PAPER.components.values() for name in components}
    assert parts <= set(generation_tasks()) | set(classification_tasks())


def test_people_judged_the_criteria_we_ask_for():
    for number, kind in KINDS.items():
        for row in PAPER.table(number):
            assert set(row.people) == CRITERIA[kind]
            assert {len(values) for values in row.people.values()} == {1 if kind == "norm" else 3}


def test_totals_are_the_means_of_their_parts_but_for_one_as_printed():
    odd = [
        (row.name, criterion)
        for number in (4, 5)
        for row in PAPER.table(number)
        for criterion, (total, *parts) in row.people.items()
        if total != pytest.approx(mean(parts), abs=0.0101)
    ]
    assert odd == [("CoE iterative refinement", "plausibility")]


def test_a_strategy_finds_its_rows():
    assert [row.model for row in PAPER.beside("action|context")] == ["BART", "GPT2", "T5"]
    assert PAPER.beside("mine") == ()
    assert PAPER.hyper_parameters["max_output_length"] == 60
    assert PAPER.sizes["norm"] == (10_000, 1_000, 1_000)
