"""Figures in pieces are those of the whole."""

import numpy as np
import pytest

from moralscope.stats.streams import Extremes, Frequent, Histogram, Moments
from moralscope.stats.summary import summarise

VALUES = np.random.default_rng(0).normal(3.0, 0.5, 10_000)


def pieces():
    return np.array_split(VALUES, [1, 2, 500, 7_000])


def test_moments_are_those_of_the_whole():
    moments = Moments()
    moments.add(np.array([]))
    for piece in pieces():
        moments.add(piece)
    whole = summarise(VALUES)
    assert moments.summary.n == whole.n
    assert moments.summary.mean == pytest.approx(whole.mean, rel=1e-12)
    assert moments.summary.sd == pytest.approx(whole.sd, rel=1e-12)
    assert (moments.low, moments.high) == (VALUES.min(), VALUES.max())
    low, high = moments.mean_interval()
    assert high - low == pytest.approx(2 * 1.96 * whole.sd / 100, rel=1e-3)


def test_no_values_have_no_mean():
    assert np.isnan(Moments().summary.mean)
    assert np.isnan(Histogram(0, 1).quantile(0.5))


def test_quantiles_cut_off_their_share():
    histogram = Histogram(VALUES.min(), VALUES.max())
    for piece in pieces():
        histogram.add(piece)
    for share in (0.01, 0.5, 0.99):
        assert (histogram.quantile(share) > VALUES).mean() == pytest.approx(share, abs=0.001)
    assert sum(histogram.coarse(32)["counts"]) == VALUES.size


def test_values_that_are_all_the_same_have_a_histogram():
    histogram = Histogram(0.5, 0.5)
    histogram.add(np.full(7, 0.5))
    assert histogram.coarse(32)["counts"][0] == 7


def test_extremes_are_the_lowest_and_each_name_once():
    lowest = Extremes(3)
    keys = [5.0, 1.0, 4.0, 1.0, 0.5, 3.0, 0.5]
    for place, key in enumerate(keys):
        lowest.add(key, f"name {key}", place)
    assert lowest.items() == [4, 1, 5]
    assert not lowest.admits(3.0)


def test_frequent_names_stay_when_there_are_too_many():
    names = Frequent(most=100)
    for start in range(0, 1000, 50):
        names.add(["often"] * 5 + [f"rare {start + at}" for at in range(50)])
    assert names.most_common(1) == [("often", 100)]
    assert names.total() < 300
