"""One suite for every `Encoder`: a new one is tested by adding its name."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from moralscope.core.protocols import Encoder
from moralscope.models.encoders import TextEncoder, load_encoder
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.steer.edit import edited_encoder

TEXTS = [
    "Should I kill time?",
    "Yes, you should.",
    "a",
    "Is it polite to greet my guests when they arrive late in the evening without calling first?",
    "Darf ich über die Straße gehen?",
    "мне можно?",
    "👩‍👩‍👧 🤷🏽‍♀️ ok?",
    "  spaces \t and\nlines  ",
    "Should I kill time",
]


@pytest.fixture(
    scope="module",
    params=[
        "scripted",
        "minilm",
        "use-lite",
        "folder",
        "cached",
        "edited",
        pytest.param("mpnet", marks=pytest.mark.slow),
    ],
)
def encoder(request, tmp_path_factory):
    if request.param == "scripted":
        return load_encoder("scripted")
    if request.param == "edited":
        return edited_encoder(request.getfixturevalue("minilm"), remove="gender")
    if request.param == "folder":
        return load_encoder(str(request.getfixturevalue("minilm_folder")), cached=False)
    if request.param == "cached":
        inner = request.getfixturevalue("use_lite")
        folder = tmp_path_factory.mktemp("cache")
        return TextEncoder(inner._backend, EmbeddingCache(folder, inner.checksum, inner.dimension))
    return request.getfixturevalue(request.param.replace("-", "_"))


def test_is_an_encoder_with_a_name_and_a_checksum(encoder):
    assert isinstance(encoder, Encoder)
    assert encoder.name
    assert len(encoder.checksum) >= 32


def test_gives_one_float32_row_per_text(encoder):
    rows = encoder.encode(TEXTS)
    assert rows.shape == (len(TEXTS), encoder.dimension)
    assert rows.dtype == np.float32


def test_keeps_the_order_of_the_texts(encoder):
    rows = encoder.encode(TEXTS)
    backwards = encoder.encode(TEXTS[::-1])
    np.testing.assert_allclose(backwards[::-1], rows, atol=1e-5)


def test_different_texts_get_different_rows(encoder):
    rows = encoder.encode(TEXTS)
    assert len(np.unique(rows.round(4), axis=0)) == len(TEXTS)


def test_repeated_texts_get_equal_rows(encoder):
    rows = encoder.encode(["kill time", "kill people", "kill time"])
    np.testing.assert_array_equal(rows[0], rows[2])


def test_no_texts_give_no_rows(encoder):
    assert encoder.encode([]).shape == (0, encoder.dimension)


@pytest.mark.parametrize("text", ["", " ", "x" * 10_000, "kill time " * 1000, "🔥" * 500])
def test_extreme_texts_get_finite_rows(encoder, text):
    rows = encoder.encode([text, "kill time"])
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows[0]) > 0


def test_a_row_does_not_depend_on_the_batch(encoder):
    together = encoder.encode(TEXTS * 3 + [f"kill {number} minutes" for number in range(100)])
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(together[: len(TEXTS)], alone, atol=1e-5)


def test_threads_get_the_rows_a_single_caller_gets(encoder):
    expected = encoder.encode(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda _: encoder.encode(TEXTS), range(16)):
            np.testing.assert_allclose(rows, expected, atol=1e-5)


LONG = " ".join(f"and then we went to house number {number} to help" for number in range(80))


def test_every_part_of_a_long_text_is_read(encoder):
    words = LONG.split()
    others = [" ".join([*words[:place], "murder", *words[place + 1 :]]) for place in (0, 300, -1)]
    first, *rest = encoder.encode([LONG, *others])
    assert all(np.abs(first - row).max() > 1e-6 for row in rest)
    np.testing.assert_allclose(encoder.encode([LONG])[0], first, atol=1e-5)


def test_a_text_that_is_read_whole_has_nothing_unread(encoder):
    assert encoder.unread(["kill time", LONG]) == [0, 0]


def test_beyond_the_most_tokens_all_are_counted(encoder):
    if encoder.name == "scripted":
        pytest.skip("reads texts of any length")
    few, many = encoder.unread(["a " * 40_000, "a " * 40_010])
    assert few >= 40_000 - 32_768
    assert many == few + 10
