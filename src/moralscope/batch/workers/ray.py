"""The engine of a cluster: Ray Data maps tasks over a pool of actors, each with one `BlockWorker`.

The worker is the one of the local engine and takes the same pieces, so the same bytes come out. A
process that dies is replaced by Ray and its task given again; a block on which it dies again and
again is computed by the local engine, which finds the row that kills. Tasks go out in waves, so
that the driver holds few of them.

Who talks to Ray ends without a word when Ray's own processes on its machine die (a dashboard agent
takes its node with it, and the node its drivers). So that is a child process: the run outlives it,
tells, and goes on with another. It may also wait for ever on a dead node: so it says every few
seconds that its node lives, and is replaced when it falls silent. Needs the extra `ray`.
"""

import contextlib
import importlib
import json
import logging
import os
import queue
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Self

from moralscope.batch.block_worker import BlockResult, BlockWorker, WorkSpec
from moralscope.batch.child import ONE_THREAD, listen, start_child
from moralscope.batch.sources import CorpusFiles
from moralscope.batch.types import FailedRow, RowBlock, Task
from moralscope.batch.workers.local import LocalEngine, useful_cores
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.extras import require_extra

if TYPE_CHECKING:
    from moralscope.batch.options import BatchOptions

log = logging.getLogger(__name__)

_WAVE = 256  # tasks a worker gets in one wave: minutes of work against seconds of starting
_AHEAD = 2  # tasks in flight on an actor
_TRIES = 3  # times that a block is begun on an actor; Ray itself would try for ever
_DEADLY = "deadly"  # what a block that killed its actors says in place of results
_DEATHS = 3  # of the driver without a finished block between them until the run gives up
_STARTS = 4  # a busy machine may need longer than Ray waits for its own processes
_SLOW = "timed out during startup"
_PATIENCE = 15.0  # seconds for Ray to leave when asked
_REACH = 10.0  # seconds for a cluster to answer
_BEAT = 5.0  # seconds between two signs of life of the driver
_SILENCE = 60  # seconds without one until the driver is lost
_START_SILENCE = 300  # seconds to import Ray and to start it once on a busy machine
_PORTS = 65_535
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is sent that the user did not ask for
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # it writes past Python's logging, on stderr
}


class RayEngine:
    """Computes tasks on Ray: a cluster by its address, or one of this machine's own cores.

    Parameters
    ----------
    options
        `workers` (else as many as the cluster has cores), `ray_address`, `gpus` of each worker (a
        part of one, too) and `call_rows` are used.

    Raises
    ------
    MissingExtra
        Ray is not installed.
    """

    def __init__(self, options: "BatchOptions") -> None:
        require_extra("ray", "the engine 'ray'")
        self._options = options

    def run(
        self, tasks: Iterable[Task], corpus: CorpusFiles, spec: WorkSpec
    ) -> Generator[BlockResult, None, None]:
        """Yield results as they come; closing it ends the actors."""
        stream, options = iter(tasks), self._options
        ray = sys.modules.get("ray")
        if ray is not None and options.ray_address is None and ray.is_initialized():
            # The cluster that this process is connected to.
            options = replace(options, ray_address=ray.get_runtime_context().gcs_address)
        with _Driver(options, corpus, spec) as driver:
            # Ray Data wants all its items before it starts: a wave bounds what the driver holds.
            while wave := list(islice(stream, driver.workers * _WAVE)):
                missing = {task.block.number: task for task in wave}
                for done in driver.through(missing):
                    if missing.pop(done.number, None) is not None:
                        yield done
                if missing:
                    count = len(missing)
                    log.warning("%d blocks killed their actors; they are computed here", count)
                    local = LocalEngine(replace(self._options, workers=1))
                    yield from local.run(iter(missing.values()), corpus, spec)


