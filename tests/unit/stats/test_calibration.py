"""Calibration against values computed by hand."""

import math

import numpy as np
import pytest

from moralscope.stats.calibration import (
    at_temperature,
    expected_calibration_error,
    fit_temperature,
    negative_log_likelihood,
    reliability_bins,
)

ROWS = np.array([[0.95, 0.05], [0.85, 0.15], [0.15, 0.85], [0.4, 0.6], [0.55, 0.45]])
LABELS = np.array([0, 1, 1, 1, 1])


def test_bins_hold_what_was_counted_by_hand():
    found = reliability_bins(ROWS, LABELS, bins=5)
    assert [(round(each.low, 1), each.n) for each in found] == [(0.4, 2), (0.8, 3)]
    assert found[0].confidence == pytest.approx((0.6 + 0.55) / 2)
    assert found[0].accuracy == 0.5
    assert found[1].confidence == pytest.approx((0.95 + 0.85 + 0.85) / 3)
    assert found[1].accuracy == pytest.approx(2 / 3)


def test_a_confidence_on_an_edge_belongs_to_the_bin_below():
    (found,) = reliability_bins(np.array([[0.5, 0.5]]), np.array([0]), bins=2)
    assert (found.low, found.high) == (0.0, 0.5)
    (found,) = reliability_bins(np.array([[1.0, 0.0]]), np.array([0]), bins=2)
    assert (found.low, found.high) == (0.5, 1.0)


def test_the_error_is_the_weighted_gap():
    by_hand = (2 * abs(0.5 - 0.575) + 3 * abs(2 / 3 - 0.95 / 3 - 1.7 / 3)) / 5
    assert expected_calibration_error(ROWS, LABELS, bins=5) == pytest.approx(by_hand)


def test_probabilities_that_keep_their_word_have_no_error():
    rows = np.tile([0.75, 0.25], (4, 1))
    assert expected_calibration_error(rows, np.array([0, 0, 0, 1])) == pytest.approx(0)


def test_likelihood_by_hand():
    by_hand = -sum(math.log(p) for p in (0.95, 0.15, 0.85, 0.6, 0.45)) / 5
    assert negative_log_likelihood(ROWS, LABELS) == pytest.approx(by_hand)
    assert math.isfinite(negative_log_likelihood(np.array([[1.0, 0.0]]), np.array([1])))


def test_temperature_of_logits_that_were_doubled_is_two():
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(4000, 3))
    right = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([draw.choice(3, p=row) for row in right])
    too_sure = at_temperature(right, 0.5)
    found = fit_temperature(too_sure, labels)
    assert found == pytest.approx(2.0, rel=0.1)
    mended = at_temperature(too_sure, found)
    assert expected_calibration_error(mended, labels) < expected_calibration_error(too_sure, labels)
    assert (mended.argmax(axis=1) == too_sure.argmax(axis=1)).all()


def test_temperature_stays_positive_when_every_sample_is_right():
    assert 0 < fit_temperature(np.array([[0.9, 0.1]] * 5), np.zeros(5, dtype=int)) < 1
