"""Every kind of subject that people have, in the shape its maker documents, and what it can do.

The table of docs/language-models.md is generated from what these subjects do here
(``MORALSCOPE_FREEZE=1`` rewrites it).
"""

import contextlib
import json
import math
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from moralscope.axes.language import Asking
from moralscope.core.errors import InputError, StoreError
from moralscope.core.records import Decoding
from moralscope.models.language import (
    EndpointOptions,
    conversion,
    load_generator,
    load_language_model,
)
from moralscope.models.language.dialects import split_endpoint
from moralscope.models.options import is_language_model
from moralscope.models.store import Store
from moralscope.surveys.survey import survey

from ..generator_makers import answer_to, served, tiny_llama

DOCS = Path(__file__).parents[2] / "docs" / "language-models.md"
ITEMS = """situation,action1,action2,better
You find a purse in the street.,I bring it to the police.,I keep it.,1
You promised to help a friend move.,I help my friend.,I go to the party.,1
"""


def letters(body):
    """Return shares of letters and of yes and no that lean to B and no."""
    return [("B", 0.5), ("No", 0.2), ("A", 0.1), (" Yes", 0.1), ("The", 0.05)]


def openai_like(handler, body, extra=None):
    """Answer as vLLM, llama.cpp and Ollama document: content rows with top_logprobs."""
    answer = answer_to({"n": 1, "seed": 0, "temperature": 1, **body})
    for number, choice in enumerate(answer["choices"]):
        choice["logprobs"] = None
        choice["message"]["content"] = ("B. I leave.", "Yes.", "A", "No")[number % 4]
    if body.get("logprobs") and body.get("top_logprobs"):
        rows = [
            {"token": t, "bytes": list(t.encode()), "logprob": math.log(p), **(extra or {})}
            for t, p in letters(body)
        ]
        # vLLM and Ollama give -9999 and the like for what is left of a cut vocabulary.
        rows.append({"token": "zzz", "bytes": None, "logprob": -9999.0, **(extra or {})})
        content = [{**rows[0], "top_logprobs": rows[: body["top_logprobs"]]}]
        answer["choices"][0]["logprobs"] = {"content": content}
    handler.send(200, json.dumps(answer).encode())
    return True


def vllm(handler, body, _times):
    """Refuse more log-probabilities than --max-logprobs allows, and greedy answers in numbers."""
    if body.get("temperature") == 0 and body.get("n", 1) > 1:
        return refuse(handler, "n must be 1 when using greedy sampling, got 20.")
    return openai_like(handler, body)


def llama_cpp(handler, body, _times):
    if body.get("n", 1) > 1:
        return refuse(handler, "Only one completion choice is allowed")
    return openai_like(handler, body, {"id": 11})


def ollama(handler, body, _times):
    assert "authorization" not in handler.headers
    return openai_like(handler, {**body, "n": 1})  # one choice, whatever n says


def anthropic(handler, body, times):
    assert handler.path == "/v1/messages"
    assert handler.headers["x-api-key"] == "sk-ant-secret"
    assert handler.headers["anthropic-version"] == "2023-06-01"
    assert set(body) <= {"model", "messages", "max_tokens", "temperature", "top_p"}
    assert not {"temperature", "top_p"} <= set(body)
    text = ("B", "A", "B.", "Yes", "No")[times % 5]
    answer = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": body["model"],
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 12, "output_tokens": 3},
    }  # fmt: skip
    handler.send(200, json.dumps(answer).encode())
    return True


def reasoning(handler, body, _times):
    """Answer as OpenAI's reasoning models do: no log-probabilities, no max_tokens, no seed."""
    if "max_tokens" in body:
        line = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return refuse(handler, line)
    if body.get("logprobs"):
        return refuse(handler, "You are not allowed to request logprobs from this model.")
    return openai_like(handler, {**body, "max_tokens": body["max_completion_tokens"]})


def refuse(handler, message):
    data = {"error": {"message": message, "type": "invalid_request_error", "code": 400}}
    handler.send(400, json.dumps(data).encode())
    return True


SERVERS = {
    "vLLM, `openai:MODEL`": ("openai:m", vllm),
    "llama.cpp's server, `openai:MODEL`": ("openai:m", llama_cpp),
    "a reasoning model of OpenAI's, `openai:MODEL`": ("openai:o", reasoning),
    "`ollama:MODEL`": ("ollama:m:4b", ollama),
    "`anthropic:MODEL`": ("anthropic:claude", anthropic),
}
KINDS = ("`scripted`", "a folder", "a GGUF file", *SERVERS)


