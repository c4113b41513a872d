"""Teaching: corrections are met, the rest moves as little as it can."""

import numpy as np
import pytest

from moralscope.axes.direction.fitting import fit_pca
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.direction.saved import load_direction, save_direction
from moralscope.axes.prompts import question_rows
from moralscope.axes.templates import load_template
from moralscope.core.errors import InputError
from moralscope.models.encoders import load_encoder
from moralscope.steer.linear import teach_direction
from moralscope.steer.options import TeachOptions


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("scripted")


@pytest.fixture(scope="module")
def template():
    return load_template("moral")


@pytest.fixture(scope="module")
def direction(encoder, template):
    return fit_pca(encoder, template, load_paper().atomic)


@pytest.fixture(scope="module")
def fitting(encoder, template, direction):
    return question_rows(encoder, template, direction.actions).mean(axis=1)


@pytest.fixture(scope="module")
def corrected(encoder, template):
    return question_rows(encoder, template, ["eat meat", "kill time"]).mean(axis=1)


def test_corrections_are_met(direction, fitting, corrected):
    taught = teach_direction(direction, fitting, corrected, np.array([1.0, -1.0]))
    scores = taught.direction.project(corrected)[:, 0]
    np.testing.assert_allclose(scores, [1.0, -1.0], atol=0.1)
    assert taught.degrees > 0
    assert np.linalg.norm(taught.direction.vector) == pytest.approx(1)
    assert taught.direction.vector @ taught.direction.second == pytest.approx(0, abs=1e-9)


def test_targets_already_met_change_nothing(direction, fitting, corrected):
    now = direction.project(corrected)[:, 0]
    taught = teach_direction(direction, fitting, corrected, now)
    assert taught.degrees == pytest.approx(0, abs=1e-4)
    np.testing.assert_allclose(taught.direction.positions[:, 0], direction.positions[:, 0])


def test_the_formula_minimises_its_objective(direction, fitting, corrected):
    """The closed form beats every nearby axis on the stated sum."""
    targets = np.array([1.0, -1.0])
    taught = teach_direction(direction, fitting, corrected, targets, 1.0)
    mean = fitting.mean(axis=0)
    zero = mean + (direction.centres[0] - mean @ direction.vector) * direction.vector
    rows, spread = corrected - zero, fitting - mean
    moments = spread.T @ spread / len(spread)
    inner = moments + np.trace(moments) / len(moments) * np.eye(len(moments))
    old = direction.vector / direction.scales[0]
    leverage = rows @ np.linalg.solve(inner, rows.T)
    weight = 1 / (0.01 * np.trace(leverage) / len(leverage))

    def cost(weights):
        moved = weights - old
        return moved @ inner @ moved + weight * ((rows @ weights - targets) ** 2).sum()

    best = taught.direction.vector / taught.direction.scales[0]
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(50, len(best))) * 1e-3 * np.linalg.norm(best)
    assert all(cost(best + step) > cost(best) for step in steps)
    assert cost(best) < cost(old)


def test_the_zero_of_the_axis_stays(direction, fitting, corrected):
    mean = fitting.mean(axis=0)
    zero = mean + (direction.centres[0] - mean @ direction.vector) * direction.vector
    taught = teach_direction(direction, fitting, corrected, np.array([2.0, 2.0]))
    assert taught.direction.project(zero)[0] == pytest.approx(0, abs=1e-9)


def test_a_small_reach_leaves_the_fitting_actions_alone(direction, fitting, corrected):
    def moved(reach):
        taught = teach_direction(direction, fitting, corrected, np.array([2.0, -2.0]), reach)
        return np.abs(taught.direction.positions[:, 0] - direction.positions[:, 0]).mean()

    assert moved(0.01) < moved(1.0) < moved(100.0)


@pytest.mark.parametrize("reach", [0.0, -1.0, float("nan")])
def test_a_reach_that_is_not_positive_is_refused(reach):
    with pytest.raises(InputError, match="reach is"):
        TeachOptions(reach=reach)


def test_a_taught_direction_is_saved_and_loaded(
    direction, fitting, corrected, encoder, template, tmp_path
):
    taught = teach_direction(direction, fitting, corrected, np.array([1.0, -1.0])).direction
    save_direction(taught, tmp_path / "axis.safetensors")
    loaded = load_direction(tmp_path / "axis.safetensors", encoder, template)
    np.testing.assert_array_equal(loaded.project(corrected), taught.project(corrected))
    assert loaded.method == "first principal component, taught"
