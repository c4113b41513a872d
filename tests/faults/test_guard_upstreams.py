"""Servers behind the guard that hang, drip or never end, against a real process of ours."""

import contextlib
import gzip
import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from ..api_site import process

QUEUE, SECONDS, LATE = 8, 3, 8  # LATE: what a busy machine may add
GOOD = {"choices": [{"message": {"content": "Hello you."}, "finish_reason": "stop"}]}
TINY = b'data: {"choices":[]}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n\r\n"
JSON, EVENTS = HEAD % b"application/json", HEAD % b"text/event-stream"


class Upstream:
    """Answers as the prompt says; counts the connections on which it never will."""

    def __init__(self):
        self.hanging, self.sent_at, self._lock = 0, 0.0, threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._packed = gzip.compress(gzip.compress(b"\0" * 200_000_000))  # 1 kB
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        data = b""
        with contextlib.suppress(OSError), client:
            while (asked := re.search(rb'"content": "(\w+)"', data)) is None:
                data += client.recv(65_536)
            getattr(self, asked[1].decode())(client)

    def good(self, client):
        client.sendall(JSON + json.dumps(GOOD).encode())

    def hang(self, client):
        with self._lock:
            self.hanging += 1
        with contextlib.suppress(OSError):
            client.recv(1)
        with self._lock:
            self.hanging -= 1

    def drip_a_head(self, client):
        self._endlessly(client, b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a", 0.2)

    def drip_a_body(self, client):
        self._endlessly(client, JSON, b" ", 0.2)

    def drip_events(self, client):
        self._endlessly(client, EVENTS, TINY, 0.2)

    def endless_body(self, client):
        self._endlessly(client, JSON, b" " * 65_536)

    def endless_events(self, client):
        self._endlessly(client, EVENTS, TINY * 3000)

    def packed(self, client):
        packing = b"Content-Encoding: gzip, gzip\r\nConnection"
        client.sendall(JSON.replace(b"Connection", packing) + self._packed)

    def many_events(self, client):
        client.sendall(EVENTS + TINY * 350_000)
        self.sent_at = time.monotonic()

    def _endlessly(self, client, head, part, pause=0.0):
        client.sendall(head)
        while True:
            client.sendall(part)
            time.sleep(pause)


@pytest.fixture(scope="module")
def upstream():
    return Upstream()


@contextlib.contextmanager
def guard(upstream, *words):
    with process("--guard", upstream.url, "--experts", "scripted", *words) as (server, port):
        yield f"http://127.0.0.1:{port}/v1", server.pid


@pytest.fixture(scope="module")
def hasty(upstream):
    """A guard whose upstream has three seconds."""
    with guard(upstream, "--timeout", SECONDS) as running:
        yield running


def body(prompt):
    return {"model": "m", "messages": [{"role": "user", "content": prompt}]}


def ask(base, prompt, seconds=60):
    return httpx2.post(f"{base}/chat/completions", json=body(prompt), timeout=seconds)


def health(base):
    return httpx2.get(f"{base}/health", timeout=20).json()


def waited_for(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


@contextlib.contextmanager
def clients(base, count):
    """Hold clients open that asked for something that never comes."""
    sent = json.dumps(body("hang")).encode()
    host, port = base.split("/")[2].split(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(sent)}\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(socket.create_connection((host, int(port)), 10))
            client.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + sent)
        yield


def test_upstreams_that_never_answer_keep_nobody_waiting(upstream):
    with guard(upstream, "--queue", QUEUE) as (base, _):
        with clients(base, 110):
            assert waited_for(lambda: upstream.hanging == QUEUE)
            began = time.monotonic()
            refused = ask(base, "good")
            assert time.monotonic() - began < LATE
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
            assert refused.json()["error"]["code"] == "guard_busy"
            told = health(base)
            assert (told["status"], told["upstream_calls"]) == ("saturated", QUEUE)
            assert told["most_upstream_calls"] == QUEUE
            metrics = httpx2.get(f"{base}/metrics").text
            assert int(re.search(r"refused_total (\d+)", metrics)[1]) >= 110 - QUEUE
        assert waited_for(lambda: upstream.hanging == 0), "their clients have gone"
        for _ in range(4):  # no place is lost in any round
            with clients(base, QUEUE):
                assert waited_for(lambda: upstream.hanging == QUEUE)
            assert waited_for(lambda: upstream.hanging == 0)
        assert waited_for(lambda: health(base)["status"] == "ok")
        assert health(base)["upstream_calls"] == 0
        assert [ask(base, "good").status_code for _ in range(QUEUE + 1)] == [200] * (QUEUE + 1)


def test_upstreams_without_an_end_are_ended_by_time(hasty):
    """All at once: each waits for as long as it may."""
    base, pid = hasty
    before, began = peak(pid), time.monotonic()
    kinds = ("hang", "drip_a_head", "drip_a_body", "drip_events")
    with ThreadPoolExecutor(len(kinds)) as pool:
        answers = list(pool.map(lambda kind: ask(base, kind), kinds))
    assert time.monotonic() - began < SECONDS + LATE
    told = [(answer.status_code, answer.json()["error"]["code"]) for answer in answers]
    assert told == [(504, "upstream_timeout")] * len(kinds)
    assert peak(pid) - before < 100_000
    assert waited_for(lambda: health(base)["upstream_calls"] == 0)
    assert ask(base, "good").status_code == 200


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("endless_body", "upstream_long"),
        ("endless_events", "upstream_long"),
        ("packed", "upstream_invalid"),
    ],
)
def test_upstreams_without_an_end_are_ended_by_size(hasty, kind, code):
    base, pid = hasty
    before, began = peak(pid), time.monotonic()
    answer = ask(base, kind)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, code)
    assert time.monotonic() - began < SECONDS + LATE
    assert peak(pid) - before < 100_000
    assert waited_for(lambda: health(base)["upstream_calls"] == 0)
    assert ask(base, "good").status_code == 200


def peak(pid):
    """Return the most kilobytes that a process has had at a time."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])


def test_others_are_answered_while_a_long_answer_is_read(upstream):
    with guard(upstream) as (base, _):
        others, ended = [], threading.Event()

        def look():
            while not ended.is_set():
                health(base)
                others.append(time.monotonic())

        looking = threading.Thread(target=look)
        looking.start()
        assert ask(base, "many_events").json()["error"]["code"] == "upstream_cut"
        ended.set()
        looking.join()
    assert sum(at > upstream.sent_at + 0.2 for at in others) > 5
