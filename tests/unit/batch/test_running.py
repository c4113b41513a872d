import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_works import (
    Inline,
    content,
    dead_letters,
    make_texts,
    opened,
    results,
    spec_of,
    write_corpus,
)

from moralscope.batch import run as batch_run
from moralscope.batch.options import BatchOptions
from moralscope.batch.run import RunStopped, run_corpus
from moralscope.core.errors import InputError, MoralscopeError, UnknownName

pytestmark = pytest.mark.usefixtures("inline")


def ran(tmp_path, texts, spec=None, name="out", report=None, **options):
    path = tmp_path / "a.jsonl"
    if not path.exists():
        write_corpus(path, texts)
    chosen = BatchOptions(**{"block_rows": 10, "call_rows": 4, **options})
    return run_corpus(
        opened(path, hashed=chosen.hash_inputs),
        spec or spec_of("Plain"),
        tmp_path / name,
        chosen,
        settings={"axis": "none"},
        report=report,
    )


def progress(folder):
    return json.loads((folder / "_run" / "progress.json").read_text())


def test_every_row_comes_out_with_its_columns_its_results_and_its_number(tmp_path):
    texts = make_texts(95, 40)
    outcome = ran(tmp_path, texts)
    table = content(tmp_path / "out")
    assert table.schema.names == ["id", "text", "length", "score", "_row"]
    assert table.column("text").to_pylist() == texts
    assert table.column("id").to_pylist() == list(range(95))
    assert table.column("_row").to_pylist() == list(range(95))
    assert table.column("score").to_pylist() == results(texts)["score"]
    assert (outcome.rows, outcome.failed, outcome.parts) == (95, 0, 10)
    assert outcome.distinct == len(set(texts))


def test_a_text_is_computed_once_however_often_it_comes(tmp_path):
    texts = make_texts(200, 30)
    journal = tmp_path / "calls"
    ran(tmp_path, texts, spec_of("Plain", journal=str(journal)))
    assert sum(int(line) for line in journal.read_text().split()) == len(set(texts))


def test_failed_rows_go_to_the_dead_letters_with_their_repeats(tmp_path):
    texts = make_texts(40, 20)
    texts[3] = texts[33] = "please raise"
    texts[12] = None
    outcome = ran(tmp_path, texts, spec_of("Moody"))
    letters = dead_letters(tmp_path / "out")
    assert [(each["row"], each["part"]) for each in letters] == [(3, 0), (12, 1), (33, 3)]
    assert letters[2]["reason"] == letters[0]["reason"] == "ValueError: cannot do"
    assert (outcome.rows, outcome.failed) == (37, 3)
    rows = content(tmp_path / "out").column("_row").to_pylist()
    assert rows == [row for row in range(40) if row not in (3, 12, 33)]


def test_a_block_without_a_good_row_is_a_part_too(tmp_path):
    outcome = ran(tmp_path, [*["a"] * 10, *[None] * 10, *["b"] * 10])
    assert (outcome.rows, outcome.failed, outcome.parts) == (20, 10, 3)
    assert content(tmp_path / "out").num_rows == 20


def test_results_may_come_in_any_order(tmp_path, monkeypatch):
    texts = make_texts(200, 60)
    ran(tmp_path, texts, name="forward")
    monkeypatch.setattr(Inline, "order", staticmethod(lambda tasks: reversed(list(tasks))))
    monkeypatch.setattr(batch_run, "_HELD", 3000)  # most of them must wait on disk
    ran(tmp_path, texts, name="backward")
    assert content(tmp_path / "forward").equals(content(tmp_path / "backward"))
    assert not list((tmp_path / "backward" / "_run").glob("*.tmp"))


def test_a_block_sent_twice_is_written_once(tmp_path, monkeypatch):
    def twice(tasks):
        for task in tasks:
            yield task
            yield task

    monkeypatch.setattr(Inline, "order", staticmethod(twice))
    assert ran(tmp_path, make_texts(50, 50)).rows == 50
    assert content(tmp_path / "out").num_rows == 50


def test_an_engine_that_loses_a_block_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(Inline, "order", staticmethod(lambda tasks: list(tasks)[:-1]))
    with pytest.raises(RuntimeError, match="ended before block 4"):
        ran(tmp_path, make_texts(50, 50))


def test_the_same_bytes_come_out_again(tmp_path):
    texts = make_texts(60, 30)
    ran(tmp_path, texts, name="one")
    ran(tmp_path, texts, name="two")
    for part in sorted((tmp_path / "one").glob("*.parquet")):
        assert part.read_bytes() == (tmp_path / "two" / part.name).read_bytes()


