"""Rank correlations against SciPy, with and without ties."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from moralscope.stats.correlation import (
    _spearman_of,
    _tau_draws,
    kendall,
    spearman,
)
from moralscope.stats.intervals import resampled_indices

rng = np.random.default_rng(11)
CONTINUOUS = rng.normal(size=(2, 60)) + np.linspace(0, 2, 60)
TIED = rng.integers(0, 6, (2, 60)) + np.linspace(0, 4, 60).astype(int)
PAIRS = [pytest.param(CONTINUOUS, id="continuous"), pytest.param(TIED, id="tied")]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("ours", "reference"), [(spearman, scipy_stats.spearmanr), (kendall, scipy_stats.kendalltau)]
)
def test_value_and_p_are_scipys(pair, ours, reference):
    found, expected = ours(*pair), reference(*pair)
    assert found.r == pytest.approx(expected.statistic, abs=1e-12)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.low < found.r < found.high
    assert found.n == 60


@pytest.mark.parametrize("pair", PAIRS)
def test_every_resample_is_correlated_as_scipy_would(pair):
    places = next(resampled_indices(60, seed=3))[:25]
    x, y = pair
    taus = _tau_draws(x.astype(float), y.astype(float), seed=3)[:25]
    codes = [np.unique(side, return_inverse=True)[1] for side in pair]
    for row, tau in zip(places, taus, strict=True):
        expected = scipy_stats.spearmanr(x[row], y[row]).statistic
        assert _spearman_of(codes[0][row], codes[1][row]) == pytest.approx(expected, abs=1e-12)
        assert tau == pytest.approx(scipy_stats.kendalltau(x[row], y[row]).statistic, abs=1e-6)


def test_the_interval_of_rho_is_near_scipys():
    found = spearman(*CONTINUOUS)
    reference = scipy_stats.bootstrap(
        tuple(CONTINUOUS),
        lambda a, b: scipy_stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        method="percentile",
        n_resamples=2000,
        rng=1,
    ).confidence_interval
    assert found.low == pytest.approx(reference.low, abs=0.03)
    assert found.high == pytest.approx(reference.high, abs=0.03)


def test_the_two_intervals_of_tau_meet_where_they_hand_over(monkeypatch):
    x = rng.normal(size=1500)
    y = 0.5 * x + rng.normal(size=1500)
    drawn = kendall(x, y)
    monkeypatch.setattr("moralscope.stats.correlation._BOOTSTRAPPED_TAU", 1000)
    computed = kendall(x, y)
    assert computed.low == pytest.approx(drawn.low, abs=0.01)
    assert computed.high == pytest.approx(drawn.high, abs=0.01)


def test_a_monotone_curve_has_rank_correlation_one_and_a_smaller_r():
    x = np.linspace(0, 5, 30)
    assert spearman(x, np.exp(x)).r == pytest.approx(1)
    assert kendall(x, np.exp(x)).r == pytest.approx(1)


def test_what_has_no_spread_has_no_rank_correlation():
    for measure in (spearman, kendall):
        assert np.isnan(measure([1, 1, 1], [1, 2, 3]).r)
        assert np.isnan(measure([1, 2], [1, 2]).r)


def test_a_seed_decides_the_interval():
    assert spearman(*CONTINUOUS, seed=1) == spearman(*CONTINUOUS, seed=1)
    assert spearman(*CONTINUOUS, seed=1).low != spearman(*CONTINUOUS, seed=2).low
