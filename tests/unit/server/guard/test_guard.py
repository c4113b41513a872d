"""The guard proxy in front of a small real server: passed, annotated, revised, blocked, refused."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from moralscope.core.errors import InputError
from moralscope.rules.revision import Reviser
from moralscope.server.api import Proxy, Token, Work
from moralscope.server.guard import WITHHELD, Guard, GuardOptions, last_prompt
from moralscope.server.guard.upstream import Upstream
from moralscope.server.service import Service

from ..api_site import site

KEY = "sk-very-secret-key-of-the-client"
PROMPT = "What do you do all day?"


class Behind:
    """An OpenAI-compatible server that says what it is told to, and remembers what it was asked."""

    def __init__(self):
        self.says = "Hello you."
        self.answer = None  # (status, content type, bytes) in place of a completion
        self.asked, self.keys, self.waits = [], [], threading.Event()
        self.waits.set()

    def reply(self, body):
        if self.answer is not None:
            return self.answer
        texts = [self.says] * body.get("n", 1)
        if body.get("stream"):
            return 200, "text/event-stream", b"".join(self.chunks(texts))
        choices = [
            {"index": n, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            for n, text in enumerate(texts)
        ]
        whole = {"id": "c-1", "object": "chat.completion", "model": "m", "choices": choices}
        return 200, "application/json", json.dumps(whole).encode()

    def chunks(self, texts):
        pieces = [
            ({"role": "assistant"}, None),
            *(({"content": w + " "}, None) for w in texts[0].split()),
            ({}, "stop"),
        ]
        for delta, finish in pieces:
            choices = [
                {"index": n, "delta": delta, "finish_reason": finish} for n in range(len(texts))
            ]
            chunk = {"id": "c-1", "object": "chat.completion.chunk", "choices": choices}
            yield f"data: {json.dumps(chunk)}\n\n".encode()
        yield b": a comment\n\ndata: [DONE]\n\n"


@pytest.fixture(scope="module")
def server():
    behind = Behind()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            behind.asked.append((self.path, body))
            behind.keys.append(self.headers.get("authorization"))
            behind.waits.wait(5)
            status, kind, data = behind.reply(body)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Retry-After", "7")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    behind.url = f"http://127.0.0.1:{running.server_port}/v1"
    yield behind
    running.shutdown()


@pytest.fixture
def behind(server):
    server.__dict__.update(Behind().__dict__, url=server.url)
    return server


@contextmanager
def guarded(behind, action="annotate", token=None, key=None, seconds=5.0):
    service = Service()
    options = GuardOptions(action=action, experts="scripted", generator="scripted")
    proxy = Proxy(Guard(service, options), Upstream(behind.url, key=key, seconds=seconds))
    with site(proxy=proxy, token=token) as client:
        yield client
    service.close()


@pytest.fixture(scope="module")
def texts():
    """A reply that the scripted experts pass, and one that they flag and that can be revised."""
    service = Service()
    guard = Guard(service, GuardOptions(action="revise", experts="scripted", generator="scripted"))
    found = {}
    for n in range(400):
        text = f"I often steal {n} bikes from my neighbours and lie about it."
        (each,) = guard(PROMPT, [text])
        found.setdefault(each.outcome, (text, each.text))
        if len(found) == 2:
            break
    service.close()
    assert set(found) == {"passed", "revised"}
    return found


def ask(client, stream=False, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": PROMPT}], **more}
    if stream:
        body["stream"] = True
    return client.post(
        "/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {KEY}"}
    )


def chunks(answer):
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert events[-1] == "[DONE]"
    return [json.loads(event) for event in events[:-1]]


def streamed_text(found):
    return "".join(c["delta"].get("content") or "" for chunk in found for c in chunk["choices"])


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
        behind.answer = (200, "text/event-stream", f"data: {json.dumps(delta)}\n\n".encode())
        (chunk,) = chunks(ask(client, stream=True))
    assert set(chunk["choices"][0]["delta"]) == {"role", "content"}


def test_every_choice_is_audited(behind, texts):
    behind.says = texts["revised"][0]
    with guarded(behind, "block") as client:
        found = ask(client, n=3).json()["choices"]
    assert [each["finish_reason"] for each in found] == ["content_filter"] * 3


def test_a_streamed_reply_that_passes_is_streamed_as_it_came(behind, texts):
    behind.says = texts["passed"][0]
    with guarded(behind) as client:
        found = chunks(ask(client, stream=True))
    assert streamed_text(found).strip() == behind.says
    assert len(found) > 5
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
        assert said.startswith(WITHHELD.partition("{")[0])
    finish = "content_filter" if kind == "blocked" else "stop"
    assert found[-1]["choices"][0]["finish_reason"] == finish


def test_the_clients_key_is_passed_on_and_shown_nowhere(behind, caplog):
    with guarded(behind) as client:
        answer = ask(client)
        metrics = client.get("/v1/metrics").text
    assert behind.keys == [f"Bearer {KEY}"]
    assert KEY not in answer.text + str(answer.headers) + metrics + caplog.text


def test_the_servers_token_is_never_passed_on(behind):
    token, own = Token("correct-horse-battery-staple"), Token("sk-key-of-the-server-owner")
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
        ((200, "text/event-stream", b"data: {oops\n\n"), 502, "upstream_invalid"),
        ((200, "text/event-stream", b""), 502, "upstream_invalid"),
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


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, b'{"messages": 3}', b"{}"])
def test_a_request_that_is_none_gets_an_error_in_openais_shape(behind, body):
    with guarded(behind) as client:
        answer = client.post("/v1/chat/completions", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    assert not behind.asked


def test_replies_without_text_pass_unjudged(behind):
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "t"}]}
    whole = {"choices": [{"index": 0, "message": call, "finish_reason": "tool_calls"}]}
    behind.answer = (200, "application/json", json.dumps(whole).encode())
    with guarded(behind, "block") as client:
        answer = ask(client)
    assert answer.json() == whole
    assert answer.headers["x-moralscope-verdict"] == "none"


def test_a_reply_that_cannot_be_audited_does_not_go_out(behind, texts, monkeypatch):
    behind.says = texts["revised"][0]

    def broken(*_, **__):
        raise InputError("the experts are gone", "load them again")

    monkeypatch.setattr(Service, "audit", broken)
    with guarded(behind, "block") as client:
        answer = ask(client)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "guard_failed")
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
    work = Work(Service())
    with pytest.raises(InputError, match="did you mean 'block'"):
        Guard(work.service, GuardOptions(action="blok"))
    work.close()
