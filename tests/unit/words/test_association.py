"""Eq. 1 against a plain reading of the formula, and against what the papers print."""

import json

import numpy as np
import pytest
from scipy.stats import pearsonr

from moralscope.core.errors import InputError
from moralscope.models.store import data_file
from moralscope.words.association import WordAssociation
from moralscope.words.paper import load_paper
from moralscope.words.vectors import TableVectors, scripted_vectors

A, B = ["joy", "love", "peace"], ["war", "evil", "death", "harm"]


def table(**rows):
    matrix = np.array(list(rows.values()), dtype=np.float32)
    return TableVectors("table", "0" * 64, matrix, list(rows))


def cosine(u, v):
    u, v = u.astype(float), v.astype(float)
    return float(u @ v / np.sqrt((u @ u) * (v @ v)))


def test_scores_are_the_formula_word_by_word():
    vectors = scripted_vectors()
    words = ["gift", "steal", "joy"]
    found = WordAssociation(vectors, A, B).associate(words)
    for word, row in zip(words, found, strict=True):
        w = vectors.vectors([word])[0]
        to_a = np.mean([cosine(w, a) for a in vectors.vectors(A)])
        to_b = np.mean([cosine(w, b) for b in vectors.vectors(B)])
        assert row.score == pytest.approx(to_a - to_b, abs=1e-12)
        assert row.low < row.score < row.high


def test_missing_words_are_none_and_named():
    found = WordAssociation(scripted_vectors(), [*A, "nope"], ["nada", *B])
    missing, known = found.associate(["zzz", "gift"])
    assert missing.score is None
    assert missing.low is None
    assert known.score is not None
    assert found.missing_positive == ("nope",)
    assert found.missing_negative == ("nada",)


def test_missing_set_words_leave_the_mean_of_the_others():
    vectors = scripted_vectors()
    with_missing = WordAssociation(vectors, [*A, "nope"], B).associate(["gift"])
    assert with_missing == WordAssociation(vectors, A, B).associate(["gift"])


def test_a_vector_without_length_is_missing_not_neutral():
    vectors = table(good=[1, 0], bad=[0, 1], nothing=[0, 0], mild=[2, 1])
    found = WordAssociation(vectors, ["good", "nothing"], ["bad"])
    nothing, mild = found.associate(["nothing", "mild"])
    assert nothing.score is None
    assert mild.score == pytest.approx(1 / np.sqrt(5))
    assert found.missing_positive == ("nothing",)


def test_swapping_the_sets_turns_the_sign():
    vectors = scripted_vectors()
    forth = WordAssociation(vectors, A, B).scores(vectors.words)
    back = WordAssociation(vectors, B, A).scores(vectors.words)
    np.testing.assert_allclose(forth, -back, atol=1e-15)
    assert np.abs(forth).min() > 0


def test_an_interval_does_not_hang_on_its_neighbours_and_follows_the_seed():
    vectors = scripted_vectors()
    alone = WordAssociation(vectors, A, B).associate(["gift"])[0]
    beside = WordAssociation(vectors, A, B).associate(["steal", "gift"])[1]
    for end in ("score", "low", "high"):
        assert getattr(beside, end) == pytest.approx(getattr(alone, end), abs=1e-12)
    other = WordAssociation(vectors, A, B, seed=1).associate(["gift"])[0]
    assert other.score == alone.score
    assert (other.low, other.high) != (alone.low, alone.high)


@pytest.mark.parametrize(
    ("positive", "negative", "problem"),
    [
        ([], B, "the set 'positive' is empty"),
        (A, ["nope", "nada"], "none of the 2 words of the set 'negative' is in scripted"),
        ([*A, "war"], B, "share 1 words"),
        ([*A, "joy"], B, "holds 'joy' twice"),
    ],
)
def test_sets_that_cannot_be_used_are_refused(positive, negative, problem):
    with pytest.raises(InputError, match=problem):
        WordAssociation(scripted_vectors(), positive, negative)


@pytest.mark.parametrize(("word", "score"), [("joy", 0.148), ("poison", -0.133), ("bad", -0.122)])
def test_golden_scores_on_google_news(word_vectors_26k, word, score):
    paper = load_paper()
    found = WordAssociation(word_vectors_26k, paper.positive_words, paper.negative_words)
    assert found.associate([word])[0].score == pytest.approx(score, abs=5e-4)
    assert len(found.missing_positive) + len(found.missing_negative) == 5


def agreement(vectors, published):
    paper = load_paper()
    axis = WordAssociation(vectors, paper.positive_words, paper.negative_words)
    ours = axis.scores(list(published))
    known = np.isfinite(ours)
    theirs = np.array(list(published.values()))
    return float(pearsonr(ours[known], theirs[known]).statistic), int(known.sum())


def test_scores_agree_with_the_printed_ones(word_vectors_26k):
    r, words = agreement(word_vectors_26k, load_paper().weat)
    assert r >= 0.97
    assert words >= 15


@pytest.mark.realdata
def test_scores_agree_with_all_published_ones(word_vectors_26k):
    file = data_file("figures/mcm_dos_donts.json")
    if file is None:
        pytest.skip("MORALSCOPE_DATA does not hold figures/mcm_dos_donts.json")
    lists = json.loads(file.read_text("utf-8"))
    rows = [*lists["dos_100"], *lists["donts_100"]]
    r, words = agreement(word_vectors_26k, {row["word"]: row["weat"] for row in rows})
    print(f"r = {r:.4f} over {words} words")
    assert r >= 0.97
    assert words >= 80
