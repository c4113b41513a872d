"""Works for tests of the corpus runner: tiny, scripted, importable by worker processes."""

import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa

from moralscope.batch.block_worker import BlockWorker, RowErrors, WorkSpec
from moralscope.batch.sources import open_corpus
from moralscope.core.errors import InputError, MoralscopeError


class WithoutPandas:
    """pyarrow loads it for nothing, which is most of the start of a process."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)


if multiprocessing.parent_process() is not None:
    sys.meta_path.insert(0, WithoutPandas)

WRITES = pa.schema({"length": pa.int64(), "score": pa.float64()})


def spec_of(name, writes=WRITES, reads=("text",), **options):
    return WorkSpec(f"corpus_works:{name}", options, reads, writes)


def results(texts):
    """What every work here finds: decided by the text alone."""
    return {
        "length": [len(text) for text in texts],
        "score": [blake2b(text.encode(), digest_size=4).digest()[0] / 7 for text in texts],
    }


def die(progress=None):
    """End the process at once, as a kill would."""
    os._exit(7)


class Plain:
    """Does nothing but compute; may take its time, may write down what it computed."""

    def __init__(self, seconds=0.0, journal=None):
        self._seconds = seconds
        self._journal = journal

    def __call__(self, batch):
        time.sleep(self._seconds * len(batch["text"]))
        if self._journal:
            with Path(self._journal).open("a") as stream:
                stream.write(f"{len(batch['text'])}\n")
        return results(batch["text"])


class Busy:
    """Keeps a core busy."""

    def __init__(self, turns):
        self._turns = turns

    def __call__(self, batch):
        for _ in batch["text"]:
            for turn in range(self._turns):
                turn * turn
        return results(batch["text"])


class Moody:
    """Fails in all the ways there are, by what the text says; may take its time."""

    def __init__(self, seconds=0.0, healed=False):
        self._seconds = seconds
        self._healed = healed

    def __call__(self, batch):
        texts = batch["text"]
        time.sleep(self._seconds * len(texts))
        named = {at: "is refused" for at, text in enumerate(texts) if "refuse" in text}
        if named:
            raise RowErrors(named)
        for text in texts:
            if "raise" in text and not self._healed:
                raise ValueError(f"cannot do\n{text}")
            if "input" in text:
                raise InputError("the text is odd", "give another")
            if "gone" in text:
                raise MoralscopeError("the endpoint is gone", "start it, then --resume")
        return results(texts)


class Deadly:
    """Dies of a text that says so, every time."""

    def __call__(self, batch):
        if any("deadly" in text for text in batch["text"]):
            os.kill(os.getpid(), signal.SIGKILL)
        return results(batch["text"])


class Hungry:
    """Needs memory for every row of a call; the system gives it no more than the limit."""

    def __init__(self, megabytes, limit, journal, dies=False):
        self._bytes = megabytes << 20
        self._limit = limit << 20
        self._journal = Path(journal)
        self._dies = dies

    def __call__(self, batch):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + self._limit, before[1]))
        try:
            np.empty(self._bytes * len(batch["text"]), np.uint8)
        except MemoryError:
            if self._dies:  # as the kernel's killer would
                os.kill(os.getpid(), signal.SIGKILL)
            raise
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
        with self._journal.open("a") as stream:
            stream.write(f"{len(batch['text'])}\n")
        return results(batch["text"])


class Small:
    """Says it is out of memory when a call has too many rows."""

    def __init__(self, most, journal):
        self._most = most
        self._journal = Path(journal)

    def __call__(self, batch):
        with self._journal.open("a") as stream:
            stream.write(f"{len(batch['text'])}\n")
        if len(batch["text"]) > self._most:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return results(batch["text"])


class Unloadable:
    """Cannot be made."""

    def __init__(self, how):
        if how == "error":
            raise MoralscopeError("the weights are damaged", "pull them again")
        if how == "bug":
            raise KeyError("weights")
        os.kill(os.getpid(), signal.SIGKILL)


class Wrong:
    """Returns what it did not promise."""

    def __call__(self, batch):
        return {"length": [1], "score": [0.5] * len(batch["text"])}


class Threads:
    """Says how many threads it may use."""

    def __call__(self, batch):
        count = int(os.environ["OMP_NUM_THREADS"])
        return {"length": [count] * len(batch["text"]), "score": [0.0] * len(batch["text"])}


class Inline:
    """An engine without processes; may give results back in another order."""

    order = staticmethod(list)

    def __init__(self, options):
        self._rows = options.call_rows

    def run(self, tasks, corpus, spec):
        worker = BlockWorker(corpus, spec)
        for task in Inline.order(tasks):
            yield worker(task, self._rows)


def write_corpus(path, texts):
    """Write texts as JSONL; a text of None stands for a line that is no JSON."""
    with path.open("w") as stream:
        for number, text in enumerate(texts):
            row = "{broken" if text is None else json.dumps({"id": number, "text": text})
            stream.write(f"{row}\n")
    return path


def make_texts(count, distinct, seed=0):
    """Return texts of which some repeat, in a fixed mixture."""
    mixed = random.Random(seed)
    return [f"text number {mixed.randrange(distinct)}" for _ in range(count)]


def opened(path, hashed=False):
    return open_corpus([str(path)], ["text"], hashed=hashed)


def content(folder):
    """Return all rows in their order, with the columns: what must be the same."""
    import pyarrow.dataset as ds

    table = ds.dataset(folder, format="parquet").to_table()
    return table.sort_by("_row")


def dead_letters(folder):
    return [
        json.loads(line) for line in (folder / "_run" / "failed.jsonl").read_text().splitlines()
    ]


class Wide:
    """Writes more than was read, and nothing that can be packed."""

    def __call__(self, batch):
        return {"wide": [random.Random(text).randbytes(3000).hex() for text in batch["text"]]}


def main(path, folder, name, options):
    """Run a work as a program of its own, one that can be killed."""
    from moralscope.batch.options import BatchOptions
    from moralscope.batch.run import run_corpus

    writes = pa.schema({"wide": pa.string()}) if name == "Wide" else WRITES
    options = json.loads(options)
    work = spec_of(name, writes, **options.pop("work", {}))
    try:
        outcome = run_corpus(
            opened(path), work, Path(folder), BatchOptions(**options), settings={"name": name}
        )
    except MoralscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(outcome)
    return 0


if __name__ == "__main__":
    sys.meta_path.insert(0, WithoutPandas)
    sys.exit(main(*sys.argv[1:]))
