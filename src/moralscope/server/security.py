"""Who is asking, and is it really them: cookies, CSRF tokens, bearer tokens, response headers.

A cookie names a session and nothing else: what its owner may do is asked of the storage at every
request; it is signed with a secret that the owner named, or that is made once per project. The API
is open to this machine, or to whoever has the server's token, which is compared in constant time
and never written anywhere. A browser's page of another site may not ask in its visitor's name.
"""

import base64
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moralscope.core.errors import InputError
from moralscope.server.errors import Refused
from moralscope.server.running import ServerAddress

VARIABLE = "MORALSCOPE_TOKEN_SECRET"
FILE = ".session-secret"
HEADER = "X-Moralscope-Token"
MIN_TOKEN = 16  # characters
_MAX_FILE = 4096
_BEARER = "bearer "
CSRF_HEADER = "X-CSRF-Token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MIN_SECRET = 32  # bytes
_DAY = 86_400

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
# A report brings its own policy, which lets in its own scripts by checksum alone; here it is kept
# away from everything of ours: it has no origin, so it can ask the server for nothing.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
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
    """Values that only we can have written, each for one purpose and for a time."""

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
        # Signed far in the future: by a clock that was wrong, so nobody knows how old it is.
        return value if -_DAY <= age <= max_age else None


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
        token = request.headers.get(CSRF_HEADER, "")
        return is_same_origin(request) and hmac.compare_digest(
            token.encode(), self.csrf(key).encode()
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
    # Split by hand: `urlsplit` raises at a half of a bracket, which anybody can send.
    return origin is None or origin.partition("://")[2] == request.headers.get("host", "")


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
                is_report = headers.get("Content-Security-Policy") == REPORT_POLICY
                for name, value in self._headers.items():
                    headers[name] = value
                if is_report:
                    headers["Content-Security-Policy"] = REPORT_POLICY
                headers.setdefault("Cache-Control", cache)
            await send(message)

        await self.app(scope, receive, add)


def kept_secret(folder: Path) -> bytes:
    """Return the folder's own secret; it is made at the first call, readable by its owner only."""
    path = folder / FILE
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror})", "check the folder") from None
    with os.fdopen(made, "wb") as file:
        secret = secrets.token_hex(32).encode()
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    return secret


def _read(path: Path) -> bytes:
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror})", "check its owner") from None
    if len(secret) != 64:
        raise InputError(f"{path} is damaged", "delete it: people then join again by their links")
    return secret


class Unknown(Refused):
    """Who asks has not shown the token."""

    def __init__(self) -> None:
        remedy = f"send it as 'Authorization: Bearer TOKEN' or '{HEADER}: TOKEN'"
        super().__init__(401, "this server wants its token", remedy)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A secret that shows itself to nobody."""

    value: str = field(repr=False)

    def fits(self, shown: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(shown.encode("utf-8", "replace"), self.value.encode())


def read_token(source: str | None, what: str = "--token-from") -> AccessToken | None:
    """Read a token from `env:NAME` or from the first line of a file."""
    if source is None:
        return None
    if source.startswith("env:"):
        name = source.removeprefix("env:")
        value = os.environ.get(name, "")
        if not value:
            raise InputError(f"{what}: the variable {name} is not set", "set it to the token")
    else:
        path = Path(source).expanduser()
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_FILE)
        except OSError as error:
            raise InputError(
                f"{what}: {path} cannot be read ({error.strerror})", "give a file, or env:NAME"
            ) from None
        value = (data.decode("ascii", "replace").splitlines() or [""])[0]
    value = value.strip()
    if not (value.isascii() and value.isprintable()) or " " in value or len(value) < MIN_TOKEN:
        raise InputError(
            f"{what}: the token is too short or holds characters that no token has",
            f"use {MIN_TOKEN} or more letters and digits, e.g. of 'openssl rand -hex 24'",
        )
    return AccessToken(value)


def check_address(address: ServerAddress, token: AccessToken | None) -> None:
    """Refuse a place that would be open to others without a token."""
    if not address.is_loopback and token is None:
        raise InputError(
            f"{address.host} is open to other machines and there is no token",
            "give --token-from env:NAME or a file, or leave --host out",
        )
    address.check(has_secret=True)


def bearer(request: Request) -> str:
    """Return the token of the Authorization header, or nothing."""
    header = request.headers.get("authorization", "")
    return header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""


def allowed(request: Request) -> None:
    """Refuse who may not ask; a dependency of every route but health."""
    token: AccessToken | None = request.app.state.token
    if token is not None and not (
        token.fits(bearer(request)) or token.fits(request.headers.get(HEADER, ""))
    ):
        raise Unknown()
    if request.method not in SAFE_METHODS and not is_same_origin(request):
        raise Refused(403, "a page of another site asked", "ask from a program, or from our page")
