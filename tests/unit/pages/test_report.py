import errno
import json
import os

import pytest

from moralscope.axes.compare import compare
from moralscope.axes.correlate import correlate_words
from moralscope.axes.score import score
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.io.files import read_run, write_record
from moralscope.pages import write_figure, write_report

ACTIONS = ["kill people", "kill time", "help", "$x^2$ <b>"]


@pytest.fixture(scope="module")
def run():
    return score(ACTIONS, encoder="scripted")


def test_a_record_and_its_file_make_the_same_report(run, tmp_path):
    write_record(run, tmp_path / "run.json")
    write_report(run, tmp_path / "a.html")
    write_report(read_run(tmp_path / "run.json"), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: score(ACTIONS, encoder="scripted"),
        lambda: score(ACTIONS, encoder="scripted", axis="direction"),
        lambda: score([f"do {n}" for n in range(80)], encoder="scripted"),
        lambda: compare(ACTIONS, encoders=["scripted", "scripted"]),
        lambda: correlate_words(encoder="scripted", vectors="scripted"),
    ],
    ids=["score", "direction", "long", "compare", "words"],
)
def test_every_figure_is_drawn_in_every_format(make, kind, tmp_path):
    path = tmp_path / f"figure.{kind}"
    write_figure(make(), path)
    start = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[kind]
    assert path.read_bytes().startswith(start)


def test_the_same_record_gives_the_same_svg(run, tmp_path):
    write_figure(run, tmp_path / "a.svg")
    write_figure(run, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_job_without_a_figure_says_so(run, tmp_path):
    plain = {"schema": "moralscope.run/1", "job": "lint", "config": {}, "results": []}
    with pytest.raises(InputError, match="no figure"):
        write_figure(plain, tmp_path / "a.svg")


@pytest.mark.parametrize("name", ["figure.txt", "figure", "figure.html"])
def test_another_ending_is_no_figure(run, tmp_path, name):
    with pytest.raises(InputError, match="is not a figure file"):
        write_figure(run, tmp_path / name)


def test_another_ending_is_no_report(run, tmp_path):
    path = tmp_path / "run.json"
    path.write_text("precious")
    with pytest.raises(InputError, match="is not an HTML file"):
        write_report(run, path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(("write", "name"), [(write_report, "r.html"), (write_figure, "r.svg")])
def test_a_place_that_cannot_be_written_is_refused(run, tmp_path, write, name):
    with pytest.raises(InputError, match="cannot be written"):
        write(run, tmp_path / "nowhere" / name)
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write(run, tmp_path / name)


@pytest.mark.parametrize(("write", "name"), [(write_report, "r.html"), (write_figure, "r.svg")])
def test_a_full_disk_leaves_the_old_file_and_no_half_one(run, tmp_path, monkeypatch, write, name):
    path = tmp_path / name
    path.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MoralscopeError, match="No space left on device"):
        write(run, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"action,score\n", "is not JSON"),
        (b'{"schema": "moralscope.run/1", "results": [', "ends in the middle"),
        (b'{"schema": "moralscope.ru', "ends in the middle"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "is not JSON"),
    ],
)
def test_a_file_that_is_no_json_is_refused(tmp_path, content, message):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_run(path)


def test_a_missing_or_huge_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_run(tmp_path / "none.json")
    huge = tmp_path / "huge.json"
    with huge.open("wb") as stream:
        stream.truncate(500_000_000)  # sparse: takes no space
    with pytest.raises(InputError, match="too large"):
        read_run(huge)


def test_nan_in_a_file_is_read_as_missing(tmp_path):
    row = {"action": "a", "score": 0.5, "low": float("nan"), "high": float("inf")}
    plain = {"schema": "moralscope.run/1", "job": "score", "config": {}, "results": [row]}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(plain))
    write_report(read_run(path), tmp_path / "run.html")
    assert "NaN" not in (tmp_path / "run.html").read_text("utf-8").split("<script>")[0]


def test_nesting_without_end_is_refused(tmp_path):
    deep = []
    for _ in range(200):
        deep = [deep]
    plain = {"schema": "moralscope.run/1", "job": "x", "config": {}, "results": deep}
    with pytest.raises(InputError, match="nested too deeply"):
        write_report(plain, tmp_path / "r.html")
