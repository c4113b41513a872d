"""What nobody should send to the page's own routes: huge, deep, broken and hostile bodies."""

import re

import pytest

from moralscope.server.service import Service

from ..api_site import SCORE
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
