"""What nobody should send to the page's own routes: huge, deep, broken and hostile bodies."""

import json
import os
import re
import signal
import time

import httpx2
import pytest

from moralscope.runs.kept import Runs
from moralscope.server.service import Service
from moralscope.server.site.jobs import PageJob, job_notes

from ..api_site import EXCHANGES, SCORE, process
from ..site_pages import whole_site

JSON = {"Content-Type": "application/json"}
ROUTES = ("/api/site/runs", "/api/site/jobs", "/api/site/compare")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with whole_site(tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'"text"',
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"schema": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"schema": "moralscope.run/1", "job": 1, "results": NaN, "config": []}',
        b'{"schema": "moralscope.run/99999999999999", "job": "x"}',
    ],
    ids=["empty", "null", "list", "cut", "text", "bytes", "deep", "nested", "types", "newer"],
)
def test_a_body_that_is_no_request_is_refused_in_words(client, route, body):
    answer = client.post(route, content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


@pytest.mark.parametrize("route", [*ROUTES, "/api/site/table?name=a.csv"])
def test_a_body_over_the_limit_is_refused(client, route):
    answer = client.post(route, content=b"x" * 5_000_000, headers=JSON)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "result",
    [
        {"action": "a", "score": "x"},
        {"action": ["a"], "score": 1},
        {"score": 1e308},
        {"action": "\x00<script>", "score": 0.5},
        {},
    ],
)
def test_a_damaged_record_never_breaks_the_server(client, result):
    record = {"schema": "moralscope.run/1", "job": "score", "config": {}, "results": [result]}
    kept = client.post("/api/site/runs", json=record)
    assert kept.status_code in (201, 422)
    assert client.get("/api/site/runs").status_code == 200
    if kept.status_code == 201:
        name = kept.json()["id"]
        assert client.get(f"/api/site/runs/{name}/report").status_code in (200, 422)


@pytest.mark.parametrize("data", [b"", b"\x00" * 1000, b"PAR1" * 10, b'{"reply": \n', b'"' * 9999])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "exe"])
def test_an_upload_that_cannot_be_read_is_refused_in_words(client, data, ending):
    answer = client.post(f"/api/site/table?name=my.{ending}", content=data)
    assert answer.status_code == 422
    assert answer.json()["remedy"]


def test_a_name_that_is_missing_or_endless_is_refused(client):
    assert client.post("/api/site/table", content=b"x").status_code == 422
    long = "a" * 400
    assert client.post(f"/api/site/table?name={long}", content=b"x").status_code == 422


def test_a_bug_behind_a_job_of_the_page_is_told_by_its_id(tmp_path, monkeypatch, caplog):
    def broken(*_, **__):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(Service, "score", broken)
    with whole_site(tmp_path) as client:
        body = {"kind": "score", "request": SCORE}
        name = client.post("/api/site/jobs", json=body).json()["id"]
        told = client.get(f"/api/site/jobs/{name}").text
    (known,) = set(re.findall(r"error ([0-9a-f]{8})", told))
    assert "secret" not in told
    assert known in caplog.text
    assert "secret detail" in caplog.text, "the traceback is in the log"


LONG = {"kind": "audit", "request": {"exchanges": EXCHANGES[:2] * 500, "experts": "scripted"}}
SHORT = {"kind": "audit", "request": {"exchanges": EXCHANGES[:1], "experts": "scripted"}}


def ended(client, name):
    """Return how a job ended."""
    states = {job["id"]: job["state"] for job in client.get("/api/site/jobs").json()}
    while states[name] in ("waiting", "running"):
        time.sleep(0.02)
        states = {job["id"]: job["state"] for job in client.get("/api/site/jobs").json()}
    return states[name]


def test_cancelled_jobs_keep_nothing_and_free_their_places(tmp_path):
    with whole_site(tmp_path) as client:
        for turn in range(8):
            names = [client.post("/api/site/jobs", json=LONG).json()["id"] for _ in range(3)]
            time.sleep(turn * 0.03)
            for name in (*names, names[0]):  # one of them twice
                assert client.delete(f"/api/site/jobs/{name}").status_code == 204
            assert {ended(client, name) for name in names} == {"cancelled"}
        assert client.get("/v1/health").json()["waiting"] == 0
        assert client.get("/api/site/runs").json() == []
        name = client.post("/api/site/jobs", json=SHORT).json()["id"]
        assert ended(client, name) == "done"
        assert client.delete(f"/api/site/jobs/{name}").status_code == 204, "too late: nothing"
        assert len(client.get("/api/site/runs").json()) == 1


@pytest.mark.slow
def test_a_server_killed_in_its_jobs_keeps_whole_runs_and_sweeps_the_rest(tmp_path):
    runs = tmp_path / "runs"
    for turn in range(4):
        with process(MORALSCOPE_HOME=str(tmp_path)) as (server, port):
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
                for body in (SHORT, LONG, SHORT):
                    assert client.post("/api/site/jobs", json=body).status_code == 201
            time.sleep(0.3 * turn)
            os.kill(server.pid, signal.SIGKILL)
            server.wait(10)
    half = runs / ".20260101-000000000000-00000000.json.1.part"
    half.parent.mkdir(exist_ok=True)
    half.write_text("{")
    long_ago = time.time() - 86_400
    for path in runs.glob(".*.part"):
        os.utime(path, (long_ago, long_ago))
    with process(MORALSCOPE_HOME=str(tmp_path)) as (server, port):
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
            kept = client.get("/api/site/runs").json()
            assert client.get("/api/site/jobs").json() == []
            for _ in range(3):
                client.post("/api/site/jobs", json=LONG)
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0, "it does not wait for what nobody can follow"
    whole = [json.loads(path.read_text("utf-8")) for path in runs.iterdir()]
    assert len(whole) == len(kept)


def test_half_written_runs_of_a_killed_server_are_swept(tmp_path):
    old, new, run = (tmp_path / name for name in (".a.json.7.part", ".b.json.8.part", "c.json"))
    for path in (old, new, run):
        path.write_text("{")
    for path in (old, run):
        os.utime(path, (1, 1))
    Runs(tmp_path).sweep()
    assert sorted(tmp_path.iterdir()) == [new, run]


def test_a_clock_that_jumps_changes_no_time_that_is_left(monkeypatch):
    job = PageJob("score", job_notes("", {}), state="running")
    job.report(1, 10)
    time.sleep(0.02)
    for jump in (1e6, -1e6):
        monkeypatch.setattr(time, "time", lambda real=time.time, by=jump: real() + by)
        job.report(job.done + 1, 10)
        assert 0 < job.line()["left"] < 60
