"""Model folders made to stall, to exhaust or to mislead: one line each, at once."""

import json
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from moralscope.core.errors import InputError, StoreError
from moralscope.models.classifiers.experts import Experts
from moralscope.models.hugging_face import folder_checksum

from ...expert_makers import save_trained, tiny_bert, trained
from ...generator_makers import tiny_llama


@pytest.fixture(scope="module", params=["bert", "llama"])
def sound(request, tmp_path_factory):
    make = {"bert": tiny_bert, "llama": tiny_llama}[request.param]
    return make(tmp_path_factory.mktemp(request.param))


@pytest.fixture
def folder(sound, tmp_path):
    copy = shutil.copytree(sound, tmp_path / "copy")
    assert folder_checksum(copy)  # sound as it is
    return copy


def refused(folder):
    with pytest.raises(StoreError) as caught:
        folder_checksum(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "more.json"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_in_a_model_folder_is_refused_unread(folder, name, kind):
    path = folder / name
    path.unlink(missing_ok=True)
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    assert f"{name} is not a regular file" in refused(folder)


def changed(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_more_layers_than_there_are_weights_are_refused_before_any_is_made(folder):
    changed(folder, num_hidden_layers=1_000_000)
    assert "says num_hidden_layers 1,000,000" in refused(folder)


@pytest.mark.parametrize("name", ["hidden_size", "vocab_size", "intermediate_size"])
def test_a_width_that_no_tensor_has_is_refused_before_it_is_made(folder, name):
    changed(folder, **{name: 10**9})
    assert f"says {name} 1,000,000,000" in refused(folder)


@pytest.mark.parametrize("config", ["[" * 100_000, '{"a": ' * 5_000 + "1" + "}" * 5_000, "[]", ""])
def test_a_config_that_is_nested_or_none_is_refused(folder, config):
    (folder / "config.json").write_text(config)
    assert "config.json is damaged" in refused(folder)


def rewritten(folder, change):
    for path in folder.rglob("*.safetensors"):
        tensors = {name: change(name, tensor) for name, tensor in load_file(path).items()}
        save_file(tensors, path, metadata={"format": "pt"})


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
def test_weights_that_are_no_numbers_are_refused_by_name(folder, kind):
    rewritten(folder, lambda _, tensor: torch.full_like(tensor, torch.nan, dtype=kind))
    assert "damaged (NaN in the tensor " in refused(folder)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_weights_that_are_all_zero_are_loaded_with_a_warning(folder, kind, caplog):
    rewritten(folder, lambda _, tensor: tensor.to(kind))
    folder_checksum(folder)
    assert not caplog.messages
    rewritten(folder, lambda _, tensor: torch.zeros_like(tensor))
    folder_checksum(folder)
    assert [message.partition(" in ")[0] for message in caplog.messages] == ["all weights"]


def test_experts_that_are_no_numbers_or_pipes_are_refused(tmp_path):
    base = tiny_bert(tmp_path / "base")
    made = save_trained(tmp_path / "experts", trained(base)[0], base)
    checksum = json.loads((made / "expert.json").read_text())["base_sha256"]
    rewritten(made, lambda _, tensor: torch.full_like(tensor, torch.nan))
    with pytest.raises(InputError, match=r"cannot be loaded \(.*NaN in the tensor"):
        Experts(made, base, checksum, "mine")
    (made / "expert.json").unlink()
    os.mkfifo(made / "expert.json")
    with pytest.raises(InputError, match="holds no experts of ours"):
        Experts(made, base, checksum, "mine")
