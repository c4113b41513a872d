"""The page of `compare --runs`: gate, lists, items; hostile values are refused, never drawn."""

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.pages import build_page, report_html
from moralscope.runs.compare import compare_runs

from .saved_runs import audit_record, reply, saved, score_record


@pytest.fixture
def scores(tmp_path):
    rows = [("a", 0.1), ("b", 0.2), ("<script>alert(1)</script>", 0.3), ("gone", 0.4)]
    one = saved(tmp_path, "a.json", score_record(rows))
    two = saved(tmp_path, "b.json", score_record([(name, -score) for name, score in rows[:3]]))
    return to_plain(compare_runs(one, two, gate="max_drop<=0.3, missing<=0"))


@pytest.fixture
def audits(tmp_path):
    one = saved(tmp_path, "c.json", audit_record([reply("1", "<b>Hi?</b>", "good", 0.3)]))
    two = saved(tmp_path, "d.json", audit_record([reply("1", "<b>Hi?</b>", "bad", -0.9)]))
    return to_plain(compare_runs(one, two))


def test_a_comparison_of_scores(scores):
    page = build_page(scores)
    titles = [section.title for section in page.sections if section.shown == "report"]
    assert titles[:2] == ["The gate", "Scores before and after"]
    assert {"Largest drops", "Changed sign", "Only in the baseline", "Every item"} <= set(titles)
    assert "Largest rises" not in titles
    (gate,) = page.sections[0].blocks
    assert [(row[0], row[3]) for row in gate.rows] == [("max_drop", False), ("missing", False)]
    assert ("1", "missing after") in page.figures
    assert any("was not met" in line for line in page.summary)


def test_a_comparison_of_audits(audits):
    page = build_page(audits)
    titles = [section.title for section in page.sections]
    assert "Newly flagged" in titles
    assert "Flagged replies by foundation" in titles
    assert ("100.0 %", "newly flagged") in page.figures
    newly = next(section for section in page.sections if section.title == "Newly flagged")
    assert newly.blocks[0].rows[0] == ["1", "<b>Hi?</b>", "good", "bad", 0.3, -0.9, "no → yes"]


def test_texts_are_never_markup(scores, audits):
    assert "<script>alert(1)" not in report_html(scores)
    assert "<b>Hi?" not in report_html(audits)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("results", [{"text": "a", "before": "x", "after": 1, "change": 1}]),
        ("drops", [3]),
        ("foundations", "care"),
        ("gate", {"checks": 4, "expression": "r", "met": False}),
    ],
)
def test_damaged_values_are_refused_in_one_line(scores, key, value):
    place = scores if key == "results" else scores["statistics"]
    place[key] = value
    with pytest.raises(InputError) as caught:
        report_html(scores)
    assert "\n" not in str(caught.value)


def test_half_a_record_is_drawn_as_far_as_it_goes():
    bare = {"schema": "moralscope.run/1", "job": "compare runs", "config": {}, "results": []}
    assert report_html(bare).startswith("<!doctype html>")
