"""What a request must keep to before any of it is handled: name, token, time, size, in this order.

ASGI middleware, outermost first. A request that carries no token is refused before its body is
read; one whose body never arrives is refused when its time is over. `connections` has the limits of
the sockets themselves.
"""

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moralscope.server.errors import MAX_BODY, Refused, problem
from moralscope.server.security import SAFE_METHODS, AccessToken, Unknown, allowed

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::[0-9]*)?")  # RFC 9110, 7.2
ARRIVAL = 30.0  # seconds that a request may take to arrive


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of every request: bytes of its body, seconds to arrive, the token to show."""

    body: int = MAX_BODY
    seconds: float = ARRIVAL
    token: AccessToken | None = None


def host_name(header: str) -> str:
    """Return the name in a Host header, without its port.

    Examples
    --------
    >>> host_name("LocalHost:8000"), host_name("[::1]:8000"), host_name("::1")
    ('localhost', '::1', '::1')
    >>> host_name("[::1]evil.com"), host_name("localhost:80.evil.com")  # names of nobody
    ('[::1]evil.com', 'localhost:80.evil.com')
    """
    name = header.strip().lower()
    parts = _HOST.fullmatch(name)
    return (parts[1] or parts[2]) if parts else name


class HostNames:
    """Refuse a request under another name than ours: a page of another site may have made it."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self.app = app
        self._names = {name if name == "*" else host_name(name) for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http" or "*" in self._names:
            await self.app(scope, receive, send)
            return
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if host_name(host) in self._names:
            await self.app(scope, receive, send)
            return
        remedy = "use the address that it announced; --public-url names another"
        await problem(421, "this server has another name", remedy)(scope, receive, send)


class TokenFirst:
    """Refuse who may not ask before a byte of the body is read."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it; what has no body is left to its route."""
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS:
            try:
                allowed(Request(scope))
            except Refused as error:
                await refusal(error)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def refusal(error: Refused) -> Response:
    """Return the problem document of who may not ask."""
    response = problem(error.status, error.problem, error.remedy)
    if isinstance(error, Unknown):
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


class BodyTime:
    """Refuse a request that has not arrived whole within `seconds`."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app, self._seconds = app, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; one that does not arrive is refused."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        until, is_whole = asyncio.get_running_loop().time() + self._seconds, False

        async def timed() -> Message:
            # After the body, receive() only waits for the client to go: that may take long.
            nonlocal is_whole
            async with asyncio.timeout_at(None if is_whole else until):
                message = await receive()
            is_whole = not message.get("more_body", False)
            return message

        try:
            await self.app(scope, timed, send)
        except TimeoutError:
            if is_whole:
                raise
            remedy = f"send it within {self._seconds:g} s"
            await problem(408, "the request did not arrive whole", remedy)(scope, receive, send)
