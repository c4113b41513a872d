"""The embedding cache under bad disks and many processes: never a wrong row, never a lost run."""

import logging
import multiprocessing
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.encoders import TextEncoder
from moralscope.models.encoders.cache import EmbeddingCache, row_bytes
from moralscope.models.encoders.scripted import ScriptedBackend

WIDTH = 64
TEXTS = [f"reply {number}" for number in range(2000)]


def rows_of(texts):
    return np.array([[float(text.rsplit(" ", 1)[1])] * WIDTH for text in texts], dtype=np.float32)


def filled(folder, texts=TEXTS, **options):
    cache = EmbeddingCache(folder, "c" * 64, WIDTH, **options)
    for start in range(0, len(texts), 250):
        part = texts[start : start + 250]
        cache.put(part, rows_of(part))
    cache.close()
    return cache


def database(folder):
    (path,) = folder.glob("*.sqlite")
    return path


def assert_no_wrong_row(cache, texts=TEXTS):
    found, rows = cache.get(texts)
    np.testing.assert_array_equal(rows[found], rows_of(texts)[found])
    return found


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_gives_no_wrong_row_and_the_run_goes_on(tmp_path, share):
    filled(tmp_path)
    path = database(tmp_path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    cache = EmbeddingCache(tmp_path, "c" * 64, WIDTH)
    found = assert_no_wrong_row(cache)
    assert not found.all()
    cache.put(TEXTS, rows_of(TEXTS))
    cache.put(TEXTS, rows_of(TEXTS))  # the first may have met the damage and set it aside
    assert assert_no_wrong_row(EmbeddingCache(tmp_path, "c" * 64, WIDTH)).all()


@pytest.mark.parametrize("content", [b"\0" * 65536, b"", b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_file_of_zeros_or_rubbish_is_started_anew_and_used_at_once(tmp_path, content, caplog):
    filled(tmp_path, TEXTS[:10])
    database(tmp_path).write_bytes(content)
    cache = EmbeddingCache(tmp_path, "c" * 64, WIDTH)
    with caplog.at_level(logging.WARNING):
        assert not cache.get(TEXTS[:10])[0].any()
        cache.put(TEXTS[:10], rows_of(TEXTS[:10]))
        assert assert_no_wrong_row(cache, TEXTS[:10]).all()
    assert len(caplog.records) == (1 if content else 0)


def test_flipped_bytes_all_over_the_file_give_no_wrong_row(tmp_path):
    filled(tmp_path)
    path = database(tmp_path)
    content = bytearray(path.read_bytes())
    for place in np.random.default_rng(0).integers(4096, len(content), 300):
        content[place] ^= 0x41
    path.write_bytes(content)
    assert not assert_no_wrong_row(EmbeddingCache(tmp_path, "c" * 64, WIDTH)).all()


def test_a_row_under_another_texts_key_is_a_miss(tmp_path):
    filled(tmp_path, TEXTS[:2])
    connection = sqlite3.connect(database(tmp_path))
    (crc, vector), _ = connection.execute("SELECT crc, vector FROM vectors ORDER BY id").fetchall()
    connection.execute("UPDATE vectors SET crc = ?, vector = ? WHERE id = 2", (crc, vector))
    connection.commit()
    connection.close()
    cache = EmbeddingCache(tmp_path, "c" * 64, WIDTH)
    assert assert_no_wrong_row(cache, TEXTS[:2]).tolist() == [True, False]


def test_the_log_of_a_broken_file_is_not_played_into_the_new_one(tmp_path):
    held = EmbeddingCache(tmp_path, "c" * 64, WIDTH)
    held.put(TEXTS[:300], rows_of(TEXTS[:300]))  # open: its log lies beside the file
    path = database(tmp_path)
    log_of = path.with_name(path.name + "-wal")
    left = log_of.read_bytes()
    held.close()
    path.write_bytes(b"\0" * 8192)
    log_of.write_bytes(left[: len(left) // 2] + b"\0" * 100)
    cache = EmbeddingCache(tmp_path, "c" * 64, WIDTH)
    cache.get(TEXTS[:300])
    cache.put(TEXTS[:300], rows_of(TEXTS[:300]))
    assert assert_no_wrong_row(cache, TEXTS[:300]).all()


WRITE = """
import sys
from pathlib import Path
import numpy as np
from moralscope.models.encoders.cache import EmbeddingCache
cache = EmbeddingCache(Path(sys.argv[1]), "c" * 64, 64)
own = int(sys.argv[2])
for step in range(15):
    numbers = [own * 1000 + step * 10 + n for n in range(10)] + list(range(90000, 90020))
    texts = [f"reply {n}" for n in numbers]
    cache.put(texts, np.repeat(np.array(numbers, np.float32)[:, None], 64, axis=1))
    found, rows = cache.get(texts)
    assert found.all() and (rows[:, 0] == numbers).all()
"""


def test_eight_processes_write_and_read_at_once(tmp_path):
    workers = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path), str(number)])
        for number in range(8)
    ]
    assert [worker.wait(120) for worker in workers] == [0] * 8
    texts = [f"reply {own * 1000 + step}" for own in range(8) for step in range(150)]
    assert assert_no_wrong_row(EmbeddingCache(tmp_path, "c" * 64, WIDTH), texts).all()


def test_a_forked_process_opens_the_file_for_itself(tmp_path):
    cache = EmbeddingCache(tmp_path, "c" * 64, WIDTH)
    cache.put(TEXTS[:5], rows_of(TEXTS[:5]))
    before = cache._connection
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(cache, before))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert cache._connection is before
    assert assert_no_wrong_row(cache, TEXTS[:10]).all()


