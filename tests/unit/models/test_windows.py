"""Windows of long texts: nothing is lost that is not counted."""

import random

import numpy as np
import pytest

from moralscope.models.windows import (
    Tokens,
    Windows,
    cut_pair,
    token_windows,
    word_tokens,
    worst_of_windows,
)

from ...expert_makers import tiny_bert


@pytest.mark.parametrize("seed", range(20))
def test_windows_hold_every_token_whatever_the_sizes(seed):
    rng = random.Random(seed)
    first, second = ("x " * rng.randrange(60), "y " * rng.randrange(1, 900))
    room = rng.randrange(12, 200)
    found = cut_pair((first, second), word_tokens(first), word_tokens(second), room)
    assert found.dropped == len(first.split()) - min(
        len(first.split()), sum(word == "x" for word in found.pairs[0][0].split())
    )
    assert sum(text.count("y") for _, text in found.pairs) >= second.count("y")
    assert all(len(a.split()) + len(b.split()) <= room for a, b in found.pairs)


def test_a_window_begins_and_ends_between_words():
    spans = [(place, place + 1) for place in range(300)]
    words = [place // 3 for place in range(300)]
    text = "".join(f"{number % 10}" * 3 for number in range(100))
    found = cut_pair(("", text), Tokens(), Tokens(spans, words), 50)
    assert all(len(part) % 3 == 0 for _, part in found.pairs)


def test_a_word_of_the_whole_budget_is_cut_and_goes_on():
    spans = [(place, place + 1) for place in range(300)]
    found = cut_pair(("", "z" * 300), Tokens(), Tokens(spans, [0] * 300), 50)
    assert sum(len(part) for _, part in found.pairs) >= 300
    assert len(found.pairs) < 12


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    from moralscope.models.plain_transformer import read_tokenizer

    return read_tokenizer(tiny_bert(tmp_path_factory.mktemp("tiny")))


def test_words_the_vocabulary_lacks_are_unread(tokenizer):
    smiley, word = token_windows(tokenizer, [("", "jo 🙂 bad"), ("", "jo " + "ж" * 150)], 32)
    assert smiley.unread == 0
    assert word.unread == 1


def test_a_tokenizer_of_transformers_gives_the_same_windows(tmp_path, tokenizer):
    from moralscope.models.hugging_face import load_tokenizer

    theirs = load_tokenizer(tiny_bert(tmp_path / "tiny"))
    pairs = [("be kind " * 30, "jo is bad and al is good " * 50), ("", "jo")]
    assert token_windows(theirs, pairs, 32) == token_windows(tokenizer, pairs, 32)


def test_one_bad_window_among_many_counts_as_alone_and_no_window_is_without_effect():
    calm = np.full((200, 2), [0.02, 0.98])
    calm[77] = [0.97, 0.03]
    cut = [Windows((("", "a"),) * 200)]
    (worst,) = worst_of_windows(calm, calm[:, 0], cut)
    assert abs(worst[0] - 0.97) < 0.001
    calm[5] = [0.021, 0.979]
    (other,) = worst_of_windows(calm, calm[:, 0], cut)
    assert other[0] != worst[0]


@pytest.mark.parametrize("max_length", [128, 384])
def test_100_kb_of_english_are_read_whole(minilm_folder, max_length):
    from moralscope.models.plain_transformer import read_tokenizer

    line = "They talked about gardening, cooking and Sunday's football match until it was dark. "
    text = (line * 2000)[:100_000]
    (found,) = token_windows(
        read_tokenizer(minilm_folder), [("It is kind to help.", text)], max_length
    )
    assert found.unread == 0
    assert len(found.pairs) < 100_000 / max_length
