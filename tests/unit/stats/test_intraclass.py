"""The intraclass correlation has the published values of Shrout and Fleiss's example."""

import math

import numpy as np
import pytest

from moralscope.stats.intraclass import intraclass, intraclass_forms

SHROUT = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_the_published_example():
    found = intraclass(SHROUT)
    assert (found.single, found.mean) == (
        pytest.approx(0.17, abs=5e-3),
        pytest.approx(0.44, abs=5e-3),
    )


def test_single_ratings_do_not_count():
    assert intraclass([*SHROUT, [3]]) == intraclass(SHROUT)


def test_unequal_numbers_and_no_spread():
    assert intraclass([[1, 1], [5, 5, 5]]).mean == 1.0
    assert math.isnan(intraclass([[3, 3], [3, 3]]).mean)
    assert math.isnan(intraclass([[1, 2]]).mean)


def test_two_way_forms_use_the_units_that_all_rated():
    judges = np.array(SHROUT, dtype=float).T
    more = np.column_stack([judges, [1, 2, np.nan, np.nan], [np.nan, np.nan, np.nan, 4]])
    whole, found = intraclass_forms(judges), intraclass_forms(more)
    assert found[2:] == whole[2:]
    assert found[0].units == 7  # the one-way forms take the unit with two ratings too
    assert found[0].k == pytest.approx(26 / 7)


def test_raters_who_share_no_unit_have_one_way_forms_alone():
    nan = float("nan")
    ratings = np.array([[1, 2, nan, nan], [1, 3, nan, nan], [nan, nan, 4, 5], [nan, nan, 4, 4.0]])
    assert [row.form for row in intraclass_forms(ratings)] == ["ICC(1)", "ICC(1,k)"]
    assert intraclass_forms(ratings[:1]) == ()


def test_the_interval_covers_the_truth():
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        truth = rng.normal(size=30)
        ratings = truth + rng.normal(0, 1, (4, 30))
        one = intraclass_forms(ratings)[0]  # the true correlation is one half
        inside += one.low <= 0.5 <= one.high
    assert 180 <= inside <= 199


def test_full_agreement_has_no_spread_within():
    found = intraclass_forms([[1, 3, 5], [1, 3, 5]])
    assert [row.value for row in found] == [1.0] * 6
    assert [(row.low, row.high) for row in found] == [(1.0, 1.0)] * 6
    assert all(row.p == 0 for row in found)
    same = intraclass_forms([[2, 2, 2], [2, 2, 2]])
    assert all(math.isnan(row.value) for row in same)
