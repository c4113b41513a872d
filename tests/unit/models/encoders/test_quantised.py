"""Linear layers in 8 bits: near the exact ones, and no row depends on another."""

import pytest
import torch

from moralscope.models.fastcpu.linear import can_quantise, quantise, widen


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return torch.nn.Linear(96, 40).requires_grad_(False)


def lightened(layer):
    assert quantise(torch.nn.Sequential(layer)) == 1
    return layer


def test_outputs_are_near_the_exact_ones(layer):
    rows = torch.randn(7, 3, 96)
    exact = layer(rows)
    found = lightened(layer)(rows)
    assert found.shape == exact.shape
    assert float((found - exact).norm() / exact.norm()) < 0.02
    assert not torch.equal(found, exact)  # it did compute in 8 bits


def test_a_row_does_not_depend_on_its_neighbours(layer):
    rows = torch.randn(9, 96)
    found = lightened(layer)
    among = found(torch.cat([rows, 1000 * torch.randn(1, 96)]))
    assert all(torch.equal(among[n], found(rows[n : n + 1])[0]) for n in range(9))


def test_zeros_give_the_bias_and_a_layer_may_have_none(layer):
    assert torch.equal(lightened(layer)(torch.zeros(1, 96))[0], layer.bias)
    bare = torch.nn.Linear(8, 4, bias=False).requires_grad_(False)
    assert torch.equal(lightened(bare)(torch.zeros(1, 8)), torch.zeros(1, 4))


def test_the_engine_of_torch_stays_what_it_was(layer):
    before = torch.backends.quantized.engine
    lightened(layer)
    assert torch.backends.quantized.engine == before


def test_matrices_leave_memory_but_those_that_word_vectors_share():
    words, last = torch.nn.Embedding(30, 8), torch.nn.Linear(8, 30, bias=False)
    last.weight = words.weight
    model = torch.nn.Sequential(words, torch.nn.Linear(8, 8), last).requires_grad_(False).half()
    exact = model.float()(torch.arange(5))
    model.half()
    assert quantise(model) == 2
    widen(model)
    assert model[1].weight.numel() == 0
    assert model[0].weight.dtype is torch.float16
    assert float((model(torch.arange(5)) - exact).norm() / exact.norm()) < 0.03


def test_old_processors_are_left_alone(layer, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    assert not can_quantise(layer)


@pytest.mark.slow
def test_minilm_in_8_bits_says_nearly_the_same_and_keeps_its_own_cache(tmp_path):
    from moralscope.models.encoders import load_encoder
    from moralscope.models.store import Store

    texts = ["I kill time.", "Should I return the wallet?", "Take six tablets, that will do it."]
    exact = load_encoder("minilm", store=Store())
    lighter = load_encoder("minilm", store=Store(), eight_bits=True)
    one, other = exact.encode(texts), lighter.encode(texts)
    cosines = (one * other).sum(1) / ((one**2).sum(1) * (other**2).sum(1)) ** 0.5
    if can_quantise(torch.nn.Linear(2, 2)):
        assert not (one == other).all()
    assert cosines.min() > 0.98


@pytest.mark.slow
def test_experts_in_8_bits_answer_alone_as_in_a_batch():
    from moralscope.stories.experts import prepare_experts

    experts = prepare_experts("minilm")
    task = experts.tasks[0]
    pairs = [
        ("", "I kill time."),
        ("", "I gave the wallet back to its owner, who was glad."),
        ("", "No."),
    ]
    exact = experts.expert(task).probabilities(pairs)
    if not experts.quantise():
        pytest.skip("this machine computes in 32 bits only")
    among = experts.expert(task).probabilities(pairs)
    alone = [experts.expert(task).probabilities([pair])[0] for pair in pairs]
    assert abs(among - alone).max() < 1e-4
    assert 0 < abs(among - exact).max() < 0.15
