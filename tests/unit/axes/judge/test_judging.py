"""The judge: which expert is asked, what it makes of the answer, and the wordings."""

import math

import numpy as np
import pytest

from moralscope.axes.judge import TASKS, Judge, best_task, unused
from moralscope.axes.wordings import wordings
from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, to_plain
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.windows import Windows
from moralscope.stories.tasks import classification_tasks

FULL = {
    "action": "Sam lies.",
    "norm": "Be honest.",
    "situation": "Sam is late.",
    "intention": "Sam wants to be excused.",
    "consequence": "Jo is hurt.",
}


class Fixed:
    """An expert with one answer for all, or one for each (grounding, target)."""

    def __init__(self, labels, row, answers=None):
        self.name, self.checksum, self.labels = "fixed", "0", labels
        self._row, self._answers = row, answers or {}

    def probabilities(self, pairs):
        rows = [self._answers.get(pair, self._row) for pair in pairs]
        return np.array(rows, dtype=np.float32).reshape(len(pairs), len(self.labels))


class Experts:
    ref = ModelRef("fixed", "0" * 64)

    def __init__(self, rows, answers=None):
        self._rows, self._answers = rows, answers or {}

    @property
    def tasks(self):
        return tuple(self._rows)

    def windows(self, pairs):
        return [Windows((pair,)) for pair in pairs]

    def expert(self, task):
        return Fixed(classification_tasks()[task].labels, self._rows[task], self._answers.get(task))


def keep(*names):
    return {name: FULL[name] for name in names}


@pytest.mark.parametrize(
    ("columns", "task"),
    [
        (("action",), "action"),
        (("action", "norm"), "action+norm"),
        (("action", "norm", "situation"), "action+norm"),
        (("action", "norm", "situation", "intention"), "action+context"),
        (tuple(FULL), "action+context+consequence"),
        (("action", "consequence"), "action+consequence"),
        (("action", "norm", "consequence"), "action+norm"),
        (("action", "situation", "intention"), "action"),
    ],
)
def test_the_largest_grounding_that_is_there_is_taken(columns, task):
    assert best_task(keep(*columns), [name for name in TASKS if name != "degree"]) == task
    assert best_task(keep(*columns), TASKS) == ("degree" if task == "action" else task)


def test_an_expert_that_is_not_there_is_not_taken():
    assert best_task(FULL, ("action", "action+norm")) == "action+norm"
    assert unused(FULL, "action+norm") == ("situation", "intention", "consequence")
    with pytest.raises(InputError, match="action\\+context"):
        best_task(keep("action"), ("action+context",))


def test_score_is_twice_the_probability_less_one():
    (found,) = Judge(Experts({"action": [0.2, 0.8]})).score_rows([keep("action")]).results
    assert found.probability == pytest.approx(0.8)
    assert found.score == pytest.approx(0.6)
    assert (found.task, found.verdict) == ("action", None)


def test_a_third_label_leaves_the_probability_and_gives_the_verdict():
    judge = Judge(Experts({"action+norm": [0.1, 0.3, 0.6]}))
    (found,) = judge.score_rows([keep("action", "norm")]).results
    assert found.probability == pytest.approx(0.75)
    assert found.verdict == "does not concern"
    for row, verdict in (([0.1, 0.8, 0.1], "keeps"), ([0.8, 0.1, 0.1], "breaks")):
        (found,) = Judge(Experts({"action+norm": row})).score_rows([keep("action", "norm")]).results
        assert found.verdict == verdict


@pytest.mark.parametrize(
    ("binary", "norm", "verdict"),
    [
        ([0.1, 0.9], [0.2, 0.3, 0.5], "keeps"),
        ([0.9, 0.1], [0.2, 0.3, 0.5], "breaks"),
        ([0.1, 0.9], [0.2, 0.2, 0.6], "does not concern"),
    ],
)
def test_with_a_consequence_the_norm_reader_only_says_what_does_not_concern(binary, norm, verdict):
    judge = Judge(Experts({"action+context+consequence": binary, "action+norm": norm}))
    (found,) = judge.score_rows([FULL]).results
    assert found.verdict == verdict
    assert found.probability == pytest.approx(binary[1])
    (alone,) = Judge(Experts({"action+context+consequence": binary})).score_rows([FULL]).results
    assert alone.verdict in {"keeps", "breaks"}


def test_the_range_is_that_of_the_wordings_and_the_score_that_of_the_first():
    values = dict(
        zip(wordings("lie"), ([0.4, 0.6], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7]), strict=True)
    )
    answers = {"action": {("", text): row for text, row in values.items()}}
    judge = Judge(Experts({"action": [0.0, 1.0]}, answers))
    (found,) = judge.score(["lie"])
    assert found.score == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.0, 0.6))
    assert found.prompts == pytest.approx((0.2, 0.6, 0.0, 0.4))


def test_one_wording_has_the_same_score_and_no_range():
    experts = ScriptedExperts({"action": ("immoral", "moral")})
    (all_,), (one,) = Judge(experts).score(["lie"]), Judge(experts, wordings=1).score(["lie"])
    assert one.score == all_.score
    assert math.isnan(one.low)
    assert math.isnan(one.high)
    assert len(one.prompts) == 1


def test_beside_a_norm_a_phrase_tells_what_is_done():
    assert wordings("lie", 1, grounded=True) == ["I lie."]


def test_a_sentence_is_not_put_into_another():
    assert wordings("Sam lies.")[1:] == [
        "One day, Sam lies.",
        "In the end, Sam lies.",
        "That day, Sam lies.",
    ]
    assert wordings("pay {5}")[0] == "I want to pay {5}."


def test_a_norm_is_read_with_bare_actions():
    judge = Judge(Experts({"action": [1, 0], "action+norm": [0, 1, 0]}), norm="Lie!")
    (found,) = judge.score(["lie"])
    assert (found.task, found.verdict, found.score) == ("action+norm", "keeps", 1.0)


def test_rows_of_many_kinds_keep_their_order():
    experts = ScriptedExperts({name: row.labels for name, row in classification_tasks().items()})
    rows = [keep("action", "norm"), keep("action"), FULL, keep("action")] * 100
    seen = []
    found = Judge(experts, wordings=4).score_rows(rows, report=lambda *at: seen.append(at)).results
    names = ["action+norm", "action", "action+context+consequence", "action"]
    assert [row.task for row in found] == names * 100
    assert to_plain(found[1]) == to_plain(found[3])
    assert seen == [(256, 400), (400, 400)]