def test_resume_computes_only_what_is_missing(tmp_path):
    texts = make_texts(100, 100)
    ran(tmp_path, texts)
    whole = content(tmp_path / "out")
    for number in (2, 7, 9):
        (tmp_path / "out" / f"part-{number:06d}.parquet").unlink()
    journal = tmp_path / "calls"
    work = spec_of("Plain", journal=str(journal))
    outcome = ran(tmp_path, texts, work, resume=True)
    assert outcome.resumed_parts == 7
    own = [texts[row] for n in (2, 7, 9) for row in range(n * 10, n * 10 + 10)]
    first = [text for text in dict.fromkeys(own) if texts.index(text) // 10 in (2, 7, 9)]
    assert sum(int(line) for line in journal.read_text().split()) == len(first)
    assert content(tmp_path / "out").equals(whole)


def test_resume_of_a_finished_run_does_nothing(tmp_path):
    first = ran(tmp_path, make_texts(40, 20))
    manifest = (tmp_path / "out" / "_run" / "manifest.json").read_text()
    again = ran(tmp_path, [], resume=True)
    assert (again.rows, again.parts, again.resumed_parts) == (first.rows, 4, 4)
    assert (tmp_path / "out" / "_run" / "manifest.json").read_text() == manifest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block_rows": 20}, "block_rows was 10, now 20"),
        ({"seed": 5}, "seed was 0, now 5"),
        ({"spec": spec_of("Moody")}, 'work was "corpus_works:Plain", now "corpus_works:Moody"'),
    ],
)
def test_resume_with_other_settings_is_refused(tmp_path, change, message):
    ran(tmp_path, make_texts(40, 20))
    with pytest.raises(InputError, match=message):
        ran(tmp_path, [], resume=True, **change)


def test_resume_with_another_input_is_refused(tmp_path):
    ran(tmp_path, make_texts(40, 20))
    write_corpus(tmp_path / "a.jsonl", make_texts(41, 20))
    with pytest.raises(InputError, match="input files are not the same or have changed"):
        ran(tmp_path, [], resume=True)


def test_a_failed_run_is_continued(tmp_path):
    texts = make_texts(40, 40)
    texts[25] = "it is gone"
    with pytest.raises(MoralscopeError, match="the endpoint is gone"):
        ran(tmp_path, texts, spec_of("Moody"))
    assert progress(tmp_path / "out")["state"] == "failed"
    assert content(tmp_path / "out").num_rows == 20
    with pytest.raises(MoralscopeError, match="the endpoint is gone"):
        ran(tmp_path, texts, spec_of("Moody"), resume=True)


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(tasks):
        for number, task in enumerate(tasks):
            if number == 2:
                raise KeyboardInterrupt
            yield task

    monkeypatch.setattr(Inline, "order", staticmethod(interrupted))
    with pytest.raises(RunStopped, match="2 of 5 parts are finished; continue with --resume"):
        ran(tmp_path, make_texts(50, 50))
    assert progress(tmp_path / "out")["state"] == "stopped"
    monkeypatch.setattr(Inline, "order", staticmethod(list))
    assert ran(tmp_path, [], resume=True).resumed_parts == 2


def test_progress_is_told_and_kept_for_programs(tmp_path):
    told = []
    ran(tmp_path, [*make_texts(49, 20), None], report=told.append)
    assert told[-1].state == "finished"
    assert (told[-1].rows, told[-1].rows_total, told[-1].failed) == (50, 50, 1)
    kept = progress(tmp_path / "out")
    assert (kept["state"], kept["rows"], kept["parts"], kept["parts_total"]) == (
        "finished",
        50,
        5,
        5,
    )
    assert kept["seconds_left"] == 0
    assert kept["rate"] > 0
    assert kept["updated"]


def test_a_refused_run_leaves_the_folder_free_for_another(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_run, "_SPACE", 1e12)
    with pytest.raises(MoralscopeError, match="of free space and the run may need"):
        ran(tmp_path, make_texts(10, 10))
    monkeypatch.setattr(batch_run, "_SPACE", 1.5)
    assert ran(tmp_path, [], seed=3).rows == 10


def test_an_unknown_engine_is_named(tmp_path):
    with pytest.raises(UnknownName, match="no engine 'lokal'; did you mean 'local'"):
        ran(tmp_path, ["a"], engine="lokal")


def test_a_result_that_has_the_name_of_an_input_column(tmp_path):
    spec = spec_of("Plain", writes=pa.schema({"length": pa.int64()}))
    path = tmp_path / "b.jsonl"
    path.write_text('{"text": "abc", "length": "long"}\n')
    run_corpus(opened(path), spec, tmp_path / "out", BatchOptions(), settings={})
    assert content(tmp_path / "out").to_pylist() == [
        {"text": "abc", "input_length": "long", "length": 3, "_row": 0}
    ]


def test_limit_and_sample_take_part_of_the_rows(tmp_path):
    texts = make_texts(300, 300)
    assert ran(tmp_path, texts, name="limited", limit=25).rows == 25
    sampled = ran(tmp_path, [], name="sampled", sample=0.2, seed=1)
    assert 30 <= sampled.rows <= 90
    numbers = content(tmp_path / "sampled").column("_row").to_pylist()
    assert [texts[row] for row in numbers] == content(tmp_path / "sampled")["text"].to_pylist()


