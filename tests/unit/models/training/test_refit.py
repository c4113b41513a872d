"""The last layer fitted again: it learns what the body tells apart, and touches nothing else."""

import numpy as np
import pytest
import torch

from moralscope.core.errors import InputError
from moralscope.models.training.records import TrainingExample
from moralscope.models.training.refit import STRENGTHS, refit_head

from ....expert_makers import tiny_bert
from .test_classifier import learner_of

WORDS = (("jo lies", 0), ("jo pays al back", 1), ("al", 2))
ROWS = [
    TrainingExample("action+norm", (norm, text), label, group="dev")
    for norm in ("be kind", "be fair", "be kind be fair")
    for text, label in WORDS
]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("base"))


def test_only_the_columns_of_the_task_change_and_they_fit(base):
    learner = learner_of(base, ROWS * 200, ROWS)
    learner.module.known = {}
    before = learner.module.head.weight.detach().clone()
    chosen = refit_head(learner, "action+norm")
    assert chosen in STRENGTHS
    assert torch.equal(learner.module.head.weight[:2], before[:2])
    assert not torch.equal(learner.module.head.weight[2:], before[2:])
    assert learner.dev()["dev"] == 1.0


def test_rows_that_are_known_are_not_computed_again(base):
    learner = learner_of(base, ROWS, ROWS)
    fresh = np.array(learner.dev_logits())
    learner.module.known = {}
    assert np.allclose(np.array(learner.dev_logits()), fresh, atol=1e-5)
    learner.module.body = None  # nothing is left to compute with
    assert np.allclose(np.array(learner.dev_logits()), fresh, atol=1e-5)


def test_a_label_that_is_never_taught_is_refused(base):
    learner = learner_of(base, ROWS[:2], ROWS)
    with pytest.raises(InputError, match="no example of 'action\\+norm' has the label"):
        refit_head(learner, "action+norm")
