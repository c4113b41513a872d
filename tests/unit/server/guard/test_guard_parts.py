"""What was judged and what was not is said; what says more than the text does not go out."""

import json

import pytest

from moralscope.server.guard import UNJUDGED

from .guard_site import ask, chunks, guarded

HIDDEN = "QZXHIDDEN"
IMAGE = {"type": "image_url", "image_url": {"url": "data:x"}}


def row(token, data=None, others=()):
    spelt = list(token.encode()) if data is None else data
    return {"token": token, "logprob": -0.5, "bytes": spelt, "top_logprobs": list(others)}


def spelling(text, others=()):
    return [row(text[at : at + 4], others=others) for at in range(0, len(text), 4)]


def answers(behind, *, message=None, logprobs=None, given="whole", **head):
    """Let the server behind say one message, whole or streamed."""
    choice = {"index": 0, "finish_reason": "stop", "logprobs": logprobs}
    if given == "whole":
        behind.answers_json({**head, "choices": [{**choice, "message": message}]})
    else:
        behind.answers_events({**head, "choices": [{**choice, "delta": message}]}, "[DONE]")


def read(answer, asked):
    """Return the field of ours and the log-probabilities that went out."""
    if not asked:
        (choice,) = answer.json()["choices"]
        return choice["moralscope"], choice["logprobs"]
    choices = [choice for chunk in chunks(answer) for choice in chunk["choices"]]
    rows = [row for c in choices for row in (c.get("logprobs") or {}).get("content", ())]
    return choices[-1]["moralscope"], {"content": rows} if rows else None


SMUGGLED = {
    "other tokens": lambda text: [row(HIDDEN)],
    "more tokens between": lambda text: [row(text[:5]), row(HIDDEN), row(text[5:])],
    "fewer tokens": lambda text: [row(text[:5])],
    "other bytes": lambda text: [row(text, data=list(HIDDEN.encode()))],
    "tokens without bytes": lambda text: [{**row(HIDDEN), "bytes": None}],
}


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("given", ["whole", "stream"])
@pytest.mark.parametrize("action", ["annotate", "block"])
@pytest.mark.parametrize("name", SMUGGLED)
def test_logprobs_that_do_not_spell_the_reply_are_dropped(
    behind, texts, name, action, given, asked
):
    text = texts["passed"][0]
    tokens = {"content": SMUGGLED[name](text)}
    answers(behind, message={"content": text}, logprobs=tokens, given=given)
    with guarded(behind, action) as client:
        answer = ask(client, stream=asked)
    note, logprobs = read(answer, asked)
    assert logprobs is None
    assert note["dropped"] == ["logprobs"]
    assert answer.headers["x-moralscope-dropped"] == "logprobs"
    assert HIDDEN not in answer.text
    assert answer.headers["x-moralscope-verdict"] == "kept"


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("given", ["whole", "stream"])
def test_alternatives_are_dropped_by_a_guard_that_withholds(behind, texts, given, asked):
    text, other = texts["passed"][0], {"token": HIDDEN, "logprob": -3.0, "bytes": None}
    tokens = {"content": spelling(text, [other])}
    answers(behind, message={"content": text}, logprobs=tokens, given=given)
    for action in ("block", "revise"):
        with guarded(behind, action) as client:
            answer = ask(client, stream=asked)
        note, logprobs = read(answer, asked)
        assert HIDDEN not in answer.text
        assert "".join(one["token"] for one in logprobs["content"]) == text
        assert {one["logprob"] for one in logprobs["content"]} == {-0.5}
        assert note["dropped"] == ["top_logprobs"]
        assert answer.headers["x-moralscope-dropped"] == "top_logprobs"
        assert answer.headers["x-moralscope-verdict"] == "kept", "they do not go out"
    with guarded(behind) as client:
        answer = ask(client, stream=asked)
    note, logprobs = read(answer, asked)
    assert logprobs["content"][0]["top_logprobs"] == [other]
    assert "x-moralscope-dropped" not in answer.headers
    assert answer.headers["x-moralscope-verdict"] == "partly"
    assert answer.headers["x-moralscope-unjudged"] == "top_logprobs"


def test_logprobs_of_half_letters_go_out_under_names_of_ours(behind):
    text = "Hi 🙂"
    parts = [b"Hi ", b"\xf0\x9f", b"\x99\x82"]
    rows = [row(HIDDEN, data=list(part)) for part in parts]
    answers(behind, message={"content": text}, logprobs={"content": [*rows, row("<|end|>")]})
    with guarded(behind) as client:
        answer = ask(client)
    note, logprobs = read(answer, False)
    names = [one["token"] for one in logprobs["content"]]
    assert names == ["Hi ", "bytes:\\xf0\\x9f", "bytes:\\x99\\x82"]
    assert note["dropped"] == ["surplus_logprobs"]


