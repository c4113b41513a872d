"""A folder of runs over time, and whether what they measure drifted since the first of them.

Reads saved records of `audit` (share of replies flagged), `survey` (likelihood of the right action)
and `score` (share of actions above zero), logs in JSON lines with a field `flag`, one file a
period, and the guard's own log (SQLite), a day a period. The test may be repeated after every run
without spending its error rate (`stats/sequential.py`).
"""

import math
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moralscope.core.errors import GateNotMet, InputError
from moralscope.core.records import RunRecord, SampleInterval, Statistics
from moralscope.io.files import read_run
from moralscope.io.run_records import check_record
from moralscope.io.tables import TableFile
from moralscope.stats.intervals import wilson
from moralscope.stats.sequential import ALARM_RATE, drift_test

_MEASURES = {
    "audit": "share of replies flagged",
    "survey": "likelihood of the right action",
    "score": "share of actions above zero",
    "log": "share of replies flagged",
}
_FLAGGED = ("blocked", "revised", "flagged")  # what the guard's log calls a reply that it flagged
_SQLITE = b"SQLite format 3\0"
_FEW = 200  # items of a baseline that find only large drifts
_MOST_RUNS = 10_000
_MEANING = (
    "false alarms come in at most 1 % of such sequences, however often one looks; a drift says "
    "that answers changed, not whether for better or worse, nor why"
)


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """One run of the sequence, with the e-values for a rise and for a fall after it."""

    name: str
    created: str
    share: SampleInterval
    rise: float = 1.0
    fall: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchStatistics(Statistics):
    """Whether the runs drifted from the baseline."""

    measure: str
    baseline: SampleInterval  # its interval is the one that drifts are measured from
    limit: float  # the e-value of an alarm
    alarm: str | None
    """The run at which a drift was found."""
    since: str | None
    """The run with which the drift most likely began."""
    change: SampleInterval | None
    """The share since then; its interval is Wilson's and not for repeated looks."""

    def require(self) -> None:
        """Raise `GateNotMet` if a drift was found."""
        if self.alarm is not None and self.change is not None:
            way = "rose" if self.change.value > self.baseline.value else "fell"
            raise GateNotMet(
                f"drift: the {self.measure} {way} from {self.baseline.value:.1%} to "
                f"{self.change.value:.1%} since {self.since}",
                "see the page for the trend, and compare the runs: --runs BEFORE AFTER",
            )


def watch_runs(folder: Path) -> RunRecord:
    """Test whether the runs of a folder drifted from the first of them.

    Parameters
    ----------
    folder
        Records that `audit`, `survey` or `score` saved with --out (JSON), or logs in JSON lines
        with a field `flag`; in order of their time, logs in order of their names. Or the file
        that the guard logs to (guard.sqlite): its days, but for the one that runs.
    """
    kind, runs = _read_guard_log(folder) if folder.is_file() else _read_folder(folder)
    first, *others = runs
    test = drift_test((first[2], first[3]), [(total, count) for _, _, total, count in others])
    rows = [
        WatchedRun(name, created, _span(total, count), rise, fall)
        for (name, created, total, count), rise, fall in zip(
            runs, (1.0, *test.rise), (1.0, *test.fall), strict=True
        )
    ]
    alarm = since = change = None
    if test.alarm is not None and test.since is not None:
        alarm, since = rows[test.alarm + 1].name, rows[test.since + 1].name
        drifted = runs[test.since + 1 :]
        change = _span(sum(run[2] for run in drifted), sum(run[3] for run in drifted))
    total, count = runs[0][2:]
    notes = [_MEANING]
    if count < _FEW:
        notes.append(f"the baseline has {count} items: only large drifts can be found")
    config = {"folder": str(folder), "job": kind, "runs": len(runs), "false_alarms": ALARM_RATE}
    baseline = SampleInterval(total / count, test.low, test.high, count)
    measure, limit = _MEASURES[kind], test.limit
    statistics = WatchStatistics(
        measure=measure, baseline=baseline, limit=limit, alarm=alarm, since=since, change=change
    )
    seed = 0  # nothing is drawn
    return RunRecord("compare watch", seed, config, [], rows, statistics, notes)


