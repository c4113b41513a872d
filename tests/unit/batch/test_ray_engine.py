"""The Ray engine on a small cluster of this machine; started once for all tests here."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corpus_works import content, dead_letters, make_texts, opened, results, spec_of, write_corpus
from ray_works import stopping_driver

from moralscope.batch.options import BatchOptions
from moralscope.batch.run import run_corpus
from moralscope.batch.types import Task
from moralscope.batch.workers import ray as ray_engine
from moralscope.batch.workers.ray import RayEngine
from moralscope.core.errors import InputError, MissingExtra, MoralscopeError

HERE = Path(__file__).parent
ONE_CPU = {"engine": "ray", "workers": 1}


def test_without_ray_the_pip_command_is_named(monkeypatch):
    monkeypatch.setattr("moralscope.core.extras.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "moralscope\[ray\]"'):
        RayEngine(BatchOptions(engine="ray"))


def test_a_cluster_that_refuses_us_is_told_in_one_line():
    error = ray_engine._no_cluster("head:6379", ConnectionError("InvalidAuthToken\nagain"))
    assert "the Ray cluster at head:6379 refused the connection (ConnectionError)" in str(error)
    assert "token" in error.remedy


def test_another_version_is_told_in_one_line():
    said = RuntimeError(
        "Version mismatch: The cluster was started with:\n  Ray: 2.9.0\n  Python: 3.8"
    )
    error = ray_engine._no_cluster("head:6379", said)
    assert str(error).startswith("the Ray cluster is of another version (Version mismatch: The")
    assert "Ray: 2.9.0" in str(error)
    assert "\n" not in str(error)


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two cores whose workers can import the works of these tests."""
    ray = pytest.importorskip("ray")
    before = os.environ.get("PYTHONPATH")
    paths = [str(HERE), *([before] if before else [])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_BACKEND_LOG_LEVEL"] = "fatal"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def ray_spec(name, **options):
    return replace(spec_of(name, **options), factory=f"ray_works:{name}")


@pytest.fixture
def waits_no_longer():
    """Ends a test that would wait for ever."""

    def stop(*_):
        pytest.fail("it still waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)  # on a busy machine
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_a_silent_driver_is_replaced_and_a_slow_one_is_waited_for(
    tmp_path, monkeypatch, caplog, waits_no_longer
):
    monkeypatch.setattr("moralscope.core.extras.find_spec", lambda name: name)
    monkeypatch.setattr(ray_engine, "_drive", stopping_driver)
    monkeypatch.setattr(ray_engine, "_SILENCE", 2)
    corpus = opened(write_corpus(tmp_path / "a.jsonl", make_texts(8, 8)))
    tasks = [Task(block, b"") for block in corpus.blocks(4)]
    spec = spec_of("Plain", mark=str(tmp_path / "mark"))
    found = list(RayEngine(BatchOptions(**ONE_CPU)).run(tasks, corpus, spec))
    assert [done.number for done in found] == [task.block.number for task in tasks]
    told = "Ray did not answer for 2 seconds; it is started again for the 2 blocks that are left"
    assert caplog.messages == [told]


def parts(folder):
    return {path.name: path.read_bytes() for path in folder.glob("part-*.parquet")}


@pytest.mark.slow
def test_the_same_bytes_as_the_local_engine(cluster, tmp_path, monkeypatch):
    texts = make_texts(600, 400)
    texts[7], texts[300], texts[301] = None, "refuse this", "raise this"
    corpus = opened(write_corpus(tmp_path / "a.jsonl", texts))
    given = {"workers": 2, "block_rows": 64, "call_rows": 16}
    spec = spec_of("Moody")
    there, here = tmp_path / "ray", tmp_path / "local"
    run_corpus(corpus, spec, there, BatchOptions(engine="ray", **given), settings={})
    run_corpus(corpus, spec, here, BatchOptions(engine="local", **given), settings={})
    assert parts(there) == parts(here)
    assert dead_letters(there) == dead_letters(here)
    assert len(dead_letters(there)) == 3
    assert sorted(path.name for path in there.iterdir() if path.name != "_run") == sorted(
        parts(there)
    )


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_nothing_is_lost(cluster, tmp_path):
    texts = make_texts(200, 180)
    texts[90] = "wound"
    corpus = opened(write_corpus(tmp_path / "a.jsonl", texts))
    spec = ray_spec("Wounded", mark=str(tmp_path / "mark"))
    options = BatchOptions(block_rows=32, call_rows=8, **ONE_CPU)
    outcome = run_corpus(corpus, spec, tmp_path / "out", options, settings={})
    assert (tmp_path / "mark").exists()
    assert (outcome.rows, outcome.failed) == (200, 0)
    assert content(tmp_path / "out").column("length").to_pylist() == results(texts)["length"]


@pytest.mark.slow
def test_a_row_that_kills_every_worker_becomes_a_dead_letter(cluster, tmp_path):
    texts = [f"text {number}" for number in range(40)]
    texts[13] = "deadly"
    corpus = opened(write_corpus(tmp_path / "a.jsonl", texts))
    options = BatchOptions(block_rows=16, call_rows=4, **ONE_CPU)
    run_corpus(corpus, ray_spec("Deadly"), tmp_path / "out", options, settings={})
    (letter,) = dead_letters(tmp_path / "out")
    assert (letter["row"], letter["reason"]) == (13, "the worker died on this row")
    assert content(tmp_path / "out").num_rows == 39


@pytest.mark.slow
def test_an_error_of_ours_ends_the_run_as_it_is(cluster, tmp_path):
    corpus = opened(write_corpus(tmp_path / "a.jsonl", ["one", "two"]))
    spec = ray_spec("Unloadable")
    with pytest.raises(MoralscopeError, match="the weights are damaged; pull them again"):
        run_corpus(corpus, spec, tmp_path / "out", BatchOptions(**ONE_CPU), settings={})


@pytest.mark.slow
def test_closing_it_frees_the_cores(cluster, tmp_path):
    corpus = opened(write_corpus(tmp_path / "a.jsonl", make_texts(64, 64)))
    tasks = [
        Task(block, np.arange(block.rows, dtype=np.int32).tobytes()) for block in corpus.blocks(8)
    ]
    stream = RayEngine(BatchOptions(**ONE_CPU)).run(tasks, corpus, spec_of("Plain", seconds=0.05))
    next(stream)
    stream.close()
    again = RayEngine(BatchOptions(engine="ray", workers=2)).run(tasks, corpus, spec_of("Plain"))
    assert len(list(again)) == len(tasks)


def test_no_cluster_there_is_told_in_one_line_and_at_once():
    with pytest.raises(MoralscopeError, match=r"there is no Ray cluster at 127.0.0.1:9 \(Conn"):
        ray_engine._reach("127.0.0.1:9")
    with pytest.raises(InputError, match="HOST:PORT"):
        ray_engine._reach("the cluster")
    ray_engine._reach("auto")


SCRIPT = """
import sys
from corpus_works import opened, spec_of
from moralscope.batch.options import BatchOptions
from moralscope.batch.run import run_corpus
from moralscope.batch.workers import ray
ray._SILENCE = 20  # 60 in real life; a sign of life is due every 5
options = BatchOptions(engine="ray", workers=2, block_rows=10, call_rows=5)
spec = spec_of("Plain", seconds=0.05)
run_corpus(opened(sys.argv[1]), spec, __import__("pathlib").Path(sys.argv[2]), options, settings={})
"""


def below(pid):
    """Return the processes below one, with what they are called."""
    found = {}
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(pid)], check=False, capture_output=True, text=True
    )
    for line in listed.stdout.splitlines():
        child, _, name = line.strip().partition(" ")
        found |= {int(child): name, **below(child)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "how", "told"),
    [
        ("ray::_Attempts", signal.SIGKILL, ""),
        ("ray::DashboardAgent", signal.SIGKILL, "it is started again for the"),
        ("ray::RuntimeEnvAgent", signal.SIGKILL, ""),
        # Ray dies of it at once or falls silent, as its processes notice.
        ("gcs_server", signal.SIGKILL, "it is started again for the"),
        # The cluster gives the node up; Ray's own calls on it never return.
        ("raylet", signal.SIGSTOP, "Ray's node manager on this machine does not answer; it is"),
    ],
)
def test_the_loss_of_a_helper_of_ray_is_survived_and_told(tmp_path, lost, how, told):
    pytest.importorskip("ray")
    texts = make_texts(200, 200)
    path = write_corpus(tmp_path / "a.jsonl", texts)
    here = [str(HERE), str(HERE.parents[2] / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(here)}
    if how == signal.SIGSTOP:  # Ray gives a node a minute
        quick = {"timeout_ms": "4000", "period_ms": "1000", "failure_threshold": "2"}
        environment |= {f"RAY_health_check_{name}": value for name, value in quick.items()}
    command = [sys.executable, "-c", SCRIPT, str(path), str(tmp_path / "out")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as run:
        for _ in range(600):
            if run.poll() is not None or len(list((tmp_path / "out").glob("part-*"))) > 2:
                break
            time.sleep(0.2)
        named = {pid: name.split()[0].rpartition("/")[2] for pid, name in below(run.pid).items()}
        victims = [pid for pid, name in named.items() if name.startswith(lost)]
        for pid in victims:
            os.kill(pid, how)
        said = run.stderr.read()
        assert run.wait(300) == 0, said
    assert len(victims) == 1
    assert content(tmp_path / "out").column("length").to_pylist() == results(texts)["length"]
    assert told in said
