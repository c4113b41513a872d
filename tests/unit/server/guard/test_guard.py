"""The guard proxy in front of a small real server: passed, annotated, revised, blocked, refused."""

import json
import re
import time
from dataclasses import replace

import pytest

from moralscope.core.errors import InputError
from moralscope.models.batching import check_patience
from moralscope.rules.writing.revision import Reviser
from moralscope.server.api import AccessToken, WorkQueue
from moralscope.server.guard import WITHHELD, Guard, GuardOptions, last_prompt
from moralscope.server.guard.upstream import Upstream
from moralscope.server.service import Service

from .guard_site import KEY, PROMPT, ask, chunks, finish, guarded, streamed_text


def test_a_reply_passes_with_its_audit_beside_it(behind, texts):
    behind.says = texts["passed"][0]
    with guarded(behind) as client:
        answer = ask(client, temperature=0.5)
    choice = answer.json()["choices"][0]
    assert choice["message"]["content"] == behind.says
    assert choice["moralscope"]["outcome"] == "passed"
    assert answer.headers["x-moralscope-verdict"] in ("kept", "abstained")
    assert behind.asked[0] == (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": PROMPT}], "temperature": 0.5},
    )


def test_annotate_changes_no_word_of_a_flagged_reply(behind, texts):
    behind.says = texts["revised"][0]
    with guarded(behind) as client:
        answer = ask(client)
    choice = answer.json()["choices"][0]
    assert choice["message"]["content"] == behind.says
    assert choice["moralscope"]["outcome"] == "flagged"
    assert choice["moralscope"]["verdict"]["flag"] is True
    assert answer.headers["x-moralscope-verdict"] == "flagged"


def test_block_withholds_a_flagged_reply_as_openais_filter_does(behind, texts):
    behind.says = texts["revised"][0]
    with guarded(behind, "block") as client:
        answer = ask(client)
    choice = answer.json()["choices"][0]
    assert behind.says not in answer.text
    assert choice["finish_reason"] == "content_filter"
    assert choice["message"]["content"].startswith("I would rather not answer")


def test_revise_puts_the_revised_reply_in_place_of_it(behind, texts):
    behind.says, revised = texts["revised"]
    with guarded(behind, "revise") as client:
        answer = ask(client)
    choice = answer.json()["choices"][0]
    assert choice["message"]["content"] == revised != behind.says
    assert (choice["moralscope"]["outcome"], choice["finish_reason"]) == ("revised", "stop")


def test_revise_withholds_what_it_cannot_better(behind, texts, monkeypatch):
    monkeypatch.setattr(Reviser, "revise", lambda self, given, *_: [None] * len(given))
    behind.says = texts["revised"][0]
    with guarded(behind, "revise") as client:
        assert ask(client).json()["choices"][0]["finish_reason"] == "content_filter"


def test_thoughts_and_calls_of_a_withheld_reply_are_withheld_too(behind, texts):
    said = {"role": "assistant", "content": texts["revised"][0], "reasoning_content": "I plot."}
    choice = {"index": 0, "message": said, "finish_reason": "stop", "logprobs": {"content": ["x"]}}
    behind.answer = (200, "application/json", json.dumps({"choices": [choice]}).encode())
    with guarded(behind, "block") as client:
        found = ask(client).json()["choices"][0]
        assert set(found["message"]) == {"role", "content"}
        assert found["logprobs"] is None
        delta = {"choices": [{"index": 0, "delta": said, "finish_reason": "stop"}]}
        behind.answers_events(delta)
        said = [c["delta"] for chunk in chunks(ask(client, stream=True)) for c in chunk["choices"]]
    assert {name for delta in said for name in delta} == {"role", "content"}


def test_every_choice_is_audited(behind, texts):
    behind.says = texts["revised"][0]
    with guarded(behind, "block") as client:
        found = ask(client, n=3).json()["choices"]
    assert [each["finish_reason"] for each in found] == ["content_filter"] * 3


def test_a_streamed_reply_that_passes_is_streamed(behind, texts):
    behind.says = texts["passed"][0]
    with guarded(behind) as client:
        found = chunks(ask(client, stream=True))
    assert streamed_text(found).strip() == behind.says
    assert found[-1]["choices"][0]["moralscope"]["outcome"] == "passed"


