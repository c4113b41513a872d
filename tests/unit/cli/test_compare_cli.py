"""`moralscope compare` as a person types it: table, record, report, gate and refusals."""

import json
import shutil

import pytest

ACTIONS = ["kill people", "help people", "smile", "tell a lie"]
TWO = ("compare", "--encoders", "scripted,scripted")


@pytest.fixture
def one_line(run):
    def call(code, *words):
        found, out, err = run(*words)
        assert found == code, err
        assert out == ""
        assert len(err.strip().splitlines()) == 1
        assert err.startswith("error: ")
        return err

    return call


def test_the_table_shows_agreement_and_disagreements(run):
    code, out, _ = run(*TWO, *ACTIONS)
    assert code == 0
    for text in ("Pearson's r", "1.00 (", "0 of 4", "Largest differences", *ACTIONS):
        assert text in out


def test_one_json_document_and_the_same_in_the_file(run, tmp_path):
    path = tmp_path / "run.json"
    code, out, _ = run(*TWO, *ACTIONS, "--json", "--out", path)
    record = json.loads(out)
    assert code == 0
    assert record == json.loads(path.read_text())
    assert record["job"] == "compare"
    assert [row["action"] for row in record["results"]] == ACTIONS
    assert len(record["results"][0]["differences"]) == 1
    assert record["statistics"]["gate"] is None


def test_a_gate_that_is_met_exits_0(run):
    code, out, err = run(*TWO, *ACTIONS, "--gate", "r>=0.99 and changed<=0")
    assert (code, err) == (0, "")
    assert "gate r>=0.99 and changed<=0: met" in out


def test_a_gate_not_met_exits_3_after_everything_was_written(run, tmp_path):
    path, page = tmp_path / "run.json", tmp_path / "run.html"
    gate = ("--gate", "max_shift>0.5")
    code, out, err = run(*TWO, *ACTIONS, "--json", "--out", path, "--report", page, *gate)
    assert code == 3
    assert json.loads(out)["statistics"]["gate"]["met"] is False
    assert json.loads(path.read_text())["statistics"]["gate"]["values"] == {"max_shift": 0}
    assert page.read_text().startswith("<!")
    (line,) = err.strip().splitlines()
    assert line.startswith("error: gate not met: max_shift is 0 for scripted@")
    assert "wanted > 0.5" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*TWO, *ACTIONS, "--gate", "kendal>=0.5"), "did you mean 'kendall'"),
        ((*TWO, *ACTIONS, "--gate", "__import__('os')"), "is not a condition"),
        ((*TWO, "kill", "help"), "2 different actions were given"),
        (("compare", "--encoders", "scripted", *ACTIONS), "is not a list like minilm,mpnet"),
        (("compare", "--encoders", "scripted,,scripted", *ACTIONS), "is not a list"),
        (("compare", "--encoders", "scripted,minilmm", *ACTIONS), "did you mean 'minilm'"),
        ((*TWO, *ACTIONS, "--axis", "choise"), "did you mean 'choice'"),
        ((*TWO, *ACTIONS, "--fit", "labelled"), "the choice axis has no option 'fit'"),
        ((*TWO, *ACTIONS, "--file", "actions.txt"), "give actions or --file, not both"),
        ((*TWO, *ACTIONS, "--out", "/no/such/folder/run.json"), "cannot be written"),
        ((*TWO, *ACTIONS, "--figure", "figure.gif"), "figure.gif"),
    ],
)
def test_refusals_are_one_line(one_line, words, message):
    assert message in one_line(2, *words)


def test_actions_come_from_a_file_on_any_axis(run, tmp_path):
    path = tmp_path / "actions.txt"
    path.write_text("\n".join(ACTIONS))
    code, out, _ = run(*TWO, "--file", path, "--axis", "direction", "--json")
    record = json.loads(out)
    assert code == 0
    assert record["config"]["axis"] == "direction"
    assert record["config"]["scale"].startswith("the axis's own unit")


def test_hostile_actions_are_shown_as_text(run):
    code, out, _ = run(*TWO, "[bold red]boo[/]", "\x1b[31mred", "smile")
    assert code == 0
    assert "[bold red]boo[/]" in out
    assert "\x1b" not in out


def test_two_folders_of_one_name_stay_apart(run, tmp_path, minilm_folder):
    folders = [tmp_path / place / "[red]model" for place in ("old", "new")]
    for folder in folders:
        shutil.copytree(minilm_folder, folder)
    (folders[1] / "note.json").write_text("{}")  # another checksum, the same rows
    code, out, _ = run(
        "compare", "--encoders", ",".join(map(str, folders)), *ACTIONS, "--gate", "changed<=0"
    )
    assert code == 0
    assert "[red]model@" in out
    assert "0 of 4" in out
