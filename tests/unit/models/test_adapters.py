"""Adapters on disk: in half precision or in 8 bits, they say the same."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from moralscope.models.adapters import pack_adapter, read_adapter_tensors
from moralscope.models.classifiers.experts import Experts
from moralscope.models.classifiers.saved import ADAPTER, read_settings, save_adapter
from moralscope.models.hugging_face import folder_checksum
from moralscope.models.training.classifier import train_classifier
from moralscope.models.training.heads import ClassifierTraining

from ...expert_makers import HEADS, examples, save_trained, tiny_bert, tiny_decoder, trained

PAIRS = [("be kind", "jo good"), ("be kind", "jo bad and rude to a friend"), ("", "al pays")]


def test_eight_bits_are_a_hundredth_off_at_most(tmp_path):
    torch.manual_seed(0)
    state = {"lora_A.weight": torch.randn(4, 90) * 3, "lora_B.weight": torch.randn(70, 4)}
    state["lora_B.weight"][:, 2] = 0.0
    packed = pack_adapter(state)
    assert packed["lora_A.weight"].dtype == torch.int8
    assert packed["lora_A.weight.scale"].shape == (4, 1)
    assert packed["lora_B.weight.scale"].shape == (1, 4)
    save_file(packed, tmp_path / ADAPTER)
    read = read_adapter_tensors(tmp_path)
    assert read.keys() == state.keys()
    for name, value in state.items():
        torch.testing.assert_close(read[name], value, atol=float(value.abs().max()) / 250, rtol=0)


@pytest.mark.parametrize("make", [tiny_bert, tiny_decoder])
def test_experts_with_an_adapter_in_eight_bits_say_the_same(tmp_path, make):
    base = make(tmp_path / "base")
    learner = trained(base, epochs=4, learning_rate=2e-2)[0]
    plain = save_trained(tmp_path / "plain", learner, base)
    small = save_trained(tmp_path / "small", learner, base)
    save_adapter(small, learner.module.body, eight_bits=True)
    sha256 = folder_checksum(base)
    first, second = (Experts(folder, base, sha256, "tiny") for folder in (plain, small))
    rows = [one.values("action+norm", PAIRS) for one in (first, second)]
    np.testing.assert_allclose(rows[0], rows[1], atol=0.02)


def test_training_goes_on_from_eight_bits_and_a_head_may_have_new_labels(tmp_path):
    from dataclasses import replace

    base = tiny_bert(tmp_path / "base")
    learner = trained(base, epochs=4, learning_rate=2e-2)[0]
    saved = save_trained(tmp_path / "saved", learner, base)
    save_adapter(saved, learner.module.body, eight_bits=True)
    heads = dict(HEADS)
    labels = heads["action"].labels
    heads["action"] = replace(heads["action"], labels=("new", *labels))
    still = ClassifierTraining(epochs=0, start=(saved,), rank=read_rank(saved))
    again, _ = train_classifier(still, base, heads, (examples(8), examples(8)))
    old = load_file(saved / "head.safetensors")["weight"]
    before, after = learner.slices.of("action").start, again.slices.of("action").start
    kept = again.module.head.weight[after + 1 : after + 1 + len(labels)]
    torch.testing.assert_close(kept, old[before : before + len(labels)])
    assert read_settings(saved).tasks["action"] == labels


def read_rank(folder):
    import json

    return json.loads((folder / "adapter_config.json").read_text("utf-8"))["r"]
