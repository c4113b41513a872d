"""The association test against brute force, SciPy and the published figures."""

from itertools import combinations
from math import comb
from time import perf_counter

import numpy as np
import pytest
from scipy.stats import permutation_test

from moralscope.core.errors import InputError
from moralscope.words.association import TargetSets, effect_size, permutation_p, weat
from moralscope.words.vectors import scripted_vectors
from moralscope.words.word_sets import CALISKAN, load_word_sets

A, B = ("joy", "love", "peace"), ("war", "evil", "death")
X, Y = ("gift", "help", "smile", "hug"), ("lie", "steal", "abuse", "prison")


def groups(n_x, n_y, shift=0.5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(shift, 1, n_x), rng.normal(0, 1, n_y)


def brute_force(x, y):
    values = np.concatenate([x, y])
    sums = [sum(values[list(chosen)]) for chosen in combinations(range(len(values)), len(x))]
    return np.mean(np.array(sums) >= x.sum() - 1e-9)


@pytest.mark.parametrize(
    ("n_x", "n_y"), [(1, 1), (2, 1), (1, 5), (5, 5), (3, 8), (8, 7), (1, 60), (60, 1), (2, 45)]
)
@pytest.mark.parametrize("shift", [-0.5, 0.0, 1.5])
def test_the_exact_p_is_that_of_brute_force(n_x, n_y, shift):
    x, y = groups(n_x, n_y, shift)
    found = permutation_p(x, y, permutations=1000)
    assert found.p == pytest.approx(brute_force(x, y), abs=1e-12)
    assert found.exact
    assert found.partitions == found.compared == comb(n_x + n_y, n_x)
    assert found.low == found.high == found.p


def test_ties_count_as_reached():
    x, y = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1, 0.1])
    assert permutation_p(x, y, permutations=10).p == pytest.approx(brute_force(x, y), abs=1e-12)
    assert permutation_p(x[:2], x[:2], permutations=10).p == pytest.approx(5 / 6)


