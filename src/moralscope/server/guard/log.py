"""What the guard decided, kept for some days: counts, rules, concerns, how long it took.

No text of anybody is kept unless the owner asks for it (`--guard-keep-texts`). The log is one file
that only its owner can read; what is older than `--guard-log-days` is deleted from it, at start and
every hour. A log that cannot be written never keeps a reply back.
"""

import contextlib
import logging
import math
import os
import sqlite3
import threading
import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from itertools import accumulate
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError

_log = logging.getLogger("moralscope.server")
LISTED = 25  # decisions at a time
_PATIENCE = 0.5  # seconds that a reply waits for the file
_DAY = 86_400.0
_PERIODS = ((2, 1), (31, 24), (183, 168), (1096, 672), (math.inf, 2184))  # (most days, hours)
KINDS = ("blocked", "revised", "flagged", "abstained", "partly", "kept", "none")
"""What became of a reply, the gravest first: withheld, replaced, passed with a flag; else how it
was judged. `none` had no text."""
FLAGGED = ",".join(KINDS[:3])
_SUMS = """
    SELECT min(:last, CAST((time - :start) / :step AS INTEGER)), kind, rule, concern,
        CAST(round(1000 * seconds) AS INTEGER), count(*)
    FROM decisions WHERE time >= :first GROUP BY 1, 2, 3, 4, 5
"""
_LISTED = """
    SELECT * FROM decisions WHERE time >= ? AND instr(?, kind) ORDER BY time DESC LIMIT ? OFFSET ?
"""


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """One reply that the guard decided about."""

    time: float
    kind: str
    """one of `KINDS`"""
    rule: str
    """the rule that explains the flag; empty where none does"""
    concern: str
    seconds: float
    """how long the audit took"""
    prompt: str | None = None
    """only where the owner asked to keep texts, as the next"""
    reply: str | None = None
    card: str | None = None
    """of a flagged reply: the verdict card as text, without prompt and reply unless they are kept
    """


@dataclass(frozen=True, slots=True)
class GuardPeriod:
    """What the guard did in an hour, a day or more."""

    start: float
    kinds: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    """that explained a flag"""
    concerns: Counter[str] = field(default_factory=Counter)
    times: Counter[int] = field(default_factory=Counter)
    """how many audits took so many milliseconds"""

    @property
    def latency(self) -> tuple[int, int] | None:
        """The median and the 95th percentile, in milliseconds."""
        values = sorted(self.times)
        upto = list(accumulate(self.times[value] for value in values))
        if not values:
            return None
        median, p95 = (bisect_right(upto, share * (upto[-1] - 1)) for share in (0.5, 0.95))
        return values[median], values[p95]


@dataclass(frozen=True, slots=True)
class GuardFigures:
    """What the guard did in some days."""

    hours: int
    """of a period"""
    periods: Sequence[GuardPeriod]
    """the oldest first"""
    total: GuardPeriod
    recent: Sequence[LoggedDecision]
    """those that were asked for, the newest first"""
    skipped: int
    """newer ones"""
    listed: int
    """how many there are in all"""


