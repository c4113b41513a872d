import logging
import sqlite3

import numpy as np
import pytest

from moralscope.models.encoders.cache import EmbeddingCache


def rows_of(count, dimension=4, start=0):
    return np.arange(start, start + count * dimension, dtype=np.float32).reshape(count, dimension)


@pytest.fixture
def cache(tmp_path):
    return EmbeddingCache(tmp_path, "c" * 64, 4)


def database(tmp_path):
    (path,) = tmp_path.glob("*.sqlite")
    return path


def test_rows_come_back_exactly(cache):
    cache.put(["a", "b"], rows_of(2))
    found, rows = cache.get(["b", "missing", "a"])
    assert found.tolist() == [True, False, True]
    np.testing.assert_array_equal(rows[[2, 0]], rows_of(2))


def test_rows_survive_a_new_process_object(cache, tmp_path):
    cache.put(["a"], rows_of(1))
    again = EmbeddingCache(tmp_path, "c" * 64, 4)
    assert again.get(["a"])[0].all()


def test_another_model_does_not_see_them(cache, tmp_path):
    cache.put(["a"], rows_of(1))
    other = EmbeddingCache(tmp_path, "d" * 64, 4)
    assert not other.get(["a"])[0].any()


def test_a_flipped_byte_is_a_miss_not_a_wrong_row(cache, tmp_path):
    cache.put(["a", "b"], rows_of(2))
    cache.close()
    connection = sqlite3.connect(database(tmp_path))
    vector = bytearray(connection.execute("SELECT vector FROM vectors WHERE id = 1").fetchone()[0])
    vector[5] ^= 1
    connection.execute("UPDATE vectors SET vector = ? WHERE id = 1", (bytes(vector),))
    connection.commit()
    connection.close()
    assert cache.get(["a", "b"])[0].tolist() == [False, True]


def test_the_oldest_rows_go_when_the_limit_is_reached(tmp_path):
    cache = EmbeddingCache(tmp_path, "c" * 64, 4, limit_mb=1)
    cache._max_rows = 3
    cache.put(["a", "b", "c"], rows_of(3))
    cache.put(["d", "e"], rows_of(2))
    assert cache.get(["a", "b", "c", "d", "e"])[0].tolist() == [False, False, True, True, True]


def test_a_file_that_is_no_database_is_replaced_and_said(tmp_path, caplog):
    cache = EmbeddingCache(tmp_path, "c" * 64, 4)
    cache.put(["a"], rows_of(1))
    cache.close()
    path = database(tmp_path)
    for side in tmp_path.glob("*.sqlite-*"):
        side.unlink()
    path.write_bytes(b"this is not a database, but it is long enough to look at" * 100)
    with caplog.at_level(logging.WARNING):
        assert not cache.get(["a"])[0].any()
    assert "damaged" in caplog.text
    fresh = EmbeddingCache(tmp_path, "c" * 64, 4)
    fresh.put(["a"], rows_of(1))
    assert fresh.get(["a"])[0].all()


def test_a_folder_that_cannot_be_made_costs_one_warning_and_no_failure(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    cache = EmbeddingCache(tmp_path / "file" / "below", "c" * 64, 4)
    with caplog.at_level(logging.WARNING):
        cache.put(["a"], rows_of(1))
        cache.put(["b"], rows_of(1))
        assert not cache.get(["a"])[0].any()
    assert len(caplog.records) == 1
    assert "continues without it" in caplog.text
