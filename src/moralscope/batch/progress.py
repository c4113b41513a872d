"""Where a run stands: told to whoever listens, and kept in a file that programs can read.

Rates come from the monotonic clock. The time in the file is for people: nothing is decided by it.
"""

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from moralscope.batch.folder import RunFolder
from moralscope.core.errors import MoralscopeError

_PAUSE = 0.5  # seconds between two reports


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands; `_run/progress.json` holds the same names.

    `state` is planning, running, finished, stopped or failed. `rows` are done, the failed ones
    with them; `rate` is rows a second in this session; `seconds_left` is None until it is known.

    Examples
    --------
    >>> Progress("running", rows=500, rows_total=1000, rate=100.0).seconds_left
    5.0
    """

    state: str
    rows: int = 0
    rows_total: int | None = None
    failed: int = 0
    parts: int = 0
    parts_total: int | None = None
    rate: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """Return how long the rest takes at this rate."""
        if self.rows_total is None or not self.rate:
            return None
        return max(0.0, (self.rows_total - self.rows) / self.rate)


Report = Callable[[Progress], None]


class ProgressReporter:
    """Tells now and then, not for every part; a change of state is told at once."""

    def __init__(self, out: RunFolder, report: Report | None) -> None:
        self._out = out
        self._report = report
        self._now = Progress("planning")
        self._last_state: str | None = None  # state
        self._next = 0.0

    @property
    def summary(self) -> str:
        """Return where the run stands, in words."""
        if self._now.parts_total is None:
            return f"{self._now.rows:,} rows were planned"
        return f"{self._now.parts:,} of {self._now.parts_total:,} parts are finished"

    def update(self, now: Progress) -> None:
        """Say where the run stands."""
        self._now = now
        if now.state == self._last_state and time.monotonic() < self._next:
            return
        self._last_state = now.state
        self._next = time.monotonic() + _PAUSE
        updated = datetime.now(UTC).isoformat(timespec="seconds")
        plain = {**asdict(now), "seconds_left": now.seconds_left, "updated": updated}
        self._out.write_progress(plain)
        if self._report is not None:
            self._report(now)

    def end(self, state: str) -> None:
        """Say how a run ended that did not finish; a full disk must not hide why."""
        with contextlib.suppress(MoralscopeError):
            self.update(replace(self._now, state=state))