def rewritten(path, old, new):
    """Change a file as somebody does who puts its size and time back."""
    before = path.stat()
    data = path.read_bytes().replace(old, new)
    assert len(data) == before.st_size
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def stopped_after(parts, tmp_path, monkeypatch, texts, **options):
    def interrupted(tasks):
        for number, task in enumerate(tasks):
            if number == parts:
                raise KeyboardInterrupt
            yield task

    with monkeypatch.context() as patch:
        patch.setattr(Inline, "order", staticmethod(interrupted))
        with pytest.raises(RunStopped):
            ran(tmp_path, texts, **options)


def test_resume_refuses_an_altered_part_and_computes_it_again_once_it_is_deleted(
    tmp_path, monkeypatch
):
    texts = make_texts(50, 50)
    stopped_after(3, tmp_path, monkeypatch, texts)
    part = tmp_path / "out" / "part-000001.parquet"
    before, whole = part.stat(), part.read_bytes()
    table = pq.read_table(part)
    altered = table.set_column(3, "score", pa.array([99.0] * table.num_rows))
    pq.write_table(altered, part, compression="zstd")
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(InputError, match=r"part-000001.parquet is not as the run wrote it; delete"):
        ran(tmp_path, [], resume=True)
    part.unlink()
    assert ran(tmp_path, [], resume=True).resumed_parts == 2
    assert part.read_bytes() == whole


def test_resume_refuses_a_part_that_it_did_not_write(tmp_path, monkeypatch):
    stopped_after(2, tmp_path, monkeypatch, make_texts(50, 50))
    folder = tmp_path / "out"
    shutil.copy(folder / "part-000001.parquet", folder / "part-000003.parquet")
    with pytest.raises(InputError, match=r"part-000003.parquet was not written by this run"):
        ran(tmp_path, [], resume=True)


def test_resume_refuses_altered_dead_letters(tmp_path):
    texts = make_texts(40, 40)
    texts[12] = None
    ran(tmp_path, texts)
    letters = tmp_path / "out" / "_run" / "failed.jsonl"
    letters.write_text(letters.read_text().replace('"reason": "', '"reason": "it '))
    with pytest.raises(InputError, match=r"the failed rows of part-000001.parquet are not as"):
        ran(tmp_path, [], resume=True)


def test_rows_that_failed_are_tried_again_when_their_part_is_deleted(tmp_path):
    texts = make_texts(40, 40)
    texts[12] = "please raise"
    assert ran(tmp_path, texts, spec_of("Moody")).failed == 1
    part = tmp_path / "out" / "part-000001.parquet"
    part.unlink()
    again = ran(tmp_path, [], spec_of("Moody", healed=True), resume=True)
    assert (again.failed, dead_letters(tmp_path / "out")) == (0, [])
    assert ran(tmp_path, [], spec_of("Moody"), resume=True).resumed_parts == 4


@pytest.mark.parametrize(
    ("old", "new"), [(b"text 30", b"text xx"), (b'"text 30', b"'text 30")], ids=["text", "no JSON"]
)
def test_resume_refuses_an_input_altered_with_size_and_time_restored(
    tmp_path, monkeypatch, old, new
):
    stopped_after(2, tmp_path, monkeypatch, [f"text {n:02d}" for n in range(50)])
    rewritten(tmp_path / "a.jsonl", old, new)
    with pytest.raises(MoralscopeError, match=r"a.jsonl has changed since the run was planned"):
        ran(tmp_path, [], resume=True)


def test_hashed_inputs_refuse_any_change_and_accept_a_copy(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    texts = [f"text {n:02d}" for n in range(50)]
    stopped_after(2, tmp_path, monkeypatch, texts, hash_inputs=True)
    os.utime(path, ns=(1, 1))  # as after a copy
    stopped_after(1, tmp_path, monkeypatch, texts, resume=True, hash_inputs=True)
    rewritten(path, b"text 03", b"text xx")  # in a part that is finished
    with pytest.raises(InputError, match="input files are not the same or have changed"):
        ran(tmp_path, [], resume=True, hash_inputs=True)
    with pytest.raises(InputError, match="hash_inputs was true, now false"):
        ran(tmp_path, [], resume=True)


def test_a_checksum_cut_off_by_a_power_cut_costs_its_part_only(tmp_path, monkeypatch):
    stopped_after(3, tmp_path, monkeypatch, make_texts(50, 50))
    log = tmp_path / "out" / "_run" / "parts.jsonl"
    log.write_bytes(log.read_bytes()[:-9])
    (tmp_path / "out" / "part-000002.parquet").unlink()
    assert ran(tmp_path, [], resume=True).resumed_parts == 2
    assert ran(tmp_path, [], resume=True).resumed_parts == 5
