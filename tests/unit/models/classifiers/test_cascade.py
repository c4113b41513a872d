"""A cascade asks its large set where the small one is not sure, and says how often."""

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier
from moralscope.models.classifiers.cascade import Cascade
from moralscope.models.classifiers.scripted import ScriptedExperts

PAIRS = [("Never lie.", f"I said number {index}.") for index in range(40)]
TASKS = {"verdict": ("fine", "bad"), "alignment": ("disagree", "agree", "neither")}


class Decided(ScriptedExperts):
    """Sure of the last label, whatever the pair; what it was asked about is kept."""

    def __init__(self, tasks=TASKS):
        super().__init__(tasks, operating_points={"alignment": (0.7, 0.5, 0.5)})
        self.pairs = []

    def expert(self, task):
        expert = super().expert(task)

        def probabilities(pairs):
            self.pairs += pairs
            return np.eye(len(expert.labels), dtype=np.float32)[[-1] * len(pairs)]

        expert.probabilities = probabilities
        return expert


def cascade(sure):
    small, large = ScriptedExperts(TASKS, retrieval=True), Decided()
    return small, large, Cascade(small, large, ("alignment",), sure, "both")


def test_only_what_the_small_set_is_unsure_of_goes_to_the_large_one():
    small, large, both = cascade(0.5)
    first = small.expert("alignment").probabilities(PAIRS)
    rows = both.expert("alignment").probabilities(PAIRS)
    doubtful = first.max(axis=1) < 0.5
    assert 0 < doubtful.sum() < len(PAIRS)
    assert large.pairs == [pair for pair, sent in zip(PAIRS, doubtful, strict=True) if sent]
    np.testing.assert_array_equal(rows[~doubtful], first[~doubtful])
    assert (rows[doubtful].argmax(axis=1) == 2).all()
    assert (both.asked, both.sent) == (len(PAIRS), doubtful.sum())


def test_at_one_the_large_set_is_always_asked_and_other_tasks_stay_with_the_small_one():
    small, large, both = cascade(1.0)
    assert (both.expert("alignment").probabilities(PAIRS)[:, 2] == 1).all()
    assert len(large.pairs) == len(PAIRS)
    columns, vectors = both.read(PAIRS)
    verdicts = both.second_opinion("verdict", PAIRS, both.told("verdict", columns))
    np.testing.assert_array_equal(verdicts, small.expert("verdict").probabilities(PAIRS))
    np.testing.assert_array_equal(vectors, small.read(PAIRS)[1])
    assert len(large.pairs) == len(PAIRS)


def test_it_is_a_set_of_its_own_with_the_operating_points_of_who_decides():
    small, large, both = cascade(0.5)
    assert isinstance(both.expert("alignment"), Classifier)
    assert both.ref.name == "both"
    assert both.ref.sha256 not in (small.ref.sha256, large.ref.sha256, cascade(0.6)[2].ref.sha256)
    assert both.operating_points == {"alignment": (0.7, 0.5, 0.5)}
    assert both.retrieval
    assert both.expert("alignment").probabilities([]).shape == (0, 3)


def test_sets_that_name_labels_otherwise_are_refused():
    other = Decided({**TASKS, "alignment": ("agree", "disagree", "neither")})
    with pytest.raises(InputError, match="differ in 'alignment'"):
        Cascade(ScriptedExperts(TASKS), other, ("alignment",), 0.5, "both")
