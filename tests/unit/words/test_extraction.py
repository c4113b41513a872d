"""Dos and don'ts of a small vocabulary with known cosines, and of real word vectors."""

import json
import time

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.store import data_file
from moralscope.words.association import WordAssociation
from moralscope.words.extract import (
    DO,
    DONT,
    ListOverlap,
    PublishedLists,
    extract_dos_and_donts,
    list_overlap,
    published_lists,
)
from moralscope.words.vectors import TableVectors, load_vectors
from moralscope.words.verbs import Verb, find_verbs, load_verb_lexicon
from moralscope.words.word_sets import load_word_sets

# Angles in degrees: the nearer to 0 the better, the nearer to 180 the worse.
ANGLES = {"good": 0, "bad": 180, "help": 10, "give": 40, "walk": 90, "lie": 140, "killed": 170}
PUBLISHED = PublishedLists(("smile", "give", "bake"), ("kill",), "a test")


def tiny_vectors(angles=ANGLES):
    turns = np.deg2rad(list(angles.values()))
    matrix = np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)
    return TableVectors("tiny", "", matrix * np.arange(1, len(angles) + 1)[:, None], list(angles))


VERBS = [
    Verb("help", "help", 3),
    Verb("give", "give", 4),
    Verb("walk", "walk", 5),
    Verb("lie", "lie", 6),
    Verb("kill", "killed", 7),
]


def extracted(count, verbs=VERBS, vectors=None, sets=()):
    association = WordAssociation(vectors or tiny_vectors(), ["good"], ["bad"])
    return extract_dos_and_donts(association, verbs, PUBLISHED, sets, count)


def test_the_ends_of_the_ranking_are_the_dos_and_donts():
    rows = extracted(2)
    assert [(row.word, row.side) for row in rows] == [
        ("help", DO),
        ("give", DO),
        ("kill", DONT),
        ("lie", DONT),
    ]


def test_a_score_is_eq_1_of_the_form_that_has_a_vector():
    do, dont = extracted(1)
    assert do.score == pytest.approx(2 * np.cos(np.deg2rad(10)), abs=1e-6)
    assert dont.score == pytest.approx(-2 * np.cos(np.deg2rad(10)), abs=1e-6)
    assert (dont.word, dont.form, dont.place) == ("kill", "killed", 7)


def test_ranks_come_from_the_list_of_the_same_side():
    ranks = {row.word: row.paper_rank for row in extracted(2)}
    assert ranks == {"help": None, "give": 2, "kill": 1, "lie": None}


def test_few_verbs_are_shared_out_and_none_is_on_both_sides():
    rows = extracted(50)
    assert [row.side for row in rows] == [DO, DO, DO, DONT, DONT]
    assert len({row.word for row in rows}) == 5


def test_a_verb_without_direction_is_left_out():
    vectors = TableVectors(
        "tiny", "", np.array([[1, 0], [-1, 0], [0, 0], [1, 1]], np.float32), list("abcd")
    )
    association = WordAssociation(vectors, ["a"], ["b"])
    rows = extract_dos_and_donts(
        association, [Verb("c", "c", 3), Verb("d", "d", 4)], PUBLISHED, (), 5
    )
    assert [row.word for row in rows] == ["d"]


def test_association_words_among_the_verbs_are_marked():
    marked = {row.word: row.association_word for row in extracted(1, sets={"help"})}
    assert marked == {"help": True, "kill": False}


def test_no_verb_is_bad_input():
    with pytest.raises(InputError, match="no verb"):
        extracted(5, verbs=[])


def test_the_overlap_counts_found_extracted_listed_and_known_words():
    rows, vectors = extracted(2), tiny_vectors()
    dos = list_overlap(rows, DO, vectors, PUBLISHED.dos)
    donts = list_overlap(rows, DONT, vectors, PUBLISHED.donts)
    assert dos == ListOverlap(found=1, of=2, listed=3, in_vocabulary=1)
    assert donts == ListOverlap(found=1, of=2, listed=1, in_vocabulary=0)


def test_without_data_the_printed_lists_are_used(monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    lists = published_lists()
    assert (len(lists.dos), len(lists.donts)) == (50, 50)
    assert "printed" in lists.source


def test_with_data_the_long_lists_are_used(monkeypatch, tmp_path):
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    (tmp_path / "figures").mkdir()
    path = tmp_path / "figures" / "mcm_dos_donts.json"
    path.write_text(json.dumps({"dos_100": [{"word": "joy"}], "donts_100": [{"word": "bad"}]}))
    assert published_lists().donts == ("bad",)
    path.write_text(json.dumps({"dos_100": ["joy"]}))
    with pytest.raises(InputError, match="dos_100, row 1"):
        published_lists()


@pytest.mark.slow
@pytest.mark.realdata
def test_at_least_15_of_the_top_25_verbs_of_google_news_are_published():
    if data_file("figures/mcm_dos_donts.json") is None:
        pytest.skip("MORALSCOPE_DATA does not hold figures/mcm_dos_donts.json")
    vectors, sets = load_vectors("googlenews-26k"), load_word_sets("papers")
    verbs = find_verbs(vectors.words, load_verb_lexicon())
    association = WordAssociation(vectors, sets.positive, sets.negative)
    published = published_lists()
    rows = extract_dos_and_donts(association, verbs, published, (), 25)
    assert list_overlap(rows, DO, vectors, published.dos).found >= 15
    assert list_overlap(rows, DONT, vectors, published.donts).found >= 15


@pytest.mark.slow
def test_400000_words_take_less_than_five_seconds():
    vectors, sets = load_vectors("glove-50"), load_word_sets("papers")
    assert len(vectors.words) == 400_000
    start = time.perf_counter()
    verbs = find_verbs(vectors.words, load_verb_lexicon())
    association = WordAssociation(vectors, sets.positive, sets.negative)
    rows = extract_dos_and_donts(association, verbs, published_lists(), (), 50)
    assert time.perf_counter() - start < 5
    assert len(rows) == 100
