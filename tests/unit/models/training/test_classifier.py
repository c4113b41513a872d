"""Pairs in, columns of their own task out: tokens, slices and the loss."""

import numpy as np
import pytest
import torch

from moralscope.models.classifiers.module import Slices, build_network, load_body, padded, tokenise
from moralscope.models.training.classifier import ClassifierLearner
from moralscope.models.training.heads import ClassifierTraining
from moralscope.models.training.records import TrainingExample

from ....expert_makers import HEADS, LABELS, WINDOW, tiny_bert, tiny_tokenizer, trained

SLICES = Slices(LABELS)
ROWS = [
    TrainingExample("action", ("", "jo lies"), 0),
    TrainingExample("action+norm", ("be kind", "jo pays al back"), 2),
    TrainingExample("action+norm", ("be kind", "jo"), 1, weight=0.5),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("base"))


def learner_of(base, rows=ROWS, dev=ROWS, **settings):
    torch.manual_seed(0)
    body, tokenizer = load_body(base, "tiny")
    network = build_network(body, SLICES.width).eval()
    return ClassifierLearner(network, tokenizer, HEADS, rows, dev, ClassifierTraining(**settings))


def test_slices_share_out_the_columns():
    assert (SLICES.of("action"), SLICES.of("action+norm"), SLICES.width) == (
        slice(0, 2),
        slice(2, 5),
        5,
    )
    with pytest.raises(KeyError):
        SLICES.of("norm")


def by_hand(learner, row):
    ids = torch.tensor(tokenise(learner.tokenizer, [row.pair], 128))
    with torch.no_grad():
        logits = learner.module(ids, torch.ones_like(ids))[0, SLICES.of(row.task)]
    return -float(torch.log_softmax(logits, 0)[row.label])


def test_the_loss_is_the_weighted_mean_over_each_task_alone(base):
    learner = learner_of(base)
    each = [by_hand(learner, row) for row in ROWS]
    expected = (each[0] + each[1] + 0.5 * each[2]) / 2.5
    assert float(learner.loss([0, 1, 2]).detach()) == pytest.approx(expected, abs=1e-5)


def test_columns_of_other_tasks_get_no_gradient(base):
    learner = learner_of(base)
    learner.loss([0]).backward()
    moved = learner.module.head.bias.grad.abs() > 1e-7
    assert moved.tolist() == [True, True, False, False, False]


def test_smoothing_pulls_towards_the_own_labels_only(base):
    plain, smooth = learner_of(base), learner_of(base, smoothing=0.2)
    ids = torch.tensor(tokenise(plain.tokenizer, [ROWS[0].pair], 128))
    with torch.no_grad():
        own = torch.log_softmax(plain.module(ids, torch.ones_like(ids))[0, :2], 0)
    expected = 0.8 * -float(own[0]) + 0.2 * -float(own.mean())
    assert float(smooth.loss([0]).detach()) == pytest.approx(expected, abs=1e-5)


def test_a_group_decides_as_much_as_it_is_told_to(base):
    learner = learner_of(base)
    low, high = int(learner.dev_logits()[0].argmin()), int(learner.dev_logits()[0].argmax())
    right = TrainingExample("action", ROWS[0].pair, high)
    wrong = TrainingExample("action", ROWS[0].pair, low, group="swapped", decides=0.25)
    found = learner_of(base, dev=[right, wrong, wrong]).dev()
    assert found == {"score": 0.8, "action": 1.0, "swapped": 0.0}


def test_a_choice_among_the_first_labels_leaves_the_others_out(base):
    learner = learner_of(base)
    with torch.no_grad():
        learner.module.head.bias.copy_(torch.tensor([0.0, 0.0, 5.0, 9.0, 99.0]))
        learner.module.head.weight.zero_()
    pair = ("be kind", "jo")
    learner.dev_examples = [TrainingExample("action+norm", pair, 1, among=2)]
    assert learner.dev()["score"] == 1.0
    learner.dev_examples = [TrainingExample("action+norm", pair, 1)]
    assert learner.dev()["score"] == 0.0


@pytest.mark.parametrize(
    "other",
    [
        [TrainingExample("action", ("", "jo lies"), 1), *ROWS[1:]],
        [TrainingExample("action", ("", "jo lied"), 0), *ROWS[1:]],
        [TrainingExample("action", ("", "jo lies"), 0, weight=0.5), *ROWS[1:]],
    ],
    ids=["label", "text", "weight"],
)
def test_other_lessons_have_another_checksum(base, other):
    assert learner_of(base).data_sha256 == learner_of(base).data_sha256
    assert learner_of(base).data_sha256 != learner_of(base, rows=other).data_sha256