class GuardLog:
    """Decisions in a SQLite file.

    Parameters
    ----------
    path
        The file; it is made when it is first written.
    days
        How long a decision is kept; for 0 days the file is deleted.
    texts
        Whether prompts and replies are kept, too.
    ours
        Whether this retention is the file's. Without it the file is another guard's until this
        one keeps a decision: who only looks at a log deletes nothing.
    """

    def __init__(self, path: Path, days: int, *, texts: bool = False, ours: bool = True) -> None:
        self.path, self.days, self.texts, self._ours = path, days, texts, ours
        self._lock = threading.Lock()
        self._failed = False
        self._rewritten = 0.0
        self._waiting: deque[tuple[Any, ...]] = deque()

    def add(self, decisions: Sequence[LoggedDecision]) -> None:
        """Keep decisions; a failure is logged once and costs nobody a reply.

        While the file is read or rewritten they wait for the next that writes.
        """
        rows = [astuple(decision) for decision in decisions]
        if not self.texts:
            rows = [(*row[:5], None, None, row[7]) for row in rows]
        self._waiting.extend(rows)
        self._ours = True
        if not self._lock.acquire(timeout=_PATIENCE):
            return
        try:
            rows = [self._waiting.popleft() for _ in range(len(self._waiting))]
            with contextlib.closing(self._open()) as file, file:
                file.executemany("INSERT INTO decisions VALUES (?,?,?,?,?,?,?,?)", rows)
        except (OSError, sqlite3.Error) as error:
            if not self._failed:
                _log.warning("the guard's log cannot be written: %s (%s)", self.path, error)
            self._failed = True
        finally:
            self._lock.release()

    def prune(self) -> None:
        """Delete what is older than the retention, and texts where none are kept.

        SQLite overwrites what it deletes, but leaves copies of rows that it moved before. So a
        file from which words were deleted is rewritten: `user_version` 1 says that it was.
        """
        if self._waiting:
            self.add(())
        if not (self._ours and self.path.is_file()):
            return
        try:
            with self._lock, contextlib.closing(self._open()) as file:
                file.execute("PRAGMA journal_mode = DELETE")  # WAL keeps words in another file
                with file:
                    words = not self.texts and file.execute(
                        "UPDATE decisions SET prompt = NULL, reply = NULL, card = NULL "
                        "WHERE reply IS NOT NULL"
                    )
                    first = (time.time() - self.days * _DAY,)
                    old = file.execute("DELETE FROM decisions WHERE time < ?", first)
                    if (words or old).rowcount:
                        file.execute("PRAGMA user_version = 0")
                due = time.time() - self._rewritten > _DAY
                if due and file.execute("PRAGMA user_version").fetchone() == (0,):
                    file.execute("VACUUM")
                    file.execute("PRAGMA user_version = 1")
                    self._rewritten = time.time()
            if not self.days:
                self.path.unlink()
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the guard's log {self.path.name} cannot be cleared of what is too old ({error})",
                "make the file in MORALSCOPE_HOME writable, or delete it",
            ) from error

    def figures(self, days: float, kinds: str = FLAGGED, skip: int = 0) -> GuardFigures:
        """Sum up the last days: whole hours or days of this machine's clock, the one that runs too.

        Of the decisions of some kinds (as `FLAGGED` names them) `LISTED` are listed.
        """
        self.prune()
        days = min(days, self.days)
        hours = next(hours for most, hours in _PERIODS if days <= most)
        step = 3_600.0 * hours
        unit, shift = min(step, _DAY), time.localtime().tm_gmtoff
        end = ((time.time() + shift) // unit + 1) * unit - shift
        count = math.ceil(days * _DAY / step)
        periods = [GuardPeriod(end - step * (count - number)) for number in range(count)]
        total = GuardPeriod(end - days * _DAY)
        recent: list[LoggedDecision] = []
        if self.path.is_file():
            start = periods[0].start
            bounds = {"first": total.start, "start": start, "step": step, "last": count - 1}
            with self._lock, contextlib.closing(self._open()) as file:
                rows = file.execute(_LISTED, (total.start, kinds, LISTED, skip))
                recent = [LoggedDecision(*row) for row in rows]
                for at, kind, rule, concern, time_ms, replies in file.execute(_SUMS, bounds):
                    for period in (total, periods[at]):
                        period.kinds[kind] += replies
                        period.times[time_ms] += replies
                        if rule:
                            period.rules[rule] += replies
                        if concern:
                            period.concerns[concern] += replies
        listed = sum(total.kinds[kind] for kind in KINDS if kind in kinds)
        return GuardFigures(hours, periods, total, recent, skip, listed)

    def _open(self) -> sqlite3.Connection:
        is_new = not self.path.exists()
        if is_new:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        file = sqlite3.connect(self.path, timeout=5)
        file.execute("PRAGMA secure_delete = ON")
        if is_new:
            file.execute("PRAGMA user_version = 1")
        columns = ", ".join(field.name for field in fields(LoggedDecision))
        file.execute(f"CREATE TABLE IF NOT EXISTS decisions ({columns})")
        names = [row[1] for row in file.execute("PRAGMA table_info(decisions)")]
        if "card" not in names:  # a log of 0.10
            file.execute("ALTER TABLE decisions ADD COLUMN card")
        # Sums are read from the index alone: the texts in the table make it a hundred times larger.
        summed = "decisions (time, kind, rule, concern, seconds)"
        file.execute(f"CREATE INDEX IF NOT EXISTS summed ON {summed}")
        kept = "decisions (time) WHERE reply IS NOT NULL"
        file.execute(f"CREATE INDEX IF NOT EXISTS with_texts ON {kept}")
        return file
