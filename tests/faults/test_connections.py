"""Half-open, slow and silent connections against a real server, while good clients are served."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from ..api_site import SOURCE, process
from .bounded_server import LIMITS, TOKEN

ROOT = Path(__file__).parents[2]
LATE = 5  # seconds that a busy machine may add
HEAD = b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"
SHOWN = f"Authorization: Bearer {TOKEN}\r\n".encode()


@contextlib.contextmanager
def started(home):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "MORALSCOPE_HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.bounded_server"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            server.port = int(server.stdout.readline().rpartition(":")[2])
            yield server
        finally:
            if server.poll() is None:
                server.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("home")) as running:
        yield running


def connect(port, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", port), 10, (source, 0))


def read_all(sock, seconds=10):
    """Return what comes until the other side closes, and how long that took."""
    sock.settimeout(seconds)
    began, data = time.monotonic(), b""
    with contextlib.suppress(ConnectionError):
        while part := sock.recv(65_536):
            data += part
    return data, time.monotonic() - began


def read_until(sock, text, times=1):
    """Return what comes until a text has come so often."""
    sock.settimeout(10)
    data = b""
    while data.count(text) < times:
        part = sock.recv(65_536)
        assert part, data
        data += part
    return data


@contextlib.contextmanager
def half_open(port, count, sources=("127.0.0.1",)):
    """Hold connections open that send a byte of their head now and then."""
    with contextlib.ExitStack() as stack:
        opened, ended = [], threading.Event()
        for number in range(count):
            opened.append(stack.enter_context(connect(port, sources[number % len(sources)])))
            opened[-1].sendall(b"GET /health HTTP/1.1\r\nX: ")

        def drip():
            while not ended.wait(0.2):
                for each in opened:
                    with contextlib.suppress(OSError):
                        each.send(b"a")

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            yield opened
        finally:
            ended.set()
            dripping.join()


def good_clients(port, path="/health", count=30):
    """Return the statuses of clients that ask at once, and how long the slowest waited."""

    def ask(_):
        began = time.monotonic()
        status = httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=20).status_code
        return status, time.monotonic() - began

    with ThreadPoolExecutor(10) as pool:
        found = list(pool.map(ask, range(count)))
    return {status for status, _ in found}, max(seconds for _, seconds in found)


SOURCES = {"one": ("127.0.0.1",), "many": tuple(f"127.0.0.{n}" for n in range(2, 60))}


@pytest.mark.parametrize("name", SOURCES)
def test_half_open_connections_keep_nobody_waiting(server, name):
    with half_open(server.port, 150, SOURCES[name]) as opened:
        statuses, slowest = good_clients(server.port)
        time.sleep(LIMITS.head + 0.5)
        closed = sum(read_all(each, 0.2)[1] < 0.2 for each in opened)
    assert statuses == {200}
    assert slowest < LATE
    assert closed == 150, "a byte now and then buys no time"


def test_a_head_that_does_not_arrive_is_refused_in_words(server):
    with connect(server.port) as slow:
        slow.sendall(HEAD[:-2])
        data, seconds = read_all(slow)
    assert data.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in data
    assert LIMITS.head - 0.5 < seconds < LIMITS.head + LATE


def test_a_connection_that_says_nothing_is_closed(server):
    with connect(server.port) as silent:
        data, seconds = read_all(silent)
    assert data == b""
    assert seconds < LIMITS.head + LATE


def test_the_next_head_on_a_kept_connection_has_its_time_too(server):
    with connect(server.port) as kept:
        for _ in range(3):
            kept.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert read_until(kept, b'"well"').startswith(b"HTTP/1.1 200 ")
        kept.sendall(b"GET /hea")
        data, seconds = read_all(kept)
    assert b" 408 " in data
    assert seconds < LIMITS.head + LATE


def test_a_body_that_drips_is_refused(server):
    with connect(server.port) as slow:
        slow.sendall(HEAD + SHOWN + b"Content-Length: 1000000\r\n\r\n")
        ended = threading.Event()

        def drip():
            while not ended.wait(0.1):
                with contextlib.suppress(OSError):
                    slow.send(b"a")

        dripping = threading.Thread(target=drip)
        dripping.start()
        data, seconds = read_all(slow)
        ended.set()
        dripping.join()
    assert data.startswith(b"HTTP/1.1 408 ")
    assert seconds < 1 + LATE


def test_the_token_is_asked_for_before_the_body(server):
    for shown in (b"", SHOWN.replace(b"horse", b"house")):
        with connect(server.port) as stranger:
            stranger.sendall(HEAD + shown + b"Content-Length: 9000000\r\n\r\n")
            began = time.monotonic()
            said = read_until(stranger, b"\r\n\r\n{")
            assert time.monotonic() - began < LATE
            assert said.startswith(b"HTTP/1.1 401 ")
            assert b"www-authenticate: Bearer" in said
            _, seconds = read_all(stranger)
            assert seconds < LIMITS.linger + LATE, "and the rest is not waited for"


def test_a_body_with_the_token_is_read(server):
    with connect(server.port) as known:
        known.sendall(HEAD + SHOWN + b"Content-Length: 5\r\n\r\nhe")
        time.sleep(0.3)
        known.sendall(b"llo")
        assert read_until(known, b"\r\n\r\n5").startswith(b"HTTP/1.1 200 ")


def test_a_client_that_takes_nothing_is_let_go(server):
    with socket.socket() as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.connect(("127.0.0.1", server.port))
        lazy.sendall(b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(LIMITS.drain + 1)
        data, _ = read_all(lazy)
    assert 0 < len(data) < 40_000_000


def test_an_answer_that_takes_long_is_waited_for(server):
    with connect(server.port) as patient:
        patient.sendall(b"GET /slow/2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert read_until(patient, b'"done"').startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nA B: c\r\n\r\n"]
)
def test_what_is_no_http_is_refused_with_a_problem_document(server, data):
    with connect(server.port) as other:
        other.sendall(data + b"\r\n\r\n")
        said, _ = read_all(other)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in said
    assert b"The request isn't valid" in said
    assert b"this isn't an HTTP request" in said


def test_pipelined_requests_are_answered_in_turn(server):
    with connect(server.port) as eager:
        eager.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5)
        data = read_until(eager, b'"well"', 5)
    assert data.count(b"HTTP/1.1 200 ") == 5


def test_an_error_of_ours_is_found_in_the_log_by_its_id(tmp_path):
    with started(tmp_path) as server:
        answer = httpx2.get(f"http://127.0.0.1:{server.port}/bug")
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        said = server.stderr.read()
    known = answer.json()["error_id"]
    assert re.fullmatch("[0-9a-f]{8}", known)
    assert known in answer.json()["detail"]
    path = tmp_path / "logs" / "server.log"
    logged = path.read_text("utf-8")
    assert f"error {known}: ZeroDivisionError at '/bug'" in logged
    assert "Traceback" in logged
    assert "raise ZeroDivisionError" in logged
    assert "hunter22" not in logged
    assert path.stat().st_mode & 0o777 == 0o600
    assert known in said


def test_sigterm_says_what_happens_now(tmp_path):
    with started(tmp_path) as server, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(httpx2.get, f"http://127.0.0.1:{server.port}/slow/4", timeout=20)
        time.sleep(1.5)
        server.send_signal(signal.SIGTERM)
        assert slow.result().status_code == 200
        assert server.wait(20) == 0
        said = server.stderr.read()
    assert "SIGTERM: no new connections; 1 running request has 10 s to finish" in said


def test_a_second_signal_ends_at_once(tmp_path):
    with started(tmp_path) as server, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(httpx2.get, f"http://127.0.0.1:{server.port}/slow/10", timeout=20)
        time.sleep(1.5)
        began = time.monotonic()
        for _ in range(2):
            server.send_signal(signal.SIGTERM)
            time.sleep(0.3)
        server.wait(20)
        assert time.monotonic() - began < 8
        assert slow.exception() is not None or slow.result().status_code == 500


@pytest.mark.slow
def test_the_real_server_stays_open_under_a_thousand_half_open_connections():
    sources = tuple(f"127.0.0.{n}" for n in range(1, 11))
    with process() as (_, port), half_open(port, 1100, sources):
        statuses, slowest = good_clients(port, "/v1/health")
    assert statuses == {200}
    assert slowest < LATE
