"""Probabilities and states of a local model against plain transformers, text by text."""

import numpy as np
import pytest

from moralscope.core.records import Decoding
from moralscope.models.language import load_language_model
from moralscope.models.language.trees import TokenTree, grow_trees

from ....generator_makers import tiny_llama, tiny_tokenizer

PROMPTS = ["Should I lie?", "Should I help my friend with the move?", "Should I lie?"]
ANSWERS = [[" Yes", " No, never."], [" Yes", " Yes, of course"], [" No, never."]]


@pytest.fixture(scope="module", params=["llama", "gemma"])
def folder(request, tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def plain(folder):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()


def naive(plain, ids, count):
    import torch

    with torch.inference_mode():
        rows = torch.log_softmax(plain(torch.tensor([ids])).logits[0], -1)
    return [rows[at - 1, ids[at]].item() for at in range(len(ids) - count, len(ids))]


def test_log_probabilities_equal_those_of_a_forward_pass_a_text(folder, plain):
    model, tokenizer = load_language_model(str(folder)), tiny_tokenizer()
    found = model.log_probabilities(PROMPTS, ANSWERS)
    for prompt, texts, some in zip(PROMPTS, ANSWERS, found, strict=True):
        for text, each in zip(texts, some, strict=True):
            ids = tokenizer(prompt + text)["input_ids"]
            expected = naive(plain, ids, len(each.log_probabilities))
            assert len(expected) == len(tokenizer(text)["input_ids"])
            assert list(each.log_probabilities) == pytest.approx(expected, abs=1e-4)


def test_hidden_states_are_the_outputs_of_the_blocks(folder, plain):
    import torch

    model, tokenizer = load_language_model(str(folder)), tiny_tokenizer()
    found = model.hidden_states(PROMPTS, [1, 2])
    for prompt, rows in zip(PROMPTS, found, strict=True):
        kept = {}
        handle = plain.model.layers[1].register_forward_hook(
            lambda _m, _i, out, kept=kept: kept.update(last=out)
        )
        with torch.inference_mode():
            all_states = plain(
                torch.tensor([tokenizer(prompt)["input_ids"]]), output_hidden_states=True
            )
        handle.remove()
        np.testing.assert_allclose(rows[0], all_states.hidden_states[1][0, -1], atol=1e-4)
        last = kept["last"][0] if isinstance(kept["last"], tuple) else kept["last"]
        np.testing.assert_allclose(rows[1], last.reshape(-1, 32)[-1], atol=1e-4)


def test_distributions_are_what_follows_each_token(folder, plain):
    import torch

    ids = tiny_tokenizer()(PROMPTS[0])["input_ids"]
    [found] = load_language_model(str(folder)).distributions(PROMPTS[:1])
    with torch.inference_mode():
        expected = torch.log_softmax(plain(torch.tensor([ids])).logits[0], -1)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_steering_changes_what_is_written_as_it_changes_what_is_scored(folder):
    model = load_language_model(str(folder))
    greedy = Decoding("greedy", max_tokens=12, sentence=False)
    vector = np.random.default_rng(0).normal(0, 3, 32).astype(np.float32)
    other = model.steered({1: vector})
    [[before]] = model.generate(["Jo finds"], greedy, [0])
    [[after]] = other.generate(["Jo finds"], greedy, [0])
    assert before.text != after.text
    [[scored]] = other.log_probabilities(["Jo finds"], [[after.text]])
    if after.text == after.text.strip() and len(after.log_probabilities) == len(after.text):
        assert list(scored.log_probabilities) == pytest.approx(after.log_probabilities, abs=1e-3)
    assert model.generate(["Jo finds"], greedy, [0]) == [[before]]


def test_a_tokenizer_that_merges_the_answer_with_the_prompt_is_told_and_handled(tmp_path):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    folder = tiny_llama(tmp_path / "merging")
    letters = ["Ġ", *map(chr, range(33, 127))]
    vocabulary = {token: at for at, token in enumerate(["<pad>", "</s>", *letters])}
    # The last letter of the vocabulary gives its place to a token that spans prompt and answer.
    del vocabulary["~"]
    vocabulary[":Y"] = len(vocabulary)
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[(":", "Y")], unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="</s>", pad_token="<pad>")
    tokenizer.save_pretrained(folder)
    model = load_language_model(str(folder))
    [[yes, no]] = model.log_probabilities(["Answer:"], [["Yes", "No"]])
    assert len(yes.log_probabilities) == 3  # Y, e, s behind the prompt's own colon
    assert len(no.log_probabilities) == 2
    assert "merges the end of a prompt" in model.warnings[0]


def test_what_texts_share_is_computed_once():
    sequences = [[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3, 4]]
    [(places, tree)] = grow_trees(sequences)
    assert sorted(places) == [0, 1, 2]
    assert len(tree.tokens) == 5
    mask = tree.visible(None)
    last = tree.paths[places.index(1)][-1]
    assert mask[last].sum() == 4
    assert TokenTree([[7, 8, 9]]).visible(2)[2].tolist() == [False, True, True]


def test_trees_side_by_side_give_what_one_thread_gives(folder):
    import torch

    model = load_language_model(str(folder))
    vector = np.linspace(-1, 1, model.dimension, dtype=np.float32)
    texts = [f"Should I help {n} friends with the move of house {n}?" for n in range(60)]
    found = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for each in (model, model.steered({1: vector})):
                rows = each.log_probabilities(texts, [[" Yes", " No, never."]] * len(texts))
                totals = [answer.total for some in rows for answer in some]
                found.append((totals, each.hidden_states(texts, [1, 2])))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for one, two in ((0, 2), (1, 3)):
        assert found[one][0] == pytest.approx(found[two][0], abs=1e-4)
        np.testing.assert_allclose(found[one][1], found[two][1], atol=1e-4)
    assert np.abs(found[0][1] - found[1][1]).max() > 0.1  # the vector is added in every thread
