"""The engine of one machine: a process a core, each with one thread, watched and replaced.

A worker that dies is replaced and its block given again: once as it was (it may have been an
accident), then with the piece it died on cut in halves, down to the row that kills it; that row
becomes a dead letter. Workers end when the parent does. Knows nothing of parts and folders.
"""

import contextlib
import ctypes
import logging
import math
import os
import queue
import signal
import threading
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.batch.block_worker import (
    BlockResult,
    BlockWorker,
    Piece,
    RetryPlan,
    WorkSpec,
    fixed_pieces,
)
from moralscope.batch.child import listen, start_child
from moralscope.batch.sources import CorpusFiles
from moralscope.batch.types import Task
from moralscope.core.errors import MoralscopeError

if TYPE_CHECKING:
    from moralscope.batch.options import BatchOptions

log = logging.getLogger(__name__)

_AHEAD = 2  # tasks a worker holds: one in work, one waiting, so that it never waits for the parent
_STARTS = 3  # deaths before a first sign of life until the run gives up
_DEATHS = 64  # deaths without a finished block between them until the run gives up
_STRAINED = 3  # blocks that had to be cut until all later ones are
_PATIENCE = 10.0  # seconds for a worker to leave when asked
_DIED = "the worker died on this row"


def useful_cores() -> int:
    """Return how many processes can compute at once: what this process may use of the machine."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # a container's share, where there is one
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        cores = min(cores, math.ceil(int(quota) / int(period)))
    return max(1, cores)


class LocalEngine:
    """Computes tasks in processes of this machine.

    Parameters
    ----------
    options
        `workers` (else one a useful core) and `call_rows` are used.
    """

    def __init__(self, options: "BatchOptions") -> None:
        self._workers = options.workers or useful_cores()
        self._call_rows = options.call_rows

    def run(
        self, tasks: Iterable[Task], corpus: CorpusFiles, spec: WorkSpec
    ) -> Generator[BlockResult, None, None]:
        """Yield results as they come; an error or closing ends the workers at once."""
        supervisor = _Supervisor(iter(tasks), corpus, spec, self._call_rows)
        try:
            yield from supervisor.through(self._workers)
            supervisor.stop_idle()
        finally:
            supervisor.kill()


@dataclass(slots=True)
class _Assignment:
    """A task as it is given to a worker, and what has become of it before."""

    task: Task
    rows: int  # a call
    retry: RetryPlan = field(default_factory=RetryPlan)
    deaths: int = 0

    def bounds(self) -> list[int]:
        """Return where its pieces begin and end."""
        pieces = self.retry.pieces or fixed_pieces(len(self.task.positions), self.rows)
        return [pieces[0][0], *(stop for _, stop in pieces)]

    def cut(self, piece: Piece) -> None:
        """Make halves of a piece."""
        start, stop = piece
        points = sorted({*self.bounds(), start, (start + stop) // 2, stop})
        self.retry = RetryPlan(tuple(pairwise(points)), self.retry.skip)

    def skip_row(self, index: int) -> None:
        """Leave a row out: it has killed its worker."""
        self.retry = RetryPlan(self.retry.pieces, {**self.retry.skip, index: _DIED})


@dataclass(slots=True)
class WorkerSlot:
    """A worker and what it was given; `at` is the piece it said it would compute."""

    process: BaseProcess
    connection: "Connection[Any, Any]"
    assignments: deque[_Assignment] = field(default_factory=deque)
    ready: bool = False
    at: Piece | None = None


class _Supervisor:
    """Starts workers, gives them assignments two at a time, listens, replaces the dead."""

    def __init__(
        self, tasks: Iterator[Task], corpus: CorpusFiles, spec: WorkSpec, rows: int
    ) -> None:
        self._tasks = tasks
        self._corpus = corpus
        self._spec = spec
        self._rows = rows
        self._again: deque[_Assignment] = deque()
        self._slots: list[WorkerSlot] = []
        self._failed_starts = 0
        self._deaths = 0  # since a block was finished
        self._strained: set[int] = set()

    def through(self, workers: int) -> Iterator[BlockResult]:
        """Yield the results of all tasks."""
        self._again += [_Assignment(task, self._rows) for task in islice(self._tasks, workers)]
        for _ in range(len(self._again)):
            self._slots.append(self._start_worker())
        while self._again or any(slot.assignments for slot in self._slots):
            for connection in wait([slot.connection for slot in self._slots]):
                slot = next(one for one in self._slots if one.connection is connection)
                done = self._receive(slot)
                if done is not None:
                    yield done

    def stop_idle(self) -> None:
        """Let idle workers leave in their own time."""
        for slot in self._slots:
            with contextlib.suppress(OSError):
                slot.connection.send(None)
        for slot in self._slots:
            slot.process.join(_PATIENCE)

    def kill(self) -> None:
        """End all workers; there is nothing in them that must be saved."""
        for slot in self._slots:
            if slot.process.is_alive():
                slot.process.kill()
            slot.process.join()
            slot.connection.close()
        self._slots.clear()

    def _start_worker(self) -> WorkerSlot:
        return WorkerSlot(*start_child(_serve, self._corpus, self._spec))

    def _assign(self, slot: WorkerSlot) -> None:
        while len(slot.assignments) < _AHEAD:
            if self._again:
                assignment = self._again.popleft()
            else:
                task = next(self._tasks, None)
                if task is None:
                    return
                assignment = _Assignment(task, self._rows)
            slot.assignments.append(assignment)
            with contextlib.suppress(OSError):  # dead already: heard of in a moment
                slot.connection.send((assignment.task, assignment.rows, assignment.retry))

    def _receive(self, slot: WorkerSlot) -> BlockResult | None:
        try:
            kind, content = slot.connection.recv()
        except (EOFError, OSError):
            self._replace_dead(slot)
            return None
        if kind == "at":
            slot.at = content
        elif kind == "ready":
            slot.ready, self._failed_starts = True, 0
            self._assign(slot)
        elif kind == "broken":
            raise content
        else:
            slot.assignments.popleft()
            slot.at = None
            self._deaths = 0
            self._assign(slot)
            done: BlockResult = content
            return done
        return None

    def _replace_dead(self, slot: WorkerSlot) -> None:
        """Replace a dead worker; what it had goes to the next one that is free."""
        slot.process.join()
        slot.connection.close()
        self._slots.remove(slot)
        code = slot.process.exitcode
        if not slot.ready:
            self._failed_starts += 1
            if self._failed_starts >= _STARTS:
                raise MoralscopeError(
                    f"the workers die as they start (exit code {code})",
                    "give fewer --workers, then continue with --resume",
                )
        elif slot.assignments:
            self._plan_retry(slot.assignments[0], slot.at, code)
        self._again.extendleft(reversed(slot.assignments))
        self._slots.append(self._start_worker())

    def _plan_retry(self, assignment: _Assignment, at: Piece | None, code: int | None) -> None:
        """Decide how to give an assignment again whose worker died on it."""
        assignment.deaths += 1
        self._deaths += 1
        number = assignment.task.block.number
        log.info("a worker died (exit code %s) on block %d at %s", code, number, at)
        if self._deaths >= _DEATHS:
            raise MoralscopeError(
                f"the workers died {_DEATHS} times and finished nothing (exit code {code})",
                "give fewer --workers, then continue with --resume",
            )
        if at is None or assignment.deaths == 1:
            return  # an accident, as far as is known: the machine may have been short of memory
        if at[1] - at[0] == 1:
            assignment.skip_row(at[0])
            self._strained.discard(number)
            return
        assignment.cut(at)
        self._strained.add(number)
        # Several blocks in trouble are no bad rows but calls too large for this machine. Results
        # stay the same: rows do not depend on what else is in their call.
        if len(self._strained) >= _STRAINED and self._rows > 1:
            self._rows //= 2
            self._strained.clear()


def _serve(connection: "Connection[Any, Any]", corpus: CorpusFiles, spec: WorkSpec) -> None:
    """Be a worker: load once, then do what comes until there is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends the run
    assignments: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(connection, assignments), daemon=True).start()
    try:
        worker = BlockWorker(corpus, spec, lambda piece: connection.send(("at", piece)))
        connection.send(("ready", None))
        while (assignment := assignments.get()) is not None:
            connection.send(("done", worker(*assignment)))
            # Return what is free to the system: batches of every length leave gaps between them.
            with contextlib.suppress(AttributeError, OSError):  # not every C library can
                ctypes.CDLL(None).malloc_trim(0)
    except MemoryError:
        os._exit(1)  # like being killed for it: another worker tries with less
    except BrokenPipeError:
        os._exit(0)  # the parent is gone
    except MoralscopeError as error:
        connection.send(("broken", error))
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        text = f"{type(error).__name__} in a worker: {first}\n{traceback.format_exc()}"
        connection.send(("broken", RuntimeError(text)))
