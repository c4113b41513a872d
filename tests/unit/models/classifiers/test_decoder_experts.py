"""Experts on a causal base: the text first, read at the last token, trained by the one trainer."""

import json

import numpy as np
import pytest
import torch

from moralscope.core.errors import InputError, MoralscopeError, StoreError
from moralscope.models.classifiers.experts import Experts
from moralscope.models.classifiers.module import (
    build_network,
    load_body,
    narrow,
    padded,
    pooled_rows,
    resolve_base,
    tokenise,
)
from moralscope.models.fastcpu.linear import has_int8
from moralscope.models.hugging_face import folder_checksum
from moralscope.models.training.heads import ClassifierTraining

from ....expert_makers import examples, save_trained, tiny_bert, tiny_decoder, trained

PAIRS = [("be kind", "jo good"), ("be kind", "jo bad and rude to a friend"), ("", "al pays")]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_decoder(tmp_path_factory.mktemp("decoder"))


@pytest.fixture(scope="module")
def learner(base):
    changes = {"epochs": 12, "learning_rate": 2e-2, "head_rate": 5e-2, "skip": 0.05}
    return trained(base, **changes)[0]


@pytest.fixture(scope="module")
def experts(base, learner, tmp_path_factory):
    folder = save_trained(tmp_path_factory.mktemp("saved") / "experts", learner, base)
    return Experts(folder, base, folder_checksum(base), "tiny")


def test_the_text_stands_first_and_the_frame_is_never_cut(base):
    _, tokenizer = load_body(base, "tiny")
    short, alone, long = tokenise(
        tokenizer, [("not kind", "friend pays"), ("", "pays"), ("not " * 40, "pays " * 40)], 32
    )
    assert tokenizer.decode(short) == "text : friend pays rule : not kind judgment :"
    assert tokenizer.decode(alone) == "text : pays judgment :"
    assert len(long) == 32
    words = tokenizer.decode(long)
    assert words.startswith("text :")
    assert words.endswith("judgment :")
    assert "rule :" in words


def test_the_last_token_is_read_whatever_stands_beside_it_in_the_batch(learner):
    rows = tokenise(learner.tokenizer, PAIRS, 32)
    alone = [learner.module.pooled(*padded([row], 0, "cpu")).detach().numpy()[0] for row in rows]
    together = learner.module.pooled(*padded(rows, 0, "cpu")).detach().numpy()
    assert learner.module.last
    assert np.allclose(alone, together, atol=1e-5)


def test_padding_to_the_right_needs_no_mask(learner):
    ids, mask = padded(tokenise(learner.tokenizer, PAIRS, 32), 0, "cpu")
    ends = mask.sum(1) - 1
    rows = learner.module.body(input_ids=ids).last_hidden_state  # as on a GPU
    plain = rows[range(len(ids)), ends].detach().numpy()
    assert np.allclose(plain, learner.module.pooled(ids, mask).detach().numpy(), atol=1e-5)


def test_no_layer_keeps_what_it_computed(base):
    body, _ = load_body(base, "tiny")
    with torch.inference_mode():
        assert body(torch.tensor([[1, 2]])).past_key_values is None


@pytest.mark.parametrize("make", [tiny_bert, tiny_decoder])
def test_what_a_gpu_holds_in_bfloat16_it_rounded_there_before(make, tmp_path):
    body, tokenizer = load_body(make(tmp_path / "base"), "tiny")
    network = build_network(body, 3).eval().requires_grad_(False)
    network.half = True  # as on a GPU: `safe_precision` rounds both factors of every product
    rows = tokenise(tokenizer, PAIRS, 32)
    before = pooled_rows(network, rows, 0)
    narrow(body)
    assert np.array_equal(before, pooled_rows(network, rows, 0))
    kinds = {type(m): m.weight.dtype for m in body.modules() if hasattr(m, "weight")}
    assert kinds[torch.nn.Linear] == torch.bfloat16
    assert kinds[torch.nn.Embedding] == network.head.weight.dtype == torch.float32


def test_an_encoder_is_read_as_before(tmp_path):
    body, tokenizer = load_body(tiny_bert(tmp_path / "bert"), "tiny")
    assert tokenizer.decode(tokenizer("friend pays")["input_ids"]) == "[CLS] friend pays [SEP]"
    assert body.config.model_type == "bert"


def test_it_learns(learner):
    assert learner.on(examples(12)).dev()["score"] > 0.9


