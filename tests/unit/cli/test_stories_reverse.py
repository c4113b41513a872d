"""`moralscope stories reverse` as a person types it."""

import json

import pytest
import typer
from typer.testing import CliRunner

from moralscope.cli.stories import reverse
from moralscope.stories.story import SENTENCES

NORMS = ("Hum softly!", "You should hum.")
app = typer.Typer()
app.command()(reverse)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_reversals_are_printed_below_each_norm():
    result = run("It's rude to hum.", "Bonjour", "--variants", 2)
    assert result.exit_code == 0
    assert "  It's polite to hum.\n  It's rude to not hum.\n" in result.output
    assert "cannot be read" in result.output


def test_a_file_is_answered_by_a_report(tmp_path):
    path = tmp_path / "stories.jsonl"
    rows = [dict.fromkeys(SENTENCES) | {"ID": norm, "norm": norm} for norm in NORMS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("--file", path)
    assert result.exit_code == 0
    assert "1 of 2 norms reversed (50.0 %)" in result.output
    assert "Not read: Hum softly!" in result.output


def test_json_and_out_hold_the_same_record(tmp_path):
    out = tmp_path / "record.json"
    result = run("It's rude to hum.", "--json", "--out", out)
    assert json.loads(result.output) == json.loads(out.read_text())


@pytest.mark.parametrize("hostile", ["[red]It's rude[/red]", "\x1b[31mIt's rude to hum."])
def test_hostile_text_is_printed_harmlessly(hostile):
    result = run(hostile)
    assert result.exit_code == 0
    assert "\x1b" not in result.output
