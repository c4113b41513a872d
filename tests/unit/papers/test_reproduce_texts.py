"""The paper's tables on generated texts, with saved runs beside them."""

import json

import pytest

from moralscope.papers.stories import text_tables
from moralscope.stories.experts import prepare_experts
from moralscope.stories.story import MoralStory

SIDES = ("moral", "immoral")
STORIES = [
    MoralStory(
        str(number),
        f"It's good to pay for {thing}.",
        f"Jo is in a shop with {thing}.",
        f"Jo wants {thing}.",
        f"Jo pays for {thing} at the till.",
        immoral_action=f"Jo runs away with {thing} in a bag.",
        splits={"action": {"norm_distance": "test" if number else "dev"}},
    )
    for number, thing in enumerate(["bread", "two apples", "a lamp"])
]


@pytest.fixture
def save(tmp_path):
    def write(recipe, **config):
        results = [
            {"id": story.id, "target": side, "choice": story.action(side)}
            for story in STORIES
            for side in SIDES
        ]
        record = {
            "job": "chain",
            "config": {"recipe": recipe, "kind": "action", **config},
            "results": results,
        }
        path = tmp_path / f"{recipe}.json"
        path.write_text(json.dumps(record))
        return path

    return write


def rows_of(found, number):
    (table,) = [each for each in found.tables if each.name.startswith(f"Table {number}:")]
    return {(row.row, row.column): row for row in table.rows}


def test_without_runs_the_papers_figures_stand_alone():
    found = text_tables()
    assert all(row.ours is None for table in found.tables for row in table.rows)
    assert all(row.paper is not None for table in found.tables for row in table.rows)
    assert rows_of(found, 5)["consequence-ranking", "ROUGE-L"].paper == 23.68
    coherence = rows_of(found, 4)["action|context (BART)", "coherence, immoral"]
    assert coherence.paper == 0.98
    assert "no --runs" in found.warnings[0]


def test_a_run_stands_beside_its_row_and_the_judge_beside_people(save):
    steps = [{"name": "write", "do": "generate", "task": "action|context"}]
    runs = [save("action-ranking"), save("mine", steps=steps), save("new", steps=steps * 2)]
    found = text_tables(runs, STORIES, judge=prepare_experts("scripted"))
    assert (len(found.runs), found.judge.name) == (3, "scripted")
    rows = rows_of(found, 4)
    row = rows["action-ranking", "ROUGE-L"]
    assert (row.ours, row.paper) == (pytest.approx(100.0), 29.23)
    judged = rows["action-ranking", "norm, moral"]
    assert 0 <= judged.low <= judged.ours <= judged.high <= 1
    assert judged.paper == 0.86
    assert rows["action|context (BART)", "BLEU"].ours == pytest.approx(100.0)
    assert rows["action|context+consequence (BART)", "BLEU"].ours is None
    assert rows["new", "BLEU"].paper is None
    assert rows_of(found, 15)["action|context (GPT2)", "BLEU"].ours == pytest.approx(100.0)
    assert "action-ranking: 2 of 6 texts are not on the norm-distance test part" in "".join(
        found.warnings
    )
