import numpy as np
import pytest

from moralscope.axes.direction.labelled import (
    LDA,
    MEANS,
    auc,
    cross_validate,
    ledoit_wolf_share,
    mean_difference,
    shrunk_discriminant,
)


def classes(count=30, dimension=8, seed=0):
    """Two classes that differ by one step, under noise that is strong along another axis."""
    generator = np.random.default_rng(seed)
    good = np.arange(2 * count) < count
    rows = generator.normal(size=(2 * count, dimension))
    rows[:, 0] += np.where(good, 1.0, -1.0)
    rows[:, 1] = 6 * rows[:, 1] + np.where(good, 1.0, -1.0)
    return rows, good


@pytest.mark.parametrize("shape", [(60, 8), (20, 90)])
def test_shrinkage_is_that_of_scikit_learn(shape):
    covariance = pytest.importorskip("sklearn.covariance")
    rows = np.random.default_rng(3).normal(size=shape) * np.linspace(1, 4, shape[1])
    rows -= rows.mean(axis=0)
    expected = covariance.ledoit_wolf_shrinkage(rows, assume_centered=True)
    assert ledoit_wolf_share(rows @ rows.T, shape[1]) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("dimension", [8, 200])
def test_the_discriminant_solves_its_equation(dimension):
    covariance = pytest.importorskip("sklearn.covariance")
    rows, good = classes(dimension=dimension)
    inner = rows.copy()
    for side in (good, ~good):
        inner[side] -= rows[side].mean(axis=0)
    shrunk, _ = covariance.ledoit_wolf(inner, assume_centered=True)
    expected = np.linalg.solve(shrunk, rows[good].mean(axis=0) - rows[~good].mean(axis=0))
    expected /= np.linalg.norm(expected)
    assert shrunk_discriminant(rows, good) == pytest.approx(expected, abs=1e-8)


def test_without_spread_inside_the_classes_the_means_decide():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    good = np.array([True, True, False, False])
    assert shrunk_discriminant(rows, good).tolist() == [1.0, 0.0]


def test_cross_validation_prefers_the_discriminant_where_noise_has_a_direction():
    rows, good = classes(count=60)
    found = cross_validate(rows, good)
    assert found[LDA] > found[MEANS] + 0.05


def test_cross_validation_holds_words_out():
    """Labels without any meaning are worth a coin, not what a fit makes of them."""
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(60, 200))
    good = np.arange(60) < 30
    assert auc(rows @ mean_difference(rows, good), good) > 0.95
    assert cross_validate(rows, good)[MEANS] == pytest.approx(0.5, abs=0.2)


def test_classes_too_small_to_split_are_not_validated():
    rows, good = classes(count=4)
    assert cross_validate(rows, good) == {}


def test_ties_count_half():
    assert auc(np.zeros(4), np.array([True, True, False, False])) == 0.5
