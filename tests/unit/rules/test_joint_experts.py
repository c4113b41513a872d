"""Two sets decide one task together; all else is the first one's."""

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.rules.experts import JointExperts, cascade_notes

PAIRS = [("Never lie.", f"I said number {index}.") for index in range(40)]
TASKS = {
    "verdict": ("fine", "bad"),
    "alignment": ("disagree", "agree", "neither"),
    "concern": ("hate", "crime"),
}


class Decided(ScriptedExperts):
    """Sure of the last label, whatever the pair."""

    def __init__(self, tasks=TASKS):
        super().__init__(tasks, operating_points={"alignment": (0.7, 0.5, 0.5)})

    def expert(self, task):
        expert = super().expert(task)
        expert.probabilities = lambda pairs: np.tile([0.05, 0.05, 0.9], (len(pairs), 1))
        return expert


class Reversed(ScriptedExperts):
    """Says of each label what the scripted experts say of the one at the other end."""

    def expert(self, task):
        expert = super().expert(task)
        plain = expert.probabilities
        expert.probabilities = lambda pairs: plain(pairs)[:, ::-1]
        return expert


def joint():
    first, second = ScriptedExperts(TASKS, retrieval=True), Decided()
    return first, JointExperts(first, second, {"alignment": "disagree", "verdict": "bad"}, "both")


def test_the_shared_task_has_the_mean_of_both_over_logarithms():
    first, both = joint()
    expert = both.expert("alignment")
    assert isinstance(expert, Classifier)
    alone, rows = first.expert("alignment").probabilities(PAIRS), expert.probabilities(PAIRS)
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(
        np.log(rows[:, 2] / rows[:, 0]),
        (np.log(alone[:, 2] / alone[:, 0]) + np.log(18)) / 2,
        rtol=1e-4,
    )
    assert expert.probabilities([]).shape == (0, 3)


def test_one_pass_of_reading_tells_the_mean_of_shared_tasks_and_else_what_the_first_set_says():
    first, other = ScriptedExperts(TASKS, retrieval=True), Reversed(TASKS)
    both = JointExperts(first, other, {"alignment": "disagree", "verdict": "bad"}, "both")
    columns, vectors = both.read(PAIRS)
    np.testing.assert_array_equal(vectors, first.read(PAIRS)[1])
    for task in ("alignment", "verdict"):
        expert = both.expert(task).probabilities(PAIRS)
        np.testing.assert_allclose(both.told(task, columns), expert, atol=1e-5)
        assert not np.allclose(expert, first.expert(task).probabilities(PAIRS), atol=0.01)
    alone = first.read(PAIRS)[0]
    np.testing.assert_array_equal(both.told("concern", columns), first.told("concern", alone))
    assert both.retrieval


def test_it_is_a_set_of_its_own_with_the_operating_point_of_the_second():
    first, both = joint()
    assert both.ref.name == "both"
    assert both.ref.sha256 != first.ref.sha256
    assert both.operating_points == {"alignment": (0.7, 0.5, 0.5)}


def test_sets_that_name_labels_otherwise_are_refused():
    other = Decided({**TASKS, "alignment": ("agree", "disagree", "neither")})
    with pytest.raises(InputError, match="differ in 'alignment'"):
        JointExperts(ScriptedExperts(TASKS), other, {"alignment": "disagree"}, "both")


@pytest.mark.parametrize("sure", [0.2, 0.4, 0.9])
def test_a_cascade_asks_the_second_set_only_where_the_first_is_not_sure(sure):
    first, other = ScriptedExperts(TASKS), Reversed(TASKS)
    feared = {"alignment": "disagree", "verdict": "bad"}
    both = JointExperts(first, other, feared, "both")
    cascade = JointExperts(first, other, feared, "cascade", sure)
    assert cascade.share_asked is None
    assert cascade_notes(both) == cascade_notes(first) == []
    asked = 0
    for task, column in (("alignment", 0), ("verdict", 1)):
        alone = first.expert(task).probabilities(PAIRS)
        doubt = alone[:, column] >= sure
        rows = cascade.expert(task).probabilities(PAIRS)
        joint = both.expert(task).probabilities(PAIRS)
        np.testing.assert_allclose(rows, np.where(doubt[:, None], joint, alone), atol=1e-6)
        asked += doubt.sum()
    assert cascade.share_asked == pytest.approx(asked / (2 * len(PAIRS)))
    assert cascade_notes(cascade)[0].startswith(f"mpnet decided {1 - asked / 80:.0%} alone")
    told = cascade.told("verdict", cascade.read(PAIRS)[0])
    np.testing.assert_allclose(told, cascade.expert("verdict").probabilities(PAIRS), atol=1e-6)
