"""What fewer bits change is measured on the run's actions and told in its record."""

import numpy as np
import pytest

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.drift import int8_drift, tell_drift
from moralscope.axes.options import AxisOptions
from moralscope.axes.score import score
from moralscope.core.records import to_plain
from moralscope.models.encoders import TextEncoder
from moralscope.models.encoders.scripted import ScriptedBackend

ACTIONS = [f"feed {number} cats" for number in range(300)]


class LightBackend(ScriptedBackend):
    """Rounds its rows, as fewer bits do."""

    arithmetic = "int8"

    def embed(self, batch):
        return np.round(super().embed(batch) * 24).astype(np.float32) / 24


def on(encoder, axis="choice"):
    return build_axis(AxisOptions(axis=axis), LocalModels(encoder))


@pytest.fixture
def exact():
    return TextEncoder(ScriptedBackend())


@pytest.fixture
def light():
    return TextEncoder(LightBackend())


@pytest.mark.parametrize("axis", ["choice", "direction"])
def test_drift_is_what_a_comparison_of_both_runs_shows(exact, light, axis):
    actions = list(load_paper().atomic)
    found = int8_drift(actions, on(exact, axis), on(light, axis))
    before, after = (
        np.array([row.score for row in score(actions, axis=axis, encoder=each).results])
        for each in (exact, light)
    )
    assert found.max_change == pytest.approx(np.abs(after - before).max())
    assert found.mean_change == pytest.approx(np.abs(after - before).mean())
    assert found.spread == pytest.approx(before.std())
    assert (found.arithmetic, found.actions, found.given) == ("int8", 65, 65)
    assert found.max_change > 0
    assert 0.5 < found.spearman < 1


def test_many_actions_are_sampled_and_few_are_joined_by_the_papers(exact, light):
    axes = on(exact), on(light)
    many = int8_drift(ACTIONS, *axes)
    assert (many.actions, many.given) == (200, 200)
    assert many == int8_drift(ACTIONS, *axes)
    few = int8_drift(["kill people", "kill people"], *axes)
    assert (few.actions, few.given) == (50, 1)


def test_the_record_carries_the_drift_and_a_line_about_it(exact, light):
    record = score(["kill people", "kill time"], encoder=light)
    told = tell_drift(record, ["kill people", "kill time"], on(exact), on(light))
    assert told.results == record.results
    assert told.config["arithmetic"] == "int8"
    assert to_plain(told.statistics["drift"])["given"] == 2
    assert "computed in int8" in told.warnings[-1]
    assert "rank correlation" in told.warnings[-1]


def test_where_bits_cannot_be_saved_the_record_says_so(exact):
    record = tell_drift(score(["lie"], encoder=exact), ["lie"], on(exact), on(exact))
    asked = score(["lie"], encoder=exact, eight_bits=True)
    assert asked.config["options"] == {
        "axis": "choice",
        "encoder": "scripted",
        "eight_bits": True,
    }
    assert (asked.results, asked.warnings) == (record.results, record.warnings)
    assert "drift" not in record.statistics
    assert "cannot be computed in 8 bits" in record.warnings[-1]
    assert record.config["arithmetic"] == "float32"
