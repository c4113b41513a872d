"""What every server of ours does, on one with routes that misbehave."""

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient
from pydantic import BaseModel

from moralscope.core.errors import InputError, StoreError
from moralscope.server.app import make_app
from moralscope.server.errors import MAX_BODY, Refused, Storable
from moralscope.server.running import ServerAddress

router = APIRouter()


class Text(BaseModel):
    text: Storable


@router.post("/api/echo")
def echo(body: Text) -> Text:
    return body


@router.get("/api/fail/{kind}")
def fail(kind: str) -> None:
    raise {
        "input": InputError("the word is unknown", "try another"),
        "store": StoreError("the disk is full", "free some"),
        "refused": Refused(429, "too many requests", "wait", 3.2),
        "bug": ZeroDivisionError("secret path /root"),
    }[kind]


@router.get("/page")
def page() -> None:
    raise InputError("<b>bold</b>", "try another")


@pytest.fixture
def client():
    app = make_app("trial", ServerAddress(), [router], {StoreError: 503})
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("kind", "status"), [("input", 422), ("store", 503), ("refused", 429), ("bug", 500)]
)
def test_errors_are_problem_documents(client, kind, status):
    answer = client.get(f"/api/fail/{kind}")
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert answer.json()["remedy"]
    assert "ZeroDivision" not in answer.text
    assert "/root" not in answer.text


def test_who_must_wait_is_told_how_long(client):
    assert client.get("/api/fail/refused").headers["retry-after"] == "4"


def test_a_browser_gets_a_page_with_the_text_escaped(client):
    answer = client.get("/page", headers={"accept": "text/html"})
    assert answer.status_code == 422
    assert "&lt;b&gt;bold&lt;/b&gt;" in answer.text
    assert "<b>bold" not in answer.text


@pytest.mark.parametrize("path", ["/api/echo", "/nowhere", "/static/page.css", "/api/fail/bug"])
def test_every_answer_carries_the_headers(client, path):
    headers = client.get(path).headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == ("no-cache" if "static" in path else "no-store")


def test_a_body_has_an_end(client):
    fits = '{"text": "' + "x" * (MAX_BODY - 100) + '"}'
    json = {"content-type": "application/json"}
    assert client.post("/api/echo", content=fits, headers=json).status_code == 200
    assert client.post("/api/echo", content=fits + " " * 200, headers=json).status_code == 413


def test_an_unannounced_body_has_an_end_too(client):
    def endless():
        for _ in range(100):
            yield b"x" * 10_000

    assert client.post("/api/echo", content=endless()).status_code == 413


@pytest.mark.parametrize(
    "body",
    ["", "{", "[1]", '{"text": 1}', '{"text": "\\ud800"}', '{"text": "a\\u0000"}', "[" * 90_000,
     '{"text": ' + "9" * 9000],
)  # fmt: skip
def test_a_malformed_body_is_refused(client, body):
    answer = client.post("/api/echo", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)


def test_another_name_for_this_server_is_refused(client):
    """DNS rebinding: a page of another site must not reach us under its own name."""
    refused = client.get("/static/page.css", headers={"host": "evil.example"})
    assert (refused.status_code, refused.json()["title"]) == (421, "Not the name of this server")
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.headers["x-content-type-options"] == "nosniff"
    for host in ("localhost:1", "LOCALHOST", "127.0.0.1:80", "[::1]:80", "[::1]"):
        assert client.get("/static/page.css", headers={"host": host}).status_code == 200
    for host in ("", "localhost.evil.example", "evil.example:80", "\xe9", "[::2]:80"):
        given = {b"host": host.encode("latin-1")}
        assert client.get("/static/page.css", headers=given).status_code == 421


@pytest.mark.parametrize("path", ["/static/../templates/base.html", "/static/%2e%2e/__init__.py"])
def test_only_static_files_are_served(client, path):
    assert client.get(path).status_code == 404


def test_pages_of_documentation_from_elsewhere_are_off(client):
    assert client.get("/docs").status_code == 404
    assert client.get("/api/openapi.json").status_code == 200
