"""Many callers, one model: what waits is put together and computed at once, by one thread a model.

A caller hands in items and waits for its rows. The thread takes what is there, a share of each
caller in turn, so that a long list does not keep short ones waiting; it never waits for more to
come. How long a caller waits, and whether it still wants the rows, is said by `patience`. Knows
nothing of what the items are.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from moralscope.core.errors import MoralscopeError

MOST = 1024  # items of one batch
SHARE = 256  # items of one caller in a batch
_STEP = 0.2  # seconds between two looks at whether the caller still waits


class OutOfTime(MoralscopeError):
    """The caller's time was up before its work was done."""


class Cancelled(MoralscopeError):
    """The caller went away."""


class Closed(MoralscopeError):
    """The model takes no more work."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Until when (`time.monotonic`) somebody waits; `cancelled` is set where nobody does."""

    until: float
    cancelled: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise where it is over."""
        if self.cancelled.is_set():
            raise Cancelled("nobody is waiting for this any longer", "ask again")
        if time.monotonic() >= self.until:
            raise OutOfTime(
                "this took longer than a request may take",
                "ask about less at once, raise --timeout, or use the command line",
            )


_patience: ContextVar[Patience | None] = ContextVar("patience", default=None)


@contextmanager
def patience(limit: Patience) -> Iterator[None]:
    """Let everything that this thread hands in wait so long, and no longer."""
    token = _patience.set(limit)
    try:
        yield
    finally:
        _patience.reset(token)


def check_patience() -> None:
    """Raise where nobody waits any more for what this thread does."""
    if (limit := _patience.get()) is not None:
        limit.check()


@dataclass(eq=False, slots=True)
class _Order:
    """What one caller handed in, how much of it was taken, and what came back."""

    key: Hashable
    items: Sequence[Any]
    taken: int = 0
    parts: list[Any] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    @property
    def left(self) -> int:
        return len(self.items) - self.taken


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """What a batcher did since it started, and what waits now."""

    batches: int
    items: int
    waiting: int


class Batcher:
    """One thread that computes what several callers hand in.

    Parameters
    ----------
    name
        The thread's name.
    work
        Called with a key and items; returns as many rows, in order, as a list or an array.
    most, share
        Items of a batch, and of one caller in it.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Any, list[Any]], Any],
        *,
        most: int = MOST,
        share: int = SHARE,
    ) -> None:
        self._work, self._most, self._share = work, most, share
        self._orders: deque[_Order] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._batches = self._items = 0
        self._thread = threading.Thread(target=self._run, name=f"batch-{name}", daemon=True)
        self._thread.start()

    def submit(self, items: Sequence[Any], key: Hashable = None) -> list[Any]:
        """Hand items in and wait; return the rows in parts, to be put one behind the other.

        Items are computed together with others of the same key only. Raises `OutOfTime` or
        `Cancelled` when what `patience` said is over, and `Closed` after `close`.
        """
        check_patience()
        order = _Order(key, items)
        if not items:
            return []
        with self._changed:
            if self._closed:
                raise Closed("the server is shutting down", "ask again in a moment")
            self._orders.append(order)
            self._changed.notify()
        limit = _patience.get()
        while limit and not order.done.wait(min(_STEP, max(0.001, limit.until - time.monotonic()))):
            try:
                limit.check()
            except MoralscopeError:
                self._drop(order)
                raise
        order.done.wait()
        if order.error is not None:
            raise order.error
        return order.parts

    def counts(self) -> BatchCounts:
        """Return what was done and what waits."""
        with self._changed:
            waiting = sum(order.left for order in self._orders)
            return BatchCounts(self._batches, self._items, waiting)

    def close(self) -> None:
        """Compute what was handed in, take no more, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _drop(self, order: _Order) -> None:
        with self._changed:
            if order in self._orders:
                self._orders.remove(order)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._orders and not self._closed:
                    self._changed.wait()
                if not self._orders:
                    return
                pieces = self._take()
            self._compute(pieces)

    def _take(self) -> list[tuple[_Order, Sequence[Any]]]:
        """Take a share of every caller with the first one's key; who is not done goes last."""
        key, room = self._orders[0].key, self._most
        pieces: list[tuple[_Order, Sequence[Any]]] = []
        for order in list(self._orders):
            if order.key != key or not room:
                continue
            count = min(room, self._share, order.left)
            pieces.append((order, order.items[order.taken : order.taken + count]))
            order.taken += count
            room -= count
            self._orders.remove(order)
            if order.left:
                self._orders.append(order)
        self._batches += 1
        self._items += self._most - room
        return pieces

    def _compute(self, pieces: Sequence[tuple[_Order, Sequence[Any]]]) -> None:
        try:
            rows = self._work(pieces[0][0].key, [item for _, part in pieces for item in part])
        except BaseException as error:
            if len(pieces) == 1:
                order = pieces[0][0]
                order.error = error
                self._drop(order)
                order.done.set()
                return
            for piece in pieces:  # one caller's item must not fail the others
                self._compute([piece])
            return
        start = 0
        for order, part in pieces:
            order.parts.append(rows[start : start + len(part)])
            start += len(part)
            if not order.left and order.error is None:
                order.done.set()
