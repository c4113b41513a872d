"""`bench` over a running `moralscope serve` and over a toxicity classifier of the registry."""

import json

import pytest

import moralscope

from .conftest import ROOT
from .serving import served

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["moderation", "xstest"])
def test_a_guard_answers_as_its_experts_do(tmp_path, monkeypatch, name, minilm_folder):
    (tmp_path / "moderation").mkdir()
    rows = [{"prompt": f"{text} {n}", "H": h} for n in range(6) for h, text in enumerate("ab")]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "moderation" / "samples.jsonl").write_text(lines)
    (tmp_path / "xstest").mkdir()
    replies = "".join(f"a,contrast_x,How {n}?,Like so {n}.,1_full_compliance\n" for n in range(4))
    (tmp_path / "xstest" / "replies.csv").write_text(f"model,type,prompt,reply,label\n{replies}")
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    with served(tmp_path) as address:
        asked = moralscope.bench(sets=(name,), models=(f"guard:{address}", "mpnet"))
    guard, experts = asked.results
    assert guard.accuracy == experts.accuracy
    assert guard.f1 == experts.f1


def test_a_toxicity_classifier_is_a_live_peer(tool, tmp_path):
    (tmp_path / "moderation").mkdir()
    texts = ("You are a stupid idiot, number", "Have a nice day, number")
    rows = [
        {"prompt": f"{text} {n}.", "H": 1 - fine}
        for n in range(6)
        for fine, text in enumerate(texts)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "moderation" / "samples.jsonl").write_text(lines)
    places = {"MORALSCOPE_DATA": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    python = [tool("peers").folder / "bin" / "python", "-m", "moralscope"]
    pull = [*python, "models", "pull", "bert-tiny-toxicity", "--accept-licence"]
    assert tool("peers").run(*pull, cwd=tmp_path, **places).returncode == 0
    bench = [*python, "bench", "moderation", "--model", "bert-tiny-toxicity", "--json"]
    done = tool("peers").run(*bench, cwd=tmp_path, **places)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["results"]
    assert (row["recall"]["value"], row["false_alarms"]["value"]) == (1.0, 0.0)
