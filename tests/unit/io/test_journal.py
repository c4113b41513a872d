"""The journal: finished blocks survive, half lines are dropped, other settings are refused."""

import pytest

from moralscope.core.errors import InputError
from moralscope.io.journal import Journal


def block(*names):
    return {"results": [{"id": name} for name in names], "tallies": {"a": {"seconds": 1.0}}}


def filled(path, settings=None):
    journal = Journal(path, settings or {"seed": 0})
    journal.append(block("1", "2"))
    journal.append(block("3"))
    journal.close()


def test_results_are_read_back_in_order(tmp_path):
    path = tmp_path / "j"
    filled(path)
    journal = Journal(path, {"seed": 0})
    assert [row["id"] for row in journal] == ["1", "2", "3"]
    assert journal[-1] == {"id": "3"}
    assert journal[:2] == [{"id": "1"}, {"id": "2"}]
    assert [note["tallies"]["a"]["seconds"] for note in journal.notes] == [1.0, 1.0]
    with pytest.raises(IndexError):
        journal[3]
    journal.append(block("4"))
    assert [row["id"] for row in journal] == ["1", "2", "3", "4"]
    journal.close(remove=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_cut_off_is_dropped(tmp_path, cut):
    path = tmp_path / "j"
    filled(path)
    path.write_bytes(path.read_bytes()[:-cut])
    journal = Journal(path, {"seed": 0})
    assert [row["id"] for row in journal] == ["1", "2"]
    journal.append(block("3"))
    journal.close()
    again = Journal(path, {"seed": 0})
    assert [row["id"] for row in again] == ["1", "2", "3"]
    again.close()


def test_a_kill_before_the_first_line_was_whole_starts_anew(tmp_path):
    path = tmp_path / "j"
    path.write_bytes(b'{"schema": "moralsc')
    journal = Journal(path, {"seed": 0})
    journal.append(block("1"))
    journal.close()
    assert path.read_bytes().count(b"\n") == 2
    assert path.read_bytes().startswith(b'{"schema": "moralscope.journal/1"')


def test_what_follows_a_broken_line_is_run_again(tmp_path):
    path = tmp_path / "j"
    filled(path)
    head, _, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + b"\x00garbage\n" + last)
    journal = Journal(path, {"seed": 0})
    assert len(journal) == 0
    journal.close()


def test_other_settings_are_refused_by_name_and_nothing_is_lost(tmp_path):
    path = tmp_path / "j"
    filled(path, {"seed": 0, "steps": [1]})
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"other settings \(seed 0, steps\)"):
        Journal(path, {"seed": 1, "steps": [2]})
    assert path.read_bytes() == before


def test_a_fresh_journal_forgets(tmp_path):
    path = tmp_path / "j"
    filled(path)
    journal = Journal(path, {"seed": 1}, fresh=True)
    assert len(journal) == 0
    journal.close()


def test_a_file_that_is_no_journal_is_left_alone(tmp_path):
    path = tmp_path / "j"
    path.write_text("my notes\n")
    with pytest.raises(InputError, match="is not a journal"):
        Journal(path, {})
    assert path.read_text() == "my notes\n"


def test_two_runs_do_not_write_one_journal(tmp_path):
    first = Journal(tmp_path / "j", {})
    with pytest.raises(InputError, match="another run is writing"):
        Journal(tmp_path / "j", {})
    first.close()
    Journal(tmp_path / "j", {}).close()


def test_refused_journals_can_be_opened_again_in_the_same_process(tmp_path):
    path = tmp_path / "j"
    filled(path)
    with pytest.raises(InputError, match="other settings"):
        Journal(path, {"seed": 1})
    Journal(path, {"seed": 0}).close()


def test_ctrl_c_promises_only_what_is_kept(tmp_path):
    journal = Journal(tmp_path / "run.json.journal", {"seed": 0})
    with pytest.raises(KeyboardInterrupt), journal.told_on_interrupt("stories"):
        raise KeyboardInterrupt
    journal.append({"results": [{"id": "1"}]})
    said = r"interrupted; 1 stories are kept in .*run.json.journal', 'run the same command again"
    with pytest.raises(KeyboardInterrupt, match=said), journal.told_on_interrupt("stories"):
        raise KeyboardInterrupt
    journal.close()
    passing = Journal(None, {"seed": 0})
    passing.append({"results": [{"id": "1"}]})
    with pytest.raises(KeyboardInterrupt), passing.told_on_interrupt("stories"):
        raise KeyboardInterrupt
