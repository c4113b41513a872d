"""use-lite against TF.js: golden ids and vectors made by tests/golden/use_lite_vectors.mjs."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from moralscope.core.errors import StoreError
from moralscope.models.encoders.use_lite import MAX_PIECES, UseLiteBackend, UseLiteWeights
from moralscope.models.encoders.use_lite_tokenizer import UseLiteTokenizer

GOLDEN = Path(__file__).parents[3] / "golden"
CASES = json.loads((GOLDEN / "use_lite_vectors.json").read_text(encoding="utf-8"))
TEXTS = [case["text"] for case in CASES]
RESERVED = [("\ufffd", 0.0)] * 6
# ids:           6             7            8            9            10           11
PIECES = [("\u2581", -4.0), ("a", -3.0), ("b", -3.0), ("ab", -5.0), ("\u2581a", -5.0), (":", None)]


@pytest.fixture(scope="module")
def backend(use_lite_folder):
    return UseLiteBackend(use_lite_folder, checksum="abc")


@pytest.fixture(scope="module")
def expected():
    return load_file(GOLDEN / "use_lite_vectors.safetensors")["vectors"]


@pytest.fixture
def tokenizer():
    return UseLiteTokenizer([*RESERVED, *PIECES])


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_ids_equal_the_reference(backend, case):
    assert backend.tokenizer.encode(case["text"]) == case["ids"]


def test_prepare_keeps_the_pieces_that_the_graph_reads(backend):
    prepared = backend.prepare(TEXTS)
    assert [ids.tolist() for ids in prepared] == [case["ids"][:MAX_PIECES] for case in CASES]
    assert max(len(case["ids"]) for case in CASES) > MAX_PIECES
    assert all(ids.dtype == np.int32 for ids in prepared)


def test_vectors_equal_the_reference(backend, expected):
    rows = backend.embed(backend.prepare(TEXTS))
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), backend.dimension)
    difference = np.abs(rows - expected).max()
    print(f"largest difference to TF.js: {difference:.1e}")
    assert difference <= 1e-5


def test_a_row_does_not_depend_on_its_batch(backend):
    prepared = backend.prepare(TEXTS)
    together = backend.embed(prepared)
    alone = np.concatenate([backend.embed([ids]) for ids in prepared])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-6)
    np.testing.assert_allclose(backend.embed(prepared[::-1])[::-1], together, rtol=0, atol=1e-6)


def test_rows_have_length_one_even_for_empty_texts(backend):
    rows = backend.embed(backend.prepare(["", "Should I lie?", ""]))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(rows[0], rows[2])
    np.testing.assert_allclose(backend.embed(backend.prepare([""]))[0], rows[0], atol=1e-6)


def test_an_empty_batch_has_no_rows(backend):
    assert backend.embed(backend.prepare([])).shape == (0, 512)


def test_a_backend_reports_what_it_was_given(backend):
    assert (backend.name, backend.checksum, backend.dimension) == ("use-lite", "abc", 512)


@pytest.mark.parametrize(
    "text", ["x" * 10_000, "Should I lie: yes or no? " * 400, "\U0001f600" * 5000]
)
def test_ten_thousand_characters_take_less_than_two_seconds(backend, text):
    start = time.perf_counter()
    assert np.isfinite(backend.embed(backend.prepare([text]))).all()
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" ", [6, 6]),
        ("ab", [10, 8]),
        ("bab", [6, 8, 9]),
        ("a b", [10, 6, 8]),
        ("\uff41\u00a0b", [10, 6, 8]),
        ("a\u00e9\u00e8b", [10, 0, 8]),
        ("a\U0001f468\u200d\U0001f469b", [10, 0, 8]),
        ("\tb\n", [6, 0, 8, 0]),
        ("b:a", [6, 8, 11, 7]),
    ],
)
def test_segmentation(tokenizer, text, ids):
    assert tokenizer.encode(text) == ids


def test_decomposed_and_composed_text_have_the_same_ids(tokenizer):
    assert tokenizer.encode("a\u00e9 b") == tokenizer.encode("ae\u0301 b")


def test_reserved_pieces_are_never_matched():
    assert UseLiteTokenizer([("b", 0.0)] * 6 + PIECES[:1]).encode("b") == [6, 0]


@pytest.mark.parametrize(
    "content",
    ["", "{", "{}", "[]", "5", "[5]", '[["a"]]', '[["", 0]]', '[["a", "b"]]', "[[1, 0]]"],
)
def test_a_malformed_vocabulary_is_refused(tmp_path, content):
    path = tmp_path / "vocab.json"
    path.write_text(content)
    with pytest.raises(StoreError, match="pull the model again"):
        UseLiteTokenizer.read(path)


def manifest(**changes):
    weight = {"name": "w", "shape": [2, 2], "dtype": "float32"} | changes
    return json.dumps({"weightsManifest": [{"paths": ["shard"], "weights": [weight]}]})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"weightsManifest": [{}]}',
        '{"weightsManifest": 3}',
        manifest().replace("shard", "missing"),
        manifest(shape=[2, 3]),
        manifest(shape=[-1]),
        manifest(shape="22"),
        manifest(dtype="float16"),
        manifest(quantization={"dtype": "uint8", "min": 0, "scale": 1}),
    ],
)
def test_a_malformed_model_is_refused(tmp_path, content):
    (tmp_path / "shard").write_bytes(bytes(16))
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(StoreError, match="pull the model again"):
        UseLiteWeights(tmp_path / "model.json")


def test_weights_are_taken_by_name_and_shape(tmp_path):
    (tmp_path / "shard").write_bytes(np.arange(4, dtype="<f4").tobytes())
    (tmp_path / "model.json").write_text(manifest())
    weights = UseLiteWeights(tmp_path / "model.json")
    np.testing.assert_array_equal(weights.take("w", 4), [0, 1, 2, 3])
    with pytest.raises(StoreError, match="no weight w of shape"):
        weights.take("w", 5)
    with pytest.raises(StoreError, match="no weight v of shape"):
        weights.take("v", 4)


def test_the_weights_of_another_model_are_refused(tmp_path):
    (tmp_path / "shard").write_bytes(bytes(16))
    (tmp_path / "model.json").write_text(manifest())
    (tmp_path / "vocab.json").write_text(json.dumps([*RESERVED, *PIECES]))
    with pytest.raises(StoreError, match="Embeddings_en"):
        UseLiteBackend(tmp_path)


def test_a_vocabulary_of_another_size_is_refused(tmp_path, use_lite_folder):
    for path in use_lite_folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "vocab.json").unlink()
    (tmp_path / "vocab.json").write_text(json.dumps([*RESERVED, *PIECES]))
    with pytest.raises(StoreError, match="12 pieces instead of 8000"):
        UseLiteBackend(tmp_path)
