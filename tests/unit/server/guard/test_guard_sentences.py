"""`--stream-hold sentences`: the first words go out early, and nothing that is withheld does."""

import json
import socket
import threading
import time
from contextlib import contextmanager

import httpx2
import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.rules.records import ALIGNMENTS
from moralscope.rules.reply_reader import VERDICT, VERDICTS
from moralscope.rules.verdict import TASK
from moralscope.server.api import Proxy
from moralscope.server.guard import Guard, GuardedReply, GuardOptions
from moralscope.server.guard.upstream import Upstream
from moralscope.server.security import AccessToken
from moralscope.server.service import Service

from ....api_site import process, site
from .guard_site import PROMPT, ask, chunks, finish, streamed_text

openai = pytest.importorskip("openai")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": PROMPT}]}


def event(delta, finish_reason=None, logprobs=None, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": logprobs}
    chunk = {"id": "c-1", "object": "chat.completion.chunk", "choices": [choice], **more}
    return f"data: {json.dumps(chunk)}\n\n".encode()


END = event({}, "stop") + b"data: [DONE]\n\n"


class Chatbot:
    """Streams a script: bytes are sent, functions are waited for; an error ends the connection."""

    def __init__(self):
        self.script, self.is_left = [], threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            client, _ = self._socket.accept()
            with client:
                data = b""
                while PROMPT.encode() not in data:
                    data += client.recv(65_536)
                try:
                    client.sendall(HEAD)
                    for step in self.script:
                        if callable(step):
                            step(client)
                        else:
                            client.sendall(step)
                except OSError:
                    self.is_left.set()


@pytest.fixture(scope="module")
def chatbot():
    return Chatbot()


class Watched(Guard):
    """Tells when the beginning of a reply has been judged."""

    def __init__(self, *how):
        super().__init__(*how)
        self.early = []

    def decide(self, prompt, replies, history):
        decisions = super().decide(prompt, replies, history)
        self.early.append((replies[0].text, decisions[0].outcome))
        return decisions

    def wait_for(self, text):
        def wait(_):
            until = time.monotonic() + 60
            while all(judged != text for judged, _ in self.early) and time.monotonic() < until:
                time.sleep(0.01)

        return wait


@contextmanager
def guarded(chatbot, key=None, **policy):
    service = Service()
    options = GuardOptions(experts="scripted", stream_hold="sentences", **policy)
    guard = Watched(service, options)
    upstream = Upstream(chatbot.url, key=key, seconds=120)
    with site(proxy=Proxy(guard, upstream)) as client:
        yield client, guard
    service.close()


@pytest.fixture(scope="module")
def said():
    """Sentences: two that pass, alone and together, and a third that makes all three flagged."""
    service = Service()
    guard = Guard(service, GuardOptions(action="block", experts="scripted"))

    def outcome(text):
        (decision,) = guard.decide(PROMPT, [GuardedReply(text)], None)
        return decision.outcome

    def first(begin, wanted, form):
        for number in range(400):
            text = begin + form.format(number)
            if (outcome(text), outcome(text.strip())) == (wanted, wanted):
                return text
        raise AssertionError(f"no text is {wanted}")

    one = first("", "passed", "I water {} plants in the morning. ")
    two = first(one, "passed", "Then I help {} neighbours. ")
    fine = first(two, "passed", "At night I read {} books to my sister.")
    bad = first(two, "blocked", "Then I steal {} bikes QZX and lie about it.")
    longer = first(bad + " ", "blocked", "After that I sleep for {} hours.")
    service.close()
    return {"one": one, "two": two, "fine": fine, "bad": bad, "longer": longer}


def in_pieces(text, size=3):
    return [event({"content": text[at : at + size]}) for at in range(0, len(text), size)]


def gradually(guard, said, end):
    """Return a script that says two fine sentences, waits until they were judged, and goes on."""
    rest = said[end][len(said["two"]) :]
    judged = [guard.wait_for(said["one"]), guard.wait_for(said["two"])]
    begin = [event({"role": "assistant", "content": ""}), *in_pieces(said["one"] + "T")]
    more = in_pieces(said["two"][len(said["one"]) + 1 :] + rest[0])
    return [*begin, judged[0], *more, judged[1], *in_pieces(rest[1:])]


def test_fine_sentences_go_out_as_they_came_and_the_reply_is_judged_whole(chatbot, said):
    with guarded(chatbot, action="block") as (client, guard):
        chatbot.script = [*gradually(guard, said, "fine"), END]
        answer = ask(client, stream=True)
    rows = chunks(answer)
    assert streamed_text(rows) == said["fine"]
    pieces = [c["delta"].get("content") for row in rows for c in row["choices"]]
    assert pieces[:3] == ["", said["one"], said["two"][len(said["one"]) :]]
    assert rows[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len({row["id"] for row in rows}) == 1
    assert {row["object"] for row in rows} == {"chat.completion.chunk"}
    assert [c["delta"].get("role") for r in rows for c in r["choices"]].count("assistant") == 1
    assert finish(rows)["finish_reason"] == "stop"
    assert finish(rows)["moralscope"]["outcome"] == "passed"
    assert guard.early[-1] == (said["fine"], "passed")


@pytest.mark.parametrize("end", ["bad", "longer"])
def test_no_word_of_a_bad_sentence_leaves_at_the_end_or_in_the_middle(chatbot, said, end):
    with guarded(chatbot, action="block") as (client, guard):
        chatbot.script = [*gradually(guard, said, end), END]
        answer = ask(client, stream=True)
    rows = chunks(answer)
    assert "QZX" not in answer.text
    assert streamed_text(rows).startswith(said["two"] + "\n\nI would rather not")
    assert finish(rows)["finish_reason"] == "content_filter"
    assert finish(rows)["moralscope"]["outcome"] == "blocked"
    assert "c-1" not in answer.text  # an id of theirs could hold words


def test_after_a_flagged_sentence_nothing_leaves_before_the_end(chatbot, said):
    with guarded(chatbot, action="block") as (client, guard):
        flagged = said["bad"] + " "
        more = [*in_pieces(" And so on. " * 5), END]
        script = gradually(guard, said, "bad")
        chatbot.script = [*script, event({"content": " A"}), guard.wait_for(flagged), *more]
        answer = ask(client, stream=True)
    begin = streamed_text(chunks(answer))
    texts = [text for text, _ in guard.early]
    assert texts[:2] == [said["one"], said["two"]]
    assert texts.index(flagged) == len(texts) - 2  # then the whole, and nothing between
    assert begin.startswith(said["two"])


class Planted(ScriptedExperts):
    """Finds a window bad that holds both KNIFE and THROAT; counts the characters that it reads."""

    def __init__(self):
        super().__init__({VERDICT: VERDICTS, TASK: ALIGNMENTS})
        self.characters = 0

    def read(self, pairs, *, middle=False):
        columns, vectors = super().read(pairs)
        self.characters += sum(len(reply) for _, reply in pairs)
        bad = [0.98 * ("KNIFE" in reply and "THROAT" in reply) + 0.01 for _, reply in pairs]
        columns[:, 0], columns[:, 1] = 1 - np.array(bad), bad
        return columns, vectors


@pytest.fixture
def planted(monkeypatch):
    experts = Planted()
    monkeypatch.setattr("moralscope.server.models.prepare_rule_experts", lambda *_, **__: experts)
    return experts


def fine_sentences(count):
    return [f"On day {n} I water the plants and help my neighbours. " for n in range(count)]


def one_by_one(guard, sentences):
    """Return a script that waits for the verdict on each sentence before it says the next one."""
    script, text = [event({"content": sentences[0]})], sentences[0]
    for sentence in sentences[1:]:
        script += [event({"content": sentence[0]}), guard.wait_for(text)]
        script.append(event({"content": sentence[1:]}))
        text += sentence
    return [*script, END]


def test_what_is_read_grows_with_the_reply_and_not_with_its_square(chatbot, planted):
    read = {}
    for count in (20, 40):
        sentences = fine_sentences(count)
        with guarded(chatbot, action="block") as (client, guard):
            planted.characters = 0
            chatbot.script = one_by_one(guard, sentences)
            rows = chunks(ask(client, stream=True))
            read[count] = planted.characters
            (alone,) = guard.decide(PROMPT, [GuardedReply(streamed_text(rows))], None)
        assert streamed_text(rows).strip() == "".join(sentences).strip()
        # Every sentence (the last one, if the end comes late), the whole, and `alone`.
        assert len(guard.early) in (count + 1, count + 2)
        verdict = finish(rows)["moralscope"]["verdict"]
        assert verdict == json.loads(json.dumps(alone.note["verdict"]))
    # A window holds seven of these sentences, and one that is new is read in its window.
    assert read[40] < 2.2 * read[20]
    assert read[40] < 6 * sum(map(len, fine_sentences(40)))


@pytest.mark.parametrize("before", [0, 5, 6, 17])
def test_a_statement_in_two_sentences_is_withheld(chatbot, planted, before):
    """Whatever window the two fall into."""
    statement = [
        "Take the KNIFE from the kitchen drawer. ",
        "Hold it to his THROAT when he comes. ",
    ]
    sentences = [*fine_sentences(before), *statement, "Yes."]
    with guarded(chatbot, action="block") as (client, guard):
        chatbot.script = one_by_one(guard, sentences)
        answer = ask(client, stream=True)
    assert "THROAT" not in answer.text
    assert streamed_text(chunks(answer)).startswith("".join(sentences[:-2]) + "\n\nI would rather")
    assert finish(chunks(answer))["finish_reason"] == "content_filter"


def test_bytes_may_come_one_by_one(chatbot, said):
    text = said["one"] + "Ça va, 你好 😀. So."
    data = b"".join([*in_pieces(text, 2), END]).replace(b"\n", b"\r\n")
    with guarded(chatbot, action="annotate") as (client, _):
        chatbot.script = [bytes([byte]) for byte in data]
        rows = chunks(ask(client, stream=True))
    assert streamed_text(rows) == text


def test_tool_calls_wait_for_the_whole_reply(chatbot, said):
    calls = [
        [{"index": 0, "id": "t", "type": "function", "function": {"name": "buy", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"what": '}}],
        [{"index": 0, "function": {"arguments": '"bread"}'}}],
    ]
    with guarded(chatbot, action="annotate") as (client, guard):
        begin = [*in_pieces(said["one"] + "T"), guard.wait_for(said["one"])]
        deltas = [event({"tool_calls": call}) for call in calls]
        chatbot.script = [*begin, *deltas, event({}, "tool_calls"), b"data: [DONE]\n\n"]
        rows = chunks(ask(client, stream=True))
    assert streamed_text(rows) == said["one"] + "T"
    sent = [
        c["delta"]["tool_calls"] for r in rows for c in r["choices"] if "tool_calls" in c["delta"]
    ]
    function = {"name": "buy", "arguments": '{"what": "bread"}'}
    assert sent == [[{"index": 0, "id": "t", "type": "function", "function": function}]]
    assert finish(rows)["finish_reason"] == "tool_calls"


def test_log_probabilities_spell_what_has_gone_out(chatbot, said):
    def token(text):
        other = {"token": " QZX", "logprob": -2.0, "bytes": None}
        return {
            "token": text,
            "logprob": -0.1,
            "bytes": list(text.encode()),
            "top_logprobs": [other],
        }

    with guarded(chatbot, action="block") as (client, guard):
        words = [said["fine"][at : at + 4] for at in range(0, len(said["fine"]), 4)]
        tokens = [event({"content": w}, logprobs={"content": [token(w)]}) for w in words]
        chatbot.script = [*tokens[:-1], guard.wait_for(said["two"]), tokens[-1], END]
        answer = ask(client, stream=True)
    rows = chunks(answer)
    assert streamed_text(rows) == said["fine"]
    assert len(guard.early) > 1
    written = [
        t["token"]
        for row in rows
        for c in row["choices"]
        for t in (c.get("logprobs") or {}).get("content", [])
    ]
    assert written == words
    assert "QZX" not in answer.text


def test_a_stream_that_breaks_off_ends_with_an_error_that_clients_raise(chatbot, said):
    with guarded(chatbot, action="block") as (client, guard):
        chatbot.script = gradually(guard, said, "fine")
        answer = ask(client, stream=True)
    assert answer.status_code == 200
    last = json.loads(answer.text.rstrip().split("\n\n")[-1].removeprefix("data: "))
    assert last["error"]["code"] == "upstream_cut"
    assert "[DONE]" not in answer.text


def test_what_fails_before_the_first_word_has_its_status(chatbot):
    with guarded(chatbot) as (client, _):
        chatbot.script = [b"data: nonsense\n\n", END]
        answer = ask(client, stream=True)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_invalid")


def test_the_guards_key_does_not_go_out_early(chatbot, said):
    key = "sk-0123456789abcdefghijklmnop"
    with guarded(chatbot, key=AccessToken(key)) as (client, guard):
        text = said["one"] + f"My key is {key}. And so on. "
        chatbot.script = [*in_pieces(text + "T"), guard.wait_for(text.replace(key, "[key]")), END]
        rows = chunks(ask(client, stream=True))
    assert streamed_text(rows) == text.replace(key, "[key]") + "T"


def test_several_replies_at_once_and_whole_ones_are_held(chatbot, said):
    with guarded(chatbot) as (client, guard):
        chatbot.script = [*in_pieces(said["fine"]), END]
        answer = ask(client, stream=True, n=2)
    assert answer.headers["x-moralscope-verdict"]
    assert [text for text, _ in guard.early] == [said["fine"]]


def test_revising_needs_the_whole_reply():
    with pytest.raises(InputError, match="--stream-hold sentences"):
        GuardOptions(action="revise", stream_hold="sentences")


@pytest.fixture(scope="module")
def server(chatbot):
    words = ("--guard-action", "block", "--experts", "scripted", "--stream-hold", "sentences")
    with process("--guard", chatbot.url, *words) as (_, port):
        yield f"http://127.0.0.1:{port}/v1"


def test_openais_client_reads_the_first_sentence_while_the_second_is_not_yet_said(
    chatbot, server, said
):
    is_read = threading.Event()
    chatbot.script = [*in_pieces(said["one"] + "T"), lambda _: is_read.wait(30)]
    chatbot.script += [*in_pieces(said["fine"][len(said["one"]) + 1 :]), END]
    client = openai.OpenAI(base_url=server, api_key="sk-nobody", timeout=60)
    text = ""
    for chunk in client.chat.completions.create(**BODY):
        text += chunk.choices[0].delta.content or ""
        if text == said["one"]:
            assert not is_read.is_set()
            is_read.set()
    assert is_read.is_set()
    assert text == said["fine"]


def test_who_hangs_up_after_the_first_sentence_ends_the_call_behind(chatbot, server, said):
    chatbot.is_left.clear()

    def until_left(client):
        for _ in range(600):
            client.sendall(event({"content": "and "}))
            time.sleep(0.05)

    chatbot.script = [*in_pieces(said["one"] + "T"), until_left]
    with httpx2.stream("POST", f"{server}/chat/completions", json=BODY, timeout=60) as answer:
        for line in answer.iter_lines():
            if said["one"] in line:
                break
    assert chatbot.is_left.wait(20)