@contextlib.contextmanager
def subject(kind, folder):
    """Yield a language model of this kind, as a user names it."""
    with pytest.MonkeyPatch.context() as patch:
        yield from made(kind, folder, patch)


def made(kind, folder, patch):
    store = Store(folder / "home")
    if kind in SERVERS:
        name, reply = SERVERS[kind]
        patch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
        patch.delenv("OPENAI_API_KEY", raising=False)
        with served(reply) as (url, seen):
            options = EndpointOptions(url, retries=0, samples=10)
            yield load_language_model(name, endpoint=options, store=store), seen
    elif kind == "a folder":
        yield load_language_model(str(tiny_llama(folder / "own")), store=store), None
    elif kind == "a GGUF file":
        source = tiny_llama(folder / "source")
        file = folder / "Own-Model.gguf"
        file.write_bytes(b"GGUF" + bytes([3, 0, 0, 0]) + bytes(16))

        def write(_source, _weights, target):
            shutil.copytree(source, target, dirs_exist_ok=True)

        patch.setattr(conversion, "_write_model", write)
        yield load_language_model(str(file), store=store), None
    else:
        yield load_language_model("scripted"), None


@pytest.fixture(scope="module", params=KINDS)
def asked(request, tmp_path_factory):
    """Return a kind, its model, what a survey of it says, and what its server saw."""
    folder = tmp_path_factory.mktemp("subject")
    (folder / "items.csv").write_text(ITEMS)
    with subject(request.param, folder) as (model, seen):
        yield request.param, model, survey(folder / "items.csv", speakers=[model], wordings=1), seen


def test_a_survey_of_every_subject_gives_likelihoods_that_sum_to_one(asked):
    _, model, record, _ = asked
    figures = record.statistics["models"][model.name]
    assert figures.questions == 16
    for row in record.results:
        assert sum(row.likelihoods) == pytest.approx(1)
    assert 0 < figures.mass.value <= 1


def test_a_subject_that_tells_nothing_says_that_replies_are_drawn(asked):
    kind, _, record, _ = asked
    drawn = kind.startswith(("`anthropic", "a reasoning"))
    lines = [line for line in record.warnings if "gives no log-probabilities" in line]
    assert bool(lines) == drawn
    if drawn:
        assert "replies are drawn and counted" in lines[0]


def test_letters_are_read_as_told_where_a_server_tells(asked):
    kind, model, _, seen = asked
    if seen is None or kind.startswith(("`anthropic", "a reasoning")):
        return
    [answers] = model.log_probabilities(["Which? Answer with A or B only."], [["A", "B"]])
    assert [math.exp(one.total) for one in answers] == pytest.approx([0.1, 0.5])
    assert all(one.samples == 0 for one in answers)


