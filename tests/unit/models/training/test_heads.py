"""Tasks of which many labels may hold, and scales: their loss, their figures, their files."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from moralscope.core.errors import InputError
from moralscope.models.classifiers.experts import Experts
from moralscope.models.classifiers.module import build_network, load_body, tokenise
from moralscope.models.classifiers.saved import ExpertSettings, read_settings, save_experts
from moralscope.models.hugging_face import folder_checksum
from moralscope.models.training.classifier import ClassifierLearner, train_classifier
from moralscope.models.training.heads import ClassifierTraining, Head, slices_of
from moralscope.models.training.metrics import best_thresholds, group_figures, label_f1
from moralscope.models.training.records import TrainingExample

from ....expert_makers import tiny_bert

LABELS = {"one": ("no", "yes"), "many": ("a", "b", "c"), "scale": ("scale",)}
KINDS = {"many": "many", "scale": "scale"}
LOSSES = {"many": "multi_label", "scale": "regression"}
HEADS = {task: Head(labels, LOSSES.get(task, "cross_entropy")) for task, labels in LABELS.items()}
SLICES = slices_of(HEADS)
ROWS = [
    TrainingExample("one", ("", "jo lies"), 1),
    TrainingExample("many", ("", "be kind"), 0, values=(1.0, 0.0, 1.0)),
    TrainingExample("scale", ("", "jo pays"), 0, 0.5, values=(4.0,)),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("base"))


def learner_of(base, rows=ROWS, dev=ROWS):
    torch.manual_seed(0)
    body, tokenizer = load_body(base, "tiny")
    return ClassifierLearner(build_network(body, SLICES.width).eval(), tokenizer, HEADS, rows, dev)


def logits_of(learner, row):
    ids = torch.tensor(tokenise(learner.tokenizer, [row.pair], 128))
    with torch.no_grad():
        return learner.module(ids, torch.ones_like(ids))[0, SLICES.of(row.task)].double()


def test_the_loss_is_each_kind_s_own(base):
    learner = learner_of(base)
    one, many, scale = (logits_of(learner, row) for row in ROWS)
    crossed = -torch.log_softmax(one, 0)[1]
    chance = torch.sigmoid(many)
    binary = -(chance[0].log() + (1 - chance[1]).log() + chance[2].log()) / 3
    squared = (scale[0] - 4.0) ** 2
    expected = float((crossed + binary + 0.5 * squared) / 2.5)
    assert float(learner.loss([0, 1, 2]).detach()) == pytest.approx(expected, rel=1e-4)


def test_other_columns_get_no_gradient(base):
    learner = learner_of(base)
    learner.loss([1]).backward()
    moved = learner.module.head.bias.grad.abs() > 1e-7
    assert moved.tolist() == [False, False, True, True, True, False]


def test_values_are_part_of_what_names_the_data(base):
    other = [*ROWS[:2], TrainingExample("scale", ("", "jo pays"), 0, 0.5, values=(3.0,))]
    assert learner_of(base).data_sha256 != learner_of(base, rows=other).data_sha256


def test_figures_by_hand():
    logits = np.array([[5.0, -5.0], [-5.0, -5.0]])
    found = group_figures("x", "many", [[1, 0], [0, 1]], logits)
    assert found["x"] == 0.5  # the first is told apart, the second is under every threshold
    assert label_f1(np.zeros((2, 1), bool), np.zeros((2, 1), bool)).tolist() == [0.0]
    told = group_figures("s", "scale", [[1.0], [2.0], [3.0]], np.array([[3.0], [2.0], [1.0]]))
    assert told == pytest.approx({"s": -1.0, "s mse": 8 / 3})


def test_a_threshold_is_no_higher_than_it_must_be():
    gold = np.array([[True], [False]])
    assert 0.6 < best_thresholds(gold, np.array([[0.9], [0.6]]))[0] <= 0.9


@pytest.fixture(scope="module")
def made(base):
    rows = []
    for number in range(60):
        good, size = number % 2, float(1 + number % 5)
        word = ("bad", "good")[good]
        rows.append(TrainingExample("many", ("", f"jo {word}"), 0, values=(good, 1 - good, 0.0)))
        rows.append(TrainingExample("scale", ("", f"jo {word}"), 0, values=(1.0 + 3 * good,)))
        rows.append(TrainingExample("one", ("", f"al {word} {size:.0f}"), good))
    training = ClassifierTraining(epochs=6, learning_rate=1e-2, batch_size=16, patience=9, rank=4)
    return train_classifier(training, base, HEADS, (rows, rows))


def test_a_scale_starts_at_the_mean_and_all_kinds_are_learnt(made):
    _learner, history = made
    look = history.evaluations[history.best]
    assert look["one"] > 0.95
    assert look["scale"] > 0.9
    assert look["scale mse"] < 1.5
    assert look["many"] >= 2 / 3  # the third label never holds


def saved(folder, made, base, **more):
    learner, _ = made
    settings = ExpertSettings(
        base="tiny",
        base_sha256=folder_checksum(base),
        tasks=LABELS,
        kinds=KINDS,
        thresholds={"many": (0.4, 0.5, 0.6)},
        **more,
    )
    save_experts(folder, learner.module, settings, learner.tokenizer, "card")
    return Experts(folder, base, folder_checksum(base), "tiny")


def test_what_was_trained_is_what_is_loaded(tmp_path, made, base):
    experts = saved(tmp_path / "x", made, base)
    many = experts.values("many", [("", "jo good"), ("", "jo bad")])
    assert many[0, 0] > 0.5 > many[1, 0]
    assert many[1, 1] > 0.5
    scale = experts.values("scale", [("", "jo good"), ("", "jo bad")])
    assert scale[0, 0] > scale[1, 0] + 0.5
    assert experts.thresholds("many") == (0.4, 0.5, 0.6)
    assert experts.thresholds("one") == (0.5, 0.5)
    np.testing.assert_allclose(experts.values("one", [("", "al good 1")]).sum(), 1.0, rtol=1e-5)
    with pytest.raises(InputError, match="has values, not labels"):
        experts.expert("many")


def test_a_scale_of_one_column_says_how_surely_it_is_above_zero(tmp_path, made, base):
    """So does the judge's `degree`: score = 2 sigmoid(d / T) - 1."""
    pairs = [("", "jo good"), ("", "jo bad")]
    experts = saved(tmp_path / "x", made, base, temperatures={"scale": 2.0})
    found = experts.expert("scale").probabilities(pairs)
    degree = experts.values("scale", pairs)[:, 0]
    np.testing.assert_allclose(2 * found[:, 1] - 1, np.tanh(degree / 2.0 / 2), atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)


def test_keeping_some_tasks_keeps_their_kind(made):
    import copy

    learner = replace(made[0], module=copy.deepcopy(made[0].module))
    kept = learner.keep_heads(["scale"]).slices
    assert (kept.kind("scale"), kept.width, learner.module.head.out_features) == ("scale", 1, 1)


@pytest.mark.parametrize(
    "wrong", [{"kinds": {"many": "several"}}, {"thresholds": {"many": [0.5]}}, {"kinds": 3}]
)
def test_settings_that_cannot_be_are_refused(tmp_path, wrong):
    told = {"schema": "moralscope.experts/1", "base": "x", "base_sha256": "y", "tasks": LABELS}
    (tmp_path / "expert.json").write_text(json.dumps({**told, **wrong}))
    with pytest.raises(InputError):
        read_settings(tmp_path)
