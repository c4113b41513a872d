"""Files of word vectors: what is read, what is refused and in which words, what is cached."""

import gzip
import logging
import pickle
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from moralscope.core.errors import InputError, StoreError, UnknownName
from moralscope.models.store import Store, sha256_of
from moralscope.words.vectors import load_vectors, readers, save_vectors, scripted_vectors

ROW = np.array([0.5, -2.0, 3.0], dtype="<f4")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "home", offline=True)


@pytest.fixture
def load(tmp_path, store):
    def load(content, name="mine.vec", **options):
        (tmp_path / name).write_bytes(content)
        return load_vectors(str(tmp_path / name), store=store, **options)

    return load


def word2vec(count, *words, end=b""):
    rows = b"".join(word + b" " + ROW.tobytes() for word in words)
    return b"%d 3\n" % count + rows + end


NAN = np.array([1, np.nan, 2], dtype="<f4").tobytes()
REFUSED = {
    "empty": (b"", "holds no words"),
    "blank": (b"\n\n", "holds no words"),
    "no words promised": (b"0 300\n", "holds no words"),
    "prose": (b"It was a dark night.\nThe rain fell.\n", "is not a file of word vectors"),
    "an image": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is not a file of word vectors"),
    "absurd dimension": (b"5 999999\njoy 1 2\n", "says it has 999999 dimensions"),
    "text, short line": (b"2 3\njoy 1 2 3\nwar 1 2\n", "line 3 has 2 numbers instead of 3"),
    "text, long line": (b"2 3\njoy 1 2 3 4\nwar 1 2 3\n", "line 2 has 4 numbers instead of 3"),
    "text, too few": (b"3 3\njoy 1 2 3\n", "is truncated: 1 of the 3 words"),
    "text, too many": (b"1 3\njoy 1 2 3\nwar 1 2 3\n", "more than the 1 words"),
    "text, letters": (b"2 3\njoy 1 2 3\nwar 1 x 3\n", "line 3 has 'x' for a number"),
    "text, NaN": (b"2 3\njoy 1 2 3\nwar 1 nan 3\n", "line 3 holds a number that is not finite"),
    "text, overflow": (b"1 3\nwar 1 1e50 3\n", "line 2 holds a number that is not finite"),
    "text, latin-1": (b"2 3\njoy 1 2 3\nf\xeate 1 2 3\n", "line 3 has a word that is not valid"),
    "text, no word": (b"2 3\njoy 1 2 3\n 1 2 3\n", "line 3 has no word"),
    "glove, short line": (b"joy 1 2 3\nwar 1 2\n", "line 2 has 2 numbers instead of 3"),
    "glove, cut": (b"joy 1 2 3\nwar 1 2 0.3", "ends inside a line and may be truncated"),
    "binary, cut in a row": (word2vec(2, b"joy", b"war")[:-3], "truncated: 1 of the 2 words"),
    "binary, cut in a word": (word2vec(2, b"joy", end=b"wa"), "truncated: 1 of the 2 words"),
    "binary, too many": (word2vec(1, b"joy", b"war"), "more than the 1 words"),
    "binary, latin-1": (word2vec(2, b"joy", b"f\xeate"), "word 2 has a word that is not valid"),
    "binary, NaN": (b"2 3\njoy " + ROW.tobytes() + b"war " + NAN, "word 2 holds a number that"),
    "binary, no word": (b"1 3\n" + b"\x00" * 9000, "is not word2vec binary at word 1"),
    "pickle": (pickle.dumps({"joy": [1, 2]}), "is a pickle"),
    "zip": (b"PK\x03\x04 and so on", "is a zip archive"),
    "fastText model": (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00", "is a fastText model"),
    "bare matrix": (b"\x93NUMPY\x01\x00", "a matrix without its words"),
    "cut gzip": (gzip.compress(word2vec(1, b"joy"))[:-12], "is a broken gzip file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_file_is_refused_in_one_line(load, store, case):
    content, problem = REFUSED[case]
    with pytest.raises(InputError, match=re.escape(problem)) as caught:
        load(content)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
    assert not list(store.home.rglob("*.*"))  # neither a cached table nor half of one


def test_the_remedy_for_gensims_pickle_names_its_export(load):
    with pytest.raises(InputError, match="save_word2vec_format"):
        load(pickle.dumps([1]), "mine.kv")


def test_words_may_hold_spaces_and_odd_characters(load):
    text = "New York 1 2 3\n. . . 4 5 6\n\u00a0 7 8 9\n"
    vectors = load(text.encode())
    assert list(vectors.words) == ["New York", ". . .", "\u00a0"]
    assert vectors.vectors(["New York"]).tolist() == [[1, 2, 3]]


def test_line_ends_of_every_system_are_read(load):
    assert load(b"2 3\r\njoy 1 2 3\r\nwar 4 5 6").words == ("joy", "war")


def test_chunks_join_without_a_seam(load, monkeypatch):
    monkeypatch.setattr(readers, "_ROWS", 7)
    monkeypatch.setattr(readers, "_BLOCK_BYTES", 64)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 5)).astype("<f4")
    pairs = [(f"word{place}", row) for place, row in enumerate(rows)]
    binary = b"50 5\n" + b"".join(w.encode() + b" " + r.tobytes() + b"\n" for w, r in pairs)
    text = "50 5\n" + "".join(f"{w} {' '.join(map(repr, r.tolist()))}\n" for w, r in pairs)
    for content in (binary, text.encode()):
        vectors = load(content)
        np.testing.assert_array_equal(vectors.vectors([word for word, _ in pairs]), rows)


@pytest.mark.parametrize("binary", [True, False])
def test_it_reads_what_gensim_writes(tmp_path, store, binary):
    keyed = pytest.importorskip("gensim.models").KeyedVectors(7)
    words = ["joy", "fête", "war"]
    keyed.add_vectors(words, np.random.default_rng(1).normal(size=(3, 7)).astype(np.float32))
    keyed.save_word2vec_format(str(tmp_path / "gensim"), binary=binary)
    vectors = load_vectors(str(tmp_path / "gensim"), store=store)
    tolerance = 0 if binary else 1e-7  # gensim prints the digits it has
    np.testing.assert_allclose(
        vectors.vectors(words), [keyed[word] for word in words], atol=tolerance
    )


def test_the_first_of_two_rows_wins_and_is_told(load, caplog):
    with caplog.at_level(logging.WARNING, "moralscope"):
        vectors = load(b"joy 1 2\nwar 3 4\njoy 5 6\n")
    assert "1 rows for words that it already has" in caplog.text
    assert vectors.duplicates == 1
    assert vectors.words == ("joy", "war")
    assert vectors.vectors(["joy", "war"]).tolist() == [[1, 2], [3, 4]]
    assert vectors.vectors(vectors.words).tolist() == [[1, 2], [3, 4]]


def test_the_case_policy_lowers_what_is_asked_for(load):
    content = b"joy 1 2\nNASA 3 4\n"
    exact, lower = load(content), load(content, case="lower")
    assert ("Joy" in exact, "NASA" in exact) == (False, True)
    assert ("Joy" in lower, "NASA" in lower) == (True, False)
    assert lower.words == ("joy",)
    assert lower.vectors(["JOY"]).tolist() == [[1, 2]]
    assert (exact.case, lower.case) == ("exact", "lower")
    with pytest.raises(InputError, match="no case policy 'upper'"):
        load(content, case="upper")


def test_the_checksum_is_the_files(load, tmp_path):
    vectors = load(b"joy 1 2\n")
    assert vectors.checksum == sha256_of(tmp_path / "mine.vec")
    assert vectors.name == "mine.vec"


def test_a_file_is_converted_once(load, store, monkeypatch):
    load(b"joy 1 2\n")
    (cached,) = (store.home / "cache" / "vectors").iterdir()
    assert set(load_file(cached)) == {"vectors", "words"}
    monkeypatch.setattr("moralscope.words.vectors.loading.read_chunks", None)
    assert load(b"joy 1 2\n").vectors(["joy"]).tolist() == [[1, 2]]


def test_a_broken_cache_is_made_again(load, store):
    load(b"joy 1 2\n")
    (cached,) = (store.home / "cache" / "vectors").iterdir()
    cached.write_bytes(cached.read_bytes()[:-1])
    assert load(b"joy 1 2\n").vectors(["joy"]).tolist() == [[1, 2]]


def test_a_cache_that_cannot_be_written_is_told(load, store):
    store.home.mkdir()
    (store.home / "cache").write_text("in the way")
    with pytest.raises(StoreError, match="could not be written"):
        load(b"joy 1 2\n")


def test_any_safetensors_writer_will_do(tmp_path):
    words = np.frombuffer("joy\nfête".encode(), dtype=np.uint8)
    file = tmp_path / "mine.safetensors"
    save_file({"vectors": np.eye(2, dtype=np.float16), "words": words}, file)
    vectors = load_vectors(str(file))
    assert vectors.vectors(["fête"]).tolist() == [[0, 1]]
    assert vectors.vectors(vectors.words).dtype == np.float32


BROKEN = {
    "no words": ({"vectors": np.eye(2)}, "does not hold word vectors in our layout"),
    "whole numbers": (
        {"vectors": np.eye(2, dtype=np.int32), "words": np.frombuffer(b"a\nb", np.uint8)},
        "does not hold word vectors in our layout",
    ),
    "too few words": (
        {"vectors": np.eye(2), "words": np.frombuffer(b"joy", np.uint8)},
        "has 2 rows for 1 words",
    ),
    "latin-1": (
        {"vectors": np.eye(2), "words": np.frombuffer(b"joy\nf\xeate", np.uint8)},
        "word 2 is not valid UTF-8",
    ),
    "an empty word": (
        {"vectors": np.eye(2), "words": np.frombuffer(b"joy\n", np.uint8)},
        "word 2 is empty",
    ),
    "NaN": (
        {"vectors": np.full((1, 2), np.nan), "words": np.frombuffer(b"joy", np.uint8)},
        "not finite for 'joy'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_other_safetensors_are_refused(tmp_path, case):
    tensors, problem = BROKEN[case]
    save_file(tensors, tmp_path / "mine.safetensors")
    with pytest.raises(InputError, match=re.escape(problem)):
        load_vectors(str(tmp_path / "mine.safetensors"))


@pytest.mark.parametrize("content", [b"", b"joy", b"\xff" * 40, b"\x02\0\0\0\0\0\0\0{]"])
def test_what_is_not_safetensors_is_refused(tmp_path, content):
    (tmp_path / "mine.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"not a safetensors file|in our layout"):
        load_vectors(str(tmp_path / "mine.safetensors"))


def test_saving_keeps_every_bit_and_refuses_a_line_end(tmp_path):
    vectors = scripted_vectors()
    save_vectors(vectors, tmp_path / "mine.safetensors")
    again = load_vectors(str(tmp_path / "mine.safetensors"))
    assert again.words == vectors.words
    np.testing.assert_array_equal(again.vectors(again.words), vectors.vectors(vectors.words))
    with pytest.raises(InputError, match="one line of text"):
        save_vectors(scripted_vectors(["a\nb"]), tmp_path / "other.safetensors")


def test_unknown_names_get_the_nearest_one(store):
    with pytest.raises(UnknownName, match="did you mean 'googlenews-26k'"):
        load_vectors("googlenews", store=store)
    with pytest.raises(InputError, match=r"there is no file nowhere/words\.vec"):
        load_vectors("nowhere/words.vec", store=store)


def test_scripted_rows_never_change():
    row = scripted_vectors().vectors(["joy"])[0]
    assert row[:3].tolist() == [49.5, -108.5, -63.5]
