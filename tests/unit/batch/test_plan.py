"""Plans: who computes what, and what repeats get."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from moralscope.batch import dedupe as firsts
from moralscope.batch.plan import make_plan
from moralscope.batch.plan_file import PlanSettings, RunPlan
from moralscope.batch.sources import open_corpus
from moralscope.batch.types import FailedRow
from moralscope.core.errors import InputError, MoralscopeError

WRITES = pa.schema([("score", pa.float32()), ("words", pa.list_(pa.string()))])


def corpus_of(path: Path, texts):
    path.write_text("".join(f'{{"text": "{text}"}}\n' if text else "bad\n" for text in texts))
    return open_corpus([str(path)], ["text"])


def score(text):
    return {"score": np.float32(sum(map(ord, text)) / 7), "words": text.split()}


def worked(task, found, without=()):
    """Compute the own rows of a block; texts in `without` fail."""
    texts = found.table.column("text").to_pylist()
    rows, failed = [], []
    for at in task.positions.tolist():
        if texts[at] in without:
            row = int(found.rows[at])
            failed.append(FailedRow(row, task.block.file, int(found.lines[at]), "broke", texts[at]))
        else:
            rows.append({**score(texts[at]), "_position": at})
    schema = WRITES.append(pa.field("_position", pa.int32()))
    return pa.Table.from_pylist(rows, schema=schema), failed


def run(corpus, plan, without=()):
    """Return text and score of every good row, and the failed rows, in order."""
    bound, good, bad = plan.bind(corpus), [], []
    for task in plan.tasks():
        found = bound.read(task.block)
        own, failed = worked(task, found, without)
        plan.keep(task.block.number, found, own, failed)
        done = plan.complete(task.block.number, found, own, failed)
        texts = found.table.take(done.positions).column("text").to_pylist()
        rows = found.rows[done.positions].tolist()
        good += list(zip(rows, texts, done.results.to_pylist(), strict=True))
        bad += [(each.row, each.line, each.reason) for each in done.failed]
    return good, bad


def test_each_text_is_computed_once_and_every_row_gets_its_result(tmp_path):
    draw = random.Random(5)
    texts = [draw.choice(["", *(f"kill {n}" for n in range(40))]) for _ in range(300)]
    corpus = corpus_of(tmp_path / "a.jsonl", texts)
    plan = make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=16)
    kept = {text for text in texts if text}
    assert (plan.rows, plan.distinct, plan.failed) == (300, len(kept), texts.count(""))
    assert sum(len(task.positions) for task in plan.tasks()) == len(kept)
    good, bad = run(corpus, plan)
    assert good == [(n, t, score(t)) for n, t in enumerate(texts) if t]
    assert bad == [(n, n + 1, "is not JSON") for n, t in enumerate(texts) if not t]


def test_own_rows_are_the_first_occurrences(tmp_path):
    corpus = corpus_of(tmp_path / "a.jsonl", ["a", "b", "a", "c", "b", "d", "a"])
    plan = make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=3)
    assert [task.positions.tolist() for task in plan.tasks()] == [[0, 1], [0, 2], []]


def test_a_block_waits_for_the_blocks_it_repeats(tmp_path):
    corpus = corpus_of(tmp_path / "a.jsonl", ["a", "b", "b", "c"])
    plan = make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=2)
    bound = plan.bind(corpus)
    first, second = plan.tasks()
    late = bound.read(second.block)
    own, failed = worked(second, late)
    assert plan.complete(1, late, own, failed) is None
    early = bound.read(first.block)
    plan.keep(0, early, *worked(first, early))
    plan.close()
    again = RunPlan(tmp_path / "plan.sqlite")  # what is kept outlives the process
    done = again.complete(1, late, own, failed)
    assert done.results.to_pylist() == [score("b"), score("c")]
    assert done.results.schema == WRITES


def test_a_repeat_of_a_failed_text_fails_for_the_same_reason(tmp_path):
    corpus = corpus_of(tmp_path / "a.jsonl", ["a", "b", "a", "c", "a"])
    plan = make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=2)
    good, bad = run(corpus, plan, without={"a"})
    assert [row for row, *_ in good] == [1, 3]
    assert bad == [(0, 1, "broke"), (2, 3, "broke"), (4, 5, "broke")]


def test_own_rows_without_result_or_reason_are_a_mistake_of_ours(tmp_path):
    corpus = corpus_of(tmp_path / "a.jsonl", ["a", "b"])
    plan = make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=2)
    task = next(plan.tasks())
    found = plan.bind(corpus).read(task.block)
    own, _ = worked(task, found, without={"b"})
    with pytest.raises(ValueError, match="without result or reason"):
        plan.complete(0, found, own, [])


def test_numbers_that_are_not_finite_and_nothing_survive_being_kept(tmp_path):
    corpus = corpus_of(tmp_path / "a.jsonl", ["a", "b", "c", "a", "b", "c"])
    plan = make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=3)
    bound = plan.bind(corpus)
    first, second = (bound.read(task.block) for task in plan.tasks())
    schema = pa.schema([("score", pa.float32()), ("_position", pa.int32())])
    values = [float("nan"), float("-inf"), None]
    own = pa.table({"score": values, "_position": [0, 1, 2]}, schema=schema)
    plan.keep(0, first, own, [])
    done = plan.complete(1, second, own.slice(0, 0), [])
    assert str(done.results.column("score").to_pylist()) == "[nan, -inf, None]"


def test_rows_alike_in_all_texts_only_are_repeats(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "a", "n": ""}\n{"text": "a"}\n{"text": "a", "n": ""}\n{"text": "b"}\n'
    )
    corpus = open_corpus([str(path)], ["text"], optional=["n", "absent"])
    plan = make_plan(corpus, ["text", "n", "absent"], tmp_path / "plan.sqlite", block_rows=9)
    assert next(plan.tasks()).positions.tolist() == [0, 1, 3]


def test_what_cannot_be_planned_is_refused(tmp_path):
    corpus = corpus_of(tmp_path / "a.jsonl", ["a"])
    with pytest.raises(ValueError, match="not all needed or optional"):
        make_plan(corpus, ["txt"], tmp_path / "p.sqlite", block_rows=1)
    with pytest.raises(InputError, match=r"sample is 1.5; give a share above 0"):
        make_plan(corpus, ["text"], tmp_path / "p.sqlite", block_rows=1, sample=1.5)


def test_keys_beyond_one_run_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(firsts, "_RUN", 16)
    draw = random.Random(7)
    texts = [f"t{draw.randrange(90)}" for _ in range(200)]
    corpus = corpus_of(tmp_path / "a.jsonl", texts)
    plan = make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=10)
    first = {text: at for at, text in reversed(list(enumerate(texts)))}
    own = [t.block.first + at for t in plan.tasks() for at in t.positions.tolist()]
    assert own == sorted(first.values())


def test_a_plan_is_bound_to_its_files_and_remembers_its_settings(tmp_path):
    corpus = corpus_of(tmp_path / "a.jsonl", ["a", "b"])
    make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=2, limit=2).close()
    plan = RunPlan(tmp_path / "plan.sqlite")
    assert plan.settings == PlanSettings(("text",), block_rows=2, limit=2, sample=None, seed=0)
    assert plan.bind(corpus).schema == plan.schema
    other = corpus_of(tmp_path / "a.jsonl", ["a", "b", "c"])
    with pytest.raises(InputError, match="inputs have changed"):
        plan.bind(other)


def test_half_a_plan_is_no_plan(tmp_path):
    corpus = corpus_of(tmp_path / "a.jsonl", ["a", "b", "c"])

    def stop(rows, _):
        if rows == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_plan(corpus, ["text"], tmp_path / "plan.sqlite", block_rows=1, report=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    with pytest.raises(MoralscopeError, match="is not there; start the run again"):
        RunPlan(tmp_path / "plan.sqlite")


def test_a_damaged_plan_is_said_in_one_line(tmp_path):
    (tmp_path / "plan.sqlite").write_bytes(b"x" * 4096)
    with pytest.raises(MoralscopeError, match=r"is damaged \(file is not a database\)"):
        RunPlan(tmp_path / "plan.sqlite")


def test_progress_is_told_in_rows_and_bytes(tmp_path):
    corpus, told = corpus_of(tmp_path / "a.jsonl", ["a", "b", "c"]), []
    make_plan(
        corpus, ["text"], tmp_path / "p.sqlite", block_rows=2, report=lambda *now: told.append(now)
    )
    assert told == [(2, 28), (3, corpus.bytes)]