@pytest.mark.parametrize(("action", "kind"), [("block", "blocked"), ("revise", "revised")])
def test_no_word_of_a_flagged_reply_is_streamed(behind, texts, action, kind):
    behind.says, revised = texts["revised"]
    with guarded(behind, action) as client:
        answer = ask(client, stream=True)
        found = chunks(answer)
    said = streamed_text(found)
    assert "bikes from my neighbours" not in said.replace(revised, "")
    if kind == "revised":
        assert said == revised
    else:
        assert said.startswith(WITHHELD.partition("my reply")[0])
    reason = "content_filter" if kind == "blocked" else "stop"
    assert finish(found)["finish_reason"] == reason


def test_the_clients_key_is_passed_on_and_shown_nowhere(behind, caplog):
    with guarded(behind) as client:
        answer = ask(client)
        metrics = client.get("/v1/metrics").text
    assert behind.keys == [f"Bearer {KEY}"]
    assert KEY not in answer.text + str(answer.headers) + metrics + caplog.text


def test_the_servers_token_is_never_passed_on(behind):
    token, own = (
        AccessToken("correct-horse-battery-staple"),
        AccessToken("sk-key-of-the-server-owner"),
    )
    headers = {"Authorization": f"Bearer {token.value}"}
    body = {"messages": [{"role": "user", "content": "Hi!"}]}
    with guarded(behind, token=token) as client:
        assert client.post("/v1/chat/completions", json=body, headers=headers).status_code == 200
        both = {"Authorization": f"Bearer {KEY}", "X-Moralscope-Token": token.value}
        assert client.post("/v1/chat/completions", json=body, headers=both).status_code == 200
        assert client.post("/v1/chat/completions", json=body).status_code == 401
    with guarded(behind, token=token, key=own) as client:
        assert client.post("/v1/chat/completions", json=body, headers=headers).status_code == 200
    assert behind.keys == [None, f"Bearer {KEY}", f"Bearer {own.value}"]


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        ((200, "application/json", b"<html>no</html>"), 502, "upstream_invalid"),
        ((200, "application/json", b'{"choices": []}'), 502, "upstream_invalid"),
        ((200, "application/json", b'{"choices": [{"message": 3}]}'), 502, "upstream_invalid"),
        ((200, "application/json", b"[" * 100_000), 502, "upstream_invalid"),
        ((200, "application/json", b" " * 9_000_000), 502, "upstream_long"),
        ((200, "text/event-stream", b"data: {oops\n\n" * 2), 502, "upstream_invalid"),
        ((200, "text/event-stream", b"data: {oops\n\n"), 502, "upstream_cut"),
        ((200, "text/event-stream", b""), 502, "upstream_cut"),
        ((302, "text/html", b"elsewhere"), 502, "upstream_invalid"),
        ((500, "text/html", b"<h1>boom</h1>"), 500, "upstream_refused"),
        ((429, "application/json", b'{"error": {"code": "slow_down"}}'), 429, "slow_down"),
    ],
)
def test_what_is_no_completion_becomes_a_clear_error(behind, answer, status, code):
    behind.answer = answer
    with guarded(behind, "block") as client:
        found = ask(client, stream="event" in answer[1])
    assert (found.status_code, found.json()["error"]["code"]) == (status, code)
    if status == 429:
        assert found.headers["retry-after"] == "7"


def test_an_error_within_a_stream_is_passed_on(behind):
    behind.answer = (200, "text/event-stream", b'data: {"error": {"code": "broke"}}\n\n')
    with guarded(behind) as client:
        answer = ask(client, stream=True)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "broke")


def test_a_server_that_is_down_or_slow_is_said_so(behind):
    behind.waits.clear()
    with guarded(behind, seconds=0.2) as client:
        slow = ask(client)
    behind.waits.set()
    assert (slow.status_code, slow.json()["error"]["code"]) == (504, "upstream_timeout")
    behind.url, url = "http://127.0.0.1:1/v1", behind.url
    with guarded(behind) as client:
        down = ask(client)
    behind.url = url
    assert (down.status_code, down.json()["error"]["code"]) == (502, "upstream_unreachable")


