"""Work that goes on when its page is left: started, followed, cancelled, and kept when done.

A job runs in the threads of `api.work`, with no limit of time but its owner's patience. What it
tells is held here, so that a page that comes back sees where it stands; its record goes to the
kept runs.
"""

import asyncio
import json
import math
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from moralscope.core.errors import MoralscopeError
from moralscope.core.records import to_plain, values_of
from moralscope.models.batching import Cancelled, Patience
from moralscope.pages import view
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.runs.kept import NoSuchRun, Runs
from moralscope.runs.titles import PageNotes
from moralscope.server.api.work import Job, WorkQueue
from moralscope.server.errors import failure_text, log_failure
from moralscope.server.models import loading

_KEPT = 30  # jobs that ended and are still told
_STEP = 0.05  # seconds between two looks at a job that is followed
RUNNING = ("waiting", "running")


@dataclass(slots=True)
class PageJob:
    """A job of the page, and where it stands."""

    kind: str
    notes: PageNotes
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "waiting"  # then running; at the end done, failed or cancelled
    phase: str = ""  # what it does where nothing can be counted yet
    done: int = 0
    total: int = 0
    began: float = field(default_factory=time.time)
    ended: float | None = None
    problem: str = ""
    run: str = ""  # the kept run
    title: str = ""
    results: list[Any] = field(default_factory=list)
    record: Any = None
    counted: tuple[float, int] = (0.0, 0)  # when and at what the counting began
    patience: Patience = field(default_factory=lambda: Patience(math.inf))

    def line(self) -> dict[str, Any]:
        """Return where it stands, as the page is told."""
        names = ("id", "kind", "state", "phase", "done", "total", "began", "ended", "problem")
        state = to_plain(values_of(self, *names, "run", "title"))
        return {**state, "left": self._left(), "source": self.notes.source}

    def _left(self) -> float | None:
        """Return the seconds that are left, from the pace so far."""
        since, first = self.counted
        made = self.done - first
        if self.state != "running" or made <= 0 or self.total <= 0:
            return None
        return (time.monotonic() - since) / made * (self.total - self.done)

    def report(self, done: int, total: int) -> None:
        """Note progress; raise where it was cancelled."""
        self.patience.check()
        if not self.counted[0] or done < self.done:
            self.counted = (time.monotonic(), done)
        self.phase, self.done, self.total = "", done, total


class Jobs:
    """All jobs of the pages."""

    def __init__(self, work: WorkQueue, runs: Runs) -> None:
        self._work, self._runs = work, runs
        self._jobs: dict[str, PageJob] = {}

    def start(self, kind: str, job: Job, notes: PageNotes, asked: str = "") -> PageJob:
        """Begin a job; it is kept as a run when it is done, whoever is looking.

        `asked` is what it is called until it has found something.
        """
        made = PageJob(kind, notes, title=asked or notes.source or kind)
        future = self._work.start(made.patience, lambda: self._run(made, job))
        future.add_done_callback(lambda ended: self._end(made, ended))
        ended = [job.id for job in self._jobs.values() if job.state not in RUNNING]
        for name in ended[: max(0, len(ended) - _KEPT)]:
            del self._jobs[name]
        self._jobs[made.id] = made
        return made

    def running(self) -> list[PageJob]:
        """Return the jobs at work."""
        return [job for job in self._jobs.values() if job.state in RUNNING]

    def listed(self) -> list[dict[str, Any]]:
        """Return the jobs, the newest first."""
        return sorted((job.line() for job in self._jobs.values()), key=lambda line: -line["began"])

    def get(self, name: str) -> PageJob:
        """Return a job, or refuse."""
        if name not in self._jobs:
            raise NoSuchRun("there is no such job", "what it found is among the runs")
        return self._jobs[name]

    def cancel(self, name: str) -> None:
        """Ask a job to stop; it does at its next step, and nothing of it is kept."""
        self.get(name).patience.cancelled.set()

    async def follow(self, name: str) -> AsyncIterator[str]:
        """Yield lines: where the job stands, each result, and at the end the record."""
        job, sent, last = self.get(name), 0, ""
        while True:
            is_over = job.state not in RUNNING
            for result in job.results[sent:]:
                sent += 1
                yield _line(type="result", result=result)
            line = _line(type="job", job=job.line())
            if line != last:
                last = line
                yield line
            if is_over:
                break
            await asyncio.sleep(_STEP)
        if job.state == "done":
            yield _line(type="record", record=drawn(job.record), run=job.run)

    def _run(self, made: PageJob, job: Job) -> None:
        made.state = "running"

        def phase(what: str) -> None:
            made.phase = what

        with loading(phase):
            record = job(made.report, lambda result: made.results.append(to_plain(result)))
        made.record = to_plain(record)
        try:
            line = self._runs.save(made.record, made.notes)
            made.run, made.title = line.id, line.title
        except MoralscopeError as error:  # what was found must reach its reader all the same
            made.problem = f"This run was not kept in the list of runs: {error}."

    def _end(self, made: PageJob, future: "asyncio.Future[Any]") -> None:
        error = None if future.cancelled() else future.exception()
        made.ended = time.time()
        if isinstance(error, Cancelled) or future.cancelled():
            made.state = "cancelled"
        elif error is not None:
            is_ours = not isinstance(error, MoralscopeError)
            name = log_failure(error, "a job of the page") if is_ours else ""
            made.problem = "; ".join(failure_text(name)) if is_ours else str(error)
            made.state = "failed"
        else:
            made.state = "done"


def drawn(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a plain record with what the page draws of it.

    `view` holds its charts and tables; `alone`, of an audit, the rules that flag a reply by
    themselves: those that are not ours. The page decides anew by them when a limit is moved.
    """
    shown = {**plain, "view": view(plain, "the run")}
    if plain["job"] != "audit":
        return shown
    ours = {rule.text for rule in shipped_rulebook().rules}
    asked = (rule for row in plain["results"] for rule in row.get("rules", ()))
    house = {rule["text"] for rule in asked if rule.get("source") == "rulebook"} - ours
    return {**shown, "alone": sorted(house)}


def _line(**event: Any) -> str:
    return json.dumps(event, allow_nan=False) + "\n"


def job_notes(source: str, request: dict[str, Any]) -> PageNotes:
    """Return what is kept beside a record: what was asked, less what the results repeat."""
    kept = {
        key: value for key, value in request.items() if key not in ("actions", "exchanges", "texts")
    }
    return PageNotes("", source, kept)


def asked_title(kind: str, source: str, request: dict[str, Any]) -> str:
    """Say in one line what a job is to do.

    Examples
    --------
    >>> asked_title("score", "", {"actions": ["kill time", "kill people"]})
    'score: 2 actions, kill time …'
    """
    actions, exchanges = request.get("actions"), request.get("exchanges") or request.get("texts")
    items = request.get("items")
    if isinstance(actions, list) and actions:
        what = f"{len(actions):,} actions, {str(actions[0])[:40]} …"
    elif isinstance(exchanges, list) and len(exchanges) > 1:
        what = f"{len(exchanges):,} {'replies' if request.get('exchanges') else 'texts'}"
    elif isinstance(talks := request.get("conversations"), list) and talks:
        what = f"{len(talks):,} conversation{'' if len(talks) == 1 else 's'}"
    elif isinstance(items, list):
        what = f"{len(items):,} items"
    else:
        one = exchanges[0] if isinstance(exchanges, list) and exchanges else request
        one = one if isinstance(one, dict) else {"reply": one}
        what = str(one.get("reply") or one.get("norm") or "")[:60]
    return f"{kind}{f' of {source}' if source else ''}: {what}"
