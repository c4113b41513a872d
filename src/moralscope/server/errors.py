"""What is refused: errors as RFC 9457 problem documents or as a page, and limits on requests.

An error says what is wrong and what to do; it never shows a traceback, a path or a query. Limits
(bodies of bounded size, requests of bounded rate, storable texts) answer before a handler is
reached; counts are kept in this process only: one server process serves a project.
"""

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Annotated, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moralscope.core.errors import InputError, MoralscopeError

_log = logging.getLogger("moralscope.server")
MAX_BODY = 256 * 1024  # bytes: a story with long texts is far below
_MAX_KEYS = 20_000
_TITLES = {
    400: "The request isn't valid",
    401: "You are not signed in",
    403: "That is not allowed",
    404: "There is nothing here",
    405: "That cannot be done here",
    408: "The request was incomplete",
    409: "This page is out of date",
    413: "Too large",
    421: "Not the name of this server",
    422: "Something is missing or wrong",
    429: "Too many requests",
    500: "Something failed on our side",
    502: "The server behind this one failed",
    503: "Not saved",
    504: "It took too long",
}
_REMEDIES = {  # where nothing better is known
    400: "send what the OpenAPI document describes, as valid JSON",
    404: "check the address; the OpenAPI document lists what there is",
    405: "use a method that the Allow header names",
    422: "fix the fields that are named",
}

Draw = Callable[[Request, int, str, str], Response]  # status, title, detail


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    remedy: str = ""
    fields: dict[str, str] = {}
    error_id: str = ""  # of a fault of ours: its traceback is in the server's log under this name


class Refused(Exception):
    """A handler refuses: `status` and what to say."""

    def __init__(self, status: int, problem: str, remedy: str = "", wait: float = 0) -> None:
        super().__init__(problem)
        self.status, self.problem, self.remedy, self.wait = status, problem, remedy, wait


def problem(
    status: int,
    detail: str,
    remedy: str = "",
    *,
    fields: dict[str, str] | None = None,
    wait: float = 0,
    error_id: str = "",
) -> JSONResponse:
    """Return a problem document."""
    known = Problem(
        title=title(status),
        status=status,
        detail=detail,
        remedy=remedy,
        fields=fields or {},
        error_id=error_id,
    )
    headers = {"Retry-After": str(int(wait) + 1)} if wait else None
    return JSONResponse(
        known.model_dump(), status, headers=headers, media_type="application/problem+json"
    )


def title(status: int) -> str:
    """Return what a status means, in plain words."""
    return _TITLES.get(status, "Something went wrong")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of the problems that a route may answer with."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {s: {"description": title(s), "model": Problem, "content": content} for s in statuses}


def install(app: FastAPI, draw: Draw, statuses: Mapping[type[MoralscopeError], int] | None) -> None:
    """Answer every error of the application in one of the two forms."""
    known: dict[type, int] = {InputError: 422, MoralscopeError: 500, **(statuses or {})}

    def answer(
        request: Request, status: int, detail: str, remedy: str = "", **more: Any
    ) -> Response:
        if wants_page(request):
            return draw(request, status, title(status), "; ".join(filter(None, (detail, remedy))))
        return problem(status, detail, remedy or _REMEDIES.get(status, ""), **more)

    @app.exception_handler(Refused)
    def refused(request: Request, error: Refused) -> Response:
        return answer(request, error.status, error.problem, error.remedy, wait=error.wait)

    @app.exception_handler(MoralscopeError)
    def ours(request: Request, error: MoralscopeError) -> Response:
        status = next(known[kind] for kind in type(error).__mro__ if kind in known)
        return answer(request, status, error.problem, error.remedy)

    @app.exception_handler(HTTPException)
    def http(request: Request, error: HTTPException) -> Response:
        said = "there is no such address" if error.status_code == 404 else str(error.detail)
        response = answer(request, error.status_code, said)
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        fields = {}
        for wrong in error.errors()[:20]:
            name = ".".join(str(part)[:40] for part in wrong["loc"][1:]) or str(wrong["loc"][0])
            fields[name] = str(wrong["msg"])[:200]
        said = "the request does not have the form asked for"
        return answer(request, 422, said, fields=fields)

    app.add_middleware(_Failures, answer=answer)


class _Failures:
    """ASGI middleware, innermost: a bug of ours is logged, and answered like any other error."""

    def __init__(self, app: ASGIApp, answer: Callable[..., Response]) -> None:
        self.app, self._answer = app, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except Exception as error:
            known = log_failure(error, str(scope.get("path", "")))
            if started or scope["type"] != "http":
                raise
            detail, remedy = failure_text(known)
            response = self._answer(Request(scope), 500, detail, remedy, error_id=known)
            await response(scope, receive, send)


def log_failure(error: BaseException, where: str) -> str:
    """Log a bug of ours with its traceback; return the name under which it is found there."""
    name = secrets.token_hex(4)
    _log.error("error %s: %s at %r", name, type(error).__name__, where[:200], exc_info=error)
    return name


def failure_text(name: str) -> tuple[str, str]:
    """Return what is said of a bug of ours, and what to do.

    Examples
    --------
    >>> failure_text("1a2b3c4d")[0]
    'the server could not do this (error 1a2b3c4d)'
    """
    remedy = "try again, what you sent was not saved; its owner finds the error in the server's log"
    return f"the server could not do this (error {name})", remedy


def wants_page(request: Request) -> bool:
    """Say whether a person's browser asks for a page, not a script for data."""
    asks = request.headers.get("accept", "")
    return "text/html" in asks and not request.url.path.startswith(("/api/", "/v1/"))


def storable(text: str) -> str:
    """Return the text, or refuse what no database keeps: NUL and halves of character pairs.

    Examples
    --------
    >>> storable("It's wrong to lie.")
    "It's wrong to lie."
    """
    if "\0" in text:
        raise ValueError("a text must not hold the character NUL")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("a text must not hold half a character")
    return text


Storable = Annotated[str, AfterValidator(storable)]


class RateLimit:
    """Buckets that refill: `burst` at once, `per_second` in the long run, per key."""

    def __init__(
        self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = per_second, float(burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, key: str) -> float:
        """Take one from the key's bucket; return 0, or the seconds to wait where it is empty."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.pop(key, (self._burst, now))
            left = min(self._burst, left + (now - since) * self._rate)
            wait = 0.0 if left >= 1 else (1 - left) / self._rate
            self._buckets[key] = (left - 1 if wait == 0 else left, now)
            while len(self._buckets) > _MAX_KEYS:  # the longest unused is full again anyhow
                self._buckets.popitem(last=False)
            return wait


class BodyLimit:
    """ASGI middleware: refuse a body over `limit` bytes, announced or not."""

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY) -> None:
        self.app, self._limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body first, within its bound, then pass the request on."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        body = await self._read(scope, receive)
        if body is None:
            remedy = f"send at most {self._limit // 1024} KB"
            await problem(413, "the request is too large", remedy)(scope, receive, send)
            return
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or len(announced) > 12 or int(announced) > self._limit:
            return None
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b"".join(parts)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limit:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)
