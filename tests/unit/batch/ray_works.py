"""Works for tests of the Ray engine, importable by its workers."""

import os
import signal
import time
from pathlib import Path

from corpus_works import results

from moralscope.batch.block_worker import BlockResult


class Wounded:
    """Its process is killed once, in the middle of a run."""

    def __init__(self, mark):
        self._mark = Path(mark)

    def __call__(self, batch):
        if "wound" in batch["text"] and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return results(batch["text"])


class Deadly:
    """Its process is killed by a text, every time."""

    def __call__(self, batch):
        if "deadly" in batch["text"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return results(batch["text"])


class Unloadable:
    """Cannot be made."""

    def __init__(self):
        from moralscope.core.errors import MoralscopeError

        raise MoralscopeError("the weights are damaged", "pull them again")


def stopping_driver(connection, options, corpus, spec):
    """Stand in for the driver: the first stops without a word, the next one works for long."""
    mark = Path(spec.options["mark"])
    connection.send(("ready", 1))
    tasks = connection.recv()
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    for _ in range(6):
        time.sleep(0.5)
        connection.send(("alive", None))
    for task in tasks:
        connection.send(("done", BlockResult(task.block.number, b"", [], 0.0)))
    connection.send(("end", None))
    connection.recv()
