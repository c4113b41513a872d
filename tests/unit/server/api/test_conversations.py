"""Conversations from outside: what the command line and HTTP say of bad and odd ones."""

import json

import pytest

from moralscope.cli import main

from ....api_site import site

USER = {"role": "user", "content": "Hi!"}
TALK = [USER, {"role": "assistant", "content": "Hello you."}]
REFUSED = {
    "unknown role": ([{"role": "wizard", "content": "Hi!"}, *TALK], "turn 1 has the role 'wizard'"),
    "no assistant": ([USER], "no turn of the assistant"),
    "too many turns": (TALK * 1_001, "2,002 turns; at most 2,000 are read"),
    "a nameless call": ([USER, {"role": "assistant", "tool_calls": [{}]}], "call without a name"),
}
LARGE = {"name": "send_mail", "arguments": json.dumps({"body": "word " * 200_000})}
COUNTED = {
    "empty turns": ([*TALK, {"role": "assistant", "content": ""}], "1 empty turn"),
    "results without a call": (
        [USER, {"role": "tool", "tool_call_id": "x", "content": "done"}, *TALK],
        "1 tool result without a call",
    ),
    "a thousand turns": (TALK * 500, None),
    "a megabyte of arguments": (
        [USER, {"role": "assistant", "tool_calls": [{"id": "c", "function": LARGE}]}],
        "tokens were not read",
    ),
}


def by_command(tmp_path, messages):
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"messages": messages}), "utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["audit", "--conversation", str(path), "--experts", "scripted", "--json"])
    return ended.value.code or 0


def by_http(messages):
    with site() as client:
        body = {"messages": messages, "experts": "scripted"}
        return client.post("/v1/audit/conversation", json=body)


def test_a_conversation_is_audited():
    (result,) = by_http(TALK).json()["results"]
    assert [turn["role"] for turn in result["turns"]] == ["user", "assistant"]
    assert set(result) >= {"turns", "first", "answered", "verdict"}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_conversations_are_refused_by_both(tmp_path, capsys, name):
    messages, words = REFUSED[name]
    assert by_command(tmp_path, messages) == 2
    told = capsys.readouterr().err
    assert words in " ".join(told.split())
    assert "Traceback" not in told
    answer = by_http(messages)
    assert answer.status_code in (400, 422)
    assert ("at most" if name == "too many turns" else words) in answer.text  # its body is bounded


@pytest.mark.parametrize("name", COUNTED)
def test_what_was_not_read_is_counted_by_both(tmp_path, capsys, name):
    messages, words = COUNTED[name]
    assert by_command(tmp_path, messages) == 0
    printed = json.loads(capsys.readouterr().out)
    answer = by_http(messages)
    assert answer.status_code == 200, answer.text[:500]
    for record in (printed, answer.json()):
        (result,) = record["results"]
        assert len(result["turns"]) == len(messages)
        if words is not None:
            assert words in " ".join(result["notes"])


def test_progress_is_told_while_a_conversation_is_audited():
    with site() as client:
        body = {"messages": TALK, "experts": "scripted"}
        lines = {"Accept": "application/x-ndjson"}
        answer = client.post("/v1/audit/conversation", json=body, headers=lines)
    events = [json.loads(line) for line in answer.text.splitlines()]
    assert any((event.get("done"), event.get("total")) == (1, 1) for event in events)
    assert len(events[-1]["record"]["results"][0]["turns"]) == 2
