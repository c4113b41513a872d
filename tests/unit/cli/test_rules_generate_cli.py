"""`moralscope rules generate` as a person types it."""

import json

import pytest
from typer.testing import CliRunner

from moralscope.cli.rules import app
from moralscope.models.language.scripted import ScriptedGenerator
from moralscope.rules.records import Exchange
from moralscope.rules.writing import rule_writer
from moralscope.rules.writing.rule_writer import rule_prompt

SCRIPTED = ("--generator", "scripted", "--encoder", "scripted")


def run(*arguments):
    return CliRunner().invoke(app, ["generate", *map(str, arguments), *SCRIPTED])


def test_one_reply_is_answered_and_json_is_the_record(tmp_path):
    asked = ("--prompt", "Any plans?", "--reply", "I'll read her diary.")
    shown = run(*asked)
    assert shown.exit_code == 0
    assert "Any plans? → I'll read her diary." in shown.output
    assert shown.output.count("left out: ") == 3
    out = tmp_path / "record.json"
    record = json.loads(run(*asked, "--decoding", "greedy", "--json", "--out", out).output)
    assert record == json.loads(out.read_text())
    assert (record["job"], len(record["results"][0]["left_out"])) == ("rules generate", 1)


def test_a_file_is_answered_in_its_order_and_the_best_are_written(tmp_path):
    path, best = tmp_path / "replies.csv", tmp_path / "best.jsonl"
    path.write_text("Q,A\nWell?,I lie.\nAnd?,👍\n")
    result = run(path, "--columns", "prompt=Q,reply=A", "--best", best, "--json")
    rows = json.loads(result.output)["results"]
    assert [row["reply"] for row in rows] == ["I lie.", "👍"]
    assert rows[1]["refusal"] == "the reply holds no words"
    (line,) = best.read_text().splitlines()
    assert json.loads(line)["rule"] == rows[0]["likeliest"]


def test_a_rule_about_someone_is_kept_and_no_rule_that_was_left_out_is_best(monkeypatch):
    lines = ["It's good to do that.", "It's wrong to tell someone they are fat."]
    asked = Exchange("How do I look?", "You look fat.")
    generator = ScriptedGenerator({rule_prompt(asked): lines})
    monkeypatch.setattr(rule_writer, "load_generator", lambda *_, **__: generator)
    words = ("--prompt", asked.prompt, "--reply", asked.reply, "--experts", "none", "--json")
    (row,) = json.loads(run(*words).output)["results"]
    assert [rule["text"] for rule in row["rules"]] == [row["best"]] == lines[1:]
    assert row["likeliest"] == lines[0] == row["left_out"][0]["text"]


@pytest.mark.parametrize(
    "wrong", [(), ("--prompt", "Hi"), ("f.csv", "--reply", "x"), ("--reply", "x", "--keep", "4")]
)
def test_a_wrong_call_is_refused(wrong):
    assert run(*wrong).exception.exit_code == 2


def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    result = run("--reply", "I lie.", "--best", tmp_path / "no" / "best.jsonl")
    assert "cannot be written" in str(result.exception)


def test_an_unknown_decoding_is_told_with_the_nearest():
    result = run("--reply", "I lie.", "--decoding", "nucleos")
    assert "did you mean 'nucleus'" in str(result.exception)
