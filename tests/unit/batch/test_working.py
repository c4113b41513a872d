import pickle

import numpy as np
import pyarrow as pa
import pytest
from corpus_works import WRITES, opened, results, spec_of, write_corpus

from moralscope.batch.block_worker import BlockResult, BlockWorker, RetryPlan
from moralscope.batch.types import Task
from moralscope.core.errors import InputError, MoralscopeError, UnknownName


def worked(tmp_path, texts, spec, rows_per_call=4, retry=None, mark=None):
    corpus = opened(write_corpus(tmp_path / "a.jsonl", texts))
    (block,) = corpus.blocks(len(texts))
    task = Task(block, np.arange(len(texts), dtype=np.int32).tobytes())
    return BlockWorker(corpus, spec, mark)(task, rows_per_call, retry)


def positions(done):
    return done.table().column("_position").to_pylist()


def test_results_come_with_the_positions_of_their_rows(tmp_path):
    texts = [f"t{'x' * n}" for n in range(10)]
    done = worked(tmp_path, texts, spec_of("Plain"))
    table = done.table()
    assert table.schema.names == [*WRITES.names, "_position"]
    assert table.column("length").to_pylist() == results(texts)["length"]
    assert positions(done) == list(range(10))
    assert done.failed == []


def test_pieces_are_fixed_and_told_before_they_are_computed(tmp_path):
    pieces = []
    worked(tmp_path, ["a"] * 10, spec_of("Plain"), mark=pieces.append)
    assert pieces == [(0, 4), (4, 8), (8, 10)]


def test_only_own_rows_are_computed(tmp_path):
    corpus = opened(write_corpus(tmp_path / "a.jsonl", ["a", "bb", "ccc"]))
    (block,) = corpus.blocks(3)
    worker = BlockWorker(corpus, spec_of("Plain"))
    done = worker(Task(block, np.array([0, 2], np.int32).tobytes()), 4)
    assert done.table().column("length").to_pylist() == [1, 3]
    assert positions(done) == [0, 2]
    assert worker(Task(block, b""), 4).table().num_rows == 0


def test_a_row_that_fails_is_named_and_the_others_come_out(tmp_path):
    texts = [f"good {n}" for n in range(12)]
    texts[2], texts[5], texts[7] = "please raise", "refuse me", "odd input"
    done = worked(tmp_path, texts, spec_of("Moody"), rows_per_call=8)
    assert positions(done) == [0, 1, 3, 4, 6, 8, 9, 10, 11]
    assert done.table().column("length").to_pylist() == [
        len(text) for at, text in enumerate(texts) if at not in (2, 5, 7)
    ]
    assert [(bad.row, bad.line, bad.reason) for bad in done.failed] == [
        (2, 3, "ValueError: cannot do"),
        (5, 6, "is refused"),
        (7, 8, "the text is odd; give another"),
    ]
    assert done.failed[1].text == '{"text": "refuse me"}'


def test_an_error_of_the_whole_ends_the_run(tmp_path):
    with pytest.raises(MoralscopeError, match="endpoint is gone"):
        worked(tmp_path, ["a", "it is gone", "b"], spec_of("Moody"))


def test_a_work_that_breaks_its_promise_is_a_bug_and_not_a_bad_row(tmp_path):
    with pytest.raises(RuntimeError, match="1 rows of 'length' for 3 rows"):
        worked(tmp_path, ["a", "b", "c"], spec_of("Wrong"))


def test_out_of_memory_makes_calls_smaller_and_they_stay_smaller(tmp_path):
    texts = [f"t{n}" for n in range(64)]
    journal = tmp_path / "calls"
    spec = spec_of("Small", most=3, journal=str(journal))
    done = worked(tmp_path, texts, spec, rows_per_call=8)
    calls = [int(line) for line in journal.read_text().split()]
    assert positions(done) == list(range(64))
    assert done.failed == []
    assert calls.count(8) < 8  # not every piece had to fail first
    assert max(calls[-8:]) <= 4


def test_skipped_rows_are_failed_and_pieces_can_be_prescribed(tmp_path):
    pieces = []
    retry = RetryPlan(pieces=((0, 3), (3, 4), (4, 6)), skip={3: "the worker died on this row"})
    done = worked(tmp_path, ["a"] * 6, spec_of("Plain"), retry=retry, mark=pieces.append)
    assert pieces == [(0, 3), (4, 6)]
    assert [(bad.row, bad.reason) for bad in done.failed] == [(3, "the worker died on this row")]
    assert positions(done) == [0, 1, 2, 4, 5]


def test_how_rows_were_cut_does_not_show(tmp_path):
    texts = [f"t{n}" for n in range(20)]
    whole = worked(tmp_path, texts, spec_of("Plain"), rows_per_call=20)
    parts = worked(tmp_path, texts, spec_of("Plain"), rows_per_call=3)
    assert whole.results == parts.results


@pytest.mark.parametrize("kind", [MoralscopeError, InputError, UnknownName])
def test_errors_travel_between_processes(kind):
    back = pickle.loads(pickle.dumps(kind("a problem", "a remedy")))
    assert type(back) is kind
    assert (back.problem, back.remedy, back.exit_code) == ("a problem", "a remedy", kind.exit_code)


def test_done_and_spec_travel_between_processes():
    done = BlockResult(1, b"", [], 0.5)
    spec = spec_of("Plain", writes=pa.schema({"a": pa.list_(pa.float32())}))
    assert pickle.loads(pickle.dumps(done)) == done
    assert pickle.loads(pickle.dumps(spec)) == spec
