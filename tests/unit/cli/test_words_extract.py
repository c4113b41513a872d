"""What `words extract` and `words validate` print."""

import json

import pytest
from typer.testing import CliRunner

from moralscope.cli.words import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "verbs.txt").write_text("hug\nhelp\nharm\nkill\n", "utf-8")
    (tmp_path / "ratings.txt").write_text("hug\t2\nhelp\t1\nharm\t-2\nkill\t-3\n", "utf-8")
    (tmp_path / "dos.txt").write_text("hug\nhelp\n", "utf-8")
    (tmp_path / "donts.txt").write_text("walk\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)

    def invoke(line):
        result = CliRunner().invoke(app, line.split(), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    return invoke


EXTRACT = "extract --vectors scripted --verbs verbs.txt --lexicon ratings.txt"


def test_two_columns_show_scores_and_ranks_in_the_papers(run):
    text = run(f"{EXTRACT} -n 2")
    assert "scripted, 4 verbs in 46 words" in text
    shown = " ".join(text.splitlines()[2:4]).replace("°", "").split()
    assert {"hug", "help", "harm", "kill"} <= set(shown)
    assert "of 50 have a vector" in text
    assert "valence by ratings" in text


def test_json_is_one_document_and_is_saved_too(run, tmp_path):
    record = json.loads(run(f"{EXTRACT} -n 1 --json --out run.json"))
    assert record["config"]["count"] == 1
    assert json.loads((tmp_path / "run.json").read_text("utf-8")) == record


def test_validate_shows_the_paper_beside_its_own_lists_only(run):
    printed = run("validate --lexicon ratings.txt")
    assert "paper" in printed
    assert "23.28***" in printed
    own = run("validate --dos dos.txt --donts donts.txt --lexicon ratings.txt")
    assert "paper" not in own
    empty = next(line for line in own.splitlines() if line.startswith("rated only, don'ts"))
    assert empty.split("n  ")[1].strip() == "-, 0"
    assert "note: fewer than two of the don'ts are in ratings" in own
