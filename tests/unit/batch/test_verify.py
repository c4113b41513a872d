import json
import os
import subprocess
import sys

import pytest
from corpus_works import make_texts, opened, spec_of, write_corpus

from moralscope.batch.options import BatchOptions
from moralscope.batch.run import run_corpus
from moralscope.batch.verify import verify_folder
from moralscope.core.errors import InputError

pytestmark = pytest.mark.usefixtures("inline")


def moralscope(*words):
    command = [sys.executable, "-m", "moralscope", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def folder(tmp_path):
    return ran(tmp_path)


def ran(tmp_path, **options):
    texts = make_texts(40, 40)
    texts[12] = None
    write_corpus(tmp_path / "a.jsonl", texts)
    chosen = BatchOptions(block_rows=10, call_rows=4, **options)
    corpus = opened(tmp_path / "a.jsonl", hashed=chosen.hash_inputs)
    run_corpus(corpus, spec_of("Plain"), tmp_path / "out", chosen, settings={})
    return tmp_path / "out"


def test_a_folder_as_it_was_written_has_no_problems(folder):
    found = verify_folder(folder, inputs=True)
    assert found.problems == []
    assert (found.finished, found.parts, found.rows, found.failed) == (True, 4, 39, 1)
    assert (found.inputs, found.hashed_inputs) == (1, 0)


def test_altered_lost_and_foreign_parts_and_failed_rows_are_named(folder):
    part = folder / "part-000000.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"2")
    (folder / "part-000002.parquet").unlink()
    (folder / "part-000009.parquet").write_bytes(b"PAR1")
    letters = folder / "_run" / "failed.jsonl"
    letters.write_text(letters.read_text().replace('"line": 13', '"line": 14'))
    problems = " | ".join(verify_folder(folder).problems)
    assert "part-000000.parquet is not as the run wrote it" in problems
    assert "the failed rows of part-000001.parquet are not as the run wrote them" in problems
    assert "part-000009.parquet was not written by this run" in problems
    assert "part-000002.parquet is gone" in problems


def test_inputs_are_compared_by_size_and_time_or_by_content(tmp_path):
    folder, path = ran(tmp_path, hash_inputs=True), tmp_path / "a.jsonl"
    os.utime(path, ns=(1, 1))
    found = verify_folder(folder, inputs=True)
    assert (found.problems, found.hashed_inputs) == ([], 1)
    path.write_bytes(path.read_bytes().replace(b"t", b"T", 1))
    assert "another content" in verify_folder(folder, inputs=True).problems[0]
    assert verify_folder(folder).problems == []
    path.unlink()
    assert "is not there" in verify_folder(folder, inputs=True).problems[0]


def test_an_input_written_again_is_told_without_its_checksum(folder, tmp_path):
    os.utime(tmp_path / "a.jsonl", ns=(1, 1))
    assert "was written again" in verify_folder(folder, inputs=True).problems[0]


def test_a_run_of_0_5_is_verified_by_its_manifest(folder):
    (folder / "_run" / "parts.jsonl").unlink()
    path = folder / "_run" / "manifest.json"
    manifest = json.loads(path.read_text())
    kept = ("name", "rows", "failed", "sha256")
    manifest["parts"] = [{key: part[key] for key in kept} for part in manifest["parts"]]
    del manifest["inputs"]
    path.write_text(json.dumps(manifest))
    assert verify_folder(folder, inputs=True).problems == []
    (folder / "part-000003.parquet").write_bytes(b"")
    assert len(verify_folder(folder).problems) == 1


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no corpus run"):
        verify_folder(tmp_path)


def test_the_command_exits_with_1_and_names_what_is_wrong(folder):
    done = moralscope("corpus", "verify", str(folder), "--inputs")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 parts of a finished run, 39 rows, 1 failed, 1 inputs (0 by content)" in done.stdout
    (folder / "part-000001.parquet").write_bytes(b"other")
    done = moralscope("corpus", "verify", str(folder), "--json")
    assert done.returncode == 1
    assert "is not as the run wrote it" in json.loads(done.stdout)["problems"][0]
    assert moralscope("corpus", "verify", str(folder / "_run")).returncode == 2