BODIES = [
    b"",
    b"[]",
    b"{",
    b"[" * 100_000,
    b'{"messages": 3}',
    b"{}",
    b'{"messages": [], "temperature": NaN}',
    b'{"messages": [], "temperature": 1e999}',
    b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    b'{"messages": [], "\\udfff": 1}',
    b'{"messages": [{"role": "user", "content": "\xff"}]}',
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_request_that_is_none_gets_an_error_in_openais_shape(behind, body):
    with guarded(behind) as client:
        answer = client.post("/v1/chat/completions", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert not behind.asked


@pytest.mark.parametrize("value", [b"Bearer sk-s\xe9cret", b"Bearer sk-\xc3\xa9", b"\xff"])
def test_a_key_with_letters_that_no_key_has_is_refused_in_openais_shape(behind, value):
    body = {"messages": [{"role": "user", "content": "Hi!"}]}
    with guarded(behind) as client:
        answer = client.post("/v1/chat/completions", json=body, headers={b"Authorization": value})
        other = client.post("/v1/chat/completions", json=body, headers={b"X-Other": value})
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
    assert other.status_code == 200
    assert len(behind.asked) == 1


def test_a_reply_that_cannot_be_audited_does_not_go_out(behind, texts, monkeypatch):
    behind.says = texts["revised"][0]

    def broken(*_, **__):
        raise InputError("the experts are gone", "load them again")

    monkeypatch.setattr(Service, "audit", broken)
    with guarded(behind, "block") as client:
        answer = ask(client)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "guard_failed")
    assert behind.says not in answer.text


def test_an_audit_that_runs_out_of_time_is_a_504(behind, monkeypatch):
    def slow(*_, **__):
        time.sleep(0.4)
        check_patience()

    monkeypatch.setattr(Service, "audit", slow)
    with guarded(behind, "block") as client:
        client.work.bounds = replace(client.work.bounds, seconds=0.2)
        answer = ask(client)
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "guard_timeout")
    assert behind.says not in answer.text


@pytest.mark.parametrize(
    "url", ["ftp://a/v1", "localhost:80", "http://user:pw@a/v1", "http://a/v1?key=1"]
)
def test_addresses_that_are_none_or_hold_secrets_are_refused(url):
    with pytest.raises(InputError) as caught:
        Upstream(url)
    assert "pw" not in str(caught.value)


def test_without_a_network_only_this_machine_is_guarded(monkeypatch):
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    Upstream("http://localhost:1/v1")
    with pytest.raises(InputError, match="switched off"):
        Upstream("https://api.example.org/v1")


def test_the_last_thing_the_person_said_is_the_prompt():
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url"},
        {"type": "text", "text": "?"},
    ]
    messages = [
        {"role": "user", "content": "no"},
        {"role": "user", "content": parts},
        {"role": "tool"},
    ]
    assert last_prompt(messages) == "Look:\n?"
    assert last_prompt([]) == ""


def test_a_guard_action_that_is_none_is_refused():
    work = WorkQueue(Service())
    with pytest.raises(InputError, match="did you mean 'block'"):
        Guard(work.service, GuardOptions(action="blok"))
    work.close()


@pytest.mark.parametrize(
    ("status", "more"),
    [
        (401, {"headers": {"Authorization": "Bearer wrong"}}),
        (403, {"headers": {"Sec-Fetch-Site": "cross-site"}}),
        (413, {"content": b"a" * 5_000_000}),
        (421, {"headers": {"Host": "evil.example"}}),
        (400, {"content": b"{"}),
    ],
)
def test_what_is_refused_before_the_guard_has_openais_shape_too(behind, status, more):
    token = AccessToken("correct-horse-battery-staple")
    shown = {"Authorization": f"Bearer {token.value}", **more.pop("headers", {})}
    with guarded(behind, token=token) as client:
        answer = client.post("/v1/chat/completions", headers=shown, **{"json": {}, **more})
        other = client.post("/v1/score", headers=shown, **{"json": {}, **more})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]["message"]
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert answer.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)
    assert other.headers["content-type"] == "application/problem+json"
    assert not behind.asked


def test_a_bug_of_ours_has_openais_shape_and_an_id(behind, monkeypatch, caplog):
    def broken(*_, **__):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(Service, "audit", broken)
    with guarded(behind, "block") as client:
        answer = ask(client)
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "guard_failed")
    assert "Hello" not in answer.text
    (name,) = re.findall(r"error ([0-9a-f]{8})", answer.json()["error"]["message"])
    assert name in caplog.text
