"""A small real server behind a guard, and what tests ask of the two."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from moralscope.server.api import Proxy
from moralscope.server.guard import Guard, GuardOptions
from moralscope.server.guard.upstream import Upstream
from moralscope.server.service import Service

from ....api_site import site

KEY = "sk-very-secret-key-of-the-client"
PROMPT = "What do you do all day?"


class Behind:
    """An OpenAI-compatible server that says what it is told to, and remembers what it was asked."""

    def __init__(self):
        self.says = "Hello you."
        self.answer = None  # (status, content type, bytes) in place of a completion
        self.headers = {"Retry-After": "7"}
        self.asked, self.keys, self.cookies, self.waits = [], [], [], threading.Event()
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

    def says_message(self, **message):
        """Answer with one message of these fields."""
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.answers_json({"choices": [choice]})

    def answers_json(self, body):
        self.answer = (200, "application/json", json.dumps(body).encode())

    def answers_events(self, *events, kind="text/event-stream"):
        said = (each if isinstance(each, str) else json.dumps(each) for each in events)
        self.answer = (200, kind, "".join(f"data: {each}\n\n" for each in said).encode())


@contextmanager
def running():
    """Run the server; yield what tests tell it."""
    behind = Behind()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            behind.asked.append((self.path, body))
            behind.keys.append(self.headers.get("authorization"))
            behind.cookies.append(self.headers.get("cookie"))
            behind.waits.wait(5)
            status, kind, data = behind.reply(body)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            for name, value in behind.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    behind.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield behind
    server.shutdown()
    server.server_close()


@contextmanager
def guarded(behind, action="annotate", token=None, key=None, seconds=5.0, **policy):
    service = Service()
    options = GuardOptions(action=action, experts="scripted", generator="scripted", **policy)
    proxy = Proxy(Guard(service, options), Upstream(behind.url, key=key, seconds=seconds))
    with site(proxy=proxy, token=token) as client:
        yield client
    service.close()


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


def finish(found):
    """Return the last choice that says why it ended."""
    return [c for chunk in found for c in chunk["choices"] if c.get("finish_reason")][-1]
