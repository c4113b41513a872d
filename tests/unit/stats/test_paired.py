"""Paired differences against SciPy; Holm and power against statsmodels 0.14 and simulation."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from moralscope.stats.significance import holm, minimum_detectable_effect, paired_differences
from moralscope.stats.summary import without_column_effects, z_scores

rng = np.random.default_rng(5)


def test_p_is_scipys_paired_t():
    first, second = rng.normal(size=(2, 7, 10))
    found = paired_differences(first, second)
    expected = scipy_stats.ttest_rel(first, second, axis=1)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.difference == pytest.approx((first - second).mean(axis=1))
    assert found.sd == pytest.approx((first - second).std(axis=1, ddof=1))


def test_the_interval_is_near_the_t_interval():
    first, second = rng.normal(size=(2, 1, 40))
    found = paired_differences(first, second)
    expected = scipy_stats.ttest_rel(first[0], second[0]).confidence_interval()
    width = expected.high - expected.low
    assert found.low[0] == pytest.approx(expected.low, abs=0.08 * width)
    assert found.high[0] == pytest.approx(expected.high, abs=0.08 * width)


def test_with_ten_observations_the_interval_covers_as_often_as_it_says():
    first, second = rng.normal(size=(2, 2000, 10))
    found = paired_differences(first, second)
    covered = np.mean((found.low <= 0) & (found.high >= 0))
    assert 0.935 <= covered <= 0.965


def test_pairing_removes_what_both_share():
    shared = rng.normal(0, 10, (1, 10))
    first, second = shared + 0.5 + rng.normal(0, 0.1, (1, 10)), shared
    assert paired_differences(first, second).p[0] < 0.001


def test_the_same_table_differs_nowhere_and_rounding_is_no_difference():
    table = rng.normal(size=(3, 10))
    same = paired_differences(table, table)
    assert same.p.tolist() == [1, 1, 1]
    assert (same.low == 0).all()
    shifted = paired_differences(table + 1e-9, table, negligible=1e-4)
    assert shifted.p.tolist() == [1, 1, 1]
    assert (paired_differences(table + 1e-9, table).p < 0.05).all()


def test_one_observation_has_a_difference_and_no_spread():
    found = paired_differences(np.array([[2.0]]), np.array([[1.0]]))
    assert found.difference.tolist() == [1]
    assert np.isnan([found.p, found.low, found.high]).all()


def test_holm_is_statsmodels():
    """multipletests([...], method="holm") of statsmodels 0.14."""
    assert holm([0.01, 0.04, 0.03, 0.005, 0.5, 0.0001]) == pytest.approx(
        [0.04, 0.09, 0.09, 0.025, 0.5, 0.0006], abs=1e-15
    )
    assert holm([0.9, 0.8]).tolist() == [1, 1]
    assert holm([]).tolist() == []


def test_holm_does_not_count_what_is_not_a_number():
    found = holm([0.01, float("nan"), 0.02])
    assert found[[0, 2]] == pytest.approx([0.02, 0.02])
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    ("n", "alpha", "effect"),
    [(5, 0.05, 1.681997), (10, 0.05, 0.996002), (10, 0.001, 1.866161), (34, 0.05, 0.495029)],
)
def test_the_detectable_effect_is_statsmodels(n, alpha, effect):
    """TTestPower().solve_power(nobs=n, alpha=alpha, power=0.8) of statsmodels 0.14."""
    assert minimum_detectable_effect(1.0, n, alpha=alpha) == pytest.approx(effect, abs=1e-5)
    assert minimum_detectable_effect(3.0, n, alpha=alpha) == pytest.approx(3 * effect, abs=3e-5)


def test_an_effect_of_that_size_is_found_in_four_of_five_samples():
    effect = minimum_detectable_effect(1.0, 10)
    found = paired_differences(rng.normal(effect, 1, (3000, 10)), np.zeros((3000, 10)))
    assert np.mean(found.p < 0.05) == pytest.approx(0.8, abs=0.025)


def test_without_spread_there_is_no_detectable_effect():
    assert np.isnan(minimum_detectable_effect(float("nan"), 10))
    assert np.isnan(minimum_detectable_effect(1.0, 1))


def test_z_scores_are_scipys_for_one_column():
    values = rng.normal(3, 2, (20, 1))
    assert z_scores(values) == pytest.approx(scipy_stats.zscore(values, ddof=1))


def test_z_scores_forget_scale_and_the_taste_of_each_column():
    table = rng.normal(size=(20, 10))
    other = 7 * table + rng.normal(0, 50, 10)
    assert z_scores(other) == pytest.approx(z_scores(table))
    assert z_scores(table).mean(axis=1).std(ddof=1) == pytest.approx(1)


def test_rows_that_do_not_differ_have_no_z_scores():
    assert np.isnan(z_scores(np.ones((4, 3)))).all()
    assert np.isnan(z_scores(np.ones((1, 3)))).all()


def test_column_effects_go_and_the_noise_keeps_its_size():
    noise = rng.normal(0, 2, (500, 4, 10))
    tables = noise + rng.normal(0, 50, (500, 1, 10))
    cleaned = np.stack([without_column_effects(table) for table in tables])
    assert cleaned.mean(axis=2) == pytest.approx(tables.mean(axis=2))
    assert cleaned.var(axis=2, ddof=1).mean() == pytest.approx(4, rel=0.05)
