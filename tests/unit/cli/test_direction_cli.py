import json

import pytest
from typer.testing import CliRunner

from moralscope.cli.root import app

ACTIONS = ["kill people", "kill time"]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def scored(*arguments):
    return run("score", *ACTIONS, "--encoder", "scripted", "--axis", "direction", *arguments)


@pytest.mark.parametrize("fit", ["pca", "labelled"])
def test_a_direction_says_what_it_is(fit):
    done = scored("--fit", fit)
    assert done.exit_code == 0
    assert f"direction ({fit}) axis" in done.output
    assert "variance explained" in done.output
    assert "kill time" in done.output


def test_a_saved_direction_gives_the_same_record(tmp_path):
    path = tmp_path / "axis.safetensors"
    first = scored("--save-axis", path, "--json")
    again = scored("--axis-file", path, "--json")
    assert json.loads(again.stdout)["results"] == json.loads(first.stdout)["results"]


def test_people_are_scored_and_shown_without_other_actions(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("action,a_yes,a_no,b_yes,b_no\nhelp,9,1,8,2\nkill,1,9,2,8\nlie,3,7,1,9\n")
    done = run("score", "--encoder", "scripted", "--axis", "direction", "--human", path)
    assert done.exit_code == 0
    assert "rho (Spearman)" in done.output
    given = ("score", "go", "lie", "kill", "help", "--encoder", "scripted", "--human", path)
    record = json.loads(run(*given, "--json").stdout)
    assert [row["action"] for row in record["results"]] == ["go", "lie", "kill", "help"]


def test_a_report_and_a_figure_are_drawn(tmp_path):
    page, figure = tmp_path / "run.html", tmp_path / "run.svg"
    assert scored("--report", page, "--figure", figure).exit_code == 0
    assert "kill time" in page.read_text("utf-8")
    assert figure.stat().st_size > 0


def test_reproduce_direction_prints_every_table():
    done = run("reproduce", "direction", "--encoders", "scripted")
    assert done.exit_code == 0
    for title in ("Table 7", "Table 8", "Table 9", "Figure 2", "Figure 3"):
        assert title in done.output
