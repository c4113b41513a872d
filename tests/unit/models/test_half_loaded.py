"""Weights with tensors missing, unexpected or of another shape are refused by name."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from moralscope.core.errors import InputError, StoreError
from moralscope.models.classifiers.experts import Experts
from moralscope.models.encoders import load_encoder
from moralscope.models.hugging_face import folder_checksum
from moralscope.models.language import load_generator
from moralscope.models.plain_transformer import read_body

from ...expert_makers import save_trained, tiny_bert, trained
from ...generator_makers import tiny_llama

DAMAGE = ("missing", "unexpected", "shape")
SAID = {"missing": "missing tensors", "unexpected": "unexpected", "shape": "of another shape"}


def damaged(path, kind, name):
    """Rewrite a safetensors file with one tensor gone, added or cut."""
    tensors = load_file(path)
    if kind == "missing":
        del tensors[name]
    elif kind == "shape":
        tensors[name] = tensors[name][..., :-1].contiguous()
    else:
        tensors[f"stranger.{name}"] = torch.zeros(3)
    save_file(tensors, path, metadata={"format": "pt"})
    return f"stranger.{name}" if kind == "unexpected" else name


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def made(base, tmp_path_factory):
    return save_trained(tmp_path_factory.mktemp("experts") / "experts", trained(base)[0], base)


def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def as_encoder(folder):
    """Add what a sentence-transformers folder says of itself."""
    kinds = ("Transformer", ""), ("Pooling", "1_Pooling")
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (kind, path) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 48}')
    (folder / "1_Pooling").mkdir()
    mean = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(mean))
    return folder


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("pooling", ["mean", "cls"])  # read plainly, and by the library
def test_an_encoder_is_refused(base, tmp_path, kind, pooling):
    folder = as_encoder(copied(base, tmp_path))
    if pooling == "cls":
        mode = {"word_embedding_dimension": 16, "pooling_mode_cls_token": True}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(mode))
    load_encoder(str(folder), cached=False).encode(["a"])  # sound as it is
    name = damaged(folder / "model.safetensors", kind, "encoder.layer.1.output.dense.weight")
    with pytest.raises(StoreError, match=SAID[kind]) as caught:
        load_encoder(str(folder), cached=False).encode(["a"])
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("pattern", [False, True])  # merged by ourselves, and by peft
def test_an_adapter_of_experts_is_refused(made, base, tmp_path, kind, pattern):
    folder = copied(made, tmp_path)
    if pattern:
        file = folder / "adapter_config.json"
        config = json.loads(file.read_text())
        config["target_modules"] = rf".*\.({'|'.join(config['target_modules'])})"
        file.write_text(json.dumps(config))
    Experts(folder, base, folder_checksum(base), "tiny")
    weights = folder / "adapter_model.safetensors"
    some = sorted(name for name in load_file(weights) if "lora_A" in name)[0]
    name = damaged(weights, kind, some)
    with pytest.raises(InputError, match=r"cannot be loaded|is damaged") as caught:
        Experts(folder, base, folder_checksum(base), "tiny")
    if not (pattern and kind == "shape"):  # peft's own words
        assert SAID[kind] in str(caught.value)
        assert name.removeprefix("base_model.model.") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_adapter_that_lacks_a_whole_layer_is_refused(made, base, tmp_path):
    folder = copied(made, tmp_path)
    path = folder / "adapter_model.safetensors"
    tensors = {name: value for name, value in load_file(path).items() if ".layer.1." not in name}
    save_file(tensors, path)
    with pytest.raises(InputError, match=r"missing tensors: .*layer\.1\..* and \d+ more"):
        Experts(folder, base, folder_checksum(base), "tiny")


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_head_of_experts_is_refused(made, base, tmp_path, kind):
    folder = copied(made, tmp_path)
    name = damaged(folder / "head.safetensors", kind, "weight")
    with pytest.raises(InputError, match=SAID[kind]) as caught:
        Experts(folder, base, folder_checksum(base), "tiny")
    assert name in str(caught.value)


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_generator_is_refused(tmp_path, kind):
    folder = tiny_llama(tmp_path / "llama")
    load_generator(str(folder))
    weights = folder / "model.safetensors"
    some = next(name for name in load_file(weights) if "layers.1" in name and "proj" in name)
    name = damaged(weights, kind, some)
    with pytest.raises(StoreError, match=SAID[kind]) as caught:
        load_generator(str(folder))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_head_that_was_trained_on_a_body_does_not_matter(base, tmp_path):
    folder = copied(base, tmp_path)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    save_file({**tensors, "cls.predictions.bias": torch.zeros(3)}, path)
    assert read_body(folder) is not None


@pytest.mark.parametrize("data", [b"", b"no", b"\xff" * 64])
def test_a_damaged_file_is_told_in_one_line(base, tmp_path, data):
    folder = as_encoder(copied(base, tmp_path))
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(StoreError, match=r"cannot be loaded|is damaged") as caught:
        load_encoder(str(folder), cached=False).encode(["a"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", '[{"type": 3}]'])
def test_damaged_modules_are_told_in_one_line(base, tmp_path, text):
    folder = as_encoder(copied(base, tmp_path))
    (folder / "modules.json").write_text(text)
    with pytest.raises(StoreError, match=r"cannot be loaded|is damaged") as caught:
        load_encoder(str(folder), cached=False).encode(["a"])
    assert "\n" not in str(caught.value)


def test_models_on_one_base_share_its_tensors(base):
    name = "embeddings.word_embeddings.weight"
    one, other = read_body(base), read_body(base)
    assert one.tensors[name].data_ptr() == other.tensors[name].data_ptr()
