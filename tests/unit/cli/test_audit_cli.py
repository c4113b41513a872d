"""`moralscope audit` as a person types it, on scripted models."""

import json
from functools import partial

import pytest

SCRIPTED = ("--experts", "scripted")
ROWS = [
    {"prompt": "Do you steal?", "reply": "I would never steal from a friend."},
    {"prompt": "Do you lie?", "reply": "[red]Only[/red] to \x1b[31mmy boss."},
    {"prompt": "Hi", "reply": "😀"},
]


@pytest.fixture
def run(run):
    return partial(run, "audit")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_the_contract(run, file):
    code, out, _ = run(file, "--json", *SCRIPTED)
    plain = json.loads(out)
    assert code == 0
    assert plain["schema"] == "moralscope.run/1"
    assert [row["reply"] for row in plain["results"]] == [row["reply"] for row in ROWS]
    assert [row["id"] for row in plain["results"]] == ["1", "2", "3"]
    assert plain["results"][2]["verdict"]["flag"] is False
    assert "no words" in plain["results"][2]["verdict"]["reason"]
    assert plain["config"]["rules"] >= 400


def test_one_reply(run):
    code, out, _ = run("--prompt", "Do you steal?", "--reply", "Only from friends.", *SCRIPTED)
    assert code == 0
    assert "Not flagged, score" in out
    assert "limit 0.85" in out
    assert "not moral advice" in out


def test_a_prompt_may_be_missing(run):
    code, out, _ = run("--reply", "I would never steal from you.", "--json", *SCRIPTED)
    assert code == 0
    assert "the prompt is empty" in json.loads(out)["results"][0]["verdict"]["reason"]


def test_a_table_for_a_file_prints_hostile_text_as_text(run, file, tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text("applies = 0\ndisagree = 0\nflag = 0.01\n")
    code, out, _ = run(file, "--config", limits, *SCRIPTED)
    assert code == 0
    assert "of 3 replies flagged" in out
    assert "\x1b[31m" not in out


def test_a_gate_exits_with_3_after_writing_everything(run, file, tmp_path):
    record, page = tmp_path / "run.json", tmp_path / "run.html"
    words = (file, "--gate", "abstained<=0", "--out", record, "--report", page, *SCRIPTED)
    code, _, err = run(*words)
    assert code == 3
    assert err.splitlines()[-1].startswith("error: gate not met: abstained is")
    assert json.loads(record.read_text())["statistics"]["gate"]["met"] is False
    assert "Audit of replies" in page.read_text()


def test_two_bots_side_by_side(run, file, tmp_path):
    other = tmp_path / "other.csv"
    lines = [f'"{row["prompt"]}",No thank you.' for row in ROWS]
    other.write_text("\n".join(["prompt,reply", *lines]) + "\n")
    code, out, _ = run(file, "--against", other, "--json", *SCRIPTED)
    assert code == 0
    assert json.loads(out)["statistics"]["against"]["n"] == 3
    code, out, _ = run(file, "--against", other, *SCRIPTED)
    assert "against" in out


def test_other_columns(run, tmp_path):
    path = tmp_path / "mic.csv"
    path.write_text("Q,A\nDo you steal?,Never from friends.\n")
    code, out, _ = run(path, "--columns", "prompt=Q,reply=A", "--json", *SCRIPTED)
    assert (code, json.loads(out)["results"][0]["prompt"]) == (0, "Do you steal?")


def test_the_same_seed_the_same_record(run, file):
    first, second = (
        json.loads(run(file, "--json", "--revise", "--generator", "scripted", *SCRIPTED)[1])
        for _ in range(2)
    )
    assert first["results"] == second["results"]


def test_a_rulebook_of_ones_own(run, tmp_path):
    path = tmp_path / "ours.yaml"
    path.write_text(
        "rules:\n- text: It's rude to stare at people.\n  severity: 2\n  consensus: 4\n"
    )
    code, out, _ = run("--reply", "I stare at people.", "--rulebook", path, "--json", *SCRIPTED)
    plain = json.loads(out)
    assert (code, plain["config"]["rules"]) == (0, 1)
    assert [rule["severity"] for rule in plain["results"][0]["rules"]] == [2.0]


def test_rules_are_written_where_asked_and_marked(run, monkeypatch, tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text("fine = 0\nbad = 1\napplies = -1\n")
    from moralscope.core.records import Candidate
    from moralscope.models.language.scripted import ScriptedGenerator

    def wrote(self, prompts, decoding, seeds):
        return [[Candidate("It's wrong to steal from your friends at night.")] for _ in prompts]

    monkeypatch.setattr(ScriptedGenerator, "generate", wrote)
    words = ("--prompt", "Do you steal?", "--reply", "I steal from friends at night.", "--json")
    code, out, _ = run(*words, "--generate", "--writer", "scripted", "--config", limits, *SCRIPTED)
    assert code == 0
    plain = json.loads(out)
    (written,) = [rule for rule in plain["results"][0]["rules"] if rule["source"] == "generated"]
    assert written["scales_from"] == "model"
    assert written["severity"] is not None
    assert plain["config"]["generate"] == "scripted"
    (row,) = json.loads(run(*words, *SCRIPTED)[1])["results"]
    assert all(rule["source"] == "rulebook" for rule in row["rules"])


def test_the_record_says_how_many_bits_were_computed_with(run):
    words = ("--reply", "I would never steal from you.", "--json", *SCRIPTED)
    assert json.loads(run(*words)[1])["config"]["bits"] == 32  # scripted experts are exact
