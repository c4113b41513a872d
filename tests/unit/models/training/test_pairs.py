"""Texts beside other texts: rankings, retrieval, soft labels of a teacher; ridge heads."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from moralscope.core.errors import InputError
from moralscope.models.classifiers.experts import Experts
from moralscope.models.classifiers.module import (
    build_network,
    has_bfloat16,
    load_body,
    safe_precision,
)
from moralscope.models.classifiers.saved import ExpertSettings, save_experts
from moralscope.models.hugging_face import folder_checksum
from moralscope.models.training.classifier import ClassifierLearner, train_classifier
from moralscope.models.training.distill import with_teacher
from moralscope.models.training.heads import CONTRASTIVE, RIDGE, ClassifierTraining, Head, slices_of
from moralscope.models.training.recipe import TrainingRecipe, load_recipe, repeat_words
from moralscope.models.training.records import TrainingExample
from moralscope.models.training.ridge import fit_ridge
from moralscope.models.training.trainer import TrainingData, replayed
from moralscope.stats.correlation import auc
from moralscope.stories.train import StoriesRecipe

from ....expert_makers import tiny_bert

HEADS = {
    "verdict": Head(("fine", "bad")),
    "degree": Head(("degree",), "graded"),
    "found": Head((), CONTRASTIVE, kept=False),
    "severity": Head(("severity",), RIDGE),
}
RANKED = TrainingExample("degree", ("", "jo pays"), 0, values=(0.0,), other=("", "jo lies"))
BETTER = TrainingExample("verdict", ("hi", "good"), 0, other=("hi", "bad"))
FOUND = [
    TrainingExample("found", ("", f"{word} friend"), 0, other=("", f"{word} help"))
    for word in ("kind", "rude", "good", "bad")
]
SEVERE = [
    TrainingExample("severity", ("", text), 0, values=(float(place % 5),))
    for place, text in enumerate(f"{a} {b}" for a in ("help", "lies", "pays") for b in "abcdefgh")
]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("base"))


def learner_of(base, rows, dev=()):
    torch.manual_seed(0)
    body, tokenizer = load_body(base, "tiny")
    network = build_network(body, slices_of(HEADS).width).eval()
    return ClassifierLearner(network, tokenizer, HEADS, rows, dev)


def trained(base, rows, dev, epochs=30):
    schedule = ClassifierTraining(
        weights="all",
        epochs=epochs,
        learning_rate=3e-3,
        batch_size=8,
        patience=epochs,
        max_length=32,
    )
    return train_classifier(schedule, base, HEADS, (rows, dev))[0]


@pytest.mark.parametrize("row", [RANKED, BETTER])
def test_a_ranking_is_learnt_by_the_difference_of_two_texts(base, row):
    learner = learner_of(base, [row])
    columns = learner.slices.of(row.task)
    ids = [learner.token_ids([replace(row, pair=pair)])[0] for pair in (row.pair, row.other)]
    with torch.no_grad():
        rows = [
            learner.module(torch.tensor([one]), torch.ones(1, len(one)).long())[0, columns]
            for one in ids
        ]
    values = [each[0] - each[1] if len(each) == 2 else each[0] for each in rows]
    expected = float(torch.nn.functional.softplus(values[1] - values[0]))
    assert float(learner.loss([0]).detach()) == pytest.approx(expected, rel=1e-4)


def test_what_is_ranked_comes_out_above(base):
    rows = [RANKED, replace(RANKED, pair=("", "help"), other=("", "rude"))]
    learner = trained(base, rows, rows)
    assert learner.dev()["degree"] == 1.0


def test_a_text_finds_its_own_among_the_others_of_the_batch(base):
    learner = trained(base, FOUND, FOUND, epochs=60)
    assert learner.dev()["found"] == 1.0


def test_equal_keys_are_no_negatives_of_each_other(base):
    row = FOUND[0]
    learner = learner_of(base, [row, replace(row, pair=("", "friend"))])
    assert float(learner.loss([0, 1]).detach()) == pytest.approx(0.0, abs=1e-5)


def test_contrastive_examples_stand_together_in_batches(base):
    learner = learner_of(base, [*FOUND, RANKED, BETTER])
    assert min(learner.lengths[:4]) > max(learner.lengths[4:])


def test_rows_of_every_kind_in_one_batch_have_a_finite_loss_and_gradient(base):
    learner = learner_of(base, [*FOUND, RANKED, BETTER, TrainingExample("verdict", ("a", "b"), 1)])
    learner.module.train()
    learner.loss(range(7)).backward()
    gradients = [each.grad for each in learner.module.parameters() if each.grad is not None]
    assert gradients
    assert all(torch.isfinite(each).all() for each in gradients)


def test_soft_labels_stand_for_the_hard_one(base):
    hard = TrainingExample("verdict", ("a", "b"), 1)
    soft = replace(hard, values=(0.0, 1.0))
    half = replace(hard, values=(0.5, 0.5))
    losses = [float(learner_of(base, [row]).loss([0]).detach()) for row in (hard, soft, half)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0] != pytest.approx(losses[2], rel=1e-3)


def test_a_ridge_head_is_fitted_on_the_still_body_and_not_learnt(base):
    learner = learner_of(base, SEVERE)
    assert list(learner.indices(0)) == []
    before = learner.module.head.weight.detach().clone()
    r = fit_ridge(learner, "severity")
    column = learner.slices.of("severity").start
    changed = (learner.module.head.weight != before).any(dim=1)
    assert -1.0 <= r <= 1.0
    assert changed.nonzero().flatten().tolist() == [column]


@pytest.fixture
def teacher(base, tmp_path):
    learner = learner_of(base, [])
    tasks = {"verdict": ("fine", "bad"), "degree": ("degree",), "severity": ("severity",)}
    kinds = {"degree": "scale", "severity": "scale"}
    settings = ExpertSettings(
        base=str(base),
        base_sha256=folder_checksum(base),
        tasks=tasks,
        max_length=32,
        kinds=kinds,
        card={"command": "x"},
    )
    save_experts(tmp_path / "teacher", learner.module, settings, learner.tokenizer, "card")
    return tmp_path / "teacher"


def test_a_student_learns_what_its_teacher_says_beside_the_label(base, teacher):
    row = TrainingExample("verdict", ("hi", "good"), 1)
    said = Experts(teacher, base, folder_checksum(base), "x").values("verdict", [row.pair])[0]
    recipe = TrainingRecipe(teacher=(teacher,), teacher_share=0.25)
    unknown = replace(row, label=-1)
    nobody_knows = replace(unknown, task="new")
    heads = {**HEADS, "new": Head(("no", "yes"))}
    rows = [row, unknown, nobody_knows, RANKED]
    mixed, unlabelled, ranked = with_teacher(rows, heads, recipe)
    assert mixed.values == pytest.approx(0.25 * said + 0.75 * np.array([0, 1]), rel=1e-4)
    assert unlabelled.values == pytest.approx(said, rel=1e-4)
    assert ranked == RANKED


def test_what_is_new_comes_whole_and_without_a_teacher_beside_a_replay(base, teacher):
    rows = [TrainingExample("verdict", ("hi", f"good {n}"), 1) for n in range(400)]
    new = [replace(row, group="new") for row in rows[:50]]
    recipe = TrainingRecipe(teacher=(teacher,), replay=0.1, whole=("new",), seed=1)
    data = replayed(TrainingData({"train": [*rows, *new, *SEVERE], "dev": rows}, HEADS), recipe)
    train, dev = data.parts["train"], data.parts["dev"]
    assert [row for row in train if row.group == "new"] == new
    assert [row for row in train if row.task == "severity"] == SEVERE
    again = [row for row in train if row.task == "verdict" and row.group != "new"]
    assert 20 < len(again) < 60
    assert 150 < len(dev) < 250
    taught = with_teacher(train, HEADS, recipe)
    assert all(bool(row.values) == (row.group != "new") for row in taught)


def test_a_share_of_a_group_or_of_a_head_is_taken_and_of_the_others_the_replay():
    heads = {"verdict": HEADS["verdict"], "degree": HEADS["degree"]}
    rows = [TrainingExample("verdict", ("hi", f"good {n}"), 1) for n in range(400)]
    new = [replace(row, group="new") for row in rows]
    graded = [TrainingExample("degree", ("", f"pay {n}"), 0, values=(0.0,)) for n in range(400)]
    recipe = TrainingRecipe(replay=0.0, shares={"new": 0.5, "degree": 1.0}, seed=1)
    parts = replayed(TrainingData({"train": [*rows, *new, *graded]}, heads), recipe).parts["train"]
    assert [row for row in parts if row.task == "degree"] == graded
    assert 150 < len([row for row in parts if row.group == "new"]) < 250
    assert not [row for row in parts if row.task == "verdict" and not row.group]
    for wrong in (1.5, "much"):
        with pytest.raises(InputError, match=r"shares\.new"):
            TrainingRecipe(shares={"new": wrong})


def test_a_network_that_learns_may_compute_in_half_precision_and_says_nearly_the_same(base):
    learner = learner_of(base, [RANKED, BETTER])
    whole = float(learner.loss([0, 1]).detach())
    learner.module.half = has_bfloat16("cpu")
    assert float(learner.loss([0, 1]).detach()) == pytest.approx(whole, rel=0.05)
    assert isinstance(safe_precision(torch.device("cpu"), half=True), torch.autocast)
    assert not isinstance(safe_precision(torch.device("cpu")), torch.autocast)


def test_a_card_names_the_teacher_without_its_place(teacher):
    recipe = StoriesRecipe(teacher=(teacher,))
    words = " ".join(repeat_words(recipe, recipe))
    assert "--set teacher=teacher" in words
    assert "/" not in words


def test_what_nobody_labels_asks_for_a_teacher_and_a_card_stays_short(teacher):
    with pytest.raises(InputError, match="nobody labels the source 'unlabelled'"):
        load_recipe(StoriesRecipe, "exceptions")
    recipe = load_recipe(StoriesRecipe, "exceptions", [f"teacher={teacher}"])
    words = repeat_words(recipe, recipe)
    assert words == ["--recipe exceptions", "--set teacher=teacher", "--seed 8"]
    more = replace(recipe, shares={**recipe.shares, "degree exceptions": 0.25})
    assert "--set 'shares.degree exceptions=0.25'" in repeat_words(more, more)


def test_a_trained_retriever_is_told_in_the_settings(teacher):
    assert json.loads((teacher / "expert.json").read_text())["retrieval"] is False


def test_auc_counts_ties_by_half():
    assert auc(np.array([1.0, 1.0]), np.array([True, False])) == 0.5


@pytest.mark.parametrize("loss", ["ranking", CONTRASTIVE])
def test_a_loss_that_compares_texts_needs_two_of_them(base, loss):
    rows = [TrainingExample("verdict", ("hi", "good"), 0), BETTER]
    heads = {"verdict": Head(("fine", "bad"), loss)}
    with pytest.raises(InputError) as told:
        train_classifier(ClassifierTraining(weights="all"), base, heads, (rows, rows))
    assert str(told.value) == (
        f"heads.verdict has the loss {loss}, which compares two texts, and 1 of its 2 examples "
        "have one; give heads.verdict another loss, such as cross_entropy"
    )
