"""Stacked texts give the hidden states of padded ones; tiny models without weights."""

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from moralscope.models.fastcpu.linear import _plain_linear, exact_linear
from moralscope.models.fastcpu.unpadded import BodyWeights, UnpaddedBody, can_unpad

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 40,
}
KINDS = [
    (BertConfig, BertModel),
    (MPNetConfig, MPNetModel),
    (RobertaConfig, RobertaModel),
    (XLMRobertaConfig, XLMRobertaModel),
]


def body_of(config, model, **more):
    torch.manual_seed(0)
    made = model(config(**SIZES, **more)).eval().requires_grad_(False)
    for weight in made.parameters():
        weight.mul_(4)  # small random weights would leave attention flat
    return made


@pytest.fixture(params=KINDS, ids=lambda pair: pair[1].__name__)
def body(request):
    return body_of(*request.param)


def texts(lengths, padding):
    rng = np.random.default_rng(1)
    allowed = [token for token in range(50) if token != padding]
    return [rng.choice(allowed, length).tolist() for length in lengths]


def padded(body, batch, padding):
    longest = max(map(len, batch))
    ids = torch.tensor([row + [padding] * (longest - len(row)) for row in batch])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in batch])
    hidden = body(input_ids=ids, attention_mask=mask).last_hidden_state
    return [hidden[place, : len(row)] for place, row in enumerate(batch)]


def weights_of(body):
    return BodyWeights(body.config.to_dict(), body.state_dict())


def stacked(body, batch, **how):
    return [row for group in UnpaddedBody(weights_of(body), **how)(batch) for row in group]


@torch.inference_mode()
def test_hidden_states_are_those_of_the_padded_model(body):
    padding = body.config.pad_token_id
    batch = texts([17, 17, 9, 8, 8, 8, 1], padding)
    for mine, theirs in zip(stacked(body, batch), padded(body, batch, padding), strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-4)


@torch.inference_mode()
def test_states_of_an_inner_layer_stand_behind_the_last_ones(body):
    batch = texts([9, 9, 4], body.config.pad_token_id)
    plain = UnpaddedBody(weights_of(body))
    for group, wide in zip(plain(batch), plain(batch, middle=2), strict=True):
        assert torch.equal(wide[..., :32], group)
    states = body(input_ids=torch.tensor(batch[:2]), output_hidden_states=True).hidden_states
    wide = plain(batch, middle=2)[0]
    torch.testing.assert_close(wide[..., 32:], states[2], atol=2e-5, rtol=1e-4)


@torch.inference_mode()
def test_a_text_that_spells_out_the_padding_is_read_as_the_model_reads_it(body):
    padding = body.config.pad_token_id
    batch = [[4, padding, 5, 6], [7, 8, padding, padding]]
    for mine, theirs in zip(stacked(body, batch), padded(body, batch, padding), strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-4)


@torch.inference_mode()
def test_in_8_bits_a_text_is_near_and_does_not_depend_on_its_neighbours(body):
    batch = texts([12, 12, 7, 3], body.config.pad_token_id)
    among, exact = stacked(body, batch, eight_bits=True), stacked(body, batch)
    for row, near, text in zip(among, exact, batch, strict=True):
        (alone,) = stacked(body, [text], eight_bits=True)
        torch.testing.assert_close(row, alone, atol=1e-4, rtol=1e-4)
        assert 0 < float((row - near).norm() / near.norm()) < 0.2


@pytest.mark.parametrize(
    "more",
    [{"hidden_act": "relu"}, {"is_decoder": True}],
    ids=["another activation", "a decoder"],
)
def test_models_that_compute_otherwise_are_left_to_transformers(more):
    known = weights_of(body_of(BertConfig, BertModel))
    assert can_unpad(known)
    assert not can_unpad(weights_of(body_of(BertConfig, BertModel, **more)))
    assert not can_unpad(weights_of(body_of(BertConfig, BertModel).double()))
    assert not can_unpad(BodyWeights({}, torch.nn.Linear(2, 2).state_dict()))


@pytest.mark.parametrize(
    "name", ["embeddings.word_embeddings.weight", "encoder.layer.2.output.dense.bias"]
)
def test_a_body_that_lacks_a_tensor_or_has_one_of_another_shape_is_left_to_transformers(name):
    known = weights_of(body_of(BertConfig, BertModel))
    without = {each: tensor for each, tensor in known.tensors.items() if each != name}
    assert not can_unpad(BodyWeights(known.config, without))
    assert not can_unpad(BodyWeights(known.config, {**without, name: known.tensors[name][:-1]}))


@torch.inference_mode()
def test_products_are_the_same_without_onednn():
    layer = torch.nn.Linear(16, 8)
    rows, add = torch.randn(5, 16), torch.randn(5, 8)
    for gelu, more in ((True, ()), (False, (add,)), (False, ())):
        made = exact_linear(layer.weight, layer.bias, gelu=gelu)(rows, *more)
        plain = _plain_linear(layer.weight, layer.bias, gelu)(rows, *more)
        torch.testing.assert_close(made, plain)
