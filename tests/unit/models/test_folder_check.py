"""Damage of a model's folder is told in one line that names the file, before a library reads it."""

import json

import pytest

from moralscope.core.errors import StoreError
from moralscope.models.encoders import load_encoder

GOOD = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


@pytest.fixture
def folder(tmp_path, minilm_folder):
    """A folder with the files of minilm that a test may replace."""
    for path in minilm_folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


def replaced(folder, name, data):
    (folder / name).unlink()
    (folder / name).write_bytes(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{not json", "is damaged (it is not JSON)"),
        (b"", "is damaged (it is not JSON)"),
        (b"\xff\xfe\x00", "is damaged (it is not JSON)"),
        (b"[" * 100_000, "is damaged (it is not JSON)"),
        (b"7", "is damaged (it lists no modules)"),
        (b'["a"]', "is damaged (module 1 has no type or no path)"),
        (json.dumps([GOOD[0], {"type": 3}]).encode(), "is damaged (module 2 has no type or no"),
        (json.dumps([{**GOOD[0], "type": "os.system"}]).encode(), "names the module 'os.system'"),
        (
            json.dumps([GOOD[0], {**GOOD[1], "path": "../x"}]).encode(),
            "names a folder outside",
        ),
    ],
)
def test_a_damaged_modules_json_is_one_line(folder, data, said):
    replaced(folder, "modules.json", data)
    with pytest.raises(StoreError) as error:
        load_encoder(str(folder), cached=False).encode(["kill time"])
    assert f"{folder}/modules.json {said}" in str(error.value) or said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (lambda data: b"", "it does not begin as safetensors do"),
        (lambda data: b"garbage", "it does not begin as safetensors do"),
        (lambda data: b"\xff" * 8 + data[8:], "it does not begin as safetensors do"),
        (lambda data: data[:8] + b"\0" * 64 + data[72:], "its header cannot be read"),
        (lambda data: data[:200_000], "it has 200,000 bytes, its header says 90,868,376"),
    ],
    ids=["empty", "garbage", "length", "header", "truncated"],
)
def test_damaged_safetensors_are_one_line(folder, minilm_folder, cut, said):
    with (minilm_folder / "model.safetensors").open("rb") as stream:
        start = stream.read(300_000)
    replaced(folder, "model.safetensors", cut(start))
    with pytest.raises(StoreError) as error:
        load_encoder(str(folder), cached=False).encode(["kill time"])
    assert f"model.safetensors is damaged ({said})" in str(error.value)


def test_a_whole_folder_is_read(folder):
    assert load_encoder(str(folder), cached=False).encode(["kill time"]).shape == (1, 384)
