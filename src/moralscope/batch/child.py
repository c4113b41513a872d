"""Call a function in a process of its own, for what it leaves in memory: libraries and weights.

The child computes on one thread, as the workers of a corpus run do, so that what it fits has the
same bits on every run. Errors of ours come back as they are; progress is handed on. The child ends
with its parent.

`start_child` starts one that is given work over a pipe for as long as there is some.
"""

import contextlib
import multiprocessing
import os
import queue
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any, TypeVar

from moralscope.core.errors import MoralscopeError
from moralscope.models.store import Progress

Result = TypeVar("Result")
_PATIENCE = 5.0  # seconds to put libraries away
_NUMBERS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
ONE_THREAD = {
    **dict.fromkeys(_NUMBERS, "1"),
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_ARENA_MAX": "1",  # what one thread gives back, another may use
}


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Set what a process started now will inherit."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def in_child(
    function: Callable[..., Result], *arguments: Any, progress: Progress | None = None
) -> Result:
    """Return what a function of a module returns, computed in a process of its own.

    Parameters
    ----------
    function
        Takes the arguments and `progress`; it, they and what it returns can be pickled.
    progress
        Called in this process with what the function reports.

    Raises
    ------
    MoralscopeError
        What the function raised, or that the process died.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_call, args=(theirs, function, arguments), daemon=True)
    with one_thread():
        process.start()
    theirs.close()
    try:
        while True:
            kind, value = ours.recv()
            if kind == "result":
                result: Result = value
                process.join(_PATIENCE)  # killed, its libraries would leave locks behind
                return result
            if kind == "error":
                error, problem, remedy = value
                raise error(problem, remedy)
            if progress:
                progress(*value)
    except EOFError as error:
        process.join()
        raise MoralscopeError(
            f"the process that loads the models ended (exit code {process.exitcode})",
            "check that there is enough memory, then run it again",
        ) from error
    finally:
        ours.close()
        process.kill()
        process.join()


def _call(pipe: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent tells it to stop by going away
    try:
        result = function(*arguments, progress=lambda *step: pipe.send(("progress", step)))
        pipe.send(("result", result))
    except MoralscopeError as error:
        pipe.send(("error", (type(error), error.problem, error.remedy)))
    except Exception as error:
        what = " ".join(str(error).split())[:200]
        problem = f"unexpected {type(error).__name__} ({what})"
        pipe.send(("error", (MoralscopeError, problem, "report it")))
    finally:
        pipe.close()


def start_child(
    target: Callable[..., None], *arguments: Any
) -> tuple[BaseProcess, "Connection[Any, Any]"]:
    """Start a process that gets its end of a pipe and the arguments; return it and our end.

    It computes on one thread, does not hear Ctrl-C and does not run the user's script again.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    before = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # nothing of the user's script is needed
    try:
        with one_thread(), _no_interrupts():
            process.start()
    finally:
        sys.modules["__main__"] = before
    theirs.close()  # so that the death of the child is the end of the pipe
    return process, ours


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from the child started now: the parent decides what it means."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # started with the first process, it lets interrupts in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def listen(connection: "Connection[Any, Any]", work: "queue.SimpleQueue[Any]") -> None:
    """Take work in at once, so that the parent never waits; end with the parent."""
    with contextlib.suppress(EOFError, OSError):
        while (one := connection.recv()) is not None:
            work.put(one)
        work.put(None)
        return
    os._exit(0)
