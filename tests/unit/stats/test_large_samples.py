"""Figures of large samples against SciPy: counted in blocks, the same as at once."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from moralscope.stats.streams import RankTable, large_sample_spearman, mean_against_zero, rank_edges
from moralscope.stats.summary import summarise


@pytest.mark.parametrize("noise", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("shape", ["normal", "heavy tails", "ties"])
def test_counted_ranks_are_scipys(noise, shape):
    generator = np.random.default_rng(3)
    x = generator.normal(size=50_000)
    y = x + generator.normal(0, noise, 50_000)
    if shape == "heavy tails":
        x, y = np.sign(x) * x**8, np.sinh(3 * y)
    if shape == "ties":
        x, y = x.round(1), y.round(1)
    table = RankTable(*(rank_edges(values[::7]) for values in (x, y)))
    for start in range(0, 50_000, 7000):
        table.add(x[start : start + 7000], y[start : start + 7000])
    found, exact = table.spearman(), scipy_stats.spearmanr(x, y).statistic
    assert found.r == pytest.approx(exact, abs=1e-5)
    assert found.low < exact < found.high
    assert found.n == 50_000


def test_few_distinct_values_are_ranked_exactly():
    x = np.array([1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 4.0])
    y = np.array([2.0, 2.0, 1.0, 3.0, 4.0, 5.0, 5.0])
    table = RankTable(rank_edges(x), rank_edges(y))
    table.add(x, y)
    assert table.spearman().r == pytest.approx(scipy_stats.spearmanr(x, y).statistic, abs=1e-12)
    assert table.spearman().p == pytest.approx(scipy_stats.spearmanr(x, y).pvalue)


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0, 2.0]])
def test_pairs_without_spread_have_no_correlation(values):
    x = np.array(values)
    table = RankTable(rank_edges(x), rank_edges(x))
    table.add(x, x)
    assert np.isnan(table.spearman().r)


def test_perfect_order_has_a_finite_interval():
    found = large_sample_spearman(1.0, 10_000)
    assert (found.r, found.p) == (1.0, 0.0)
    assert 0.999 < found.low <= found.high <= 1.0


def test_the_mean_is_students():
    values = np.random.default_rng(0).normal(0.1, 1, 200)
    found, exact = mean_against_zero(summarise(values.tolist())), scipy_stats.ttest_1samp(values, 0)
    assert found.p == pytest.approx(exact.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(exact.confidence_interval(0.95)))


@pytest.mark.parametrize(("values", "p"), [([0.0, 0.0], 1.0), ([0.5, 0.5], 0.0)])
def test_values_without_spread_are_surely_zero_or_not(values, p):
    assert mean_against_zero(summarise(values)).p == p


def test_one_value_has_no_interval():
    assert np.isnan(mean_against_zero(summarise([0.5])).p)
