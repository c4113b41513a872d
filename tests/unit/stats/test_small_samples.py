"""Few cases leave doubt: no interval of (1.00 … 1.00), no ceiling of 1.000 from two raters."""

import numpy as np
import pytest

from moralscope.axes.people import sampling_ceiling
from moralscope.rules.annotations.metrics import measure_alignment
from moralscope.stats.agreement import fleiss_kappa, percent_agreement
from moralscope.stats.correlation import correlate, kendall, spearman
from moralscope.stats.intervals import without_certainty


@pytest.mark.parametrize("measure", [correlate, spearman, kendall])
@pytest.mark.parametrize("n", [3, 4, 6, 24])
def test_a_perfect_correlation_of_few_pairs_is_not_certain(measure, n):
    found = measure(list(range(n)), [2 * value for value in range(n)])
    assert found.r == pytest.approx(1.0)
    assert found.low < (0.75 if n <= 6 else 0.97)
    assert found.high >= found.r


@pytest.mark.parametrize("measure", [correlate, spearman, kendall])
def test_three_pairs_say_nothing(measure):
    found = measure([1, 2, 3], [1, 2, 4])
    assert (found.low, found.high) == (-1.0, 1.0)


def test_a_perfect_order_of_four_has_the_p_of_all_orders():
    assert spearman([1, 2, 3, 4], [2, 4, 6, 8]).p == pytest.approx(2 / 24)
    assert spearman([1, 2, 3], [2, 4, 6]).p == pytest.approx(2 / 6)


def test_the_interval_of_few_pairs_covers_the_truth():
    """Normal pairs with a known r: the interval must hold it in about 95 of 100 samples."""
    generator, truth, held = np.random.default_rng(0), 0.8, 0
    for _ in range(400):
        x = generator.normal(size=8)
        y = truth * x + np.sqrt(1 - truth**2) * generator.normal(size=8)
        found = correlate(x.tolist(), y.tolist())
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 400 <= 0.99


def test_two_raters_of_one_mind_are_no_perfect_ceiling():
    table = np.array([[2, 2], [0, 2], [2, 2], [0, 2], [2, 2], [0, 2]], dtype=float)
    assert sampling_ceiling(table).expected < 0.97
    many = np.array([[200, 200], [0, 200], [198, 200], [3, 200]], dtype=float)
    assert sampling_ceiling(many).expected > 0.99


def test_four_right_answers_are_not_certainly_all():
    found = measure_alignment(["agree", "disagree"] * 2, ["agree", "disagree"] * 2)
    assert (found.value, found.high) == (100.0, 100.0)
    assert found.low < 60
    assert without_certainty(1.0, 1.0, 1.0, 10_000)[0] > 0.999


def test_raters_who_agree_on_four_things_need_not_agree_on_all():
    ratings = [[0, 1, 0, 1], [0, 1, 0, 1]]
    for found in (percent_agreement(ratings), fleiss_kappa(ratings)):
        assert (found.value, found.high) == (1.0, 1.0)
        assert found.low < 0.6