def _span(total: float, count: int) -> SampleInterval:
    """Return a mean of shares with Wilson's interval: too wide where they are not 0 or 1."""
    below, above = wilson(math.floor(total), count), wilson(math.ceil(total), count)
    return SampleInterval(total / count, below.low, above.high, count)


def _read_folder(folder: Path) -> tuple[str, list[tuple[str, str, float, int]]]:
    """Return the kind of the runs and, in order of time, name, time, sum and number of each."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", "give a folder of saved runs")
    paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".json", ".jsonl"))
    if len(paths) > _MOST_RUNS:
        raise InputError(f"{folder} holds more than {_MOST_RUNS:,} runs", "watch fewer")
    if len(paths) < 2:
        problem = f"{folder} holds {len(paths)} runs"
        raise InputError(problem, "give two or more: records (.json) or logs (.jsonl)")
    runs: list[tuple[str, str, float, int]] = []
    kinds: dict[str, Path] = {}
    for path in paths:
        kind, created, shares = _read_log(path) if path.suffix == ".jsonl" else _read_record(path)
        if not shares:
            raise InputError(f"{path} holds nothing to count", "remove it from the folder")
        kinds.setdefault(kind, path)
        if len(kinds) > 1:
            one, other = kinds.values()
            raise InputError(f"{one} and {other} are of different kinds", "watch one kind")
        runs.append((path.name, created, float(sum(shares)), len(shares)))
    [kind] = kinds
    return kind, runs if kind == "log" else sorted(runs, key=lambda run: run[1])


def _read_record(path: Path) -> tuple[str, str, list[float]]:
    plain = check_record(read_run(path), str(path), cut=False)
    kind, rows = str(plain["job"]), plain["results"]
    shares: list[float] = []
    for row in rows if isinstance(rows, list) else []:
        share = _share(kind, row) if isinstance(row, dict) else None
        if share is not None:
            shares.append(share)
    if kind not in _MEASURES or kind == "log":
        problem = f"{path} is a record of '{kind[:60]}'"
        raise InputError(problem, "watch records of audit, survey or score")
    created = plain.get("created")
    return kind, created if isinstance(created, str) else "", shares


def _share(kind: str, row: dict[str, Any]) -> float | None:
    """Return what one item counts for, from 0 to 1; None where it says nothing."""
    if kind == "audit":
        verdict = row.get("verdict")
        flag = verdict.get("flag") if isinstance(verdict, dict) else None
        return float(flag) if isinstance(flag, bool) else None
    if kind == "score":
        score = row.get("score")
        known = isinstance(score, int | float) and math.isfinite(score)
        return float(score > 0) if known else None  # type: ignore[operator]
    chances, better = row.get("likelihoods"), row.get("better")
    if not isinstance(chances, list) or not isinstance(better, int) or better >= len(chances):
        return None
    chance = chances[better]
    return float(chance) if isinstance(chance, int | float) and 0 <= chance <= 1 else None


def _read_log(path: Path) -> tuple[str, str, list[float]]:
    flags = []
    for line, cells in TableFile(path).strict_rows():
        flag = str(cells.get("flag")).lower()
        if flag not in ("true", "false"):
            problem = f"{path} line {line} has no flag"
            raise InputError(problem, 'write one reply per line: {"flag": true}')
        flags.append(float(flag == "true"))
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return "log", changed.isoformat(timespec="seconds"), flags


def _read_guard_log(path: Path) -> tuple[str, list[tuple[str, str, float, int]]]:
    """Return the days of a guard's log (UTC), as `_read_folder` returns files.

    Today is left out: its decisions are counted when all of them are there.
    """
    problem, remedy = f"{path} is not a log of the guard", "give guard.sqlite, or a folder of runs"
    query = (
        "SELECT date(time, 'unixepoch'), sum(kind IN (?, ?, ?)), count(*) FROM decisions "
        "WHERE kind != 'none' AND date(time, 'unixepoch') < date('now') GROUP BY 1 ORDER BY 1"
    )
    try:
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                raise InputError(problem, remedy)
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as log:
            days = log.execute(query, _FLAGGED).fetchall()
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{problem} ({error})", remedy) from error
    if len(days) < 2:
        problem = f"{path} holds {len(days)} whole day{'' if len(days) == 1 else 's'}"
        raise InputError(problem, "wait until there are two or more")
    return "log", [(day, f"{day}T00:00:00+00:00", float(total), n) for day, total, n in days]
