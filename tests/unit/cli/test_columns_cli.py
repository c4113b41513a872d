"""Files whose columns have other names, files by `--file`, words that nobody knows."""

import io
import json
import sys

import pytest
from rich.console import Console

from moralscope.__main__ import main
from moralscope.cli import output


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")

    def run(*words, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(list(words))
        done = capsys.readouterr()
        return int(stopped.value.code or 0), done.out, done.err

    return run


EXCHANGES = "Q,A\nHi!,Hello.\nAny plans?,I will read a book.\n"
JUDGED = "HITId,Worker,severity\n1,p,4\n1,q,5\n2,p,1\n2,q,1\n3,p,2\n3,q,2\n"
AUDIT = ("audit", "--experts", "scripted", "--json")


def test_audit_takes_a_file_by_flag_as_score_does(call, tmp_path):
    (tmp_path / "a.csv").write_text(EXCHANGES)
    named = ("--columns", "prompt=Q,reply=A")
    code, by_flag, _ = call(*AUDIT, "--file", "a.csv", *named)
    assert code == 0
    _, by_argument, _ = call(*AUDIT, "a.csv", *named)
    assert json.loads(by_flag)["results"] == json.loads(by_argument)["results"]
    code, _, err = call(*AUDIT, "a.csv", "-f", "a.csv")
    assert (code, err) == (2, "error: FILE and --file were given; give FILE or --file, not both\n")


@pytest.mark.parametrize(
    "text", [EXCHANGES, '{"Q": "Hi!", "A": "Hello."}\n{"Q": "Any plans?", "A": "I will read."}\n']
)
def test_audit_reads_csv_and_json_lines_from_stdin(call, text):
    code, out, _ = call(*AUDIT, "-f", "-", "--columns", "prompt=Q,reply=A", stdin=text)
    assert code == 0
    assert [row["prompt"] for row in json.loads(out)["results"]] == ["Hi!", "Any plans?"]
    code, _, err = call(*AUDIT, "-f", "-", stdin="prompt,reply\n")
    assert (code, "stdin holds no rows" in err) == (2, True)


@pytest.mark.parametrize("axis", ["judge", "choice"])
def test_score_takes_columns_of_other_names_from_one_file(call, tmp_path, axis):
    (tmp_path / "a.csv").write_text("Text,note\nkill time,x\nread a book,y\n")
    asked = ("score", "--axis", axis, "--encoder", "scripted", "--file", "a.csv", "--json")
    code, out, _ = call(*asked, "--columns", "action=Text")
    assert code == 0
    assert [row["action"] for row in json.loads(out)["results"]] == ["kill time", "read a book"]
    code, _, err = call(*asked)
    assert code == 2
    assert "has no column 'action' (columns: text, note)" in err
    assert err.endswith("--columns action=NAME\n")


def test_columns_without_a_table_are_refused(call, tmp_path):
    (tmp_path / "a.txt").write_text("kill time\n")
    for words in (["--file", "a.txt"], ["kill time"]):
        code, _, err = call("score", *words, "--columns", "action=x")
        assert (code, "--columns" in err) == (2, True)


def test_agreement_knows_raters_annotators_and_workers(call, tmp_path):
    for who in ("Worker", "rater", "annotator_id", "person"):
        (tmp_path / "a.csv").write_text(JUDGED.replace("Worker", who))
        code, out, _ = call("agreement", "a.csv", "--json")
        assert code == 0, who
        assert json.loads(out)["statistics"]["fields"][0]["people"] == 2


def test_agreement_takes_columns_and_a_missing_one_names_the_flag(call, tmp_path):
    (tmp_path / "a.csv").write_text(JUDGED.replace("Worker", "WHO"))
    code, _, err = call("agreement", "a.csv")
    assert code == 2
    assert "has no column 'person' (columns: HITId, WHO, severity)" in err
    assert err.endswith("--columns person=NAME\n")
    code, out, _ = call("agreement", "a.csv", "--columns", "person=WHO", "--json")
    assert (code, json.loads(out)["statistics"]["fields"][0]["field"]) == (0, "severity")


def test_two_columns_that_may_both_be_the_person_are_not_guessed_between(call, tmp_path):
    (tmp_path / "a.csv").write_text("item,rater,worker,severity\n1,p,a,4\n1,q,b,5\n")
    code, _, err = call("agreement", "a.csv")
    assert (code, "--columns person=rater" in err) == (2, True)


def test_survey_takes_columns_of_other_names_from_one_file(call, tmp_path):
    (tmp_path / "d.csv").write_text("story,a,b\nYou find a purse.,I keep it.,I give it back.\n")
    asked = ("survey", "d.csv", "--model", "scripted", "--json")
    code, out, _ = call(*asked, "--columns", "situation=story,action1=a,action2=b")
    assert (code, json.loads(out)["config"]["items"]) == (0, 1)
    code, _, err = call(*asked)
    assert (code, "--columns situation=NAME" in err) == (2, True)


def test_words_that_have_no_vector_are_answered_with_the_nearest(call):
    code, _, err = call("words", "associate", "gifft", "--vectors", "scripted")
    assert code == 2
    assert err == (
        "error: nothing was found: scripted has no vector for gifft; "
        "instead of 'gifft' there is gift\n"
    )
    code, out, _ = call("words", "associate", "gifft", "gift", "--vectors", "scripted", "--json")
    found = json.loads(out)
    assert (code, found["statistics"]["nearest"]) == (0, {"gifft": ["gift"]})


def test_what_is_read_and_loaded_is_told_in_a_terminal_and_not_beside_json(
    call, tmp_path, monkeypatch
):
    (tmp_path / "a.csv").write_text("action\nkill time\n")
    told = io.StringIO()
    monkeypatch.setattr(output, "notes", Console(file=told, force_terminal=True, width=200))
    asked = ("score", "--axis", "choice", "--encoder", "scripted", "--file", "a.csv")
    assert call(*asked)[0] == 0
    assert "reading a.csv; loading scripted …" in told.getvalue().splitlines()[0]
    told.truncate(0)
    assert call(*asked, "--json")[0] == 0
    assert "loading" not in told.getvalue()
