"""Kept runs: whole files, bounded in number, none of them trusted."""

import pytest

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.server.site import routes
from moralscope.server.site.routes import NoSuchRun, Runs

RECORD = {
    "schema": "moralscope.run/1",
    "job": "score",
    "config": {"axis": "choice", "encoder": "minilm"},
    "results": [{"action": "kill time", "score": 0.1}],
}


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path / "runs")


def test_a_long_text_is_kept_whole(runs):
    record = {**RECORD, "results": [{"action": "a" * 9000, "score": 0.1}]}
    assert runs.load(runs.save(record).id)["results"] == record["results"]


def test_a_number_that_is_none_is_kept_as_null(runs):
    record = {**RECORD, "results": [{"action": "a", "score": float("nan")}]}
    assert runs.load(runs.save(record).id)["results"][0]["score"] is None


def test_no_more_are_kept_than_the_limit(runs, monkeypatch):
    monkeypatch.setattr(routes, "MOST_RUNS", 2)
    runs.save(RECORD)
    runs.save(RECORD)
    with pytest.raises(InputError, match="2 runs are kept already; delete some"):
        runs.save(RECORD)


def test_a_damaged_file_is_left_out_of_the_list(runs):
    good, bad = runs.save(RECORD), runs.save(RECORD)
    (runs.folder / f"{bad.id}.json").write_text('{"schema": "moralscope.run/1", "jo')
    assert [line.id for line in runs.listed()] == [good.id]
    with pytest.raises(InputError, match="ends in the middle"):
        runs.load(bad.id)


def test_a_deleted_run_is_gone(runs):
    name = runs.save(RECORD).id
    runs.delete(name)
    with pytest.raises(NoSuchRun):
        runs.delete(name)


def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(MoralscopeError, match="could not be kept"):
        Runs(tmp_path / "runs").save(RECORD)


def test_home_is_asked_at_every_use(tmp_path, monkeypatch):
    runs = Runs()
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "one"))
    runs.save(RECORD)
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "two"))
    assert runs.listed() == []