def test_a_talk_reaches_every_subject_in_its_turns(asked):
    _, model, _, seen = asked
    turns = ("Do you help? A or B.", "B", "Are you sure? \ud800 A or B.")
    text = Asking.of(model, "auto").text(*turns)
    if seen is not None:
        model.log_probabilities([text], [["A", "B"]])
        messages = seen[-1]["body"]["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "user"]
        assert [message["content"] for message in messages[:2]] == list(turns[:2])
    elif not model.has_chat:
        assert text == f"Question: {turns[0]}\nAnswer: B\n\nQuestion: {turns[2]}\nAnswer:"


def test_a_field_that_a_server_refuses_is_refused_once(asked):
    kind, _, _, seen = asked
    if kind.startswith("llama"):
        assert sum(row["body"].get("n", 1) > 1 for row in seen) <= 8  # those that were out at once
    if kind.startswith("a reasoning"):
        assert sum("logprobs" in row["body"] for row in seen) <= 24
        assert seen[-1]["body"]["max_completion_tokens"] > 1


def can(call, *values):
    try:
        list(call(*values))
    except InputError:
        return "no"
    return "yes"


def capabilities(kind, model):
    """Return what a subject did when it was asked to, as cells of a table."""
    [answers] = model.log_probabilities(["Which? Answer with A or B."], [["A", "B"]])
    [whole] = model.log_probabilities(["Which line?"], [["I help.", "I leave."]])
    kinds = ["drawn" if some[0].samples else "exact" for some in (answers, whole)]
    kinds = ["planted" if kind == "`scripted`" else name for name in kinds]
    [[reply]] = model.generate(["Jo finds"], Decoding("greedy", max_tokens=4), [0])
    assert isinstance(reply.text, str)
    states = can(model.hidden_states, ["a"], [1])
    every = can(model.distributions, ["a"])
    zero = np.zeros(model.dimension, np.float32)
    steered = can(lambda: [model.steered({1: zero})])
    return [kind, "yes", *kinds, states, every, steered]


def test_the_capability_table_of_the_docs_is_what_subjects_do(tmp_path):
    rows = []
    for number, kind in enumerate(KINDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with subject(kind, folder) as (model, _):
            rows.append(capabilities(kind, model))
    head = ["subject", "writes", "letters, yes and no", "whole actions", "hidden states",
            "every next token", "can be steered"]  # fmt: skip
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    text = DOCS.read_text("utf-8")
    mark = "<!-- capabilities: generated by tests/contracts/test_subjects.py -->"
    table = re.compile(re.escape(mark) + r"\n\n((?:\|.*\n)+)")
    match = table.search(text)
    assert match, "docs/language-models.md has no table of capabilities"
    if os.environ.get("MORALSCOPE_FREEZE"):
        DOCS.write_text(text.replace(match[1], "\n".join(lines) + "\n"), "utf-8")
    assert DOCS.read_text("utf-8").count("\n".join(lines)) == 1


def test_a_gguf_file_is_named_by_its_path_and_converted_once(tmp_path, monkeypatch):
    with subject("a GGUF file", tmp_path) as (model, _):
        assert model.name == "Own-Model"
        assert is_language_model("~/models/Own-Model.gguf")
        file = tmp_path / "Own-Model.gguf"
        with monkeypatch.context() as patch:
            patch.setattr(conversion, "_write_model", None)  # nothing is written again
            again = load_language_model(str(file), store=Store(tmp_path / "home"))
        assert again.checksum == model.checksum


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "there is no file"), (b"no model", "not a GGUF file"), (b"", "not a GGUF file")],
)
def test_a_file_that_is_no_gguf_is_refused_in_one_line(tmp_path, content, told):
    file = tmp_path / "own.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises((InputError, StoreError), match=told) as error:
        load_language_model(str(file), store=Store(tmp_path))
    assert "\n" not in str(error.value)
    assert "pull" not in str(error.value)


def test_an_architecture_that_nobody_knows_is_refused_with_what_to_do(tmp_path):
    key, kind = b"general.architecture", b"strange"
    text = len(key).to_bytes(8, "little") + key + (8).to_bytes(4, "little")
    text += len(kind).to_bytes(8, "little") + kind
    counts = (0).to_bytes(8, "little") + (1).to_bytes(8, "little")
    file = tmp_path / "own.gguf"
    file.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + counts + text)
    with pytest.raises(InputError, match=r"architecture 'strange'.*ollama:MODEL"):
        load_language_model(str(file), store=Store(tmp_path))


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("10.0.0.5:8080", "http://10.0.0.5:8080/v1"),
        ("https://ollama.example.org/", "https://ollama.example.org/v1"),
    ],
)
def test_ollama_is_found_where_its_own_client_finds_it(monkeypatch, host, url):
    monkeypatch.setenv("OLLAMA_HOST", host)
    dialect, model = split_endpoint("ollama:qwen3:4b")
    assert (dialect.base_url(None), model) == (url, "qwen3:4b")


def test_an_endpoint_without_a_model_and_one_with_an_adapter_are_refused(tmp_path):
    for name in ("ollama:", "anthropic: ", "openai:"):
        with pytest.raises(InputError, match="has no name"):
            load_generator(name)
    with pytest.raises(InputError, match="takes no adapter"):
        load_language_model("ollama:m", adapter=tmp_path)


def test_an_anthropic_answer_of_another_shape_is_an_error_of_one_line(tmp_path, monkeypatch):
    def odd(handler, _body, _times):
        handler.send(200, b'{"content": "text"}')
        return True

    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    with served(odd) as (url, _):
        options = EndpointOptions(url, retries=0)
        model = load_language_model("anthropic:m", endpoint=options, store=Store(tmp_path))
        with pytest.raises(Exception, match="another shape") as error:
            model.log_probabilities(["Which?"], [["A", "B"]])
    assert "secret" not in str(error.value)