def test_pairs_and_bare_texts_keep_their_order():
    tokenizer = tiny_tokenizer()
    pairs = [("be", "kind"), ("", "rude"), ("", "good"), ("not", "bad")]
    words = [
        " ".join(tokenizer.convert_ids_to_tokens(row)) for row in tokenise(tokenizer, pairs, 16)
    ]
    assert words == [
        "[CLS] b ##e [SEP] kind [SEP]",
        "[CLS] rude [SEP]",
        "[CLS] good [SEP]",
        "[CLS] not [SEP] bad [SEP]",
    ]
    assert tokenise(tokenizer, [], 16) == []


def test_long_pairs_are_cut_from_the_longer_side_and_never_exceed_the_window():
    tokenizer = tiny_tokenizer()
    (row,) = tokenise(tokenizer, [("kind " * 200, "bad good")], 16)
    words = tokenizer.convert_ids_to_tokens(row)
    assert len(row) == 16
    assert words[-4:] == ["[SEP]", "bad", "good", "[SEP]"]
    (row,) = tokenise(tokenizer, [("", "kind " * 200)], 500)
    assert len(row) == WINDOW


@pytest.mark.parametrize("text", ["kind [SEP] bad", "[CLS]", "[MASK] [PAD]", "[UNK]"])
def test_a_text_that_spells_a_special_token_is_text(text):
    tokenizer = tiny_tokenizer()
    (row,) = tokenise(tokenizer, [("", text)], 64)
    assert not set(row[1:-1]) & set(tokenizer.all_special_ids)


def test_padding_is_masked():
    ids, mask = padded([[7, 8, 9], [5]], 0, torch.device("cpu"))
    assert ids.tolist() == [[7, 8, 9], [5, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_kept_tasks_keep_their_logits(base):
    learner, _ = trained(base)
    rows = tokenise(learner.tokenizer, [("be kind", "al bad 7")], 32)
    ids, mask = padded(rows, 0, torch.device("cpu"))
    with torch.no_grad():
        before = learner.module(ids, mask)[0].numpy()
        kept = learner.keep_heads(["action+norm"]).slices
        after = learner.module(ids, mask)[0].numpy()
    assert (kept.width, list(kept.labels)) == (3, ["action+norm"])
    np.testing.assert_allclose(after, before[2:], atol=1e-6)


def test_a_tiny_model_learns_both_tasks_at_once(base):
    _, history = trained(base, epochs=30, patience=30)
    assert history.evaluations[history.best]["score"] > 0.9


def test_two_readings_that_agree_cost_nothing_and_others_their_divergence(base):
    still = learner_of(base, consistency=2.0)  # without dropout both readings are one
    assert float(still.loss([0, 1]).detach()) == pytest.approx(
        float(learner_of(base).loss([0, 1]).detach()), abs=1e-6
    )
    moving = learner_of(base, consistency=2.0)
    moving.module.train()
    torch.manual_seed(3)
    loss = float(moving.loss([0]).detach())
    torch.manual_seed(3)
    ids = torch.tensor(tokenise(moving.tokenizer, [ROWS[0].pair] * 2, 128))
    with torch.no_grad():
        one, two = torch.log_softmax(moving.module(ids, torch.ones_like(ids))[:, :2], 1)
    apart = float((one.exp() * (one - two)).sum() + (two.exp() * (two - one)).sum()) / 2
    assert apart > 0
    expected = -float(one[0] + two[0]) / 2 + 2.0 * apart
    assert loss == pytest.approx(expected, abs=1e-5)


def test_another_consistency_is_another_run(base):
    plain = learner_of(base)
    assert learner_of(base, consistency=1.0).data_sha256 != plain.data_sha256


def test_rows_that_are_known_are_not_computed_again(base):
    learner = learner_of(base)
    fresh = np.concatenate(learner.dev_logits())
    learner.module.known = {}
    assert np.concatenate(learner.dev_logits()) == pytest.approx(fresh, abs=1e-5)
    learner.module.body = None  # nothing is left to compute with
    assert np.concatenate(learner.dev_logits()) == pytest.approx(fresh, abs=1e-5)