def test_what_was_saved_says_the_same(experts, learner):
    rows = tokenise(learner.tokenizer, PAIRS, 32)
    logits = learner.module(*padded(rows, 0, "cpu")).detach().numpy()
    assert np.allclose(experts.read(PAIRS)[0], logits, atol=2e-2)  # adapters are in 16 bits


def test_long_texts_are_read_in_windows_that_fit(experts):
    (cut,) = experts.windows([("be kind", "jo pays al " * 30)])
    assert len(cut.pairs) > 1
    assert all(len(tokenise(experts._network.tokenizer, [p], 99)[0]) <= 32 for p in cut.pairs)


def test_of_a_long_prompt_the_ends_are_read_and_said_so(experts, caplog):
    pair = (f"be kind {'not ' * 40}be rude", "jo pays")  # far from the most tokens of a text
    (cut,) = experts.windows([pair])
    ((ends, text),) = cut.pairs
    assert (text, ends[:7], ends[-7:]) == ("jo pays", "be kind", "be rude")
    values = experts.values("action+norm", [pair, PAIRS[0]])
    assert caplog.messages == [
        f"{cut.dropped} tokens were not read: of a long prompt or rule only its ends are, "
        "of texts 32768"
    ]
    one, other = experts.values("action+norm", [(ends, text)]), experts.values("action+norm", PAIRS)
    assert np.allclose(values, [one[0], other[0]], atol=1e-5)
    assert len(caplog.messages) == 1


def test_one_text_beside_many_rules_is_read_once(experts, monkeypatch):
    sizes = []
    body = experts._network._body
    monkeypatch.setattr(body, "forward", _counting(body.forward, sizes))
    rules = ["be kind", "be not kind", "be rude", "not bad"]
    pairs = [(rule, "al pays a friend and jo and al") for rule in rules]
    experts.read(pairs)
    rows = tokenise(experts._network.tokenizer, pairs, 32)
    beginnings = {tuple(row[:end]) for row in rows for end in range(1, len(row) + 1)}
    assert sizes == [len(beginnings)]
    assert sizes[0] < sum(map(len, rows)) - 3 * 8  # three of four times the text are saved


def _counting(forward, sizes):
    def call(**inputs):
        sizes.append(inputs["input_ids"].shape[1])
        return forward(**inputs)

    return call


def test_in_8_bits_they_say_nearly_the_same_and_hold_no_matrix(base, learner, tmp_path):
    folder = save_trained(tmp_path / "experts", learner, base)
    exact, light = (Experts(folder, base, folder_checksum(base), "tiny") for _ in range(2))
    if not has_int8():
        assert not light.quantise()
        return
    assert light.quantise(0.5)  # a decoder has no half: it is quantised whole
    assert light.bits == 8
    one, other = exact.read(PAIRS)[0], light.read(PAIRS)[0]
    assert not np.array_equal(one, other)
    assert np.abs(one - other).max() < 0.1 * np.abs(one).max()
    assert not light._network._body.layers[0].mlp.up_proj.weight.numel()


def test_a_base_may_be_a_gguf_file(tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*\.gguf"):
        resolve_base(str(tmp_path / "none.gguf"))


def test_another_base_is_refused(experts, learner, base, tmp_path):
    folder = save_trained(tmp_path / "experts", learner, base)
    other = tiny_decoder(tmp_path / "other", seed=2)
    with pytest.raises(MoralscopeError, match="were trained on"):
        Experts(folder, other, folder_checksum(other), "tiny")


def test_an_adapter_of_another_shape_is_refused_in_one_line(learner, base, tmp_path):
    folder = save_trained(tmp_path / "experts", learner, base)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**config, "r": 3}))
    with pytest.raises(InputError, match="cannot be loaded"):
        Experts(folder, base, folder_checksum(base), "tiny")


def test_a_folder_without_a_model_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(StoreError, match="cannot be loaded as a transformer"):
        load_body(tmp_path, "mine")


def test_a_rate_of_the_head_of_its_own_changes_what_is_learnt(base):
    slow, fast = (trained(base, epochs=1, head_rate=rate)[0] for rate in (1e-5, 5e-2))
    assert not np.allclose(slow.module.head.weight.detach(), fast.module.head.weight.detach())
    with pytest.raises(InputError, match=r"head_rate is -1\.0"):
        ClassifierTraining(head_rate=-1.0)
