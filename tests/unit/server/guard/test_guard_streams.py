"""Streams as servers send them, written in every way that the standard allows, and cut anywhere.

The files of `streams/` have the shapes of OpenAI, Azure, vLLM, llama.cpp, Ollama and OpenRouter;
what is said in them is ours.
"""

import json
import socket
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from moralscope.server.guard.completion import read_chunks
from moralscope.server.guard.sse import read_events
from moralscope.server.guard.upstream import UpstreamError, read_stream

from .guard_site import ask, chunks, finish, guarded, streamed_text

openai = pytest.importorskip("openai")
FOLDER = Path(__file__).parent / "streams"
SAID = "Good morning, I water the plants."
TALKS = ["openai", "azure", "vllm", "llama.cpp", "ollama", "openrouter"]
CALLS = ["openai-tool-calls", "ollama-tool-calls"]
KIND = "text/event-stream"


def recorded(name):
    return (FOLDER / f"{name}.txt").read_bytes()


@pytest.mark.parametrize("name", TALKS)
def test_recorded_streams_are_read_and_written_again(behind, name):
    behind.answer = (200, KIND, recorded(name))
    with guarded(behind) as client:
        found = chunks(ask(client, stream=True))
        whole = ask(client).json()
    assert streamed_text(found) == whole["choices"][0]["message"]["content"] == SAID
    assert finish(found)["finish_reason"] == whole["choices"][0]["finish_reason"] == "stop"
    assert finish(found)["moralscope"]["outcome"] == "passed"
    assert found[0]["id"] == whole["id"] == first(recorded(name))["id"]
    if name in ("openai", "vllm", "llama.cpp"):
        assert found[-1]["choices"] == []
        assert found[-1]["usage"] == whole["usage"]
        assert whole["usage"]["prompt_tokens"] == 19
    if name == "vllm":
        assert whole["choices"][0]["message"]["reasoning_content"] == "They greet me."


def first(data):
    return next(row for row in map(json.loads, texts_of(data)) if row["choices"])


def texts_of(data):
    return [text for _, text in read_events(data) if text != "[DONE]"]


@pytest.mark.parametrize("name", CALLS)
def test_recorded_tool_calls_are_put_together(behind, name):
    behind.answer = (200, KIND, recorded(name))
    with guarded(behind) as client:
        found = chunks(ask(client, stream=True))
        (choice,) = ask(client).json()["choices"]
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    call = {"id": "call_a", "type": "function", "function": function}
    assert choice["message"]["tool_calls"] == [call]
    calls = [c["delta"]["tool_calls"] for row in found for c in row["choices"]
             if "tool_calls" in c["delta"]]  # fmt: skip
    assert calls == [[{"index": 0, **call}]]
    assert finish(found)["finish_reason"] == "tool_calls"


def with_ends(data, end):
    return data.replace(b"\n", end)


def without_spaces(data):
    return data.replace(b"data: ", b"data:")


def on_many_lines(data):
    """Write every event's JSON over several `data` lines."""
    made = []
    for text in texts_of(data):
        lines = json.dumps(json.loads(text), indent=1).splitlines()
        made += [*(f"data: {line}" for line in lines), ""]
    return "\n".join([*made, "data: [DONE]", "", ""]).encode()


def among_others(data):
    between = b"event: message\nid: 7\nretry: 10\n: ping\nunknown\ndata: "
    return b"\xef\xbb\xbf" + data.replace(b"data: ", between)


WAYS = {
    "CR LF": lambda data: with_ends(data, b"\r\n"),
    "CR": lambda data: with_ends(data, b"\r"),
    "no space": without_spaces,
    "several data lines": on_many_lines,
    "other fields and a mark": among_others,
    "no blank line at the end": lambda data: data.rstrip(b"\n"),
    "no [DONE]": lambda data: data.replace(b"data: [DONE]\n\n", b""),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TALKS)
def test_a_stream_says_the_same_in_whatever_way_it_is_written(name, way):
    data = recorded(name)
    assert read_stream(WAYS[way](data), str, 1) == read_stream(data, str, 1)


@pytest.mark.parametrize("kind", ["TEXT/EVENT-STREAM", "Text/Event-Stream; Charset=UTF-8"])
def test_a_content_type_may_be_in_capitals(behind, kind):
    behind.answer = (200, kind, recorded("openai"))
    with guarded(behind) as client:
        assert streamed_text(chunks(ask(client, stream=True))) == SAID


@pytest.mark.parametrize("letter", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d"])
def test_letters_that_look_like_line_ends_are_letters(behind, letter):
    said = f"One{letter}two, and water the plants."
    rows = [{"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": "stop"}]}]
    written = [json.dumps(row, ensure_ascii=letter < " ") for row in rows]
    behind.answers_events(*written, "[DONE]")
    with guarded(behind) as client:
        assert streamed_text(chunks(ask(client, stream=True))) == said


@pytest.mark.parametrize("name", [*TALKS, *CALLS])
def test_a_stream_that_was_cut_is_an_error_wherever_it_was_cut(name):
    data = recorded(name)
    end = next(
        place for place in range(len(data)) if b'"finish_reason": "' in data[:place]
    )  # up to here nothing says that it ends
    for place in range(0, end, 7):
        with pytest.raises(UpstreamError) as caught:
            read_stream(data[:place], str, 1)
        assert caught.value.status == 502


def test_a_cut_stream_reaches_the_client_as_an_error(behind):
    data = recorded("openai")
    behind.answer = (200, KIND, data[: data.index(b" plants")])
    with guarded(behind) as client:
        answer = ask(client, stream=True)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_cut")
    assert "water" not in answer.text


