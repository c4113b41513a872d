"""The judge axis as users meet it: rows, norms, wordings, people, comparison, reports."""

import json

import pytest

from moralscope.axes.compare import compare
from moralscope.axes.judge import FEW
from moralscope.axes.options import AXES
from moralscope.axes.score import ActionRows, read_rows, score
from moralscope.axes.wordings import GROUNDED_WORDINGS, PHRASE_WORDINGS, SENTENCE_WORDINGS
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.pages import write_report

COLUMNS = AXES["judge"].columns
ROWS = [
    {"action": "Sam lies.", "norm": "Be honest."},
    {"action": "Sam waits.", "id": 7},
    {"action": "Sam lies.", "consequence": "Jo is hurt.", "norm": None},
]


def judge(given, **options):
    return score(given, axis="judge", **{"experts": "scripted", **options})


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    return path


def test_rows_go_to_the_expert_that_fits_them(rows):
    record = judge(read_rows(rows, COLUMNS))
    assert [row.task for row in record.results] == ["action+norm", "action", "action+consequence"]
    assert [bool(row.verdict) for row in record.results] == [True, False, False]
    assert record.statistics["tasks"] == {"action+norm": 1, "action": 1, "action+consequence": 1}
    assert any("not read: id" in line for line in record.warnings)
    for row in record.results:
        assert row.score == 2 * row.probability - 1


def test_csv_and_jsonl_of_the_same_rows_agree(rows, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        "Action,norm,consequence\nSam lies.,Be honest.,\nSam waits.,,\nSam lies.,,Jo is hurt.\n"
    )
    assert read_rows(path, COLUMNS).rows == read_rows(rows, COLUMNS).rows


def test_a_norm_fills_rows_that_have_none(rows):
    record = judge(read_rows(rows, COLUMNS), norm="Be early.")
    assert [row.task for row in record.results] == ["action+norm"] * 3
    other = judge(read_rows(rows, COLUMNS))
    assert to_plain(record.results[0]) == to_plain(other.results[0])
    assert any("'consequence' of 1 row was not read" in line for line in record.warnings)


def shown(wordings, count=4):
    return [form.format("ACTION") for form in wordings[:count]]


def test_the_record_shows_the_wordings_that_were_asked(rows):
    alone, under_norm = judge(["tell a fib"]), judge(["tell a fib"], norm="Be honest.")
    assert alone.config["prompts"] == shown(PHRASE_WORDINGS)
    assert under_norm.config["prompts"] == shown(GROUNDED_WORDINGS)
    assert judge(["tell a fib"], norm="Be honest.", wordings=1).config["prompts"] == ["I ACTION."]
    assert judge(read_rows(rows, COLUMNS)).config["prompts"] == shown(SENTENCE_WORDINGS)
    mixed = ActionRows([{"action": "fib"}, {"action": "lie", "norm": "Be honest."}])
    config = judge(mixed).config
    assert config["prompts"] == shown(PHRASE_WORDINGS)
    assert config["grounded_wordings"] == shown(GROUNDED_WORDINGS)


def test_many_actions_are_asked_about_once_unless_told_otherwise():
    actions = [f"buy {n} apples" for n in range(FEW + 1)]
    quick = judge(actions)
    slow = judge(actions, wordings=4)
    assert [row.score for row in quick.results] == [row.score for row in slow.results]
    assert to_plain(quick.results[0])["low"] is None
    assert slow.results[0].low <= slow.results[0].score <= slow.results[0].high
    assert any("no interval" in line for line in quick.warnings)


def test_score_takes_the_judge_by_name_and_its_experts_by_base():
    record = score(["kill time"], axis="judge", encoder="scripted")
    assert record.config["axis"] == "judge"
    assert record.models[0].name == "scripted"
    assert to_plain(record.results) == to_plain(judge(["kill time"]).results)


def test_people_stand_beside_the_judge(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("action,yes,no\n" + "".join(f"eat {n} eggs,{n},9\n" for n in range(1, 8)))
    record = judge([f"eat {n} eggs" for n in range(1, 8)], human=path)
    assert record.statistics["human"].populations


def test_compare_asks_the_experts_on_each_base():
    record = compare(["lie", "help", "smile"], encoders=["scripted", "scripted"], axis="judge")
    assert record.config["axis"] == "judge"
    assert record.statistics["pairs"][0].significant == 0
    raw = next(iter(record.results[0].raw.values()))
    assert raw.task == "action"


def test_what_a_judge_has_no_use_for_is_refused():
    with pytest.raises(InputError, match="judge axis has no"):
        judge(["lie"], template="gender")
    with pytest.raises(InputError, match="norm is empty"):
        judge(["lie"], norm=" ")
    with pytest.raises(InputError, match="no experts 'mpnt'"):
        judge(["lie"], experts="mpnt")


def test_the_report_names_the_experts_and_escapes_the_norm(tmp_path):
    path = tmp_path / "judge.html"
    write_report(judge(["lie", "help"], norm="<script>alert(1)</script>"), path)
    page = path.read_text("utf-8")
    assert "How scripted scores 2 actions" in page
    assert "<script>alert(1)" not in page
