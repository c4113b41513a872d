import errno
import json
import shutil
from collections import namedtuple

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from moralscope.batch import folder as folders
from moralscope.batch.folder import RunFolder, part_schema
from moralscope.batch.types import FailedRow
from moralscope.core.errors import InputError, MoralscopeError

TABLE = pa.table({"text": ["a", "b"], "_row": [0, 1]})
BAD = FailedRow(2, "a.jsonl", 3, "is not JSON", "{\ud800")
IDENTITY = {"fingerprint": "f", "settings": {"axis": "choice", "template": "is"}, "seed": 0}


def begun(path, resume=False, **changes):
    folder = RunFolder(path, resume=resume)
    folder.__enter__()
    if not folder.check({**IDENTITY, **changes}):
        folder.begin({**IDENTITY, **changes})
    return folder


def test_a_folder_is_a_dataset_of_finished_parts_at_any_time(tmp_path):
    out = begun(tmp_path / "out")
    out.write_part(0, TABLE, [])
    (out.inner / "part-000001.parquet.tmp").write_bytes(b"PAR1 half")
    out.set_aside(5, b"early")
    assert ds.dataset(tmp_path / "out", format="parquet").to_table().num_rows == 2
    assert sorted(path.name for path in out.path.iterdir()) == ["_run", "part-000000.parquet"]


def test_finished_parts_are_counted_and_a_damaged_one_is_refused(tmp_path):
    out = begun(tmp_path / "out")
    for number in range(3):
        out.write_part(number, TABLE, [BAD] * number)
    assert {number: (part.rows, part.failed) for number, part in out.finished().items()} == {
        0: (2, 0),
        1: (2, 1),
        2: (2, 2),
    }
    whole = (out.path / "part-000001.parquet").read_bytes()
    (out.path / "part-000001.parquet").write_bytes(whole[:-20])
    with pytest.raises(InputError, match=r"part-000001.parquet is not as the run wrote it; delete"):
        out.finished()


def test_dead_letters_are_merged_in_order_and_merging_can_be_repeated(tmp_path):
    out = begun(tmp_path / "out")
    parts = [out.write_part(number, TABLE, [BAD] * (number % 2)) for number in range(4)]
    out.finish(parts)
    merged = (out.inner / "failed.jsonl").read_text("utf-8")
    assert [json.loads(line)["part"] for line in merged.splitlines()] == [1, 3]
    assert json.loads(merged.splitlines()[0])["reason"] == "is not JSON"
    assert not list(out.inner.glob("failed-*"))
    # killed while the single files were being removed, then part 3 made again
    again = list(out.finished().values())
    again[3] = out.write_part(3, TABLE, [BAD])
    out.finish(again)
    assert (out.inner / "failed.jsonl").read_text("utf-8") == merged


def test_the_manifest_names_every_part_with_its_checksum(tmp_path):
    out = begun(tmp_path / "out")
    first = out.write_part(0, TABLE, [])
    out.write_part(1, TABLE, [BAD])
    out.finish(list(out.finished().values()))  # as after a resume: checksums are read again
    manifest = json.loads((out.inner / "manifest.json").read_text())
    assert manifest["schema"] == "moralscope.corpus/1"
    assert manifest["fingerprint"] == "f"
    assert [(part["name"], part["rows"], part["failed"]) for part in manifest["parts"]] == [
        ("part-000000.parquet", 2, 0),
        ("part-000001.parquet", 2, 1),
    ]
    assert manifest["parts"][0]["sha256"] == first.sha256


def test_input_columns_with_our_names_are_carried_under_another():
    read = pa.schema({"score": pa.string(), "input_score": pa.string(), "_row": pa.int8()})
    names = part_schema(read, pa.schema({"score": pa.float64()})).names
    assert names == ["input_input_score", "input_score", "input__row", "score", "_row"]


def test_two_runs_cannot_hold_a_folder(tmp_path):
    first = begun(tmp_path / "out")
    with pytest.raises(InputError, match="held by another run"), RunFolder(first.path, resume=True):
        pass
    first.__exit__(None, None, None)
    with RunFolder(first.path, resume=True) as second:
        assert second.check(IDENTITY)


@pytest.mark.parametrize("name", ["notes.txt", "part-1.parquet", "other"])
def test_a_folder_with_other_things_is_refused(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=f"other things in it .{name}"):
        RunFolder(tmp_path, resume=True).__enter__()
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


def test_a_file_as_output_is_refused(tmp_path):
    path = tmp_path / "out"
    path.write_text("mine")
    with pytest.raises(InputError, match="cannot be used as output"):
        RunFolder(path, resume=False).__enter__()


def test_parts_without_a_manifest_are_refused(tmp_path):
    (tmp_path / "part-000000.parquet").write_bytes(b"somebody's")
    with pytest.raises(InputError, match="parts and no manifest"):
        begun(tmp_path, resume=True)


def test_a_run_is_continued_only_when_asked_and_only_the_same(tmp_path):
    begun(tmp_path / "out").__exit__(None, None, None)
    cases = [
        (False, {}, "has a run already; continue with --resume"),
        (True, {"fingerprint": "g"}, "the input files are not the same or have changed"),
        (True, {"seed": 1}, "seed was 0, now 1"),
        (True, {"settings": {"axis": "choice"}}, 'template was "is", now null'),
        (True, {"settings": {**IDENTITY["settings"], "x": 1}}, "x was null, now 1"),
    ]
    for resume, changes, message in cases:
        folder = RunFolder(tmp_path / "out", resume=resume)
        with folder, pytest.raises(InputError, match=message):
            folder.check({**IDENTITY, **changes})


def test_a_damaged_manifest_is_one_line(tmp_path):
    (tmp_path / "_run").mkdir()
    (tmp_path / "_run" / "manifest.json").write_text("{half")
    with pytest.raises(InputError, match=r"manifest\.json cannot be read"):
        begun(tmp_path, resume=True)


def test_resume_into_an_empty_folder_starts(tmp_path):
    with RunFolder(tmp_path / "new", resume=True) as out:
        assert not out.check(IDENTITY)


def test_a_disk_that_is_too_small_is_refused_before_the_start(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, 40 * 10**9))
    out = begun(tmp_path / "out")
    out.check_space(40 * 10**9)
    with pytest.raises(MoralscopeError, match=r"40\.0 GB of free space and the run may need 75"):
        out.check_space(75 * 10**9)


def test_a_full_disk_is_one_line_and_leaves_no_half_file(tmp_path, monkeypatch):
    out = begun(tmp_path / "out")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders.os, "fsync", full)
    with pytest.raises(MoralscopeError, match=r"No space left on device\); free some space, then"):
        out.write_part(0, TABLE, [])
    assert out.finished() == {}
    assert not list(out.inner.glob("*.tmp"))


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(MoralscopeError, match=r"Not a directory\); make it writable"):
        RunFolder(tmp_path / "file" / "out", resume=False).__enter__()
