"""Reports from the command line."""

import json
import os

import pytest

from moralscope import score
from moralscope.io.files import write_record


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Commands write beside where they are called."""
    monkeypatch.chdir(tmp_path)


def one_error_line(done, code=2):
    ended, _, err = done
    lines = err.strip().splitlines()
    assert ended == code, err
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.fixture
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.json"
    write_record(score(["kill time", "kill people"], encoder="scripted"), path)
    return path


def test_score_writes_record_report_and_figure_and_names_them(run, tmp_path):
    code, _, err = run(
        "score", "kill time", "<img src=x>", "-e", "scripted", "--out", "run.json",
        "--report", "run.html", "--figure", "run.svg",
    )  # fmt: skip
    assert code == 0, err
    assert err.splitlines() == ["run record: run.json", "report: run.html", "figure: run.svg"]
    assert "<img src=x>" not in (tmp_path / "run.html").read_text("utf-8")
    assert (tmp_path / "run.svg").read_bytes().startswith(b"<?xml")


def test_json_stays_alone_on_stdout_with_a_report(run, tmp_path):
    words = ("score", "kill time", "-e", "scripted", "--json", "--report", tmp_path / "r.html")
    _, out, err = run(*words)
    assert json.loads(out)["job"] == "score"
    assert err == ""
    assert (tmp_path / "r.html").exists()


def test_report_redraws_an_old_run_beside_it(run, record):
    code, _, err = run("report", record)
    assert code == 0, err
    page = record.with_suffix(".html")
    assert f"report: {page}" in err.replace("\n", "")
    assert "kill time" in page.read_text("utf-8")


def test_with_a_figure_alone_no_report_is_written(run, record, tmp_path):
    figure = tmp_path / "run.pdf"
    assert run("report", record, "--figure", figure)[0] == 0
    assert figure.read_bytes().startswith(b"%PDF")
    assert os.listdir(tmp_path) == ["run.pdf"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "is not JSON"),
        ("", "is empty"),
        ('{"schema": "moralscope.run/1", "job": "sc', "ends in the middle"),
        ('{"a": 1}', "is not a run record"),
        ('{"schema": "moralscope.run/9", "job": "score"}', "upgrade moralscope"),
        ('{"schema": "moralscope.run/1", "job": "score", "config": {}}', "no usable 'results'"),
        (
            '{"schema": "moralscope.run/1", "job": "score", "config": {}, "results": '
            '[{"action": "a", "score": "<b>"}]}',
            "not a number",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(run, tmp_path, content, message):
    path = tmp_path / "run.json"
    path.write_text(content)
    assert message in one_error_line(run("report", path))
    assert os.listdir(tmp_path) == ["run.json"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--report", "/none/r.html"), "cannot be written"),
        (("--report", "r.txt"), "is not an HTML file"),
        (("--figure", "f.gif"), "is not a figure file"),
        (("--figure", "/none/f.svg"), "cannot be written"),
    ],
)
def test_a_bad_place_is_refused_before_any_work(run, option, message):
    assert message in one_error_line(run("score", "kill", "-e", "no-such-encoder", *option))


def test_the_demo_ends_with_a_report(run, tmp_path):
    code, _, err = run("demo", "-e", "scripted")
    assert code == 0, err
    page = tmp_path / "moralscope-demo.html"
    assert "moralscope-demo.html (open it in a browser)" in err
    assert "donate to charity" in page.read_text("utf-8")


def test_the_demo_goes_on_where_its_report_cannot_be_written(run, tmp_path):
    (tmp_path / "moralscope-demo.html").mkdir()
    code, out, err = run("demo", "-e", "scripted")
    assert code == 0
    assert "no report was written: moralscope-demo.html cannot be written" in err
    assert "donate to charity" in out


def test_the_demo_writes_where_it_is_told_to_and_only_there(run, tmp_path):
    assert run("demo", "-e", "scripted", "--report", "r.html")[0] == 0
    assert os.listdir(tmp_path) == ["r.html"]
