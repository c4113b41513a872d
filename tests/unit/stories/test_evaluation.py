"""Figures of experts, against values computed by hand, and what reversed and swapped norms do."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import f1_score

from moralscope.stories.evaluation import (
    Predictions,
    confusion,
    examine,
    measure,
    paired,
    worst,
)
from moralscope.stories.sensitivity import lexical_shortcut, reversed_norms, swapped_norms
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import LabelledPair, classification_task

NORM = classification_task("action+norm")
STORIES = [
    MoralStory(str(n), f"It's good to help {n}.", moral_action=f"Al helps {n}.",
               immoral_action=f"Al leaves {n}.")
    for n in range(20)
]  # fmt: skip


class Reader:
    """An expert that reads the norm: good to help, bad to help, or about something else."""

    name, checksum, labels = "reader", "0", NORM.labels

    def probabilities(self, pairs):
        rows = []
        for norm, action in pairs:
            if "help" not in norm:
                rows.append([0.1, 0.1, 0.8])
            else:
                kept = ("helps" in action) == ("good" in norm)
                rows.append([0.05, 0.85, 0.1] if kept else [0.85, 0.05, 0.1])
        return np.array(rows, dtype=np.float32)


class Deaf(Reader):
    """An expert that reads the action alone."""

    def probabilities(self, pairs):
        return Reader.probabilities(self, [("good to help", action) for _, action in pairs])


def predictions(labels, moral, ids=None):
    rows = [
        LabelledPair(str(ids[n] if ids else n), "t", "", f"x{n}", label, "moral")
        for n, label in enumerate(labels)
    ]
    return Predictions(("no", "yes"), rows, np.array([[1 - p, p] for p in moral]))


def test_accuracy_and_both_f1_are_those_of_scikit_learn():
    draw = np.random.default_rng(3)
    labels, moral = draw.integers(0, 2, 60).tolist(), draw.random(60).tolist()
    found = measure(predictions(labels, moral))
    called = [p > 0.5 for p in moral]
    right = np.mean([a == b for a, b in zip(called, labels, strict=True)])
    assert found.accuracy.value == pytest.approx(right)
    assert found.f1.value == pytest.approx(f1_score(labels, called))
    assert found.f1_macro.value == pytest.approx(f1_score(labels, called, average="macro"))
    assert found.accuracy.low < found.accuracy.value < found.accuracy.high


def test_the_third_label_is_dropped_from_binary_decisions():
    rows = [LabelledPair("1", "t", "", "x", 1, "moral")]
    found = Predictions(NORM.labels, rows, np.array([[0.1, 0.2, 0.7]]))
    assert found.binary[0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert measure(found).accuracy.value == 1.0
    assert confusion(found).counts == ((0, 0, 0), (0, 0, 1), (0, 0, 0))


def test_the_interval_resamples_stories_not_samples():
    labels = [1] * 40
    moral = [0.9 if n < 20 else 0.1 for n in range(40)]
    alone = measure(predictions(labels, moral))
    # The same samples, ten to a story: they say much less.
    grouped = measure(predictions(labels, moral, ids=[n // 10 for n in range(40)]))
    assert grouped.stories == 4
    width = alone.accuracy.high - alone.accuracy.low
    assert grouped.accuracy.high - grouped.accuracy.low > 2 * width


def test_intervals_follow_the_seed():
    found = predictions([0, 1] * 30, np.random.default_rng(1).random(60).tolist())
    assert measure(found, seed=1) == measure(found, seed=1)
    assert measure(found, seed=1).f1.low != measure(found, seed=5).f1.low


def test_mcnemar_is_the_exact_binomial_test_of_discordant_samples():
    labels = [1] * 12
    first = predictions(labels, [0.9] * 4 + [0.1] * 8)
    second = predictions(labels, [0.1] + [0.9] * 9 + [0.1] * 2)
    found = paired(first, second)
    assert (found.only_first, found.only_second) == (1, 6)
    assert found.p == pytest.approx(binomtest(1, 7).pvalue)
    assert found.difference.value == pytest.approx(5 / 12)
    assert found.difference.low < 5 / 12 < found.difference.high
    assert paired(first, first).p == 1.0


def test_a_paired_test_refuses_other_samples():
    with pytest.raises(ValueError, match="same samples"):
        paired(predictions([1], [0.9]), predictions([1, 1], [0.9, 0.9]))


def turned(norm):
    """Reverse norms of even stories only."""
    number = int(norm.split()[-1].rstrip("."))
    return norm.replace("good", "bad") if number % 2 == 0 else None


def test_reversed_norms_tell_a_reader_from_one_that_reads_the_action_alone():
    reader = reversed_norms(examine(Reader(), NORM, STORIES), turned)
    deaf = reversed_norms(examine(Deaf(), NORM, STORIES), turned)
    assert (reader.accuracy.value, reader.original.value) == (1.0, 1.0)
    assert (deaf.accuracy.value, deaf.original.value) == (0.0, 1.0)
    assert (reader.samples, reader.coverage) == (20, 0.5)
    assert reversed_norms(examine(Reader(), NORM, STORIES), lambda norm: None) is None


def test_swapped_norms_count_what_is_called_unconcerned():
    norms = {story.id: "Pay your debts." for story in STORIES[:5]}
    found, table = swapped_norms(examine(Reader(), NORM, STORIES), norms)
    assert (found.samples, found.rejected.value, found.rejected_own.value) == (10, 1.0, 0.0)
    assert table.counts == ((5, 0, 0), (0, 5, 0), (0, 0, 10))
    deaf, _ = swapped_norms(examine(Deaf(), NORM, STORIES), norms)
    assert deaf.rejected.value == 0.0
    assert swapped_norms(examine(Reader(), NORM, STORIES), {}) is None


def test_the_surest_mistakes_come_first():
    found = worst(predictions([1, 0, 1, 0], [0.45, 0.99, 0.9, 0.6]))
    assert [mistake.target for mistake in found] == ["x1", "x3", "x0"]
    assert (found[0].right, found[0].called) == ("no", "yes")
    assert found[0].probability == pytest.approx(0.01)
    assert len(worst(predictions([1, 1], [0.1, 0.2]), limit=1)) == 1


def test_words_alone_solve_what_words_decide_and_nothing_else():
    def rows(texts, grounding=""):
        return [LabelledPair(str(n), "t", grounding, *row, "moral") for n, row in enumerate(texts)]

    train = rows([("Jo kindly waits", 1), ("Jo rudely shouts", 0)] * 60)
    found = lexical_shortcut(train, rows([("Al kindly sings", 1), ("Al rudely sings", 0)]))
    assert found.accuracy.value == 1.0
    assert found.for_positive[0].word in {"kindly", "waits"}
    assert found.for_negative[0].weight < 0
    chance = rows([("Jo waits", 1), ("Jo waits", 0)] * 60)
    assert lexical_shortcut(chance, rows([("Jo waits", 1), ("Jo waits", 0)])).accuracy.value == 0.5
    assert lexical_shortcut(train, []) is None
    assert lexical_shortcut(train[::2], train) is None


def test_words_of_the_grounding_are_told_apart():
    train = [
        LabelledPair(str(n), "t", "glad" if n % 2 else "sad", "Jo acts", n % 2, "moral")
        for n in range(40)
    ]
    found = lexical_shortcut(train, train)
    assert found.for_positive[0].word == "grounding:glad"
