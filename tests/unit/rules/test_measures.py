"""Table 3's measures have the values of scipy and scikit-learn, and intervals around them."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import f1_score, mean_squared_error

from moralscope.rules.annotations.metrics import (
    measure_alignment,
    measure_label,
    measure_scale,
)
from moralscope.rules.records import SCALES

DRAW = np.random.default_rng(0)
GOLD = DRAW.integers(1, 6, 200).astype(float)
FOUND = GOLD + DRAW.normal(0, 1, 200)


def test_r_and_mse():
    found = measure_scale(GOLD.tolist(), FOUND.tolist())
    assert found.r.value == pytest.approx(pearsonr(GOLD, FOUND).statistic)
    assert found.mse.value == pytest.approx(mean_squared_error(GOLD, FOUND))
    assert found.mse.low < found.mse.value < found.mse.high
    assert found.r.low < found.r.value < found.r.high


def test_constant_gold_has_no_r_but_an_error():
    found = measure_scale([5.0] * 10, FOUND[:10].tolist())
    assert math.isnan(found.r.value)
    assert found.mse.value == pytest.approx(((FOUND[:10] - 5) ** 2).mean())


def test_f1_of_a_label_and_of_alignments():
    gold, found = GOLD > 2, FOUND > 2
    one = measure_label(gold.tolist(), found.tolist())
    assert one.value == pytest.approx(100 * f1_score(gold, found))
    assert one.low < one.value < one.high
    names = np.array(["agree", "disagree", "neither"])
    first = names[DRAW.integers(0, 3, 150)]
    second = np.where(DRAW.random(150) < 0.6, first, names[DRAW.integers(0, 3, 150)])
    macro = measure_alignment(first.tolist(), second.tolist())
    assert macro.value == pytest.approx(100 * f1_score(first, second, average="macro"))


def test_a_label_that_never_occurs_is_zero_not_an_error():
    assert measure_label([False, False], [False, False]).value == 0.0


def test_lengths_must_match():
    with pytest.raises(ValueError, match="2 gold values"):
        measure_label([True, False], [True])


def test_the_three_rarest_steps_of_consensus_are_one():
    assert [SCALES["consensus"].merge(n) for n in (1, 2, 3, 4, 5)] == [3, 3, 3, 4, 5]
