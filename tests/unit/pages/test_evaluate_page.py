"""The page of `stories evaluate` from records that were changed or damaged."""

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.pages import build_page, report_html
from moralscope.stories.evaluate import evaluate
from moralscope.stories.options import EvaluateOptions
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import classification_task


@pytest.fixture
def record():
    hostile = "</script><script>alert(1)</script>"
    story = MoralStory("1", f"It's rude to {hostile}", None, None, hostile, None, f"no {hostile}")
    other = MoralStory("2", "It's good to dance.", None, None, "Jo dances.", None, "Jo sits.")
    experts = ScriptedExperts({"action+norm": classification_task("action+norm").labels})
    return to_plain(evaluate(experts, [story, other], EvaluateOptions(part="all")))


def tables(page):
    return {block.title: block for section in page.sections for block in section.blocks
            if hasattr(block, "rows")}  # fmt: skip


def test_the_page_holds_what_was_measured(record):
    found = tables(build_page(record))
    cell = record["results"][0]
    row = found["Grid, beside the paper's"].rows[0]
    assert row[:2] == ["action + norm", "all"]
    assert row[2].value == cell["measured"]["accuracy"]["value"]
    counts = found["action+norm, all: rows are right, columns called"].rows
    assert [line[1:] for line in counts] == cell["confusion"]["counts"]
    assert len(found["Mistakes"].rows) == len(cell["mistakes"])


def test_texts_of_stories_never_run(record):
    assert "<script>alert(1)" not in report_html(record)


def test_parts_that_are_missing_are_left_out(record):
    (cell,) = record["results"]
    cell |= {"mistakes": [], "reversed": [], "swapped": None}
    titles = [section.title for section in build_page(record).sections]
    assert titles[:2] == ["Accuracy and F1", "Calibration"]
    assert "Surest mistakes" not in titles


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mistakes", ["x"]),
        ("reversed", {"a": 1}),
        ("paper_accuracy", "high"),
        ("confusion", {"labels": ["a"], "counts": [["many"]]}),
        ("measured", {"reliability": [{"confidence": "x"}]}),
    ],
)
def test_damaged_values_are_refused_in_one_line(record, key, value):
    record["results"][0][key] = value
    with pytest.raises(InputError, match=r"run the job again"):
        report_html(record)
