"""A stored encoder is loaded by the first text that is not cached, and verified then."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from moralscope.core.errors import ChecksumMismatch
from moralscope.models.encoders import TextEncoder, load_encoder
from moralscope.models.encoders.cache import EmbeddingCache
from moralscope.models.encoders.pipeline import LazyBackend
from moralscope.models.encoders.scripted import ScriptedBackend
from moralscope.models.store import Store


@pytest.fixture
def home(minilm_folder, tmp_path):
    shutil.copytree(minilm_folder, tmp_path / "models" / "minilm")
    return tmp_path


def lazy(loads):
    made = ScriptedBackend()

    def load():
        loads.append(made)
        return made

    return LazyBackend(
        made.name, made.checksum, made.dimension, made.arithmetic, made.longest, load
    )


def test_a_backend_is_loaded_once_and_only_by_a_text_that_is_not_cached(tmp_path):
    loads = []
    waiting = lazy(loads)
    cache = EmbeddingCache(tmp_path, waiting.checksum, waiting.dimension)
    first = TextEncoder(waiting, cache)
    rows = first.encode(["kill time"])
    first.encode(["kill people"])
    assert len(loads) == 1
    again = TextEncoder(lazy(loads), cache)
    assert (again.name, again.dimension, again.arithmetic) == ("scripted", 64, "float32")
    np.testing.assert_array_equal(again.encode(["kill time"]), rows)
    assert len(loads) == 1


def test_cached_rows_need_no_torch(home):
    code = (
        "import sys; from pathlib import Path\n"
        "from moralscope.models.encoders import load_encoder\n"
        "from moralscope.models.store import Store\n"
        f"encoder = load_encoder('minilm', store=Store(Path({str(home)!r})))\n"
        "print(encoder.encode(['kill time']).shape, 'torch' in sys.modules)"
    )
    for imported in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == f"(1, 384) {imported}"


def test_a_damaged_file_is_refused_by_the_first_text_that_needs_it(home):
    file = home / "models" / "minilm" / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    encoder = load_encoder("minilm", store=Store(home))
    with pytest.raises(ChecksumMismatch, match=r"model\.safetensors"):
        encoder.encode(["kill time"])
