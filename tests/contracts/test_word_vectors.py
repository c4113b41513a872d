"""One suite for every `WordVectors`: a new one is tested by adding a way to make it."""

import gzip
import mmap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.core.protocols import WordVectors
from moralscope.models.store import Store
from moralscope.words.vectors import MissingWords, load_vectors, save_vectors

WORDS = ["joy", "war", "fête", "पालि", "Joy", "naïve"]
ROWS = (np.arange(24, dtype=np.float32).reshape(6, 4) - 9) / 7
FILES = ["word2vec text", "word2vec binary", "gzipped", "glove", "fasttext", "safetensors"]
MAPPED = [*FILES, "googlenews-26k", "glove-50"]


def lines(end="\n"):
    return "".join(
        f"{word} {' '.join(map(repr, row.tolist()))}{end}"
        for word, row in zip(WORDS, ROWS, strict=True)
    ).encode()


def binary():
    pairs = zip(WORDS, ROWS, strict=True)
    return b"6 4\n" + b"".join(word.encode() + b" " + row.tobytes() + b"\n" for word, row in pairs)


CONTENT = {
    "word2vec text": lambda: b"6 4\n" + lines(),
    "word2vec binary": binary,
    "gzipped": lambda: gzip.compress(binary()),
    "glove": lines,
    "fasttext": lambda: b"6 4\n" + lines(" \n"),
}


@pytest.fixture(scope="module", params=["scripted", "googlenews-26k", "glove-50", *FILES])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def vectors(kind, request, tmp_path_factory):
    if kind == "googlenews-26k":
        return request.getfixturevalue("word_vectors_26k")
    if kind not in FILES:
        return load_vectors(kind)
    folder = tmp_path_factory.mktemp("vectors")
    store = Store(folder / "home")
    file = folder / "mine.vec"
    if kind == "safetensors":
        (folder / "text").write_bytes(lines())
        file = folder / "mine.safetensors"
        save_vectors(load_vectors(str(folder / "text"), store=store), file)
    else:
        file.write_bytes(CONTENT[kind]())
    return load_vectors(str(file), store=store)


def test_it_is_word_vectors(vectors):
    assert isinstance(vectors, WordVectors)
    assert len(vectors.checksum) == 64
    assert int(vectors.checksum, 16)
    assert vectors.name


def test_files_of_every_format_hold_the_same(kind, vectors):
    if kind not in FILES:
        pytest.skip("its rows are its own")
    assert list(vectors.words) == WORDS
    np.testing.assert_array_equal(vectors.vectors(WORDS), ROWS)


def test_rows_are_float32_in_the_order_asked_for(vectors):
    some = list(vectors.words[:5])
    rows = vectors.vectors([*some, some[2], some[0]])
    assert rows.shape == (7, vectors.dimension)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows[[5, 6]], rows[[2, 0]])
    np.testing.assert_array_equal(vectors.vectors(some[::-1]), rows[:5][::-1])
    assert len(np.unique(rows[:5], axis=0)) == 5


def test_no_words_give_no_rows(vectors):
    rows = vectors.vectors([])
    assert rows.shape == (0, vectors.dimension)
    assert rows.dtype == np.float32


def test_every_word_is_in_it_once_and_nothing_else_is(vectors):
    assert len(set(vectors.words)) == len(vectors.words)
    assert all(word in vectors for word in vectors.words)
    for stranger in ("no such word", "", "joy ", None, 7, b"joy"):
        assert stranger not in vectors


def test_a_missing_word_is_named_and_never_made_up(vectors):
    known = vectors.words[0]
    with pytest.raises(MissingWords, match="'zzz-1', 'zzz-2'") as caught:
        vectors.vectors([known, "zzz-1", "zzz-2", "zzz-1"])
    assert caught.value.words == ("zzz-1", "zzz-2")
    assert isinstance(caught.value, LookupError)
    assert isinstance(caught.value, InputError)


def test_the_whole_table_equals_its_rows(vectors):
    table = vectors.vectors(vectors.words)
    assert table.shape == (len(vectors.words), vectors.dimension)
    assert table.dtype == np.float32
    last = len(vectors.words) - 1
    np.testing.assert_array_equal(
        table[[0, last]], vectors.vectors([vectors.words[0], vectors.words[last]])
    )


def test_the_table_is_mapped_not_copied(kind, vectors):
    if kind not in MAPPED:
        pytest.skip("it has no file")
    table = vectors.vectors(vectors.words)
    while isinstance(table, np.ndarray) and table.base is not None:
        table = table.base
    assert isinstance(table, mmap.mmap)


def test_writing_into_rows_leaves_the_table_alone(vectors):
    word = vectors.words[1]
    before = vectors.vectors([word]).copy()
    vectors.vectors([word])[:] = 0
    np.testing.assert_array_equal(vectors.vectors([word]), before)


def test_threads_get_the_same_rows(vectors):
    groups = [vectors.words[start::7][:50] for start in range(7)] * 8
    alone = [vectors.vectors(group) for group in groups]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(vectors.vectors, groups))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
