"""Endpoints that are down, slow, rate-limited or talk garbage: a real server that misbehaves."""

import asyncio
import email.utils
import gzip
import json
import logging
import socket
import time
import tracemalloc

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import Decoding
from moralscope.models.language import EndpointOptions, load_generator
from moralscope.models.language.endpoint import EndpointError, EndpointGenerator

from ..generator_makers import answer_to, served

KEY = "sk-a-very-secret-key-0123456789"
TWO = Decoding(count=2, max_tokens=40)


def generator(url, **options):
    quick = {"timeout": 5.0, "retries": 2, "backoff": 0.01}
    return EndpointGenerator("openai:tiny", EndpointOptions(url, **{**quick, **options}))


def ask(one, prompts=("Jo", "Ann")):
    return one.generate(list(prompts), TWO, list(range(len(prompts))))


def always(status, data=b"", **headers):
    def reply(handler, _body, _times):
        handler.send(status, data, **headers)
        return True

    return reply


def first(times, reply):
    """Misbehave on the first requests only."""
    return lambda handler, body, at: at <= times and reply(handler, body, at)


def test_a_server_that_is_down():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(EndpointError, match=r"failed 3 times for 'tiny' \(ConnectError\)"):
        ask(generator(url))


def test_a_host_that_does_not_exist():
    with pytest.raises(EndpointError, match="failed 1 times"):
        ask(generator("http://no-such-host.invalid/v1", retries=0))


def test_a_slow_server_runs_into_the_time_out():
    def sleep(_handler, _body, _times):
        time.sleep(1.5)

    start = time.monotonic()
    with served(sleep) as (url, _), pytest.raises(EndpointError, match=r"within 0.2 s"):
        ask(generator(url, timeout=0.2, retries=1))
    assert time.monotonic() - start < 5


def test_a_server_that_drips_runs_into_the_time_out():
    def drip(handler, _body, _times):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(10):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.1)
        return True

    with served(drip) as (url, _), pytest.raises(EndpointError, match=r"within 0.3 s"):
        ask(generator(url, timeout=0.3, retries=0))


SOUND = json.dumps(
    answer_to(
        {"messages": [{"content": "x"}], "n": 1, "temperature": 0, "seed": 0, "max_tokens": 20}
    )
).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe garbage",
        b"<html>Bad gateway</html>",
        SOUND[:60],
        b"[" * 100_000,
        b"null",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": {"0": 1}}',
        b'{"choices": [1]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
        b'{"choices": [{"text": "an old completion"}]}',
    ],
)
def test_garbage_is_tried_again_and_then_refused(data):
    with served(always(200, data)) as (url, seen):
        with pytest.raises(EndpointError, match="an answer"):
            ask(generator(url), ["Jo"])
        assert len(seen) == 3
    with served(first(2, always(200, data))) as (url, _):
        assert len(ask(generator(url), ["Jo"])[0]) == 2


def test_an_answer_cut_off_in_the_middle():
    def cut(handler, _body, _times):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(SOUND)))
        handler.end_headers()
        handler.wfile.write(SOUND[:50])
        handler.close_connection = True
        return True

    with served(cut) as (url, _), pytest.raises(EndpointError, match="RemoteProtocolError"):
        ask(generator(url))
    with served(first(1, cut)) as (url, _):
        assert len(ask(generator(url))) == 2


def test_an_endless_answer_is_given_up():
    with (
        served(always(200, b" " * 9_000_000)) as (url, _),
        pytest.raises(EndpointError, match="more than 8,000,000 bytes"),
    ):
        ask(generator(url, retries=0), ["Jo"])


