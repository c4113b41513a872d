"""The norm rewriter never breaks: what is no norm gives None, and costs no time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moralscope.stories.norms.reversal import behaviour_of, restate_norm, reverse_norm

NO_NORMS = (
    "",
    " ",
    ".",
    "🙂🙃",
    "it's",
    "It's rude to",
    "It's rude to .",
    "You should",
    "You shouldn't .",
    "should",
    "Not",
    "being",
    "It is wrong to lie. " * 5_000,
    "a " * 50_000,
    "(" * 5_000,
    "La vie est belle.",
    "Man soll nicht lügen.",
    "你不应该说谎。",
    "Нельзя лгать.",
    "\x00\x01\x02",
    "The cat sat on the mat",
    "42",
)


@pytest.mark.parametrize("text", NO_NORMS, ids=lambda text: repr(text[:20]))
def test_no_norm_gives_none(text):
    start = time.perf_counter()
    assert reverse_norm(text) is None
    assert restate_norm(text) is None
    assert behaviour_of(text) is None
    assert time.perf_counter() - start < 0.5


WORDS = """it's|it is|you|should|not|to|never|is|wrong|if|when|that|people|don't|lying|good|,|and
|because|for|no one|be|avoid|there's|nothing|wrong with|{vp}|{|}|%s|\\|🙂"""


@given(
    st.one_of(
        st.text(max_size=80), st.lists(st.sampled_from(WORDS.split("|")), max_size=14).map(" ".join)
    )
)
def test_any_text_is_answered(text):
    for variant in (0, 1, 7, 10**9, -1):
        answer = reverse_norm(text, variant=variant)
        assert answer is None or (answer.endswith(".") and answer.strip(". "))


def test_the_longest_text_that_is_read_is_read_quickly():
    text = "If " + "you lie, it's wrong to say that people should " * 12 + "hum."
    start = time.perf_counter()
    reverse_norm(text)
    assert time.perf_counter() - start < 0.5
