import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.words.corpora import (
    MAX_SENTENCE,
    build_corpus,
    corpus_files,
    dated_files,
    periods,
    read_files,
)


def sentences(path):
    return list(read_files(corpus_files(path), "text").sentences())


def write(path, text, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def test_words_are_lower_case_letters_and_sentences_end_at_full_stops_and_blank_lines(tmp_path):
    text = "Thou shalt NOT steal! Don\u2019t lie\nto 7 friends_of mine\n\nA title\r\n\r\nGive…"
    assert sentences(write(tmp_path / "a.txt", text)) == [
        ["thou", "shalt", "not", "steal"],
        ["don't", "lie", "to", "friends", "of", "mine"],
        ["a", "title"],
        ["give"],
    ]


def test_composed_and_decomposed_letters_are_the_same_word(tmp_path):
    assert sentences(write(tmp_path / "a.txt", "pa\u0304li p\u0101li")) == [["pāli", "pāli"]]


def test_a_long_line_is_read_in_pieces_that_cut_no_word(tmp_path):
    text = "forgive " * 40_000
    found = sentences(write(tmp_path / "a.txt", text))
    assert {word for sentence in found for word in sentence} == {"forgive"}
    assert sum(map(len, found)) == 40_000
    assert max(map(len, found)) == MAX_SENTENCE


def test_a_letter_cut_by_a_piece_is_put_together_again(tmp_path):
    text = "x" + "ā" * 60_000 + " good"  # two bytes a letter: some piece ends inside one
    assert sentences(write(tmp_path / "a.txt", text))[-1][-1] == "good"


def test_runs_of_letters_that_are_no_words_are_passed_over(tmp_path):
    assert sentences(write(tmp_path / "a.txt", "A" * 100_000 + " gift")) == [["gift"]]


def test_a_folder_is_read_in_order_without_hidden_and_other_files(tmp_path):
    write(tmp_path / "b" / "two.txt", "second")
    write(tmp_path / "a.TXT", "first")
    write(tmp_path / "tiny.txt", "")
    write(tmp_path / ".hidden.txt", "hidden")
    write(tmp_path / ".git" / "c.txt", "hidden")
    (tmp_path / "image.png").write_bytes(b"\xff\x00")
    corpus = read_files(corpus_files(tmp_path), "folder")
    assert (list(corpus.sentences()), corpus.files) == ([["first"], ["second"]], 3)


def test_a_byte_order_mark_is_not_part_of_the_first_word(tmp_path):
    assert sentences(write(tmp_path / "a.txt", "give", "utf-8-sig")) == [["give"]]


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"good\nb\xe9d\n", r"a\.txt line 2 is not valid UTF-8 \(byte 0xe9\)"),
        (b"cut at the end \xc3", r"a\.txt line 1 is not valid UTF-8"),
        ("steal".encode("utf-16"), r"a\.txt line 1 is not valid UTF-8"),
        (b"good\nb\x00d\n", r"a\.txt line 2 holds a NUL"),
    ],
)
def test_what_is_not_text_is_refused_with_file_and_line(tmp_path, data, named):
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(InputError, match=named):
        read_files(corpus_files(tmp_path), "bad")


def test_a_missing_path_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match="neither a file nor a folder"):
        corpus_files(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no text files"):
        corpus_files(tmp_path)


def test_the_checksum_names_the_text(tmp_path):
    one = read_files(corpus_files(write(tmp_path / "a.txt", "give")), "a")
    same = read_files(corpus_files(write(tmp_path / "b.txt", "give")), "b")
    other = read_files(corpus_files(write(tmp_path / "c.txt", "Give")), "c")
    assert one.sha256 == same.sha256 != other.sha256


def test_blocks_are_neighbours_and_spread_counts_them():
    corpus = build_corpus("t", [["rare"] * 10, *[["often", "so"]] * 495])
    blocks = corpus.blocks()
    assert (np.diff(blocks) >= 0).all()
    assert blocks[-1] + 1 == 100
    spread = dict(zip(corpus.words, corpus.spread().tolist(), strict=True))
    assert spread["rare"] == 1
    assert spread["often"] == 99


def test_years_come_from_names_or_from_an_index(tmp_path):
    write(tmp_path / "x" / "speech_1-1862.txt", "a")
    write(tmp_path / "x" / "speech-1901.txt", "b")
    found = periods(dated_files(tmp_path / "x"), 50)
    assert [(p.name, [f.name for f in p.files]) for p in found] == [
        ("1850-1899", ["speech_1-1862.txt"]),
        ("1900-1949", ["speech-1901.txt"]),
    ]
    index = write(tmp_path / "i.csv", "file,year\nspeech-1901.txt,-44\n")
    assert [p.name for p in periods(dated_files(tmp_path / "x", index), 50)] == ["-50--1"]


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ("a.txt", "line 1 has 1 cells, not 2"),
        ("a.txt,1862\nb.txt,1900", "line 2 names 'b.txt', which is not in"),
        ("a.txt,1862\na.txt,1863", "line 2 names 'a.txt' again"),
        ("a.txt,soon", "line 1 has no year"),
        ("file,year", "names no files"),
    ],
)
def test_an_index_that_does_not_fit_is_refused_with_its_line(tmp_path, rows, named):
    write(tmp_path / "x" / "a.txt", "a")
    with pytest.raises(InputError, match=named):
        dated_files(tmp_path / "x", write(tmp_path / "i.csv", rows))


def test_a_name_without_a_year_is_refused(tmp_path):
    write(tmp_path / "speech-18620.txt", "a")
    with pytest.raises(InputError, match=r"speech-18620\.txt has no year in its name; .*--index"):
        dated_files(tmp_path)
