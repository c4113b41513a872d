"""Works for tests of the Ray engine, importable by its workers."""

import os
import signal
from pathlib import Path

from corpus_works import results


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