def test_the_exact_p_is_scipys():
    x, y = groups(6, 7, 0.8)
    reference = permutation_test(
        (x, y),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        alternative="greater",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert permutation_p(x, y, permutations=10).p == pytest.approx(reference.pvalue, abs=1e-12)


def test_sampling_agrees_with_the_exact_p_and_its_interval_covers_it():
    covered = 0
    for seed in range(40):
        x, y = groups(12, 14, 0.6, seed)
        exact = permutation_p(x, y, permutations=0, exact=True).p
        sampled = permutation_p(x, y, permutations=2000, exact=False, seed=seed)
        assert not sampled.exact
        assert sampled.compared == 2001
        assert sampled.low < sampled.p < sampled.high
        assert abs(sampled.p - exact) < 0.06
        covered += sampled.low <= exact <= sampled.high
    assert covered >= 36  # of 40, at 95 %


def test_sampled_partitions_are_distinct_and_not_the_observed_one():
    from moralscope.words.association import _draw_partitions

    # 210 partitions: a draw with replacement would repeat itself many times in 100.
    masks = _draw_partitions(10, 4, 100, seed=0)
    assert masks.shape == (100, 10)
    assert (masks.sum(axis=1) == 4).all()
    assert len({row.tobytes() for row in masks}) == 100
    assert (np.arange(10) < 4).tobytes() not in {row.tobytes() for row in masks}


def test_partitions_are_drawn_evenly():
    from moralscope.words.association import _draw_partitions

    masks = _draw_partitions(60, 20, 6000, seed=3)
    assert np.abs(masks.mean(axis=0) - 1 / 3).max() < 0.03


def test_a_sample_of_most_partitions_is_all_of_them():
    x, y = groups(4, 4)
    assert permutation_p(x, y, permutations=40, exact=False).exact


def test_the_smallest_sampled_p_counts_the_observed_partition():
    x, y = np.full(30, 5.0), np.zeros(30)
    found = permutation_p(x, y, permutations=999)
    assert found.p == 1 / 1000
    assert 0 < found.low < 1e-15
    assert 0.003 < found.high < 0.005  # Clopper-Pearson for 0 of 999: 1 - 0.025 ** (1 / 999)


def test_the_same_seed_gives_the_same_p():
    x, y = groups(30, 30, 0.3)
    first = permutation_p(x, y, permutations=500, seed=1)
    assert first == permutation_p(x, y, permutations=500, seed=1)
    assert first.p != permutation_p(x, y, permutations=500, seed=2).p


def test_ten_thousand_partitions_take_milliseconds():
    x, y = groups(25, 25)
    start = perf_counter()
    permutation_p(x, y, permutations=10_000)
    assert perf_counter() - start < 1.0  # measured: 0.03 s


def test_an_exact_p_beyond_reach_is_refused():
    x, y = groups(30, 30)
    with pytest.raises(InputError, match=r"needs 1\.18e\+17 partitions"):
        permutation_p(x, y, permutations=10, exact=True)


def test_the_effect_size_is_at_most_two():
    assert effect_size(np.ones(3), -np.ones(3)) == pytest.approx(2)
    x, y = groups(9, 4)
    pooled = np.concatenate([x, y])
    assert effect_size(x, y) == pytest.approx((x.mean() - y.mean()) / np.std(pooled, ddof=0))


def test_the_test_is_put_together_from_its_parts():
    vectors = scripted_vectors()
    found = weat(vectors, TargetSets(X, Y, A, B))
    unit = {
        w: v / np.linalg.norm(v)
        for w, v in zip(
            (*X, *Y, *A, *B), vectors.vectors((*X, *Y, *A, *B)).astype(float), strict=True
        )
    }
    s = {
        w: np.mean([unit[w] @ unit[a] for a in A]) - np.mean([unit[w] @ unit[b] for b in B])
        for w in (*X, *Y)
    }
    x, y = np.array([s[w] for w in X]), np.array([s[w] for w in Y])
    assert found.statistic == pytest.approx(x.sum() - y.sum(), abs=1e-12)
    assert found.effect_size == pytest.approx(effect_size(x, y), abs=1e-12)
    assert found.p.p == pytest.approx(brute_force(x, y), abs=1e-12)
    assert found.low < found.effect_size < found.high
    back = weat(vectors, TargetSets(Y, X, A, B))
    assert back.effect_size == pytest.approx(-found.effect_size)


def test_unequal_sizes_and_missing_words_are_reported():
    found = weat(scripted_vectors(), TargetSets((*X, "nope"), Y[:2], A, (*B, "nada")))
    assert (found.n_x, found.n_y) == (4, 2)
    assert found.missing == {"x": ("nope",), "y": (), "positive": (), "negative": ("nada",)}
    assert found.p.partitions == 15


@pytest.mark.parametrize(
    ("sets", "problem"),
    [
        (TargetSets(X, (*Y, "hug"), A, B), "'x' and 'y' share 1 words"),
        (TargetSets(X, Y, A, (*B, "joy")), "'positive' and 'negative' share 1 words"),
        (TargetSets((), Y, A, B), "'x' is empty"),
        (TargetSets(X, ("nope", "nada"), A, B), "none of the 2 words of the set 'y'"),
        (TargetSets((*X, "gift"), Y, A, B), "holds 'gift' twice"),
    ],
)
def test_sets_that_cannot_be_tested_are_refused(sets, problem):
    with pytest.raises(InputError, match=problem):
        weat(scripted_vectors(), sets)


def test_caliskans_tests_on_google_news(word_vectors_26k):
    """Seven of ten have the published sign and significance; the vocabulary forbids the others.

    The 26,423 words hold 2 of 25 flowers (p is 4 of 45 partitions), 3 of 16 given names
    (3 partitions: no p below 1/3) and none of the old people's names.
    """
    agree = set()
    for name in CALISKAN[:-1]:
        sets = load_word_sets(name)
        found = weat(word_vectors_26k, sets.targets())
        published = sets.published["word2vec"]
        assert found.effect_size * published.d > 0
        if (found.p.p < 0.05) == (published.p < 0.05):
            agree.add(name)
    assert agree == {f"caliskan-{number}" for number in (2, 3, 4, 5, 7, 8, 9)}
    with pytest.raises(InputError, match="none of the 8 words of the set 'y'"):
        weat(word_vectors_26k, load_word_sets("caliskan-10").targets())


def test_effect_sizes_on_google_news_are_near_the_published_where_words_are_there(
    word_vectors_26k,
):
    for name in ("caliskan-2", "caliskan-4", "caliskan-5", "caliskan-7", "caliskan-9"):
        sets = load_word_sets(name)
        found = weat(word_vectors_26k, sets.targets())
        assert found.effect_size == pytest.approx(sets.published["word2vec"].d, abs=0.13)
