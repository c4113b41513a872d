"""The backend on other devices and in other arithmetic; the device is faked, no weights."""

import types

import numpy as np
import pytest
import torch

from moralscope.models.encoders import sentence_transformer
from moralscope.models.encoders.pipeline import like_length_batches
from moralscope.models.encoders.sentence_transformer import (
    SentenceTransformerBackend,
    precision,
)


class FakeModel:
    """Stands in for a sentence-transformers model: notes what it was given."""

    def __init__(self, device):
        self.device = types.SimpleNamespace(type=device)
        self.seen = []

    def __call__(self, features):
        self.seen.append({name: value.tolist() for name, value in features.items()})
        ids, mask = features["input_ids"], features["attention_mask"]
        return {"sentence_embedding": (ids * mask).sum(1, keepdim=True).to(torch.bfloat16)}


def backend_on(device):
    backend = object.__new__(SentenceTransformerBackend)
    backend._model = FakeModel(device)
    backend._tokenizer = types.SimpleNamespace(pad_token_id=9)
    backend.device, backend.arithmetic = device, "float32"
    return backend


@pytest.mark.parametrize(("has_bfloat16", "named"), [(True, "bfloat16"), (False, "float16")])
def test_a_gpu_computes_in_16_bits_when_asked_and_says_so(monkeypatch, has_bfloat16, named):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: has_bfloat16)
    backend = backend_on("cuda")
    assert backend.quantise()
    assert backend.arithmetic == named
    assert backend.threads == 0  # not ours to choose there
    asked = []
    monkeypatch.setattr(torch, "autocast", lambda *given: asked.append(given))
    precision("cuda", backend.arithmetic)
    assert asked == [("cuda", getattr(torch, named))]


def test_a_cpu_never_computes_in_16_bits_and_a_gpu_not_unasked(monkeypatch):
    monkeypatch.setattr(torch, "autocast", lambda *_: pytest.fail("autocast was entered"))
    for device, arithmetic in (("cpu", "bfloat16"), ("cpu", "int8"), ("cuda", "float32")):
        with precision(device, arithmetic):
            pass


def test_a_gpu_gets_large_batches():
    assert sentence_transformer._batch_tokens(FakeModel("cuda")) >= 32768
    assert sentence_transformer._batch_tokens(FakeModel("cpu")) <= 1024 * 16


def test_padding_is_masked_and_rows_come_back_as_float32():
    backend = backend_on("cpu")
    backend._model.device = torch.device("cpu")
    rows = backend.embed([[1, 2, 3], [4]])
    assert backend._model.seen == [
        {"input_ids": [[1, 2, 3], [4, 9, 9]], "attention_mask": [[1, 1, 1], [1, 0, 0]]}
    ]
    assert rows.dtype == np.float32
    assert rows.tolist() == [[6.0], [4.0]]


def test_unpadded_batches_hold_every_place_once_from_long_to_short():
    lengths = [3, 50, 7, 7, 1, 20, 9]
    batches = list(like_length_batches(lengths, 24, unpadded=True))
    assert batches == [[1], [5], [6, 2, 3], [0, 4]]
