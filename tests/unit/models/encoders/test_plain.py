"""The plain kind of folder is computed here; every other kind by the library, with its rows."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from moralscope.models.encoders import load_encoder
from moralscope.models.encoders.mean_pooling import PlainBackend, Shape, plain_backend, plain_shape
from moralscope.models.fastcpu.unpadded import BodyWeights, UnpaddedBody

MODULES = [
    {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]
TEXTS = ["Should I kill people?", "a", "Should I kill a lot of time at the station today?", "b c"]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, "modules.json", MODULES)
    write(tmp_path, "1_Pooling/config.json", {"pooling_mode_mean_tokens": True})
    write(tmp_path, "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    return tmp_path


def write(folder, name, value):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).unlink(missing_ok=True)  # it may be a link into the store
    (folder / name).write_text(json.dumps(value), "utf-8")


def test_a_plain_folder_says_its_length_and_whether_rows_are_unit(folder):
    assert plain_shape(folder) == Shape(64, unit=True)
    write(folder, "modules.json", MODULES[:2])
    assert plain_shape(folder) == Shape(64, unit=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("modules.json", [*MODULES[:2], {**MODULES[2], "type": "sentence_transformers.Dense"}]),
        ("modules.json", [{**MODULES[0], "path": "0_Transformer"}, *MODULES[1:]]),
        ("modules.json", {"not": "a list"}),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}),
        ("1_Pooling/config.json", {"pooling_mode": ["mean", "max"]}),
        ("sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": True}),
        ("sentence_bert_config.json", {"max_seq_length": None}),
        ("sentence_bert_config.json", {"max_seq_length": 64, "query_length": 8}),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}),
    ],
)
def test_whatever_is_not_known_is_left_to_the_library(folder, name, value):
    write(folder, name, value)
    assert plain_shape(folder) is None


def test_a_missing_or_broken_file_is_left_to_the_library(folder):
    (folder / "modules.json").write_text("[{")
    assert plain_shape(folder) is None
    (folder / "modules.json").unlink()
    assert plain_shape(folder) is None


def test_another_pooling_gives_the_librarys_rows(minilm_folder, tmp_path):
    from sentence_transformers import SentenceTransformer

    copy = tmp_path / "cls"
    shutil.copytree(minilm_folder, copy, copy_function=lambda old, new: Path(new).symlink_to(old))
    write(copy, "1_Pooling/config.json", {"embedding_dimension": 384, "pooling_mode": "cls"})
    assert plain_backend(copy, "cls", "x") is None
    reference = SentenceTransformer(str(copy), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(
        load_encoder(str(copy), cached=False).encode(TEXTS), reference, atol=1e-5
    )


def test_weights_are_held_once_and_their_arithmetic_is_chosen_before_the_first_row(minilm_folder):
    backend = plain_backend(minilm_folder, "minilm", "x")
    assert isinstance(backend, PlainBackend)
    assert isinstance(backend._body, BodyWeights)
    rows = backend.embed(backend.prepare(["kill time"]))
    assert rows.shape == (1, backend.dimension)
    assert isinstance(backend._body, UnpaddedBody)
    assert not backend.quantise()
    assert backend.arithmetic == "float32"


def test_minilm_is_read_without_the_library(minilm_folder):
    code = (
        "import sys; from moralscope.models.encoders import load_encoder\n"
        f"rows = load_encoder({str(minilm_folder)!r}, cached=False).encode(['kill time'])\n"
        "print(rows.shape, {'sentence_transformers', 'transformers', 'peft'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 384) set()"
