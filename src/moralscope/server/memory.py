"""Which models a server holds: loaded when they are used, released when they are idle.

A `Resident` stays valid for ever: whoever uses it after its release loads it anew. Models go when
nobody used them for a while, and, the longest unused first, when another has to be loaded while
much is resident already. What is released goes back to the system, too: malloc would keep it.
"""

import contextlib
import ctypes
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

KEEP_MINUTES = 15.0
ROOM_MB = 1_100  # resident: above it idle models make room before another is loaded, which may
# take 1,000 more while it is read (smollm2)
_LOOK = 30.0  # seconds between two looks for idle models, at most
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def resident_mb() -> float:
    """Return how many megabytes of this process are resident; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def give_back() -> None:
    """Give freed memory back to the system, where the system's malloc can."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class Memory:
    """The models that are held.

    Parameters
    ----------
    keep_minutes
        How long a model stays that nobody uses.
    room_mb
        What may be resident before idle models make room for another.
    """

    def __init__(self, keep_minutes: float = KEEP_MINUTES, room_mb: float = ROOM_MB) -> None:
        self._keep, self._room = 60 * keep_minutes, room_mb
        self._residents: list[Resident[object]] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="release-idle", daemon=True)
        self._thread.start()

    def hold(self, load: Callable[[], T]) -> "Resident[T]":
        """Return a model that is loaded when it is used."""
        resident = Resident(self, load)
        self._residents.append(resident)
        return resident

    def make_room(self) -> None:
        """Release idle models, the longest unused first, until there is room for another."""
        for resident in sorted(self._residents, key=lambda one: one.last_used):
            if resident_mb() <= self._room:
                return
            if resident.release():
                give_back()

    def release_idle(self, now: float | None = None) -> int:
        """Release what nobody used for `keep_minutes`; return how many models that were."""
        limit = (time.monotonic() if now is None else now) - self._keep
        idle = [resident for resident in self._residents if resident.last_used <= limit]
        released = [resident.release() for resident in idle]
        if any(released):
            give_back()
        return sum(released)

    def close(self) -> None:
        """End the thread that looks for idle models."""
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closed.wait(min(_LOOK, max(1.0, self._keep / 4))):
            self.release_idle()


class Resident(Generic[T_co]):
    """A model that may be released and loaded again; see `Memory`."""

    def __init__(self, memory: Memory, load: Callable[[], T_co]) -> None:
        self._memory, self._load = memory, load
        self._value: T_co | None = None
        self._users = 0
        self._lock, self._loading = threading.Lock(), threading.Lock()
        self.last_used = time.monotonic()

    @property
    def is_loaded(self) -> bool:
        """Whether it is in memory now."""
        return self._value is not None

    @contextmanager
    def use(self) -> Iterator[T_co]:
        """Hold the model, loading it where it is not; nobody releases it meanwhile."""
        with self._lock:
            self._users += 1
        try:
            with self._loading:
                value = self._value
                if value is None:
                    self._memory.make_room()
                    value = self._value = self._load()
                    give_back()
            yield value
        finally:
            with self._lock:
                self._users -= 1
                self.last_used = time.monotonic()

    def release(self) -> bool:
        """Let go of the model unless somebody uses it; say whether it was there and went."""
        with self._lock:
            if self._users or self._value is None:
                return False
            self._value = None
            return True
