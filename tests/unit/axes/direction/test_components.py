import numpy as np
import pytest

from moralscope.axes.direction.components import (
    angle,
    difference_shares,
    leading_component,
    measure_stability,
    principal_components,
    prominence,
)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(40, 6)) * [5, 3, 1, 1, 1, 0.1] + 7


def test_components_are_those_of_scikit_learn(rows):
    decomposition = pytest.importorskip("sklearn.decomposition")
    reference = decomposition.PCA(n_components=6, svd_solver="full").fit(rows)
    ours = principal_components(rows)
    assert ours.shares == pytest.approx(reference.explained_variance_ratio_)
    assert np.abs((ours.axes * reference.components_).sum(axis=1)) == pytest.approx(np.ones(6))


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_the_leading_component_is_the_first_one(shape):
    rows = np.random.default_rng(1).normal(size=shape) + 3
    leading = leading_component(rows)
    assert np.linalg.norm(leading) == pytest.approx(1)
    assert angle(leading, principal_components(rows).axes[0]) == pytest.approx(0, abs=1e-4)


def test_shares_of_identical_rows_are_zero_not_nan():
    assert principal_components(np.ones((4, 3))).shares.tolist() == [0, 0, 0]


def test_a_component_stands_out_by_ratio_and_by_broken_stick():
    assert prominence(np.array([0.7, 0.2, 0.1])).stands_out
    # 1.4 times the second only.
    assert not prominence(np.array([0.5, 0.36, 0.14])).stands_out
    # Twice the second, but less than the longest piece of a stick broken in three (11/18).
    few = prominence(np.array([0.6, 0.3, 0.1]))
    assert few.broken_stick == pytest.approx(11 / 18)
    assert not few.stands_out


def test_differences_are_taken_to_the_nearer_answer():
    yes, no = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    # Each question is its answer and a step along the third axis: one component explains all.
    rows = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.25], [0.0, 1.0, 0.75]])
    assert difference_shares(rows, yes, no)[0] == pytest.approx(1)
    assert difference_shares(rows, yes, yes)[0] < 0.95


def test_leaving_out_the_action_that_carries_the_direction_is_noticed():
    rows = np.concatenate([np.random.default_rng(2).normal(size=(20, 4)), [[0, 0, 0, 50.0]]])
    actions = tuple(f"action {number}" for number in range(21))
    vector = principal_components(rows).axes[0]
    found = measure_stability(
        vector, actions, np.zeros(21, dtype=int), lambda p: leading_component(rows[p]), seed=0
    )
    assert found.leave_one_out_action == "action 20"
    assert found.leave_one_out_degrees_max > 45
    assert found.bootstrap_degrees_median < found.bootstrap_degrees_p95


def test_long_lists_are_left_out_in_part():
    asked = []

    def refit(places):
        asked.append(len(places))
        return np.array([1.0, 0.0])

    actions = tuple(map(str, range(900)))
    measure_stability(np.array([1.0, 0.0]), actions, np.zeros(900, dtype=int), refit, seed=0)
    assert asked.count(899) == 200
    assert asked.count(900) == 200
