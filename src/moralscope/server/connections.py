"""Connections that are opened and say nothing, or too little, do not take the server from others.

uvicorn's own protocol waits for the head of a request as long as the client likes. Here a head has
seconds to arrive, and so has a body. Connections that wait for one are counted, by address and
in all: where there are too many, the one that waited longest goes. A client that asks at once is
served, however many half-open connections its own address holds.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

import h11
from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from moralscope.server.errors import problem


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How long clients may take, in seconds, and how many may wait at a time."""

    head: float = 10.0  # from the first byte, or from the connection, to the end of the head
    body: float = 35.0  # a little more than the application gives it, whose answer is better
    drain: float = 60.0  # in which a client takes nothing of an answer
    linger: float = 2.0  # in which the rest of a request that was refused is thrown away
    per_address: int = 256  # behind a proxy all clients have one: 200 streams may begin at once
    in_all: int = 512


class HalfOpen:
    """Connections that wait for a request, the longest waiting first.

    Examples
    --------
    >>> waiting = HalfOpen(ConnectionLimits(per_address=2, in_all=3))
    >>> [waiting.add(name, name[0]) for name in ("a1", "b1", "a2", "a3", "b2", "c1")]
    [None, None, None, 'a1', 'b1', 'a2']
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._waiting: dict[Any, str] = {}  # in the order in which they began to wait
        self._counts: Counter[str] = Counter()

    def add(self, connection: Any, address: str) -> Any | None:
        """Count a connection; return one that has to go for it."""
        goes = None
        if self._counts[address] >= self._limits.per_address:
            goes = next(waiting for waiting, theirs in self._waiting.items() if theirs == address)
        elif len(self._waiting) >= self._limits.in_all:
            goes = next(iter(self._waiting))
        self.discard(goes)
        self._waiting[connection] = address
        self._counts[address] += 1
        return goes

    def discard(self, connection: Any) -> None:
        """Count it no longer."""
        address = self._waiting.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol with time limits; `half_open` is shared by all connections of a server."""

    limits: ConnectionLimits
    half_open: HalfOpen
    _phase = ""  # head, body, working or idle
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give the head its time."""
        super().connection_made(transport)
        self._wait("head", self.limits.head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self._wait("lost", None)
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; the first byte after an answer starts the clock of the next head."""
        if self._phase == "idle":
            self._wait("head", self.limits.head)
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        """Wait for the next request, for which uvicorn's own clock runs."""
        super().on_response_complete()
        if self.transport.is_closing():
            return
        self._follow()
        if self._phase in ("working", "body") and self.cycle.response_complete:
            is_read = self.conn.their_state is not h11.SEND_BODY
            self._wait("idle" if is_read else "rest", None if is_read else self.limits.linger)

    def pause_writing(self) -> None:
        """Give a client that takes nothing its time."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self.limits.drain, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that clock: it takes something again."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP with a problem document."""
        self._refuse(400, "this isn't an HTTP request", "send a request as RFC 9112 has it")

    def _follow(self) -> None:
        """See how far the request is after new data."""
        if self._phase == "rest" and self.conn.their_state is not h11.SEND_BODY:
            self._wait("head", self.limits.head)
        if self.cycle is None or self.cycle.response_complete or self.transport.is_closing():
            return
        if not self.cycle.more_body:
            self._wait("working", None)
        elif self._phase != "body":
            self._wait("body", self.limits.body)

    def _wait(self, phase: str, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._phase = phase
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._late)
        if phase in ("working", "lost"):
            self.half_open.discard(self)
        elif phase in ("head", "idle"):
            self.half_open.discard(self)
            goes = self.half_open.add(self, self.client[0] if self.client else "")
            if goes is not None:
                goes.transport.abort()

    def _late(self) -> None:
        if self._phase == "head" and self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            remedy = f"send it within {self.limits.head:g} s"
            self._refuse(408, "the head of the request did not arrive", remedy)
        else:
            self.transport.close()

    def _refuse(self, status: int, detail: str, remedy: str) -> None:
        """Answer outside the application, and close."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            response = problem(status, detail, remedy)
            headers = [*response.raw_headers, (b"connection", b"close")]
            for event in (
                h11.Response(status_code=status, headers=headers),
                h11.Data(data=bytes(response.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


async def gone(request: Request) -> None:
    """Return when the client has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def bounded_protocol(limits: ConnectionLimits) -> type[BoundedProtocol]:
    """Return the protocol of one server."""
    shared = {"limits": limits, "half_open": HalfOpen(limits)}
    return type("ServerProtocol", (BoundedProtocol,), shared)
