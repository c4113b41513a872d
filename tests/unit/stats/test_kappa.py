"""Kappa and plain agreement: what others compute, missing ratings, and what cannot be said."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from moralscope.stats.agreement import cohen_kappa, fleiss_kappa, percent_agreement

rng = np.random.default_rng(3)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_cohens_kappa_is_that_of_scikit_learn(weights):
    first = rng.integers(1, 6, 80)
    second = np.clip(first + rng.integers(-1, 2, 80), 1, 5)
    told = None if weights == "none" else weights
    expected = cohen_kappa_score(first, second, weights=told)
    found = cohen_kappa([first.tolist(), second.tolist()], weights)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.low < found.value < found.high


def test_weights_measure_numbers_and_not_their_places():
    ratings = [[1, 1, 5, 5, 2], [1, 5, 5, 5, 1]]
    near = cohen_kappa([[min(value, 3) for value in row] for row in ratings], "quadratic")
    assert cohen_kappa(ratings, "quadratic").value != pytest.approx(near.value)


def test_only_units_that_both_rated_count():
    whole = cohen_kappa([["a", "a", "b"], ["a", "b", "b"]])
    assert cohen_kappa([["a", "a", "b", None], ["a", "b", "b", "b"]]) == whole


def test_two_raters_of_fleiss_agree_with_nobody_by_chance():
    strangers = rng.integers(0, 4, (6, 3000)).astype(float)
    assert fleiss_kappa(strangers).value == pytest.approx(0, abs=0.02)
    assert percent_agreement(strangers).value == pytest.approx(0.25, abs=0.02)
    same = [["a", "b", "a"]] * 4
    assert fleiss_kappa(same).value == pytest.approx(1.0)


def test_units_with_different_numbers_of_ratings_weigh_alike():
    ratings = [["a", "b"], ["a", "a"], ["a", None], ["a", None]]
    assert percent_agreement(ratings).value == 0.5
    # Shares of a: 1 and 1/2; chance (3/4)² + (1/4)² = 0.625.
    assert fleiss_kappa(ratings).value == pytest.approx((0.5 - 0.625) / 0.375)


def test_intervals_narrow_with_units_and_come_from_the_seed():
    truth = rng.integers(0, 2, 2000)
    raters = np.where(rng.random((3, 2000)) < 0.2, 1 - truth, truth).astype(float)
    few, many = fleiss_kappa(raters[:, :100]), fleiss_kappa(raters)
    assert many.high - many.low < 0.5 * (few.high - few.low)
    assert fleiss_kappa(raters, seed=1) == fleiss_kappa(raters, seed=1)
    assert fleiss_kappa(raters, seed=1) != fleiss_kappa(raters, seed=2)


def test_what_cannot_be_said_is_not_a_number():
    assert np.isnan(fleiss_kappa([["a"], [None]]).value)
    assert np.isnan(cohen_kappa([["a", "a"], ["a", "a"]]).value)
    assert np.isnan(percent_agreement([[None]]).value)


def test_bad_questions_are_refused():
    with pytest.raises(ValueError, match="two raters"):
        cohen_kappa([["a"], ["a"], ["b"]])
    with pytest.raises(ValueError, match="weights are one of"):
        cohen_kappa([["a"], ["a"]], "cubic")
