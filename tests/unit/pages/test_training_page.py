"""The page of a training run: figures by task and part, evaluations, what was written."""

from moralscope.core.records import RunRecord
from moralscope.models.training.records import History
from moralscope.models.training.trainer import TrainingStatistics
from moralscope.pages import build_page

DEV = {"epoch": 2, "loss": 0.5, "score": 0.8, "action": 0.8, "norm": 0.7}


def record(**more):
    history = History([{**DEV, "epoch": 1, "score": 0.6}, DEV], best=1, steps=12)
    figures = {"dev": DEV, "test": {"action": 0.75}}
    statistics = TrainingStatistics(
        lessons={"action": 9},
        figures=figures,
        temperatures={},
        thresholds={},
        history=history,
        **more,
    )
    config = {"task": "action", "recipe": "experts", "out": "mine"}
    return RunRecord("train", 0, config, [], history.evaluations, statistics)


def test_a_row_a_task_and_a_column_a_part():
    page = build_page(record())
    assert [column.title for column in page.main.columns] == ["task", "dev", "test"]
    assert list(page.main.rows) == [["action", 0.8, 0.75], ["norm", 0.7, None]]


def test_every_evaluation_is_a_row():
    sections = {section.title: section for section in build_page(record()).sections}
    evaluations = sections["How dev went"].blocks[0]
    assert [row[:3] for row in evaluations.rows] == [[1, 0.5, 0.6], [2, 0.5, 0.8]]


def test_what_was_counted_is_said():
    page = build_page(record(counts={"rewritten": {"action": (1, 4)}}))
    lines = [line for section in page.sections for line in section.prose]
    assert "action: 1 of 4 acts rewritten (25.0%)" in lines


def test_statistics_leave_out_what_was_not_counted():
    statistics = record().statistics
    assert list(statistics) == ["lessons", "figures", "temperatures", "thresholds", "history"]
    assert statistics["history"]["steps"] == 12
