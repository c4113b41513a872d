"""What was measured beside people: agreement, the judge's zero, how many would say yes."""

import math

import pytest

from moralscope import score
from moralscope.__main__ import main
from moralscope.axes.judge import Judge
from moralscope.axes.measured import (
    PeopleMeasurement,
    PeopleYes,
    people_measurement,
    share_in_brief,
)
from moralscope.axes.options import AxisOptions, DemoOptions, ScoreOptions
from moralscope.core.errors import UnknownName
from moralscope.core.records import SampleInterval, to_plain
from moralscope.models.classifiers.saved import folder_sha256
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.encoders import load_encoder
from moralscope.models.store import shipped_folder
from moralscope.pages import report_html

YES = PeopleYes(intercept=0.2, slope=0.9, width=0.5)
SIDES = {"action": ("immoral", "moral")}


@pytest.fixture
def known(monkeypatch):
    """Scripted experts that were set beside people."""
    people = {"amt": SampleInterval(0.9, 0.8, 0.95, 56)}
    found = PeopleMeasurement("judge", "scripted", people, 0.5, -0.25, YES)
    monkeypatch.setattr("moralscope.axes.judge.people_measurement", lambda *_: found)
    monkeypatch.setattr("moralscope.axes.measured.people_measurement", lambda *_: found)


def test_more_of_a_score_is_more_people_within_zero_and_one():
    found = [YES.share(value / 10) for value in range(-10, 11)]
    assert [each.value for each in found] == sorted(each.value for each in found)
    assert all(0 <= each.low <= each.value <= each.high <= 1 for each in found)


def test_a_split_is_said():
    assert share_in_brief(0.5, 0.3, 0.7) == "split: 5 in 10 (3 to 7)"
    assert share_in_brief(0.9, 0.7, 1.0) == "about 9 in 10 (7 to 10)"
    assert share_in_brief(math.nan, math.nan, math.nan) == ""


def test_each_zero_moves_the_scores_of_its_form(known, monkeypatch):
    actions = ["kill time", "help people", "lie", "I lied."]
    moved = [row.score for row in Judge(ScriptedExperts(SIDES)).score(actions)]
    monkeypatch.setattr("moralscope.axes.judge.people_measurement", lambda *_: None)
    raw = [row.score for row in Judge(ScriptedExperts(SIDES)).score(actions)]
    logit = [2 * math.atanh(a) - 2 * math.atanh(b) for a, b in zip(moved, raw, strict=True)]
    assert logit == pytest.approx([0.5] * 3 + [-0.25])


def test_a_result_carries_how_many_people_would_say_yes(known):
    row = score(["kill time"], experts="scripted").results[0]
    share = YES.share(row.score)
    assert (row.people_yes, row.people_yes_low) == (share.value, share.low)
    assert row.people_yes_high == share.high


def test_under_a_norm_nobody_knows_what_people_would_say(known):
    record = score(["kill time"], experts="scripted", norm="Be quick.")
    assert math.isnan(record.results[0].people_yes)
    assert record.statistics["people_agreement"] is None


def test_terminal_and_report_say_it_in_words(known, capsys):
    with pytest.raises(SystemExit):
        main(["score", "kill time", "--experts", "scripted"])
    told = capsys.readouterr().out
    assert "agreement with people: r = 0.900 (234 crowd workers), n = 56 actions" in told
    assert "in 10 (" in told
    page = report_html(to_plain(score(["kill time"], experts="scripted")), "the run")
    assert "would say yes" in page
    assert "in 10 (" in page
    assert "Agreement with people: r = 0.900 (234 crowd workers), n = 56 actions." in page


@pytest.mark.parametrize("axis", ["judge", "choice", "direction"])
def test_an_axis_that_nobody_measured_says_so(axis, capsys):
    with pytest.raises(SystemExit):
        main(["score", "kill time", "--axis", axis, "--encoder", "scripted"])
    assert "agreement with people: not measured" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["stories-minilm", "stories-mpnet", "large"])
def test_the_shipped_experts_were_measured_as_they_are_shipped(name):
    """Fails when weights changed: run `python bench/judge_people.py --judge`."""
    found = people_measurement("judge", folder_sha256(shipped_folder(name)))
    assert found is not None
    assert [each.n for each in found.people.values()] == [56, 56]
    assert 0.85 <= found.people_yes.coverage <= 0.95
    assert found.people_yes.slope > 0


def test_the_judge_is_the_default_and_the_encoder_itself_is_a_flag_away():
    assert ScoreOptions().kind_name == AxisOptions(encoder="mpnet").kind_name == "judge"
    assert DemoOptions().score_options().axis == "judge"
    assert ScoreOptions(template="gender").kind_name == "choice"
    assert AxisOptions(encoder="use-lite").kind_name == "choice"
    assert ScoreOptions(fit="labelled").kind_name == "direction"
    assert ScoreOptions(norm="Be kind.", encoder="mpnet").kind_name == "judge"


def test_an_encoder_object_is_asked_itself():
    model = load_encoder("scripted")
    model.name = "minilm"
    assert score(["kill time"], encoder=model).config["axis"] == "choice"
    assert score(["kill time"], encoder=model, fit="labelled").config["axis"] == "direction"


def test_a_base_without_experts_is_told_of_the_choice_axis():
    with pytest.raises(UnknownName, match="score --axis choice"):
        score(["lie"], axis="judge", encoder="use-lite")


def test_gender_shows_its_own_ends_and_a_note_on_zero(capsys):
    with pytest.raises(SystemExit):
        main(["score", "nurse", "plumber", "--template", "gender", "-e", "scripted"])
    told = " ".join(capsys.readouterr().out.split())
    assert "male female" in told
    assert "bad good" not in told
    assert "not with zero" in told


def test_a_direction_through_questions_of_gender_warns():
    record = score(["nurse"], axis="direction", template="gender", encoder="scripted")
    assert any("gender template" in line for line in record.warnings)
