"""What must not go out: a withheld text in any field, the owner's key in any form, cookies."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from moralscope.core.records import Decoding
from moralscope.models.language.endpoint import EndpointGenerator, EndpointOptions
from moralscope.server.api import AccessToken
from moralscope.server.guard.upstream import Upstream

from .guard_site import ask, chunks, guarded, streamed_text

OWN = "sk-Own/Key+0123456789=="


def tokens(text):
    return [{"token": each, "logprob": -0.1, "top_logprobs": []} for each in text.split()]


def smuggling(text, said):
    """A completion that says a text in every place that a server might."""
    choice = {
        "index": 0,
        said: {
            "role": text,
            "content": text,
            "reasoning_content": text,
            "reasoning": text,
            "refusal": None,
            "tool_calls": [{"id": text, "function": {"name": text, "arguments": text}}],
            "function_call": {"name": text, "arguments": text},
            "audio": {"id": text, "data": text, "transcript": text},
            "annotations": [{"title": text}],
            "thinking": text,
            text: text,
        },
        "text": text,
        "message" if said == "delta" else "delta": {"content": text},
        "finish_reason": text,
        "stop_reason": text,
        "logprobs": {"content": tokens(text), "more": text},
        "moralscope": {"outcome": text},
        text: 1,
    }
    return {
        "id": text,
        "model": text,
        "object": text,
        "created": text,
        "system_fingerprint": text,
        "service_tier": text,
        "usage": {"prompt_tokens": 3, text: 1, "prompt_tokens_details": {text: 1}},
        "choices": [choice],
        "timings": {"said": text},
        "prompt_logprobs": [text],
        "text": text,
        text: text,
    }


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("given", ["message", "delta"])
@pytest.mark.parametrize("action", ["block", "revise"])
def test_nothing_of_a_withheld_text_leaves_through_any_field(behind, texts, asked, given, action):
    text = texts["revised"][0]
    body = smuggling(text, given)
    if given == "delta":
        behind.answers_events(body, "[DONE]")
    else:
        behind.answers_json(body)
    behind.headers = {"X-Request-Id": text, "X-Said": text, "Server-Timing": text}
    with guarded(behind, action, on_abstain="block") as client:
        answer = ask(client, stream=asked)
        shown = json.dumps(chunks(answer) if asked else answer.json(), ensure_ascii=False)
    assert '"outcome": "passed"' not in shown, "the experts let this text through"
    revised = '"outcome": "revised"' in shown
    for place in (shown, str(answer.headers)):
        assert text not in place
        assert "QZX" not in place or revised


@pytest.mark.parametrize("asked", [False, True])
def test_unknown_fields_and_headers_never_go_out(behind, texts, asked):
    body = smuggling(texts["passed"][0], "message")
    body["choices"][0]["message"] |= {"reasoning_content": "", "reasoning": "", "audio": None}
    behind.answers_json(body)
    behind.headers = {"X-Said": "QZX", "Set-Cookie": "a=b", "Server-Timing": "QZX", "ETag": "QZX"}
    with guarded(behind) as client:
        answer = ask(client, stream=asked)
    if asked:
        found = chunks(answer)
        assert {name for chunk in found for name in chunk} == {
            *("id", "object", "created", "model", "choices")
        }
    else:
        found = [answer.json()]
        assert set(found[0]) == {"id", "object", "created", "model", "choices", "usage"}
        assert found[0]["usage"] == {"prompt_tokens": 3, "prompt_tokens_details": {}}
    for choice in (choice for chunk in found for choice in chunk["choices"]):
        said = choice.get("message", choice.get("delta"))
        assert set(said) <= {"role", "content", "tool_calls", "function_call"}
        assert set(choice) <= {
            *("index", "message", "delta", "finish_reason", "logprobs", "moralscope")
        }
    assert "QZX" not in str(answer.headers)
    assert "set-cookie" not in answer.headers


def split(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def escaped(text):
    return "".join(f"\\u{ord(each):04x}" for each in text)


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize(
    "field", ["content", "refusal", "reasoning_content", "arguments", "transcript"]
)
def test_the_owners_key_is_taken_out_across_chunks(behind, field, size):
    made = {
        "arguments": lambda piece: {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]},
        "transcript": lambda piece: {"audio": {"transcript": piece}},
    }.get(field, lambda piece: {field: piece})
    rows = [{"choices": [{"delta": made(piece)}]} for piece in split(f"It is {OWN}, see?", size)]
    behind.answers_events(*rows, "[DONE]")
    with guarded(behind, key=AccessToken(OWN)) as client:
        answer = ask(client, stream=True)
        whole = ask(client)
    said = "".join(_strings(chunks(answer)))
    assert OWN not in said + "".join(_strings(whole.json()))
    assert "It is [key], see?" in said


def _strings(value):
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list | str) and each is not value and each != "":
            yield from [each] if isinstance(each, str) else _strings(each)


def test_the_owners_key_is_taken_out_of_json_escapes(behind):
    call = {"function": {"name": "a", "arguments": f'{{"key": "{escaped(OWN)}"}}'}}
    body = {"choices": [{"message": {"content": f"Say {OWN}!", "tool_calls": [call]}}]}
    data = json.dumps(body).replace(OWN, escaped(OWN)).encode()
    assert OWN.encode() not in data
    behind.answer = (200, "application/json", data)
    with guarded(behind, key=AccessToken(OWN)) as client:
        answer = ask(client)
    (choice,) = answer.json()["choices"]
    assert choice["message"]["content"] == "Say [key]!"
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {
        "key": "[key]"
    }


@pytest.mark.parametrize("status", [200, 429])
def test_the_owners_key_is_taken_out_of_headers_names_and_errors(behind, status):
    plain = OWN.replace("/", "-").replace("+", "-").rstrip("=")
    body = {
        "id": plain,
        "model": plain,
        "choices": [{"message": {"content": [{"type": "x", plain: [plain]}]}}],
        "error": {"message": f"for {plain}", "type": plain, "code": plain, "param": plain},
    }
    behind.answer = (status, "application/json", json.dumps(body).encode())
    behind.headers = {"X-Request-Id": plain, "Retry-After": plain, "OpenAI-Processing-Ms": plain}
    with guarded(behind, key=AccessToken(plain)) as client:
        answer = ask(client)
    assert answer.status_code == status
    assert plain not in answer.text + str(answer.headers)


def test_the_owners_key_does_not_leave_as_tokens(behind):
    rows = [{"token": each, "logprob": -1, "bytes": list(each.encode())} for each in split(OWN, 3)]
    for hidden in ("token", "bytes"):
        given = [{**row, hidden: None} for row in rows]
        choice = {"message": {"content": "Hi!"}, "logprobs": {"content": given}}
        behind.answers_json({"choices": [choice]})
        with guarded(behind, key=AccessToken(OWN)) as client:
            assert ask(client).json()["choices"][0]["logprobs"] is None


def test_numbers_that_json_has_not_do_not_break_the_answer(behind):
    data = (
        b'{"created": NaN, "usage": {"total_tokens": Infinity}, "choices": [{"message": '
        b'{"content": "Hi!", "refusal": "\\ud83d!"}, "logprobs": {"content": '
        b'[{"token": "Hi!", "logprob": -Infinity}]}}]}'
    )
    behind.answer = (200, "application/json", data)
    with guarded(behind) as client:
        body = ask(client).json()
    assert body["choices"][0]["message"]["refusal"] == "\ufffd!"
    assert body["choices"][0]["logprobs"]["content"][0]["logprob"] is None
    assert body["usage"] == {"total_tokens": None}


def test_one_clients_cookies_are_not_sent_for_another(behind):
    behind.headers = {"Set-Cookie": "session=of-the-first-client; Path=/"}
    with guarded(behind) as client:
        answers = [ask(client), ask(client)]
    assert behind.cookies == [None, None]
    assert all("set-cookie" not in answer.headers for answer in answers)


@pytest.fixture
def proxy():
    """Run a proxy that remembers what it was asked for."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.path)
            self.send_response(418)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("offline", ["", "1"])
