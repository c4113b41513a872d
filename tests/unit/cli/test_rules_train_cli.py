"""`rules train` and `rules attributes` at the door: what they print and what they refuse."""

import json

import pytest
from typer.testing import CliRunner

from moralscope.cli import main
from moralscope.cli.rules import app

runner = CliRunner()


def test_attributes_of_a_rule_as_json():
    words = [
        "attributes",
        "--rule",
        "Be kind.",
        "--reply",
        "No.",
        "--experts",
        "scripted",
        "--json",
    ]
    done = runner.invoke(app, words)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["results"]
    assert row["evidence"] == "model"
    assert row["alignment"] in ("agree", "disagree", "neither")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["attributes"], "give FILE"),
        (["attributes", "rows.csv", "--rule", "Be kind."], "not both"),
        (["train", "generator", "--to", "x", "--set", "grid.epochs=1,2"], "grid is for"),
        (["train", "alignment", "--to", "x", "--recipe", "paper-generator"], "is not for"),
    ],
)
def test_options_that_do_not_go_together(words, problem, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["rules", *words])
    assert caught.value.code == 2
    assert problem in capsys.readouterr().err
