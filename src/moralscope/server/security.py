"""Who is asking, and is it really them: signed cookies, CSRF tokens, response headers.

A cookie names a session and nothing else: what its owner may do is asked of the storage at every
request. Knows nothing of people or jobs.
"""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moralscope.core.errors import InputError

CSRF_HEADER = "X-CSRF-Token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MIN_SECRET = 32  # bytes
_DAY = 86_400

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@dataclass(frozen=True, slots=True)
class Signer:
    """Values that only we can have written, each for one purpose and for a time.

    Examples
    --------
    >>> signer = Signer(b"k" * 32)
    >>> signed = signer.sign("session", "p1", now=1000)
    >>> signer.read("session", signed, max_age=60, now=1030)
    'p1'
    >>> signer.read("csrf", signed, max_age=60, now=1030) is None
    True
    """

    secret: bytes

    def __post_init__(self) -> None:
        if len(self.secret) < MIN_SECRET:
            raise InputError(
                f"the token secret is too short ({len(self.secret)} bytes)",
                f"give at least {MIN_SECRET} random bytes",
            )

    def mac(self, purpose: str, value: str) -> str:
        """Return the keyed checksum of a value for one purpose."""
        message = f"{purpose}\0{value}".encode("utf-8", "surrogatepass")
        digest = hmac.new(self.secret, message, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def sign(self, purpose: str, value: str, *, now: float | None = None) -> str:
        """Return the value with the time and a checksum of both."""
        body = f"{value}.{int(time.time() if now is None else now)}"
        return f"{body}.{self.mac(purpose, body)}"

    def read(
        self, purpose: str, signed: str, *, max_age: float, now: float | None = None
    ) -> str | None:
        """Return the value if we signed it for this purpose not too long ago, else None."""
        body, _, mac = signed.rpartition(".")
        value, _, stamp = body.rpartition(".")
        if not hmac.compare_digest(mac.encode(), self.mac(purpose, body).encode()):
            return None
        age = (time.time() if now is None else now) - int(stamp)
        return value if age <= max_age else None


@dataclass(frozen=True, slots=True)
class Sessions:
    """Session cookies and the CSRF tokens that go with them."""

    signer: Signer
    secure: bool = False  # True behind HTTPS: the cookie is then never sent without
    days: int = 30

    @property
    def name(self) -> str:
        """The cookie's name; with `__Host-` the browser itself refuses a weaker one."""
        return "__Host-moralscope" if self.secure else "moralscope"

    def start(self, response: Response, key: str) -> None:
        """Give the browser a session."""
        response.set_cookie(
            self.name,
            self.signer.sign("session", key),
            max_age=self.days * _DAY,
            httponly=True,
            samesite="strict",
            secure=self.secure,
            path="/",
        )

    def end(self, response: Response) -> None:
        """Take the session away."""
        response.delete_cookie(
            self.name, path="/", httponly=True, samesite="strict", secure=self.secure
        )

    def key(self, request: Request) -> str | None:
        """Return the session's key, or None where there is no cookie of ours."""
        cookie = request.cookies.get(self.name, "")
        return self.signer.read("session", cookie, max_age=self.days * _DAY)

    def csrf(self, key: str) -> str:
        """Return the token that a request which changes something must carry."""
        return self.signer.mac("csrf", key)

    def is_own_form(self, request: Request, key: str) -> bool:
        """Say whether a request that changes something came from a page of ours."""
        given = request.headers.get(CSRF_HEADER, "")
        return is_same_origin(request) and hmac.compare_digest(
            given.encode(), self.csrf(key).encode()
        )


def is_same_origin(request: Request) -> bool:
    """Say whether the browser says that the request came from our own pages.

    Browsers send `Sec-Fetch-Site` to HTTPS and loopback, `Origin` to the rest. Programs that are
    no browser send neither; they have no cookie that could be abused.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host", "")


class SecurityHeaders:
    """ASGI middleware: the headers on every response; pages and answers are kept by no cache."""

    def __init__(self, app: ASGIApp, *, https: bool, is_static: Callable[[str], bool]) -> None:
        self.app = app
        self._headers = dict(HEADERS)
        self._is_static = is_static
        if https:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers to what comes back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        cache = "no-cache" if self._is_static(scope["path"]) else "no-store"

        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", cache)
            await send(message)

        await self.app(scope, receive, add)
