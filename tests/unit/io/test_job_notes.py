"""Notes of what commands do: running, ended, quick, cut off; no text of anybody."""

import json
import os
import subprocess
import sys

import pytest

from moralscope.io.job_notes import JobNote, job_note, list_notes


def test_a_note_tells_how_far_a_command_is_and_how_it_ended(tmp_path):
    with job_note(tmp_path, "scoring") as note:
        note.update(done=3, total=12, force=True)
        (line,) = list_notes(tmp_path)
        assert (line["state"], line["done"], line["total"]) == ("running", 3, 12)
        assert line["left"] is not None
        assert line["from"] == "command line"
    note.update(out="run.json", force=True)
    assert list_notes(tmp_path)[0]["state"] == "done"


def test_a_quick_command_that_saved_nothing_leaves_no_note(tmp_path):
    with job_note(tmp_path, "scoring"):
        pass
    assert list_notes(tmp_path) == []


@pytest.mark.parametrize(
    ("error", "state"), [(ValueError, "failed"), (KeyboardInterrupt, "cancelled")]
)
def test_what_failed_or_was_stopped_is_told(tmp_path, error, state):
    def work():
        with job_note(tmp_path, "scoring") as note:
            note.update(began=0.0)
            raise error

    with pytest.raises(error):
        work()
    assert list_notes(tmp_path)[0]["state"] == state


def test_a_command_whose_process_is_gone_has_ended(tmp_path):
    note = JobNote(tmp_path, "scoring")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    note.update(pid=gone.pid, force=True)
    assert list_notes(tmp_path)[0]["state"] == "ended"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"kind": 1}', "x" * 30_000])
def test_a_file_that_is_no_note_is_left_out(tmp_path, content):
    (tmp_path / "1-a.json").write_text(content)
    assert list_notes(tmp_path) == []


def test_a_place_that_cannot_be_written_stops_no_work(tmp_path):
    (tmp_path / "jobs").write_text("a file")
    with job_note(tmp_path / "jobs", "scoring") as note:
        note.update(done=1, total=2, force=True)


def test_a_command_notes_where_its_record_went_and_none_of_its_texts(tmp_path):
    words = ["score", "a very private action", "--encoder", "scripted", "--out", "run.json"]
    subprocess.run(
        [sys.executable, "-m", "moralscope", *words],
        cwd=tmp_path,
        env={**os.environ, "MORALSCOPE_HOME": str(tmp_path / "home")},
        check=True,
        capture_output=True,
    )
    (path,) = (tmp_path / "home" / "jobs").glob("*.json")
    told = json.loads(path.read_text())
    assert told["out"] == str(tmp_path / "run.json")
    assert told["title"] == "moralscope score: scoring"
    assert "private" not in path.read_text()