@pytest.mark.parametrize("asked", [False, True])
def test_a_reply_of_which_parts_were_not_judged_is_named_partly(behind, asked):
    parts = [{"type": "text", "text": "Hello you."}, IMAGE]
    said = {"content": parts, "reasoning_content": "I plot."}
    with guarded(behind, "block") as client:
        answers(behind, message={"content": "Hello you."})
        plain = ask(client, stream=asked)
        answers(behind, message=said)
        parts = ask(client, stream=asked)
    assert "x-moralscope-unjudged" not in plain.headers
    assert plain.headers["x-moralscope-verdict"] == "kept"
    assert parts.headers["x-moralscope-verdict"] == "partly"
    assert parts.headers["x-moralscope-unjudged"] == "reasoning, content_parts"
    assert read(parts, asked)[0]["unjudged"] == ["reasoning", "content_parts"]


@pytest.mark.parametrize("withhold", [False, True])
def test_partly_says_what_was_dropped_too(behind, texts, withhold):
    policy = {"on_abstain": "block" if withhold else "pass"}
    answers(behind, message={"content": [{"type": "text", "text": texts["passed"][0]}, IMAGE]})
    with guarded(behind, "block", **policy) as client:
        answer = ask(client)
    assert answer.headers["x-moralscope-verdict"] == "partly"
    assert answer.headers["x-moralscope-unjudged"] == "content_parts"
    assert answer.headers.get("x-moralscope-dropped") == ("content_parts" if withhold else None)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("given", ["whole", "stream"])
@pytest.mark.parametrize("kind", ["refusal", "input_text"])
def test_refusal_parts_and_input_text_are_judged(behind, texts, kind, given, asked):
    text = texts["revised"][0]
    part = {"type": kind, "refusal" if kind == "refusal" else "text": text}
    answers(behind, message={"content": [part]}, given=given)
    with guarded(behind, "block", on_abstain="pass") as client:
        answer = ask(client, stream=asked)
    assert answer.headers["x-moralscope-verdict"] == "flagged"
    assert "bikes" not in answer.text
    good = texts["passed"][0]
    answers(behind, message={"content": [{**part, "refusal": good, "text": good}]}, given=given)
    with guarded(behind, "block", on_abstain="pass") as client:
        answer = ask(client)
    message = answer.json()["choices"][0]["message"]
    assert message["refusal" if kind == "refusal" else "content"] == good
    assert "x-moralscope-unjudged" not in answer.headers


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("given", ["whole", "stream"])
@pytest.mark.parametrize("action", ["block", "revise"])
def test_the_head_of_a_withheld_reply_is_ours(behind, texts, action, given, asked):
    said = dict.fromkeys(("id", "model", "system_fingerprint", "service_tier"), HIDDEN)
    behind.headers = {"X-Request-Id": HIDDEN}
    answers(behind, message={"content": texts["revised"][0]}, given=given, created=7, **said)
    with guarded(behind, action) as client:
        answer = ask(client, stream=asked)
        answers(behind, message={"content": texts["passed"][0]}, given=given, **said)
        passed = ask(client, stream=asked)
    assert HIDDEN not in answer.text + str(answer.headers)
    heads = chunks(answer) if asked else [answer.json()]
    assert {head["model"] for head in heads} == {"m"}  # as the client called it
    assert len({head["id"] for head in heads}) == 1
    assert not any({"system_fingerprint", "service_tier"} & set(head) for head in heads)
    assert all(head["created"] > 7 for head in heads)
    assert passed.headers["x-request-id"] == HIDDEN
    assert (chunks(passed)[0] if asked else passed.json())["id"] == HIDDEN


def test_an_address_that_does_not_exist_is_refused_in_openais_shape(behind):
    with guarded(behind) as client:
        for method, path in (("POST", "embeddings"), ("GET", "models/x")):
            answer = client.request(method, f"/v1/{path}", json={})
            assert answer.status_code == 404
            assert answer.headers["content-type"] == "application/json"
            assert answer.json()["error"] == {
                "message": "there is no such address; check the address; the OpenAPI document "
                "lists what there is",
                "type": "invalid_request_error",
                "param": None,
                "code": "unknown_url",
            }
        assert client.get("/api/x").headers["content-type"] == "application/problem+json"


def test_parts_alone_are_abstained_and_named(behind):
    answers(behind, message={"content": [IMAGE]})
    with guarded(behind, "block", on_abstain="block") as client:
        answer = ask(client)
    assert answer.headers["x-moralscope-verdict"] == "abstained"
    assert answer.headers["x-moralscope-unjudged"] == "content_parts"
    assert answer.headers["x-moralscope-dropped"] == "content_parts"
    assert UNJUDGED in json.dumps(answer.json())