def _in_child(cache, before):
    cache.put(TEXTS[5:10], rows_of(TEXTS[5:10]))
    assert cache._connection is not before


def test_the_file_stays_within_its_limit_and_keeps_the_rows_written_last(tmp_path):
    texts = [f"reply {number}" for number in range(9000)]
    cache = filled(tmp_path, texts, limit_mb=1)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert 0.6e6 < size < 1.25e6
    kept = 900_000 // row_bytes(WIDTH)
    found = assert_no_wrong_row(cache, texts)
    assert found[-kept:].all()
    assert not found[: len(texts) // 2].any()


def test_a_row_written_again_counts_as_new(tmp_path):
    cache = EmbeddingCache(tmp_path, "c" * 64, WIDTH)
    cache._max_rows = 3
    cache.put(TEXTS[:3], rows_of(TEXTS[:3]))
    cache.put(TEXTS[:1], rows_of(TEXTS[:1]))
    cache.put(TEXTS[3:4], rows_of(TEXTS[3:4]))
    assert cache.get(TEXTS[:4])[0].tolist() == [True, False, True, True]


@pytest.mark.parametrize("value", ["lots", "-5", "0", "1.5", "²"])
def test_a_limit_that_is_no_number_is_refused_in_one_line(tmp_path, monkeypatch, value):
    monkeypatch.setenv("MORALSCOPE_CACHE_MB", value)
    with pytest.raises(InputError, match=r"MORALSCOPE_CACHE_MB.*whole number"):
        EmbeddingCache(tmp_path, "c" * 64, WIDTH)


class FullDisk:
    """A connection that reads and cannot write."""

    def __init__(self, connection):
        self.execute, self.close = connection.execute, connection.close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def executemany(self, *_):
        raise sqlite3.OperationalError("database or disk is full")


def test_a_file_that_may_not_be_written_costs_a_warning_and_no_row(tmp_path, caplog):
    backend = ScriptedBackend()
    cache = EmbeddingCache(tmp_path, backend.checksum, backend.dimension)
    cache._connection = FullDisk(cache._open())
    encoder = TextEncoder(backend, cache)
    with caplog.at_level(logging.WARNING):
        first = encoder.encode(["kill time", "kill people"])
        again = encoder.encode(["kill time", "kill people"])
    np.testing.assert_array_equal(first, again)
    assert [record.getMessage().count("disk is full") for record in caplog.records] == [1]


def test_the_cache_can_be_read_by_its_owner_only(tmp_path):
    cache = EmbeddingCache(tmp_path, "c" * 64, 3)
    cache.put(["what somebody asked"], np.ones((1, 3), np.float32))
    cache.close()
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