class _Driver:
    """The process that talks to Ray, started again when it dies."""

    def __init__(self, options: "BatchOptions", corpus: CorpusFiles, spec: WorkSpec) -> None:
        self._arguments = (options, corpus, spec)
        self._said = ""  # what Ray said when it gave up

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            with contextlib.suppress(OSError):
                self._connection.send(None)
            self._process.join(_PATIENCE)
        # Ray's own processes end with the driver that started them.
        self._process.kill()
        self._process.join()
        self._connection.close()

    def through(self, tasks: Mapping[int, Task]) -> Iterator[BlockResult]:
        """Map what is left in `tasks`; blocks that killed their actors too often stay there."""
        deaths = 0
        while True:
            try:
                self._connection.send(list(tasks.values()))
                while (done := self._receive(_SILENCE)) is not None:
                    deaths = 0
                    yield done
                return
            except (EOFError, OSError):
                deaths += 1
                why, left = self._end(is_last=deaths >= _DEATHS), len(tasks)
                log.warning("%s; it is started again for the %d blocks that are left", why, left)
                self._start()

    def _start(self) -> None:
        for left in reversed(range(_STARTS)):
            self._process, self._connection = start_child(_drive, *self._arguments)
            try:
                self.workers: int = self._receive(_START_SILENCE)
                return
            except (EOFError, OSError):
                self._end(is_last=not left)  # and with it what it had started of Ray
            except BaseException:
                self._process.kill()
                raise

    def _end(self, *, is_last: bool) -> str:
        """End a driver that is lost and return why it is; raise that where it was the last."""
        self._process.join(_PATIENCE)
        self._process.kill()
        self._process.join()
        self._connection.close()
        died = f"Ray died on this machine (exit code {self._process.exitcode}; its dashboard agent "
        what = self._said or f"{died}or node manager)"
        self._said = ""
        if is_last:
            raise MoralscopeError(what, "fix Ray, then continue with --resume, or --engine local")
        return what

    def _receive(self, silence: int) -> Any:
        """Return what the driver says next, however long it works; silence is a death."""
        kind, content = self._hear(silence)
        while kind == "alive":
            kind, content = self._hear(silence)
        if kind == "broken":
            raise content
        if kind == "lost":
            self._said = content
            raise EOFError
        return content

    def _hear(self, silence: int) -> tuple[str, Any]:
        for _ in range(silence):  # seconds are counted: after Ctrl-Z and fg a clock would be wrong
            if self._connection.poll(1.0):
                message: tuple[str, Any] = self._connection.recv()
                return message
        self._said = f"Ray did not answer for {silence} seconds"
        self._process.kill()
        raise EOFError


def _drive(
    connection: "Connection[Any, Any]", options: "BatchOptions", corpus: CorpusFiles, spec: WorkSpec
) -> None:
    """Be the driver: connect, then map every wave that comes until there is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it and ends the run
    waves: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(connection, waves), daemon=True).start()
    speaker = _Speaker(connection)
    try:
        _connect(options)
        ray = _module("ray")
        workers = options.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        speaker.say("ready", workers)
        with speaker.signs_of_life():
            while (wave := waves.get()) is not None:
                pool = _Pool(options, corpus, spec, min(workers, len(wave)))
                for done in pool.mapped(wave):
                    speaker.say("done", done)
                speaker.say("end", None)
        ray.shutdown()
    except BrokenPipeError:
        os._exit(0)  # the parent is gone
    except _RayLost as error:
        speaker.say("lost", str(error))
    except Exception as error:
        ours = isinstance(error, MoralscopeError)
        first = (str(error).splitlines() or [""])[0]
        bug = RuntimeError(f"{type(error).__name__} in the driver: {first}")
        speaker.say("broken", error if ours else bug)


class _Speaker:
    """What the driver says to its parent, from any thread."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def say(self, kind: str, content: Any) -> None:
        with self._lock:
            self._connection.send((kind, content))

    @contextlib.contextmanager
    def signs_of_life(self) -> Iterator[None]:
        """Say every few seconds that Ray lives: a call to it may not come back, and not tell."""
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(_BEAT)

    def _watch(self, ended: threading.Event) -> None:
        """Ask the cluster whether it counts our node among the living; no answer is silence."""
        ray = _module("ray")
        ours = ray.get_runtime_context().get_node_id()
        while not ended.wait(_BEAT):
            with contextlib.suppress(Exception):  # what Ray raises then is its own affair
                if any(node["NodeID"] == ours and node["Alive"] for node in ray.nodes()):
                    self.say("alive", None)
                elif not ended.is_set():
                    self.say("lost", "Ray's node manager on this machine does not answer")
                    os._exit(1)


class _Pool:
    """The actors that a wave is mapped over."""

    def __init__(
        self, options: "BatchOptions", corpus: CorpusFiles, spec: WorkSpec, workers: int
    ) -> None:
        self._options, self._corpus, self._spec = options, corpus, spec
        self._workers = workers

    def mapped(self, wave: Sequence[Task]) -> Iterator[BlockResult]:
        """Map a wave over actors. Blocks that killed theirs too often do not come back."""
        ray, data = _module("ray"), _module("ray.data")
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = False
        for name in ("ray.data", "ray"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        # Ray would start an actor anew for ever: the count must outlive the actors that die.
        # Should it die itself, it is started anew and asked again: a count lost is a try more.
        helper = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
        attempts = helper(_Attempts).remote()
        rows = [{**asdict(task.block), "packed": task.packed, "texts": task.texts} for task in wave]
        mapped = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Actor,
            fn_constructor_args=(self._corpus, self._spec, self._options.call_rows, attempts),
            batch_size=1,
            batch_format="numpy",
            compute=data.ActorPoolStrategy(
                size=self._workers, max_tasks_in_flight_per_actor=_AHEAD
            ),
            num_cpus=1,
            num_gpus=self._options.gpus or None,
        )
        try:
            for batch in mapped.iter_batches(batch_size=None, batch_format="pyarrow"):
                for row in batch.to_pylist():
                    if row["error"] == _DEADLY:
                        continue
                    if row["error"]:
                        raise _raised(json.loads(row["error"]))
                    failed = [FailedRow(**line) for line in json.loads(row["failed"])]
                    yield BlockResult(row["number"], row["results"], failed, row["seconds"])
        except ray.exceptions.RayError as error:
            said = (str(error).splitlines() or [""])[0][:200]
            raise _RayLost(f"Ray gave up ({type(error).__name__}: {said})") from error


