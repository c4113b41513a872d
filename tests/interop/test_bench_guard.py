"""`bench` over a running `moralscope serve`: the same figures as over the experts themselves."""

import json

import pytest

import moralscope

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
