"""How much, how often, of what: bodies of bounded size, requests of bounded rate, storable texts.

All answer before a handler is reached. Counts are kept in this process only: one server process
serves a project.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Annotated

from pydantic import AfterValidator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moralscope.server.errors import problem

MAX_BODY = 256 * 1024  # bytes: a story with long texts is far below
_MAX_KEYS = 20_000


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
    """Buckets that refill: `burst` at once, `per_second` in the long run, per key.

    Examples
    --------
    >>> limit = RateLimit(per_second=1, burst=2, clock=lambda: 0.0)
    >>> [limit.take("a"), limit.take("a"), limit.take("a"), limit.take("b")]
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(
        self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = per_second, float(burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait(self, key: str) -> float:
        """Return the seconds until there is one to take, and take none."""
        with self._lock:
            left, since = self._buckets.get(key, (self._burst, 0.0))
            left = min(self._burst, left + (self._clock() - since) * self._rate)
            return 0.0 if left >= 1 else (1 - left) / self._rate

    def take(self, key: str, count: float = 1.0) -> float:
        """Take from the key's bucket; return 0, or the seconds to wait where it is empty."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.pop(key, (self._burst, now))
            left = min(self._burst, left + (now - since) * self._rate)
            wait = 0.0 if left >= count else (count - left) / self._rate
            self._buckets[key] = (left - count if wait == 0 else left, now)
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
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
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
