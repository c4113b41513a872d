"""Group differences: found where they are, rare where they are not, corrected for their number."""

import numpy as np
import pytest
from scipy.stats import permutation_test

from moralscope.stats.significance import group_differences

FIRST = np.arange(30) < 15


def draws(seed, questions=40):
    return np.random.default_rng(seed).normal(size=(30, questions))


def test_p_is_that_of_a_permutation_test():
    values = draws(0, 3)
    values[FIRST, 0] += 0.8
    found = group_differences(values, FIRST, permutations=9999)
    for place in range(3):
        sides = (values[FIRST, place], values[~FIRST, place])
        expected = permutation_test(
            sides, lambda a, b: a.mean() - b.mean(), n_resamples=9999, rng=1
        ).pvalue
        assert found.p[place] == pytest.approx(expected, abs=0.02)


def test_a_difference_is_found_among_many_questions():
    values = draws(1)
    values[FIRST, 7] += 2.0
    found = group_differences(values, FIRST)
    assert found.corrected[7] < 0.05
    assert found.difference[7] == pytest.approx(values[FIRST, 7].mean() - values[~FIRST, 7].mean())
    assert (np.delete(found.corrected, 7) > 0.05).all()


def test_nothing_is_found_where_nothing_is():
    wrong = [
        (group_differences(draws(seed), FIRST, permutations=400).corrected < 0.05).any()
        for seed in range(100, 160)
    ]
    assert np.mean(wrong) < 0.15  # 0.05 but for chance


def test_missing_answers_and_questions_without_spread():
    values = draws(2, 3)
    values[FIRST, 1] = np.nan
    values[:, 2] = 4.0
    values[3, 0] = np.nan
    found = group_differences(values, FIRST)
    assert np.isfinite(found.p[0])
    assert np.isnan(found.p[1:]).all()
    assert np.isnan(found.corrected[1:]).all()


def test_no_question_is_no_answer():
    assert group_differences(np.empty((4, 0)), np.arange(4) < 2).p.size == 0
