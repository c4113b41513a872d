"""The local engine with real processes; each test starts one or two."""

import os

import numpy as np
import pytest
from corpus_works import opened, spec_of, write_corpus

from moralscope.batch.options import BatchOptions
from moralscope.batch.types import RowBlock, Task
from moralscope.batch.workers.local import LocalEngine, _Assignment, useful_cores
from moralscope.core.errors import MoralscopeError


def computed(tmp_path, texts, spec, workers=1, block_rows=8, call_rows=4):
    """Return the lengths by block and the failed rows."""
    corpus = opened(write_corpus(tmp_path / "a.jsonl", texts))
    tasks = [
        Task(block, np.arange(block.rows, dtype=np.int32).tobytes())
        for block in corpus.blocks(block_rows)
    ]
    engine = LocalEngine(BatchOptions(workers=workers, call_rows=call_rows))
    done = sorted(engine.run(tasks, corpus, spec), key=lambda each: each.number)
    assert [each.number for each in done] == list(range(len(tasks)))
    lengths = [n for each in done for n in each.table().column("length").to_pylist()]
    return lengths, [(bad.row, bad.reason) for each in done for bad in each.failed]


def test_two_workers_compute_everything_once_with_one_thread_each(tmp_path):
    texts = [f"t{n}" for n in range(100)]
    lengths, failed = computed(tmp_path, texts, spec_of("Threads"), workers=2)
    assert lengths == [1] * 100
    assert failed == []


def test_the_environment_of_the_parent_stays_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    computed(tmp_path, ["a"], spec_of("Threads"))
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "RAYON_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ("error", MoralscopeError, "the weights are damaged; pull them again"),
        ("bug", RuntimeError, "KeyError in a worker"),
        ("death", MoralscopeError, r"the workers die as they start \(exit code -9\)"),
    ],
)
def test_a_work_that_cannot_be_made_is_the_error_of_the_run(tmp_path, how, kind, message):
    with pytest.raises(kind, match=message):
        computed(tmp_path, ["a"] * 20, spec_of("Unloadable", how=how))


def test_an_error_of_the_whole_comes_through(tmp_path):
    with pytest.raises(MoralscopeError, match="the endpoint is gone; start it, then --resume"):
        computed(tmp_path, ["a", "gone"], spec_of("Moody"))


def test_closing_ends_the_workers(tmp_path):
    import multiprocessing

    corpus = opened(write_corpus(tmp_path / "a.jsonl", ["a"] * 40))
    tasks = [Task(block, np.arange(4, dtype=np.int32).tobytes()) for block in corpus.blocks(4)]
    stream = LocalEngine(BatchOptions(workers=2)).run(tasks, corpus, spec_of("Plain", seconds=0.01))
    next(stream)
    assert multiprocessing.active_children()
    stream.close()
    assert not multiprocessing.active_children()


def test_an_order_is_cut_where_its_worker_died():
    block = RowBlock(0, "a", 0, 0, 1, 0, 10)
    assignment = _Assignment(Task(block, np.arange(10, dtype=np.int32).tobytes()), 4)
    assignment.cut((4, 8))
    assert assignment.retry.pieces == ((0, 4), (4, 6), (6, 8), (8, 10))
    assignment.cut((6, 8))
    assignment.skip_row(7)
    assert assignment.retry.pieces == ((0, 4), (4, 6), (6, 7), (7, 8), (8, 10))
    assert dict(assignment.retry.skip) == {7: "the worker died on this row"}


def test_no_more_cores_than_the_process_may_use():
    assert 1 <= useful_cores() <= (os.cpu_count() or 1)
