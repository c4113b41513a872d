"""Reports from the command line: every call is a process of its own."""

import json
import os
import subprocess
import sys

import pytest


def moralscope(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "moralscope", *map(str, words)],
        capture_output=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100"},
        check=False,
    )


def one_error_line(done, code=2):
    lines = done.stderr.decode().strip().splitlines()
    assert done.returncode == code, done.stderr.decode()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.json"
    done = moralscope("score", "kill time", "kill people", "-e", "scripted", "--out", path)
    assert done.returncode == 0, done.stderr
    return path


def test_score_writes_record_report_and_figure_and_names_them(tmp_path):
    done = moralscope(
        "score", "kill time", "<img src=x>", "-e", "scripted", "--out", "run.json",
        "--report", "run.html", "--figure", "run.svg", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    notes = done.stderr.decode().splitlines()
    assert notes == ["run record: run.json", "report: run.html", "figure: run.svg"]
    assert "<img src=x>" not in (tmp_path / "run.html").read_text("utf-8")
    assert (tmp_path / "run.svg").read_bytes().startswith(b"<?xml")


def test_json_stays_alone_on_stdout_with_a_report(tmp_path):
    done = moralscope(
        "score", "kill time", "-e", "scripted", "--json", "--report", tmp_path / "r.html"
    )
    assert json.loads(done.stdout)["job"] == "score"
    assert done.stderr == b""
    assert (tmp_path / "r.html").exists()


def test_report_redraws_an_old_run_beside_it(run):
    done = moralscope("report", run)
    assert done.returncode == 0, done.stderr
    page = run.with_suffix(".html")
    assert f"report: {page}" in done.stderr.decode().replace("\n", "")
    assert "kill time" in page.read_text("utf-8")


def test_with_a_figure_alone_no_report_is_written(run, tmp_path):
    figure = tmp_path / "run.pdf"
    assert moralscope("report", run, "--figure", figure).returncode == 0
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
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, content, message):
    path = tmp_path / "run.json"
    path.write_text(content)
    assert message in one_error_line(moralscope("report", path))
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
def test_a_bad_place_is_refused_before_any_work(option, message, tmp_path):
    done = moralscope("score", "kill", "-e", "no-such-encoder", *option, cwd=tmp_path)
    assert message in one_error_line(done)


def test_the_demo_ends_with_a_report(tmp_path):
    done = moralscope("demo", "-e", "scripted", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "moralscope-demo.html"
    assert "moralscope-demo.html (open it in a browser)" in done.stderr.decode()
    assert "donate to charity" in page.read_text("utf-8")


def test_the_demo_goes_on_where_its_report_cannot_be_written(tmp_path):
    (tmp_path / "moralscope-demo.html").mkdir()
    done = moralscope("demo", "-e", "scripted", cwd=tmp_path)
    assert done.returncode == 0
    assert "no report was written: moralscope-demo.html cannot be written" in done.stderr.decode()
    assert "donate to charity" in done.stdout.decode()


def test_the_demo_writes_where_it_is_told_to_and_only_there(tmp_path):
    assert moralscope("demo", "-e", "scripted", "--report", "r.html", cwd=tmp_path).returncode == 0
    assert os.listdir(tmp_path) == ["r.html"]
