import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from moralscope.core.errors import InputError, StoreError, UnknownName
from moralscope.models.encoders import TextEncoder, load_encoder
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.encoders.pipeline import like_length_batches
from moralscope.models.encoders.scripted import ScriptedBackend
from moralscope.models.hugging_face import folder_checksum


class CountingBackend(ScriptedBackend):
    """Counts what it is asked to compute."""

    batch_tokens = 64

    def __init__(self):
        super().__init__()
        self.batches = []

    def embed(self, batch):
        self.batches.append(list(batch))
        return super().embed(batch)

    @property
    def computed(self):
        return [text for batch in self.batches for text in batch]


def test_each_text_is_computed_once_however_often_it_occurs():
    backend = CountingBackend()
    TextEncoder(backend).encode(["b", "a", "b", "b", "a"])
    assert sorted(backend.computed) == ["a", "b"]


def test_a_cached_text_is_read_and_not_computed(tmp_path):
    backend = CountingBackend()
    first = TextEncoder(backend, EmbeddingCache(tmp_path, backend.checksum, backend.dimension))
    rows = first.encode(["a", "b"])
    backend.batches.clear()
    again = TextEncoder(backend, EmbeddingCache(tmp_path, backend.checksum, backend.dimension))
    np.testing.assert_array_equal(again.encode(["b", "a", "c"])[:2], rows[::-1])
    assert backend.computed == ["c"]


def test_batches_hold_texts_of_like_length():
    backend = CountingBackend()
    TextEncoder(backend).encode(["x" * length for length in range(1, 60)])
    for batch in backend.batches:
        longest, shortest = max(map(len, batch)), min(map(len, batch))
        assert shortest * 1.15 >= longest
        assert len(batch) == 1 or len(batch) * longest <= backend.batch_tokens


@given(st.lists(st.integers(0, 300), max_size=200), st.integers(1, 500))
def test_batches_hold_every_place_once_and_stay_small(lengths, batch_tokens):
    batches = list(like_length_batches(lengths, batch_tokens))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= batch_tokens


def test_a_batch_with_room_takes_shorter_texts_and_fewer_batches_come():
    lengths = [40, 38, 30, 20, 11, 10]
    assert len(list(like_length_batches(lengths, 1000))) == 4
    assert list(like_length_batches(lengths, 1000, 100)) == [[0, 1, 2], [3, 4, 5]]
    assert list(like_length_batches(lengths, 1000, 500)) == [[0, 1, 2, 3, 4, 5]]
    assert [len(batch) for batch in like_length_batches(lengths, 120, 500)] == [3, 3]


def test_minilm_gives_the_rows_of_sentence_transformers(minilm, minilm_folder):
    from sentence_transformers import SentenceTransformer

    texts = [f"Should I kill {number} people?" * (number % 7 + 1) for number in range(40)]
    texts += ["", "  padded  ", "ünï", "word " * 250]
    reference = SentenceTransformer(str(minilm_folder), device="cpu").encode(texts)
    np.testing.assert_allclose(minilm.encode(texts), reference, atol=1e-5)


def test_an_unknown_encoder_is_answered_with_the_nearest(empty_home):
    with pytest.raises(UnknownName, match=r"did you mean 'minilm'\?.*folder.*hub id"):
        load_encoder("minilmm")


def test_offline_with_nothing_cached_says_what_to_run_where(empty_home):
    with pytest.raises(StoreError, match="moralscope models pull minilm") as caught:
        load_encoder("minilm")
    assert str(empty_home) in str(caught.value)


def test_a_hub_id_is_not_fetched_when_the_hub_is_off(empty_home):
    with pytest.raises(StoreError, match="hub is switched off"):
        load_encoder("sentence-transformers/all-MiniLM-L12-v2")


def test_a_folder_without_safetensors_is_refused(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(InputError, match=r"no \.safetensors"):
        load_encoder(str(tmp_path))


def test_a_folder_that_is_no_model_is_refused_in_one_line(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(StoreError, match=r"cannot be loaded|is damaged"):
        load_encoder(str(tmp_path))


def test_a_folders_checksum_sees_settings_and_weights(tmp_path):
    save_file({"weight": np.ones(2, np.float32)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    before = folder_checksum(tmp_path)
    (tmp_path / "config.json").write_text('{"pooling": "cls"}')
    assert folder_checksum(tmp_path) != before
