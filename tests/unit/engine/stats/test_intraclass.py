"""The intraclass correlation has the published values of Shrout and Fleiss's example."""

import math

import pytest

from moralscope.engine.stats.intraclass import intraclass

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