def test_what_is_on_this_machine_is_asked_without_a_proxy(behind, proxy, monkeypatch, offline):
    url, seen = proxy
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MORALSCOPE_OFFLINE", offline)
    with guarded(behind) as client:
        assert ask(client).status_code == 200
    options = EndpointOptions(behind.url, retries=0, log_probabilities=False)
    generator = EndpointGenerator("openai:m", options, offline=bool(offline))
    assert generator.generate(["Hi!"], Decoding(max_tokens=5), [0])[0][0].text == "Hello you."
    assert seen == []


def test_another_machine_is_asked_through_the_proxy_that_the_owner_named(proxy, monkeypatch):
    url, seen = proxy
    monkeypatch.setenv("HTTP_PROXY", url)
    monkeypatch.delenv("MORALSCOPE_OFFLINE", raising=False)

    class Away:
        pass

    Away.url = "http://chat.example.invalid/v1"
    with guarded(Away) as client:
        assert ask(client).status_code == 418
    assert seen == ["http://chat.example.invalid/v1/chat/completions"]


@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]", "a.localhost", "LOCALHOST"])
def test_every_name_of_this_machine_is_local(monkeypatch, host):
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    assert Upstream(f"http://{host}:1/v1").url


def test_a_streamed_passed_reply_says_every_word(behind, texts):
    long = " ".join([texts["passed"][0]] * 60)
    behind.says = long
    with guarded(behind) as client:
        said = streamed_text(chunks(ask(client, stream=True)))
    assert said.split() == long.split()
