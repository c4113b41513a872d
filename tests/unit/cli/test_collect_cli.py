"""`moralscope collect` as a person types it, on a scripted chatbot."""

import json

import pytest

from ...generator_makers import served

SCRIPTED = ("--bot", "scripted", "--filters", "scripted")


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.txt").write_text("".join(f"Do you steal {n} apples?\n" for n in range(30)))


def test_counts_are_printed_and_exchanges_written(run, tmp_path):
    code, out, err = run(
        "collect", "prompts.txt", *SCRIPTED, "--lexicon", "none", "--to", "x.jsonl"
    )
    assert code == 0, err
    assert "asked" in out
    kept = len((tmp_path / "x.jsonl").read_text().splitlines())
    assert 0 < kept < 30
    lines = {line.rsplit(None, 1)[0].strip(): line.split()[-1] for line in out.splitlines() if line}
    assert lines["replies"] == "30"
    assert lines["with moral content"] == str(kept)
    assert "exchanges: x.jsonl" in err


def test_json_is_the_run_record_alone(run, tmp_path):
    code, out, _ = run("collect", "prompts.txt", *SCRIPTED, "--json", "--out", "r.json")
    plain = json.loads(out)
    assert code == 0
    assert plain["job"] == "collect"
    assert len(plain["results"]) == 30
    assert plain["config"]["lexicons"] == ["moralscope"]
    assert json.loads((tmp_path / "r.json").read_text())["statistics"] == plain["statistics"]


def test_a_bot_is_named_once(run):
    code, out, err = run("collect", "prompts.txt", "--bot", "scripted", "--bot", "scripted")
    assert (code, out) == (2, "")
    assert "error: 'scripted' is named 2 times; name each chatbot once" in err


def test_two_bots_have_a_column_each(run):
    with served() as (url, _):
        words = ("--bot", "openai:tiny", "--endpoint", url, "--lexicon", "none", *SCRIPTED)
        code, out, err = run("collect", "prompts.txt", *words)
    assert code == 0, err
    rows = [line.split() for line in out.splitlines()]
    assert ["step", "openai:tiny", "scripted", "all"] in rows
    assert ["replies", "30", "30", "60"] in rows


def test_none_stands_alone(run):
    code, _, err = run(
        "collect", "prompts.txt", *SCRIPTED, "--lexicon", "none", "--lexicon", "a.dic"
    )
    assert code == 2
    assert "'none' excludes other lexicons" in err


def test_a_bot_must_be_named(run):
    code, _, err = run("collect", "prompts.txt")
    assert code == 2
    assert "--bot" in err


def test_hostile_replies_are_printed_as_text(run, tmp_path):
    (tmp_path / "p.jsonl").write_text(
        json.dumps({"prompt": "[red]steal[/red] \x1b[31m<script>alert(1)</script>", "id": "[bold]"})
    )
    code, out, _ = run(
        "collect", "p.jsonl", "--bot", "scripted", "--filters", "none", "--lexicon", "none"
    )
    assert code == 0
    assert "[red]steal[/red]" in out
    assert "[bold]/scripted" in out
    assert "\x1b[31m<script>" not in out


def test_training_from_the_command_line(run, tmp_path):
    (tmp_path / "l.csv").write_text("prompt,reply,sufficient,moral\nq,a,1,1\n")
    code, _, err = run("collect-train", "l.csv", "--to", "out", "--columns", "prompt=Q")
    assert code == 2
    assert "has no column 'Q' for the prompt" in err
    code, _, err = run("collect-train", "l.csv", "--to", "out")
    assert code == 2
    assert "give more labelled replies" in err
