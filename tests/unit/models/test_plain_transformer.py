"""Folders read without transformers and peft give their ids, tensors and merged weights."""

import json

import pytest
import torch

from moralscope.models.adapters import load_adapter, merge_tensors
from moralscope.models.classifiers.module import load_body, tokenise
from moralscope.models.plain_transformer import read_body, read_tokenizer

from ...expert_makers import save_trained, tiny_bert, trained

PAIRS = [
    ("", "jo lies"),
    ("be kind", "al is rude [SEP] and [CLS] bad"),
    ("be kind " * 30, "a long one " * 30),
    ("", ""),
    ("", "\ud800 half a pair"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def experts(base, tmp_path_factory):
    return save_trained(tmp_path_factory.mktemp("experts"), trained(base)[0], base)


@pytest.mark.parametrize("longest", [8, 32, 1000])
def test_ids_are_those_of_transformers(base, longest):
    theirs, ours = load_body(base, "tiny")[1], read_tokenizer(base)
    assert tokenise(ours, PAIRS, longest) == tokenise(theirs, PAIRS, longest)
    assert ours.pad_token_id == theirs.pad_token_id


def test_minilms_ids_are_those_of_transformers(minilm_folder):
    theirs, ours = load_body(minilm_folder, "minilm")[1], read_tokenizer(minilm_folder)
    texts = [*PAIRS, ("Sei nett.", "мне 中文 ünï 👩‍👧 [MASK]")]
    assert tokenise(ours, texts, 128) == tokenise(theirs, texts, 128)


def test_an_adapter_is_merged_as_peft_merges_it(base, experts):
    plain = read_body(base).tensors
    merged = merge_tensors(plain, experts)
    theirs = load_adapter(load_body(base, "tiny")[0], experts).state_dict()
    assert any(not torch.equal(merged[name], plain[name]) for name in plain)
    for name, tensor in merged.items():
        torch.testing.assert_close(tensor, theirs[name], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [("use_dora", True), ("use_rslora", True), ("modules_to_save", ["pooler"]), ("bias", "all")],
)
def test_an_adapter_that_is_more_than_lora_is_left_to_peft(base, experts, tmp_path, name, value):
    for file in experts.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    assert merge_tensors(read_body(base).tensors, tmp_path) is None


def test_an_adapter_of_another_base_is_refused(base, experts):
    tensors = read_body(base).tensors
    wrong = {name: tensor[:3] for name, tensor in tensors.items()}
    with pytest.raises(ValueError, match="tensors of another shape"):
        merge_tensors(wrong, experts)


@pytest.mark.parametrize(
    "settings",
    [
        {"tokenizer_class": "RobertaTokenizer"},
        {"truncation_side": "left"},
        {"added_tokens_decoder": {"99999": {"content": "<new>"}}},
    ],
)
def test_a_tokenizer_that_transformers_may_read_otherwise_is_left_to_it(base, tmp_path, settings):
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / file).write_bytes((base / file).read_bytes())
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    assert read_tokenizer(tmp_path) is None
