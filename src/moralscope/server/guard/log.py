"""What the guard decided, kept for some days: counts, rules, concerns, how long it took.

No text of anybody is kept unless the owner asks for it (`--guard-keep-texts`). The log is one file
that only its owner can read; what is older than `--guard-log-days` is deleted. A log that cannot be
written never keeps a reply back.
"""

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

_log = logging.getLogger("moralscope.server")
_LISTED = 20  # rules
_RECENT = 50  # decisions
_DAY = 86_400.0
KINDS = ("blocked", "revised", "flagged", "abstained", "partly", "kept", "none")
"""What became of a reply, the gravest first: withheld, replaced, passed with a flag; else how it
was judged. `none` had no text."""


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
class GuardFigures:
    """What the guard did in some days."""

    days: float
    decisions: int
    kinds: dict[str, int]
    periods: Sequence[tuple[float, dict[str, int]]]
    """(when it began, decisions by kind), the oldest first"""
    rules: Sequence[tuple[str, int]]
    """that explained a flag, the most frequent first"""
    concerns: Sequence[tuple[str, int]]
    latency: tuple[float, float, float] | None
    """median, 95th percentile and longest, in seconds"""
    recent: Sequence[LoggedDecision]
    """what was flagged, the newest first"""


class GuardLog:
    """Decisions in a SQLite file.

    Parameters
    ----------
    path
        The file; it is made when it is first written.
    days
        How long a decision is kept.
    texts
        Whether prompts and replies are kept, too.
    """

    def __init__(self, path: Path, days: float, *, texts: bool = False) -> None:
        self.path, self.days, self.texts = path, days, texts
        self._lock = threading.Lock()
        self._failed = False

    def add(self, decisions: Sequence[LoggedDecision]) -> None:
        """Keep decisions and delete old ones; a failure is logged once and costs nobody a reply."""
        rows = [astuple(decision) for decision in decisions]
        if not self.texts:
            rows = [(*row[:5], None, None, row[7]) for row in rows]
        try:
            with self._lock, contextlib.closing(self._open()) as file, file:
                file.executemany("INSERT INTO decisions VALUES (?,?,?,?,?,?,?,?)", rows)
                file.execute("DELETE FROM decisions WHERE time < ?", (self._first(self.days),))
                if not self.texts:  # the owner changed her mind
                    file.execute(
                        "UPDATE decisions SET prompt = NULL, reply = NULL, card = NULL "
                        "WHERE reply IS NOT NULL"
                    )
        except (OSError, sqlite3.Error) as error:
            if not self._failed:
                _log.warning("the guard's log cannot be written: %s (%s)", self.path, error)
            self._failed = True

    def figures(self, days: float) -> GuardFigures:
        """Sum up the last days."""
        days = min(days, self.days)
        first = self._first(days)
        rows: list[LoggedDecision] = []
        if self.path.is_file():
            with self._lock, contextlib.closing(self._open()) as file:
                query = "SELECT * FROM decisions WHERE time >= ? ORDER BY time"
                rows = [LoggedDecision(*row) for row in file.execute(query, (first,))]
        step = 3_600.0 if days <= 2 else _DAY
        count = round(days * _DAY / step)
        # Whole hours or days of this machine's clock, the one that runs last.
        shift = time.localtime().tm_gmtoff
        last = ((time.time() + shift) // step + 1) * step - shift
        starts = [last - step * (count - number) for number in range(count)]
        periods: list[tuple[float, Counter[str]]] = [(start, Counter()) for start in starts]
        for row in rows:
            at = min(count - 1, max(0, int((row.time - starts[0]) // step)))
            periods[at][1][row.kind] += 1
        flagged = [row for row in reversed(rows) if row.kind in KINDS[:3]]
        kinds = Counter(row.kind for row in rows)
        times = sorted(row.seconds for row in rows)
        latency = None
        if times:
            latency = (times[len(times) // 2], times[int(0.95 * (len(times) - 1))], times[-1])
        return GuardFigures(
            days=days,
            decisions=len(rows),
            kinds={kind: kinds[kind] for kind in KINDS},
            periods=periods,
            rules=_most(row.rule for row in flagged)[:_LISTED],
            concerns=_most(row.concern for row in flagged),
            latency=latency,
            recent=flagged[:_RECENT],
        )

    def _first(self, days: float) -> float:
        return time.time() - days * _DAY

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        file = sqlite3.connect(self.path, timeout=5)
        columns = ", ".join(field.name for field in fields(LoggedDecision))
        file.execute(f"CREATE TABLE IF NOT EXISTS decisions ({columns})")
        names = [row[1] for row in file.execute("PRAGMA table_info(decisions)")]
        if "card" not in names:  # a log of 0.10
            file.execute("ALTER TABLE decisions ADD COLUMN card")
        file.execute("CREATE INDEX IF NOT EXISTS by_time ON decisions (time)")
        return file


def _most(names: Iterable[str]) -> list[tuple[str, int]]:
    """Count names, the most frequent first; what has no name is left out."""
    counts = Counter(filter(None, names))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