def test_a_stream_of_two_choices_of_which_one_never_ended_is_cut():
    rows = [{"choices": [{"index": n, "delta": {"content": "Hi"}}]} for n in (0, 1)]
    rows.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    data = "".join(f"data: {json.dumps(row)}\n\n" for row in rows).encode()
    with pytest.raises(UpstreamError):
        read_stream(data, str, 2)
    with pytest.raises(UpstreamError):
        read_stream(data.replace(b'"index": 1', b'"index": 0'), str, 2)
    assert len(read_stream(data + b"data: [DONE]", str, 2).choices) == 2


@pytest.mark.parametrize("usage", [False, True])
def test_a_client_that_asks_for_a_stream_gets_one_though_json_came(behind, texts, usage):
    body = {
        "id": "c-9",
        "choices": [{"index": 0, "message": {"content": SAID}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }
    behind.answers_json(body)
    with guarded(behind) as client:
        found = chunks(ask(client, stream=True, stream_options={"include_usage": usage}))
    assert streamed_text(found) == SAID
    assert finish(found)["finish_reason"] == "length"
    assert (found[-1].get("usage") == body["usage"]) is usage


def test_halves_of_a_letter_in_two_chunks_are_one_letter(behind):
    rows = [r'{"choices": [{"delta": {"content": "\ud83d"}}]}',
            r'{"choices": [{"delta": {"content": "\ude00!"}}]}']  # fmt: skip
    behind.answers_events(*rows, "[DONE]")
    with guarded(behind) as client:
        assert streamed_text(chunks(ask(client, stream=True))) == "😀!"


@pytest.mark.parametrize(
    "event",
    [
        'data: {"error": {"message": "out of memory", "code": 500}}\n\n',
        'event: error\ndata: {"message": "out of memory", "code": 500}\n\n',
        'data: {"error": "out of memory", "code": 500}\n\n',
        'data: {"object": "error", "error": {"message": "out of memory", "code": "500"}}\n\n',
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_told(behind, event):
    before = recorded("openai").partition(b" water")[0].rpartition(b"data: ")[0]
    behind.answer = (200, KIND, before + event.encode())
    with guarded(behind) as client:
        answer = ask(client, stream=True)
    assert (answer.status_code, answer.json()["error"]["message"]) == (502, "out of memory")
    assert "morning" not in answer.text


def test_log_probabilities_of_a_passed_reply_are_streamed_with_it(behind):
    rows = [{"token": str(n), "logprob": -n / 10, "top_logprobs": []} for n in range(100)]
    said = "".join(row["token"] for row in rows)
    choice = {"message": {"content": said}, "logprobs": {"content": rows}}
    behind.answers_json({"choices": [choice]})
    with guarded(behind) as client:
        found = chunks(ask(client, stream=True))
    told = [c["logprobs"]["content"] for row in found for c in row["choices"] if "logprobs" in c]
    assert [each["token"] for some in told for each in some] == [str(n) for n in range(100)]


@pytest.mark.parametrize("name", [*TALKS, *CALLS])
def test_openais_own_client_types_read_what_goes_out(behind, name):
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

    behind.answer = (200, KIND, recorded(name))
    with guarded(behind) as client:
        for chunk in chunks(ask(client, stream=True)):
            ChatCompletionChunk.model_validate(chunk, strict=False)
        ChatCompletion.model_validate(ask(client).json())


@pytest.mark.parametrize(
    "chunk",
    [
        3,
        [],
        {},
        {"choices": {}},
        {"choices": [3]},
        {"choices": [{"delta": 3}]},
        {"choices": [{"delta": {"content": 3}}]},
        {"choices": [{"index": -1, "delta": {}}]},
        {"choices": [{"index": "a", "delta": {}}]},
        {"choices": [{"index": 5000, "delta": {}}]},
        {"choices": [{}] * 200},
    ],
)
def test_chunks_of_another_shape_are_refused(chunk):
    with pytest.raises(UpstreamError) as caught:
        read_stream(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), str, 1)
    assert caught.value.body["error"]["code"] == "upstream_invalid"


def chunked(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@pytest.mark.parametrize("way", ["chunked", "length", "until closed"])
def test_a_connection_that_breaks_in_the_middle_is_an_error(texts, way):
    """The server behind dies: HTTP itself says so, or only the stream can."""
    data = recorded("openai").partition(b" water")[0]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    said = {
        "chunked": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(data),
        "length": head + b"Content-Length: 100000\r\n\r\n" + data,
        "until closed": head + b"Connection: close\r\n\r\n" + data,
    }[way]
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            with listening.accept()[0] as accepted:
                accepted.recv(65_536)
                accepted.sendall(said)
                # A socket that is closed with unread bytes resets: what was said would be lost.
                accepted.shutdown(socket.SHUT_WR)
                while accepted.recv(65_536):
                    pass

        dying = threading.Thread(target=answer)
        dying.start()
        behind = SimpleNamespace(url=f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        with guarded(behind) as client:
            found = ask(client, stream=True)
        dying.join()
    assert (found.status_code, found.json()["error"]["code"]) == (502, "upstream_cut")
    assert "morning" not in found.text


def test_streamed_audio_keeps_its_end_whichever_chunk_says_it():
    chunks = [
        {"choices": [{"delta": {"audio": audio}}]}
        for audio in ({"id": "a1", "data": "QQ=="}, {"expires_at": 1_790_000_000}, {"data": "Qg=="})
    ]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    (choice,) = read_chunks(chunks, str, is_ended=True, wanted=1).choices
    assert choice.audio == {"id": "a1", "data": "QQ==Qg==", "expires_at": 1_790_000_000}