def test_a_packed_answer_is_not_unpacked():
    packed = gzip.compress(gzip.compress(b" " * 100_000_000))
    tracemalloc.start()
    with (
        served(always(200, packed, **{"Content-Encoding": "gzip, gzip"})) as (url, _),
        pytest.raises(EndpointError, match="a packed answer"),
    ):
        ask(generator(url, retries=0), ["Jo"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_passing_failure_is_tried_again(status):
    with served(first(2, always(status))) as (url, seen):
        one = generator(url)
        assert len(ask(one, ["Jo"])[0]) == 2
        assert (len(seen), one.usage.requests, one.usage.retries) == (3, 1, 2)


@pytest.mark.parametrize("dated", [False, True])
def test_retry_after_is_honoured(dated):
    value = email.utils.formatdate(time.time() + 2, usegmt=True) if dated else "0.7"
    with served(first(1, always(429, Retry_After=value))) as (url, _):
        start = time.monotonic()
        ask(generator(url), ["Jo"])
        assert time.monotonic() - start >= 0.65


def test_a_pause_of_an_hour_is_told_and_not_waited_for():
    with served(always(429, Retry_After="3600")) as (url, seen):
        with pytest.raises(EndpointError, match="asks for a pause of 3,600 s"):
            ask(generator(url), ["Jo"])
        assert len(seen) == 1


def test_pauses_grow():
    with served(always(500)) as (url, _):
        start = time.monotonic()
        with pytest.raises(EndpointError, match="status 500"):
            ask(generator(url, retries=3, backoff=0.2), ["Jo"])
        assert time.monotonic() - start >= 0.5 * (0.2 + 0.4 + 0.8)


def test_a_refusal_is_not_tried_again():
    with served(always(404, b'{"error": "no model tiny"}')) as (url, seen):
        with pytest.raises(EndpointError, match=r"status 404: .*no model tiny"):
            ask(generator(url), ["Jo"])
        assert len(seen) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_the_key_is_sent_and_said_nowhere(status, monkeypatch, caplog, capfd):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    echo = json.dumps({"error": f"Incorrect API key provided: {KEY}"}).encode()
    with served(always(status, echo)) as (url, seen):
        one = generator(url)
        with pytest.raises(EndpointError) as caught:
            ask(one, ["Jo"])
    assert seen[0]["headers"]["Authorization"] == f"Bearer {KEY}"
    told = [str(caught.value), repr(caught.value), caplog.text, *capfd.readouterr()]
    told += [repr(vars(one)), one.name, one.checksum, repr(one.usage), str(one.warnings)]
    error = caught.value
    while error := (error.__cause__ or error.__context__):
        told.append(repr(error))
    assert not any(KEY in text for text in told)


def test_a_key_that_no_header_can_hold_is_refused_without_a_word_of_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-s\u00e9cret\nX-Evil: 1")
    with served() as (url, seen), pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        ask(generator(url))
    assert "cret" not in str(caught.value)
    assert not seen


def test_without_a_key_none_is_sent(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with served() as (url, seen):
        ask(generator(url))
    assert "Authorization" not in seen[0]["headers"]


@pytest.mark.parametrize(
    "url", ["", "ftp://host/v1", "localhost:80", "http://", "http://u:p@host/v1", "http://h/v1?k=1"]
)
def test_bad_addresses_are_refused(url, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", url or "nonsense")
    with pytest.raises(InputError):
        load_generator("openai:tiny", endpoint=EndpointOptions(url or None))


def test_offline_means_this_machine_only(monkeypatch):
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    with pytest.raises(InputError, match="network is switched off"):
        load_generator("openai:tiny", endpoint=EndpointOptions("https://example.org/v1"))
    with served() as (url, _):
        assert load_generator("openai:tiny", endpoint=EndpointOptions(url)).name == "openai:tiny"


def test_no_more_requests_at_a_time_than_allowed():
    now, most = [0], [0]

    def count(handler, body, _times):
        now[0] += 1
        most[0] = max(most[0], now[0])
        time.sleep(0.05)
        now[0] -= 1
        handler.send(200, json.dumps(answer_to(body)).encode())
        return True

    with served(count) as (url, _):
        ask(generator(url, concurrency=3), [f"prompt {at}" for at in range(20)])
    assert 1 < most[0] <= 3


def test_a_server_that_gives_one_choice_is_asked_again():
    def one(handler, body, _times):
        handler.send(200, json.dumps(answer_to({**body, "n": 1})).encode())
        return True

    with served(one) as (url, seen):
        found = ask(generator(url), ["Jo"])
    assert len(seen) == 2
    assert found[0][0] != found[0][1]


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {"content": None},
        {"content": [{"token": 1}]},
        {"content": [{"token": "x", "logprob": None}]},
    ],
)
def test_strange_log_probabilities_are_none(given):
    def strange(handler, body, _times):
        answer = answer_to(body)
        for choice in answer["choices"]:
            choice["logprobs"] = given
        handler.send(200, json.dumps(answer).encode())
        return True

    with served(strange) as (url, _):
        assert all(one.log_probabilities == () for one in ask(generator(url))[0])


def test_tokens_and_cost_are_counted():
    with served() as (url, _):
        one = generator(url, input_price=2.0, output_price=10.0)
        ask(one, ["Jo", "Ann and Jo"])
        assert (one.usage.requests, one.usage.input_tokens, one.usage.output_tokens) == (2, 4, 52)
        assert one.usage.cost == pytest.approx((4 * 2 + 52 * 10) / 1e6)
        assert generator(url).usage.cost is None


def test_works_inside_an_event_loop():
    async def inside(one):
        return ask(one)

    with served() as (url, _):
        one = generator(url)
        assert asyncio.run(inside(one)) == ask(one)