class _RayLost(Exception):
    """Ray could not go on, and said why: part of it died, or took too long to start."""


class _Attempts:
    """Counts how often each block was begun: it outlives the workers that die of one."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def begin(self, number: int) -> int:
        self._counts[number] += 1
        return self._counts[number]


class _Actor:
    """A worker as Ray Data calls it: a batch of one task in, a batch of one result out.

    Errors of ours come out as rows: Ray would wrap them, and try again what cannot succeed.
    """

    def __init__(self, corpus: CorpusFiles, spec: WorkSpec, call_rows: int, attempts: Any) -> None:
        os.environ.update(ONE_THREAD)  # before the first library that reads it is loaded
        self._call_rows, self._attempts = call_rows, attempts
        self._error: BaseException | None = None
        try:
            self._worker = BlockWorker(corpus, spec)
        except Exception as error:
            self._error = error

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        row: dict[str, Any] = {name: values[0] for name, values in batch.items()}
        positions, texts = bytes(row.pop("packed")), bytes(row.pop("texts"))
        file = str(row.pop("file"))
        block = RowBlock(file=file, **{name: int(value) for name, value in row.items()})
        if _module("ray").get(self._attempts.begin.remote(block.number)) > _TRIES:
            return _columns(BlockResult(block.number, b"", [], 0.0), _DEADLY)
        try:
            if self._error is not None:
                raise self._error
            done = self._worker(Task(block, positions, texts), self._call_rows)
        except Exception as error:
            return _columns(BlockResult(block.number, b"", [], 0.0), _written(error))
        return _columns(done, "")


def _columns(done: BlockResult, error: str) -> dict[str, list[Any]]:
    failed = json.dumps([asdict(row) for row in done.failed])
    return {
        "number": [done.number],
        "results": [done.results],
        "failed": [failed],
        "seconds": [done.seconds],
        "error": [error],
    }


def _written(error: Exception) -> str:
    """Write an error down: ours with its remedy, any other with its kind."""
    if isinstance(error, MoralscopeError):
        bad_input = isinstance(error, InputError)
        return json.dumps(["input" if bad_input else "ours", error.problem, error.remedy])
    first = (str(error).splitlines() or [""])[0]
    return json.dumps(["other", f"{type(error).__name__} in an actor: {first}", ""])


def _raised(written: Sequence[str]) -> Exception:
    kind, problem, remedy = written
    if kind == "other":
        return RuntimeError(problem)
    return (InputError if kind == "input" else MoralscopeError)(problem, remedy)


def _connect(options: "BatchOptions") -> None:
    """Connect to a cluster, or start one here."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    ray = _module("ray")
    logging.getLogger("ray").setLevel(logging.ERROR)
    keywords: dict[str, Any] = {"address": options.ray_address}
    if options.ray_address is None and not os.environ.get("RAY_ADDRESS"):
        cores = max(options.workers or 1, useful_cores())
        keywords = {"num_cpus": cores, "include_dashboard": False}
    if options.ray_address is not None:
        _reach(options.ray_address)
    try:
        with _hushed():
            ray.init(
                **keywords,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
            )
    except Exception as error:
        refusal = _no_cluster(options.ray_address, error)
        raise _RayLost(refusal.problem) if _SLOW in str(error) else refusal from error


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Keep off stderr what Ray's own core writes there as it starts; errors come as exceptions."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _reach(address: str) -> None:
    """Refuse an address where nobody listens: Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").partition("?")[0].rpartition(":")
    if not host or not port.isdecimal() or int(port) > _PORTS:
        if address in ("auto", "local"):
            return
        raise InputError(
            f"--ray-address is '{address[:100]}'", "write auto, HOST:PORT or ray://HOST:PORT"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH).close()
    except OSError as error:
        raise MoralscopeError(
            f"there is no Ray cluster at {address[:100]} ({error.strerror or error})",
            "check that it runs and can be reached, or leave out --ray-address",
        ) from error


def _no_cluster(address: str | None, error: Exception) -> MoralscopeError:
    said = " ".join(str(error).split())
    if "ersion mismatch" in said:
        return MoralscopeError(
            f"the Ray cluster is of another version ({said[:200]})",
            "install the cluster's versions of Ray and Python here, or use --engine local",
        )
    if address is None:
        return MoralscopeError(f"Ray could not be started ({said[:200]})", "use --engine local")
    return MoralscopeError(
        f"the Ray cluster at {address[:100]} refused the connection ({type(error).__name__})",
        "check that it is a cluster of Ray, and that this machine has its token if it asks for one",
    )


def _module(name: str) -> Any:
    """Load a part of Ray, when it is used: it takes a second, and it need not be there."""
    return importlib.import_module(name)
