"""Answers of experts are computed once and kept on disk, under everything that decides them."""

import pytest

from moralscope.axes.judge import Judge
from moralscope.axes.judge_answers import JudgeAnswers
from moralscope.core.records import ModelRef
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.stories.experts import ExpertFolder
from moralscope.stories.tasks import classification_task

LABELS = {"action": ("immoral", "moral"), "action+norm": ("breaks", "keeps", "does not concern")}
ACTION = classification_task("action")
PAIRS = [("", "Jo lies."), ("", "Jo helps."), ("", "Jo lies.")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder whose experts are scripted; `loads` says how often they were loaded."""
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path))
    loads = []

    def load(self, progress=None):
        loads.append(self.path)
        return ScriptedExperts(LABELS)

    monkeypatch.setattr(ExpertFolder, "load", load)
    monkeypatch.setattr(
        ExpertFolder, "ref", property(lambda self: ModelRef("mine", f"sha of {self.path.name}"))
    )
    monkeypatch.setattr(ExpertFolder, "tasks", property(lambda self: tuple(LABELS)))
    return ExpertFolder(tmp_path / "one"), loads


def test_an_answer_is_computed_once(folder):
    experts, loads = folder
    fresh, unread = JudgeAnswers(experts).ask(ACTION, PAIRS)
    kept = JudgeAnswers(experts)
    table, again = kept.ask(ACTION, PAIRS)
    assert len(loads) == 1
    assert (table == fresh).all()
    assert (table[0] == table[2]).all()
    assert unread == again == [0, 0, 0]
    assert kept.bits == ScriptedExperts(LABELS).bits
    assert len(loads) == 1


def test_only_new_pairs_are_computed(folder):
    experts, loads = folder
    JudgeAnswers(experts).ask(ACTION, PAIRS[:1])
    table, _ = JudgeAnswers(experts).ask(ACTION, PAIRS)
    assert len(loads) == 2
    assert table == pytest.approx(JudgeAnswers(ScriptedExperts(LABELS)).ask(ACTION, PAIRS)[0])


def test_other_experts_and_other_tasks_have_answers_of_their_own(folder):
    experts, loads = folder
    JudgeAnswers(experts).ask(ACTION, PAIRS)
    JudgeAnswers(ExpertFolder(experts.path.with_name("two"))).ask(ACTION, PAIRS)
    JudgeAnswers(ExpertFolder(experts.path, eight_bits=0.5)).ask(ACTION, PAIRS)
    table, _ = JudgeAnswers(experts).ask(classification_task("action+norm"), [("Lie!", "Jo lies.")])
    assert table.shape == (1, 3)
    assert len(loads) == 4


def test_a_judge_scores_alike_from_disk(folder):
    experts, loads = folder
    rows = [{"action": "kill time"}, {"action": "lie", "norm": "Be honest."}]
    runs = [Judge(experts).score_rows(rows) for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(loads) == 1
    loaded = Judge(ScriptedExperts(LABELS)).score_rows(rows)
    assert [row.score for row in runs[0].results] == pytest.approx(
        [row.score for row in loaded.results], abs=1e-6
    )
