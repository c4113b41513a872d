"""Requests as jobs: a bounded number is accepted, each runs in a thread and for a limited time.

An accepted request is finished, whatever signal comes, unless its client goes away first. What a
job computes is put together with others' by the models themselves, not here.
"""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.records import RunRecord, to_plain
from moralscope.io.files import record_lines
from moralscope.models.batching import OutOfTime, Patience, patience
from moralscope.runs.kept import NoSuchRun
from moralscope.server.api.metrics import Metrics
from moralscope.server.connections import gone
from moralscope.server.errors import Refused, failure_text, log_failure, problem
from moralscope.server.models import NotHere
from moralscope.server.service import Service

NDJSON = "application/x-ndjson"
STATUSES: dict[type[MoralscopeError], int] = {
    InputError: 422,
    NotHere: 422,
    NoSuchRun: 404,
    OutOfTime: 504,
}
Report = Callable[[int, int], None]
Tell = Callable[[Any], None]
Job = Callable[[Report, Tell | None], RunRecord]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is done at a time, how much may wait, and for how long."""

    threads: int = 32
    queue: int = 64  # requests that may wait for a thread
    seconds: float = 120.0  # of one request, waiting included


class WorkQueue:
    """Runs jobs for requests."""

    def __init__(self, service: Service, bounds: Bounds | None = None) -> None:
        self.service = service
        self.bounds = bounds or Bounds()
        # Accepted and not yet done. Only the event loop touches it (callbacks of asyncio futures
        # run there), so that no lock is needed and the bound is exact.
        self.waiting = 0
        self._mean = 0.1  # seconds of a job, of late
        self.metrics = Metrics(lambda: self.waiting, service.models.counts)
        self._pool = ThreadPoolExecutor(self.bounds.threads, "job")

    def close(self) -> None:
        """Finish what was accepted, then end all threads."""
        self._pool.shutdown()  # first: running jobs still hand work to the models
        self.service.close()

    @property
    def is_full(self) -> bool:
        """Whether the next job would be refused."""
        return self.waiting >= self.bounds.threads + self.bounds.queue

    async def answer(self, request: Request, job: Job) -> Response:
        """Run a job and answer with its record, as JSON or as lines where those are asked for."""
        if NDJSON in request.headers.get("accept", ""):
            return self._stream(job)
        record = await self.run(request, lambda report: job(report, None))
        return Response("".join(record_lines(record)), media_type="application/json")

    async def run(self, request: Request, job: Callable[[Report], Any]) -> Any:
        """Run a job in a thread; a client that goes away cancels it."""
        limit = self._patience()
        future = self.start(limit, lambda: job(lambda done, total: limit.check()))
        watch = asyncio.create_task(gone(request))
        try:
            await asyncio.wait({future, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                limit.cancelled.set()
            # A thread cannot be stopped from outside: the job sees the flag at its next step, and
            # its place goes to nobody before.
            return await future
        except asyncio.CancelledError:
            limit.cancelled.set()
            raise
        finally:
            watch.cancel()

    def _stream(self, job: Job) -> Response:
        """Answer with lines: progress, results as they come, and the record at the end."""
        limit = self._patience()
        events: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        sent = 0

        def put(**event: Any) -> None:
            line = json.dumps(to_plain(event), allow_nan=False) + "\n"
            # The job's thread calls this, and a queue of asyncio belongs to the loop.
            loop.call_soon_threadsafe(events.put_nowait, line)

        def report(done: int, total: int) -> None:
            limit.check()
            put(type="progress", done=done, total=total)

        def tell(result: Any) -> None:
            nonlocal sent
            sent += 1
            put(type="result", result=result)

        def work() -> None:
            record = to_plain(job(report, tell))
            put(type="record", record={**record, "results": []} if sent else record)

        future = self.start(limit, work)
        future.add_done_callback(lambda done: _end(done, events))
        return StreamingResponse(_lines(events, limit), media_type=NDJSON)

    def _patience(self) -> Patience:
        return Patience(time.monotonic() + self.bounds.seconds)

    def start(self, limit: Patience, job: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Run a job in a thread, within the bounds; `limit` says for how long."""
        if self.is_full:
            self.metrics.refused.inc()
            wait = min(60.0, self.waiting * self._mean / self.bounds.threads)
            raise Refused(
                429, "too many requests are waiting", f"try again in {math.ceil(wait + 1)} s", wait
            )
        self.waiting += 1
        began = time.monotonic()

        def run() -> Any:
            # The patience is the thread's own: what the job hands to shared models waits so long.
            with patience(limit):
                limit.check()  # it may have waited for its thread too long already
                return job()

        def done(future: "asyncio.Future[Any]") -> None:
            self.waiting -= 1
            self._mean += 0.1 * (time.monotonic() - began - self._mean)
            if not future.cancelled():
                future.exception()  # asked for, else asyncio logs that nobody did: a gone client

        future = asyncio.wrap_future(self._pool.submit(run))
        future.add_done_callback(done)
        return future


async def _lines(events: "asyncio.Queue[str | None]", limit: Patience) -> AsyncIterator[str]:
    try:
        while (line := await events.get()) is not None:
            yield line
    finally:
        limit.cancelled.set()


def _end(future: "asyncio.Future[Any]", events: "asyncio.Queue[str | None]") -> None:
    """End the lines; a failure after the first of them can only be said in another."""
    error = None if future.cancelled() else future.exception()
    if error is not None:
        if isinstance(error, MoralscopeError):
            detail, remedy, name = error.problem, error.remedy, ""
        else:
            name = log_failure(error, "a streamed job")
            detail, remedy = failure_text(name)
        status = next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)
        line = bytes(problem(status, detail, remedy, error_id=name).body)
        events.put_nowait(json.dumps({**json.loads(line), "type": "problem"}) + "\n")
    events.put_nowait(None)
