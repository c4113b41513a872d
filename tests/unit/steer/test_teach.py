"""The teach job: corrections in, what moved out; contradictions are said."""

import json

import pytest

from moralscope.axes.score import score
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.records import to_plain
from moralscope.steer.teach import Correction, parse_corrections, read_corrections, teach

ACTIONS = ["eat meat", "eat fish", "kill time", "help people"]


@pytest.fixture(scope="module")
def record():
    return teach(["eat meat: good", "kill time, -1"], encoder="scripted", actions=ACTIONS)


def test_corrections_take_and_the_largest_moves_come_first(record):
    lessons = record.statistics["lessons"]
    assert [(lesson.action, lesson.took) for lesson in lessons] == [
        ("eat meat", True),
        ("kill time", True),
    ]
    assert lessons[0].after == pytest.approx(1.0, abs=0.1)
    changes = [abs(row.change) for row in record.results]
    assert changes == sorted(changes, reverse=True)
    assert record.statistics["angle_degrees"] > 0


def test_side_effects_leave_the_corrected_actions_out(record):
    assert record.statistics["agreement"].n == 2
    assert not {"eat meat", "kill time"} & set(record.statistics["changed_side"])
    json.dumps(to_plain(record), allow_nan=False)


def test_a_row_is_the_score_of_the_saved_axis(tmp_path):
    path = tmp_path / "mine.safetensors"
    found = teach(["eat meat: good"], encoder="scripted", actions=ACTIONS, save=path)
    again = teach(
        ["help people: good"],
        encoder="scripted",
        axis_file=path,
        actions=ACTIONS,
    )
    first = {row.action: row.score for row in found.results}
    assert {row.action: row.before for row in again.results} == pytest.approx(first)


def test_labels_met_already_leave_the_axis_where_it_is():
    base = {row.action: row.score for row in score_of(ACTIONS)}
    side = "wrong" if base["eat meat"] < 0 else "fine"
    far = -20.0 if base["eat meat"] < 0 else 20.0
    correction = Correction("eat meat", side, base["eat meat"] / 2)
    found = teach([correction], encoder="scripted", actions=ACTIONS)
    assert found.statistics["angle_degrees"] == pytest.approx(0, abs=1e-3)
    assert correction.gap_target(far) == far


def score_of(actions):
    return score(actions, axis="direction", encoder="scripted").results


def test_the_default_actions_are_the_papers_and_the_demos():
    found = teach(["eat meat: fine"], encoder="scripted")
    names = {row.action for row in found.results}
    assert {"kill people", "murder", "lie to my wife"} <= names
    assert len(names) == len(found.results) > 100


def test_the_labelled_fit_can_be_taught():
    found = teach(["eat meat: fine"], encoder="scripted", fit="labelled", actions=ACTIONS)
    assert found.config["fit"] == "labelled"
    assert found.statistics["lessons"][0].took


def test_corrections_that_cannot_be_met_together_are_said():
    """To the scripted encoder the order of words is nothing: these two are one action."""
    found = teach(["eat red meat: good", "red eat meat: bad"], encoder="scripted", actions=ACTIONS)
    assert found.statistics["took"] < 2
    assert any("cannot be met together" in line for line in found.warnings)
    assert any("contradict each other" in line for line in found.warnings)


def test_an_axis_without_a_direction_is_refused():
    with pytest.raises(InputError, match="there is no option 'axis'"):
        teach(["eat meat: fine"], encoder="scripted", axis="choice")


@pytest.mark.parametrize(
    ("text", "action", "target"),
    [
        ("eat meat: fine", "eat meat", 0.5),
        ("eat meat,+1", "eat meat", 1.0),
        ("eat meat: WRONG", "eat meat", -1.0),
        ("tell my boss: no, never: bad", "tell my boss: no, never", -1.0),
        ("wait, neutral", "wait", 0.0),
    ],
)
def test_corrections_are_read(text, action, target):
    (found,) = parse_corrections([text])
    assert (found.action, found.target) == (action, target)


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ([], "no corrections"),
        (["eat meat"], "correction 1 .'eat meat'. has no label"),
        ([": fine"], "correction 1 names no action"),
        (["eat meat: inf"], "wants the score inf"),
        (["eat meat: 11"], "wants the score 11"),
        (["eat meat: good", "eat meat: bad"], "correction 2 calls 'eat meat' bad, correction 1"),
    ],
)
def test_bad_corrections_are_refused(texts, problem):
    with pytest.raises(InputError, match=problem):
        parse_corrections(texts)


def test_an_unknown_label_gets_a_suggestion():
    with pytest.raises(UnknownName, match="did you mean 'neutral'"):
        parse_corrections(["eat meat: nuetral"])


def test_contradictions_between_file_and_arguments_are_refused():
    both = [Correction("eat meat", "good", 1.0), Correction("eat meat", "bad", -1.0)]
    with pytest.raises(InputError, match="called good and bad"):
        teach(both, encoder="scripted")


def test_files_of_corrections(tmp_path):
    table, lines = tmp_path / "c.csv", tmp_path / "c.txt"
    table.write_text('action,label\n"eat meat, raw",bad\nkill time,0.5\n')
    lines.write_text("eat meat, raw: bad\n\nkill time: 0.5\n")
    assert read_corrections(table) == read_corrections(lines)
    table.write_text("action,label\neat meat\n")
    with pytest.raises(InputError, match="line 2 has 1 cells, not 2"):
        read_corrections(table)
    lines.write_text("eat meat: good\nkill time: maybe so\n")
    with pytest.raises(UnknownName, match="line 2 has the unknown label 'maybe so'"):
        read_corrections(lines)
    lines.write_bytes(b"eat m\xff: good\n")
    with pytest.raises(InputError, match="line 1 is not valid UTF-8"):
        read_corrections(lines)
    with pytest.raises(InputError, match="cannot be read"):
        read_corrections(tmp_path / "absent.csv")
