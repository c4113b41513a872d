import pytest

from moralscope.axes.correlate import correlate_words
from moralscope.core.errors import InputError


@pytest.fixture(scope="module")
def record():
    return correlate_words(encoder="scripted", vectors="scripted")


def test_every_word_is_paired_and_grouped(record):
    assert len(record.results) == 100
    assert [pair.group for pair in record.results] == ["dos"] * 50 + ["don'ts"] * 50
    known = [pair for pair in record.results if pair.association is not None]
    assert record.statistics["correlation"].n == len(known)
    assert all(pair.low <= pair.bias <= pair.high for pair in record.results)


def test_words_without_a_vector_are_named(record):
    missing = [pair.word for pair in record.results if pair.association is None]
    assert record.statistics["missing"] == missing
    assert missing == [] or any(missing[0] in line for line in record.warnings)


def test_own_lists_come_from_two_files(tmp_path):
    dos, donts = tmp_path / "dos.txt", tmp_path / "donts.txt"
    dos.write_text("joy\nlove\ngift\n")
    donts.write_text("war\npoison\nkill\n")
    record = correlate_words(dos=dos, donts=donts, encoder="scripted", vectors="scripted")
    assert [pair.word for pair in record.results] == [
        "joy",
        "love",
        "gift",
        "war",
        "poison",
        "kill",
    ]
    with pytest.raises(InputError, match="one of --dos and --donts is missing"):
        correlate_words(dos=dos, encoder="scripted", vectors="scripted")


def test_words_that_no_vector_holds_are_refused(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("qqqq\nzzzz\n")
    with pytest.raises(InputError, match="none of the words"):
        correlate_words(dos=path, donts=path, encoder="scripted", vectors="scripted")


def test_figure_four_holds_with_our_own_vectors(use_lite):
    """Jentzsch et al. 2019, Figure 4: r = 0.73, here with 59 of the 100 words."""
    found = correlate_words(encoder=use_lite).statistics["correlation"]
    assert found.n == 59
    assert found.r >= 0.73
    assert found.stars == "***"
    assert abs(found.within["don'ts"].r) < 0.4  # the pooled r is mostly group separation
