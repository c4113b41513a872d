"""`report --site`: a folder that can be published; and pages that open by themselves."""

import json
import os
import subprocess
import sys
import time

import pytest

from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.pages.site import write_site

from .plain_records import HOSTILE, score_record


def test_an_index_leads_to_every_report_and_nothing_private_goes_out(tmp_path):
    page = {"title": "<b>mine</b>", "remarks": [{"result": 0, "note": "a private remark"}]}
    records = {"one": {**score_record(HOSTILE), "page": page}, "two": score_record()}
    written = write_site(records, tmp_path / "site")
    assert sorted(path.name for path in written) == ["index.html", "one.html", "two.html"]
    index = (tmp_path / "site" / "index.html").read_text()
    assert '<a href="one.html">&lt;b&gt;mine&lt;/b&gt;</a>' in index
    assert "3 actions, choice, minilm: harm … help" in index
    assert "<script" not in index
    assert all("private remark" not in path.read_text() for path in written)


def test_a_place_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        write_site({"a": score_record()}, tmp_path / "file")
    with pytest.raises(InputError, match="no run to publish"):
        write_site({}, tmp_path / "site")


def test_the_command_publishes_given_runs_or_those_that_the_page_keeps(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "runs").mkdir(parents=True)
    for path in (tmp_path / "home" / "runs" / "kept.json", tmp_path / "a.json"):
        path.write_text(json.dumps(score_record()))
    for words, name in (([], "kept"), ([str(tmp_path / "a.json")], "a")):
        folder = tmp_path / f"site-{name}"
        with pytest.raises(SystemExit) as caught:
            main(["report", *words, "--site", str(folder)])
        assert caught.value.code in (0, None)
        assert (folder / f"{name}.html").is_file()
        assert f"{name}.html" in (folder / "index.html").read_text()
    for words, told in (
        (["report"], "no run was given"),
        (["report", "a.json", "b.json"], "2 runs were given"),
        (["report", "--site", "x", "--figure", "y.svg"], "leave --out and --figure out"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2
        assert told in " ".join(capsys.readouterr().err.split())


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Be the user's browser, and return the addresses that it was given."""
    log, script = tmp_path / "opened.txt", tmp_path / "browser.sh"
    script.write_text(f'#!/bin/sh\necho "$1" >> {log}\n')
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{script} %s")
    return log


def run(words, folder):
    command = [sys.executable, "-m", "moralscope", *words]
    return subprocess.Popen(command, cwd=folder, env=os.environ, stderr=subprocess.PIPE, text=True)


def test_demo_and_report_open_what_they_wrote(tmp_path, opened):
    assert run(["demo", "--encoder", "scripted", "--open", "--out", "r.json"], tmp_path).wait() == 0
    assert run(["report", "r.json", "--open"], tmp_path).wait() == 0
    names = [line.rpartition("/")[2] for line in opened.read_text().splitlines()]
    assert names == ["moralscope-demo.html", "r.html"]


def test_serve_opens_its_page(tmp_path, opened):
    process = run(["serve", "--port", "0", "--open"], tmp_path)
    try:
        end = time.monotonic() + 60
        while not opened.exists() and time.monotonic() < end:
            time.sleep(0.2)
        assert opened.read_text().startswith("http://127.0.0.1:")
    finally:
        process.terminate()
        process.wait(30)
