"""Disguised texts are read plain, ordinary ones stay as they are, and none takes long."""

import sys
import time
from pathlib import Path

import pytest

from moralscope.rules.texts.disguises import undisguised
from moralscope.rules.texts.sanitize import clean, reply_texts, without_signs

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
import guard_texts

BAD = guard_texts.BAD[0]
WORDS = set(BAD.lower().rstrip(".").split())


@pytest.mark.parametrize("name", guard_texts.DISGUISES)
def test_a_disguise_is_undone(name):
    texts = reply_texts(clean(guard_texts.DISGUISES[name](BAD))).texts
    read = [{word.strip(".-").lower() for word in text.split()} for text in texts]
    assert max(len(WORDS & words) for words in read) >= len(WORDS) - 3, texts


@pytest.mark.parametrize("name", guard_texts.HARMLESS)
def test_code_emoji_names_and_markup_read_as_before(name):
    text = clean(
        guard_texts.harmless(["I would ask her first. It's kind."] * 10, 10, 0)[
            list(guard_texts.HARMLESS).index(name)
        ][1]
    )
    said, plain = reply_texts(text), text
    if name in ("emoji", "science"):
        plain = " ".join(
            "".join(" " if sign in "👋😀🎉❤🇫🇷🇩🇪≤→∑" else sign for sign in text).split()
        )
    assert said.unread == 0
    assert said.texts[0] == plain
    if name not in ("markdown", "HTML"):  # a heading is spaced there, tags are more than the text
        assert said.texts == (plain,)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("cute😀 and ❤warm, ✓done", "cute and warm, done"),
        ("a→b, ∀x∈R, √n", "a b, x R, n"),
        ("help🔥yourself", "help yourself"),
        ("k☠ll, w∃ak, ☠diot, f🔥k", "k☠ll, w∃ak, ☠diot, f🔥k"),  # a word with a letter less
    ],
)
def test_signs_leave_a_text_but_where_they_may_be_letters(text, read):
    assert without_signs(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "Send me an e-mail at 5 p.m., o.k.?",
        "The A17 chip, the H2O in it, l10n and k8s: 4x4, 2nd, 3rd.",
        "Søren from Łódź said that \N{GREEK SMALL LETTER ALPHA} and β are π.",
        "J. R. R. Tolkien and A, B, C, D of the U.S.A.",
        "if it is up to me, so be it or do as we do",
        "On that saw, no era is won; now not a ton was.",
        "internationalization of /usr/local/lib/python3/site-packages",
        "I ❤ this 😀 so much!! Sooo cute 🇺🇸🇩🇪",
        "",
    ],
)
def test_an_ordinary_text_has_no_disguise(text):
    assert undisguised(text) == text


HOSTILE = {
    "one word": "a" * 50_000,
    "comments": "<!--" * 25_000,
    "tags": "<a" * 50_000,
    "letters": "k i l l y o u " * 7_000,
    "dots": "a.b" * 30_000,
    "digits": "12 " * 30_000,
    "hex": "ab" * 50_000,
    "drawn out": "aaab" * 25_000,
    "leet": "a1" * 25_000 + "l33t " * 10_000,
    "signs": "'\\/&%" * 20_000,
    "other letters": "a\N{CYRILLIC SMALL LETTER A}" * 50_000,
    "stops": "." * 100_000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hundred_kilobytes_made_to_be_slow_are_not(case):
    start = time.process_time()
    reply_texts(clean(HOSTILE[case]))
    assert time.process_time() - start < 5  # a tenth of it here; quadratic patterns take minutes
