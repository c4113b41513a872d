"""Cookies that only we can have written, requests that only our pages can have sent."""

import pytest
from starlette.requests import Request
from starlette.responses import Response

from moralscope.core.errors import InputError
from moralscope.server.security import POLICY, Sessions, Signer, is_same_origin

SIGNER = Signer(b"a secret that is long enough, surely")


def request(**headers):
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": raw})


@pytest.mark.parametrize("end", range(-60, 0, 7))
def test_a_changed_cookie_is_no_cookie(end):
    signed = SIGNER.sign("session", "secret")
    changed = signed[:end] + ("a" if signed[end] != "a" else "b") + signed[end:][1:]
    assert SIGNER.read("session", signed, max_age=60) == "secret"
    assert SIGNER.read("session", changed, max_age=60) is None


@pytest.mark.parametrize("wrong", ["", ".", "..", "a.b.c", "a" * 5000, "ä.1.ö", "x.-1."])
def test_nonsense_is_no_cookie(wrong):
    assert SIGNER.read("session", wrong, max_age=60) is None


def test_a_cookie_ends_and_another_key_does_not_open_it():
    signed = SIGNER.sign("session", "secret", now=0)
    assert SIGNER.read("session", signed, max_age=60, now=61) is None
    assert Signer(b"b" * 32).read("session", signed, max_age=60, now=0) is None


def test_a_short_secret_is_refused():
    with pytest.raises(InputError, match="at least 32"):
        Signer(b"short")


@pytest.mark.parametrize("secure", [True, False])
def test_the_cookie_is_for_the_server_alone(secure):
    response = Response()
    Sessions(SIGNER, secure).start(response, "key")
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert ("Secure" in cookie) == secure
    assert cookie.startswith("__Host-") == secure
    assert "Domain" not in cookie


def test_a_form_needs_its_own_token():
    sessions = Sessions(SIGNER)
    own = sessions.csrf("one")
    assert sessions.is_own_form(request(x_csrf_token=own), "one")
    assert not sessions.is_own_form(request(x_csrf_token=own), "other")
    assert not sessions.is_own_form(request(), "one")


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({}, True),
        ({"host": "a.org", "origin": "https://a.org"}, True),
        ({"host": "a.org", "origin": "https://b.org"}, False),
        ({"host": "a.org", "origin": "null"}, False),
        ({"host": "a.org", "sec_fetch_site": "same-origin"}, True),
        ({"host": "127.0.0.1", "origin": "https://a.org", "sec_fetch_site": "same-origin"}, True),
        ({"host": "a.org", "sec_fetch_site": "none"}, False),
        ({"host": "a.org", "sec_fetch_site": "same-site"}, False),
        ({"host": "a.org", "sec_fetch_site": "cross-site"}, False),
    ],
)
def test_another_site_is_told_apart(headers, own):
    assert is_same_origin(request(**headers)) is own


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere():
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert "*" not in POLICY
    assert POLICY.startswith("default-src 'none'")
