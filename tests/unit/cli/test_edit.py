"""`edit` and `teach` on the command line: what they print, and refusals before any weights."""

import json

import pytest

from moralscope.cli import main


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


def test_edit_prints_both_biases_and_what_is_left(run, tmp_path):
    path = tmp_path / "g.safetensors"
    code, out, _ = run("edit", "-e", "scripted", "--save", str(path))
    assert code == 0
    assert path.is_file()
    for words in ("held-out", "moral scores before/after", "linear probe", "not moral advice"):
        assert words in out


def test_teach_prints_what_took_and_what_moved(run, tmp_path):
    file, table = tmp_path / "a.txt", tmp_path / "c.csv"
    file.write_text("eat fish\nkill [bold]time\n")
    table.write_text("action,label\nlie,bad\n")
    given = ("--correct", "eat meat: fine", "--corrections", str(table), "-f", str(file))
    code, out, _ = run("teach", "-e", "scripted", *given)
    assert code == 0
    assert "degrees" in out
    assert "kill [bold]time" in out
    code, out, _ = run("teach", "-e", "scripted", *given, "--json")
    assert [row["action"] for row in json.loads(out)["statistics"]["lessons"]] == [
        "lie",
        "eat meat",
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["edit", "--remove", "gendre"], "did you mean 'gender'"),
        (["edit", "--strength", "2"], "strength is 2"),
        (["edit", "--keep", "choise"], "did you mean 'choice'"),
        (["teach"], "--correct"),
        (["teach", "--correct", "eat meat: finee"], "did you mean 'fine'"),
        (["teach", "--correct", "lie: good", "--correct", "lie: bad"], "calls 'lie' bad"),
    ],
)
def test_bad_input_is_one_line_and_loads_nothing(run, arguments, problem):
    code, out, err = run(*arguments, "-e", "no-such-encoder")
    assert (code, out) == (2, "")
    assert problem in err
    assert err.count("\n") == 1
