"""Krippendorff's alpha: what it is by definition, and what it does at its edges."""

import itertools

import numpy as np
import pytest

from moralscope.stats.agreement import LEVELS, agreement, krippendorff_alpha
from moralscope.stats.ratings import long_table

rng = np.random.default_rng(11)


def by_definition(ratings, distance):
    """Observed over expected disagreement, pair by pair."""
    units = [[value for value in unit if value is not None] for unit in zip(*ratings, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    pool = [value for unit in units for value in unit]
    observed = sum(
        sum(distance(a, b) for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1)
        for unit in units
    ) / len(pool)
    pairs = list(itertools.permutations(pool, 2))
    return 1 - observed / (sum(distance(a, b) for a, b in pairs) / len(pairs))


@pytest.mark.parametrize(
    ("level", "distance"),
    [
        ("nominal", lambda a, b: float(a != b)),
        ("interval", lambda a, b: (a - b) ** 2),
        ("ratio", lambda a, b: ((a - b) / (a + b)) ** 2),
    ],
)
def test_alpha_is_observed_over_expected_disagreement(level, distance):
    ratings = rng.integers(1, 6, (4, 25)).astype(object)
    ratings[rng.random((4, 25)) < 0.3] = None
    expected = by_definition(ratings.tolist(), distance)
    assert krippendorff_alpha(ratings.tolist(), level) == pytest.approx(expected)


@pytest.mark.parametrize("level", LEVELS)
def test_full_agreement_is_one_and_chance_is_zero(level):
    ratings = rng.integers(0, 5, 400)
    assert krippendorff_alpha([ratings.tolist()] * 3, level) == pytest.approx(1.0)
    strangers = rng.integers(0, 5, (2, 4000)).tolist()
    assert krippendorff_alpha(strangers, level) == pytest.approx(0.0, abs=0.06)


def test_ordinal_alpha_sees_ranks_only():
    ratings = [[1, 2, 3, 4, 2], [1, 2, 4, 4, 3]]
    stretched = [[value**3 for value in row] for row in ratings]
    found = krippendorff_alpha(stretched, "ordinal")
    assert found == pytest.approx(krippendorff_alpha(ratings, "ordinal"))
    assert krippendorff_alpha(stretched, "interval") != pytest.approx(
        krippendorff_alpha(ratings, "interval")
    )


def test_the_interval_holds_the_value_and_narrows_with_units():
    truth = rng.integers(0, 2, 400)
    raters = [np.where(rng.random(400) < 0.15, 1 - truth, truth) for _ in range(3)]
    few = agreement([row[:40].tolist() for row in raters])
    many = agreement([row.tolist() for row in raters])
    assert few.low < few.alpha < few.high
    assert many.high - many.low < 0.5 * (few.high - few.low)
    assert agreement([row.tolist() for row in raters]) == many


def test_arrays_and_long_lists_give_what_tables_give():
    ratings = rng.integers(1, 6, (4, 30)).astype(float)
    ratings[rng.random((4, 30)) < 0.3] = np.nan
    rater, unit = np.nonzero(~np.isnan(ratings))
    long = long_table(unit, rater, ratings[rater, unit].tolist(), (30, 4))
    for level in LEVELS:
        expected = agreement(ratings.tolist(), level)
        assert agreement(ratings, level) == expected
        assert agreement(long, level) == expected


def test_many_different_numbers_do_not_fill_the_memory():
    raters = rng.normal(size=400) + rng.normal(0, 0.3, (5, 400))
    found = agreement(raters, "interval")
    assert found.low < found.alpha < found.high
    assert agreement(raters, "ordinal", resamples=50).alpha == pytest.approx(found.alpha, abs=0.05)
    with pytest.raises(ValueError, match="at most 4,000 different"):
        agreement(rng.random((5, 1000)), "ratio")


def test_what_cannot_be_said_is_not_a_number():
    assert np.isnan(krippendorff_alpha([[1, 1], [1, 1]]))
    assert np.isnan(krippendorff_alpha([[1, 0]]))
    assert np.isnan(krippendorff_alpha([[1, None], [None, 0]]))
    assert np.isnan(krippendorff_alpha([]))
    nobody = agreement([[None], [None]])
    assert np.isnan([nobody.alpha, nobody.low, nobody.share]).all()
    assert nobody.units == 0


def test_a_nan_is_a_missing_rating():
    nan = float("nan")
    found = agreement([[1.0, 0.0, nan, 1.0], [1.0, 1.0, 0.0, 1.0]])
    assert (found.units, found.ratings) == (3, 6)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="same units"):
        krippendorff_alpha([[1, 0], [1]])
    with pytest.raises(ValueError, match="level is one of"):
        krippendorff_alpha([[1]], "absolute")
    with pytest.raises(ValueError, match="not negative"):
        krippendorff_alpha([[-1, 2], [1, 2]], "ratio")
    with pytest.raises(ValueError, match="are numbers"):
        krippendorff_alpha([["a"], ["b"]], "ordinal")
