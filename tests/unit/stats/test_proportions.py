"""Shares: Wilson's interval and McNemar's test against scipy, a bootstrap against its formula."""

import numpy as np
import pytest
from scipy.stats import binomtest

from moralscope.stats.intervals import bootstrap_mean, wilson
from moralscope.stats.significance import mcnemar

_SHARES = [(0, 5), (1, 5), (5, 5), (3, 200), (199, 200), (0, 1), (1, 1)]
_SHARES += [(int(share * n), n) for n in (20, 12_345, 10**9) for share in (0, 1e-6, 0.2, 0.5, 1)]


@pytest.mark.parametrize(("successes", "n"), _SHARES)
def test_wilson_is_that_of_scipy(successes, n):
    wanted = binomtest(successes, n).proportion_ci(method="wilson")
    found = wilson(successes, n)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert found.value == successes / n


def test_nothing_has_no_share():
    assert np.isnan(wilson(0, 0).value)
    assert all(np.isnan(bootstrap_mean(np.array([]))))


def test_mcnemar_asks_whether_the_cases_apart_are_split_evenly():
    assert mcnemar(10, 10) == 1.0
    assert mcnemar(0, 10) == pytest.approx(2 * 0.5**10)
    assert mcnemar(10, 0) == mcnemar(0, 10)


def test_the_bootstrap_is_seeded_and_near_the_normal_interval(monkeypatch):
    values = np.random.default_rng(3).normal(0.5, 2.0, 400)
    mean, low, high = bootstrap_mean(values, 7)
    half = 1.96 * values.std(ddof=1) / 20
    assert (mean, low, high) == bootstrap_mean(values, 7)
    assert (low, high) != bootstrap_mean(values, 8)[1:]
    assert (low, high) == pytest.approx((mean - half, mean + half), abs=0.03)
    monkeypatch.setattr("moralscope.stats.intervals._CELLS", 1000)
    assert bootstrap_mean(values, 7)[1:] == pytest.approx((low, high), abs=1e-12)
