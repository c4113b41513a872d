"""Experts on disk: what was trained is what is loaded, and nothing else is."""

import json

import numpy as np
import pytest
import torch

from moralscope.core.errors import ChecksumMismatch, InputError, StoreError, UnknownName
from moralscope.models.classifiers.experts import Experts, _UnpaddedNetwork
from moralscope.models.classifiers.module import Slices, resolve_base, run_network, tokenise
from moralscope.models.classifiers.saved import read_settings
from moralscope.models.fastcpu.threads import SingleThreadPool
from moralscope.models.hugging_face import folder_checksum

from ....expert_makers import LABELS, save_trained, tiny_bert, trained

PAIRS = [("", "jo 3 bad"), ("be kind", "al good 4"), ("be kind", "al bad 5"), ("", "x " * 20)]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def learner(base):
    return trained(base)[0]


@pytest.fixture
def folder(tmp_path, learner, base):
    return save_trained(tmp_path / "experts", learner, base)


def before_saving(learner, task, temperature):
    rows = tokenise(learner.tokenizer, PAIRS, 32)
    logits = run_network(learner.module, rows, 0)[:, Slices(LABELS).of(task)] / temperature
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


def loaded(folder, base):
    return Experts(folder, base, folder_checksum(base), "tiny")


@pytest.mark.parametrize(("task", "temperature"), [("action", 1.5), ("action+norm", 1.0)])
def test_an_adapter_gives_the_probabilities_it_had_before_saving(
    folder, base, learner, task, temperature
):
    found = loaded(folder, base).expert(task).probabilities(PAIRS)
    np.testing.assert_allclose(found, before_saving(learner, task, temperature), atol=5e-3)
    assert np.ptp(found[:, 1]) > 0.05  # not all the same


def test_an_adapter_matters(tmp_path, learner, base, folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "adapter_model.safetensors")
    save_file(
        {n: torch.zeros_like(w) for n, w in weights.items()}, folder / "adapter_model.safetensors"
    )
    found = loaded(folder, base).expert("action").probabilities(PAIRS)
    assert np.abs(found - before_saving(learner, "action", 1.5)).max() > 0.02


def test_a_merged_adapter_equals_one_that_is_not(folder, base):
    from moralscope.models.adapters import load_adapter
    from moralscope.models.classifiers.module import load_body

    ids = torch.tensor([[2, 20, 21, 22, 3]])
    rows = []
    for trainable in (False, True):
        body = load_adapter(load_body(base, "tiny")[0], folder, trainable=trainable).eval()
        with torch.no_grad():
            rows.append(body(input_ids=ids).last_hidden_state)
    torch.testing.assert_close(rows[0], rows[1], atol=1e-5, rtol=0)


def test_a_whole_model_needs_no_base(tmp_path, base):
    learner, _ = trained(base, weights="all", learning_rate=1e-3)
    folder = save_trained(tmp_path / "whole", learner, base)
    experts = Experts(folder, None, "", "whole")
    found = experts.expert("action").probabilities(PAIRS)
    np.testing.assert_allclose(found, before_saving(learner, "action", 1.5), atol=1e-5)


def test_what_is_written_is_small_and_pickles_nothing(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "expert.json",
        "head.safetensors",
    ]
    config = json.loads((folder / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] is None  # no path of this machine
    from safetensors.torch import load_file

    kinds = {value.dtype for value in load_file(folder / "adapter_model.safetensors").values()}
    assert kinds == {torch.float16}
    assert read_settings(folder).tasks == LABELS


def test_an_adapter_of_another_base_is_refused(tmp_path, folder):
    other = tiny_bert(tmp_path / "other", seed=2)
    with pytest.raises(ChecksumMismatch, match="load them on their own base"):
        loaded(folder, other)


def test_an_adapter_without_its_base_is_refused(folder, base):
    with pytest.raises(InputError, match="needs its base"):
        Experts(folder, None, folder_checksum(base), "tiny")


@pytest.mark.parametrize(
    "damage",
    [None, "", "{", "[]", "{}", '{"schema": "other/1"}', '{"schema": "moralscope.experts/1"}'],
)
def test_a_folder_without_sound_settings_is_refused(folder, base, damage):
    path = folder / "expert.json"
    path.unlink() if damage is None else path.write_text(damage)
    with pytest.raises(InputError, match="holds no experts of ours"):
        loaded(folder, base)


@pytest.mark.parametrize("name", ["head.safetensors", "adapter_model.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "text", "other"])
def test_damaged_weights_are_refused_in_one_line(folder, base, name, damage):
    from safetensors.torch import save

    path = folder / name
    data = path.read_bytes()
    other = {"weight": torch.zeros(9, 9), "bias": torch.zeros(9)}
    if name.startswith("adapter"):
        from safetensors.torch import load_file

        other = {n: torch.zeros(3, *w.shape[1:]) for n, w in load_file(path).items()}
    path.write_bytes({"cut": data[: len(data) // 2], "text": b"no", "other": save(other)}[damage])
    with pytest.raises(InputError, match="cannot be loaded") as caught:
        loaded(folder, base)
    assert "\n" not in str(caught.value)


def test_a_missing_head_is_refused(folder, base):
    (folder / "head.safetensors").unlink()
    with pytest.raises(InputError, match="cannot be loaded"):
        loaded(folder, base)


def test_other_weights_or_settings_have_another_checksum(tmp_path, folder, base, learner):
    cooler = save_trained(tmp_path / "cooler", learner, base, temperatures={"action": 2.0})
    again = save_trained(tmp_path / "again", learner, base)
    checksums = [loaded(one, base).ref.sha256 for one in (folder, again, cooler)]
    assert checksums[0] == checksums[1] != checksums[2]


def test_a_temperature_cools_probabilities_and_keeps_their_order(tmp_path, folder, base, learner):
    cooler = save_trained(tmp_path / "cooler", learner, base, temperatures={"action": 9.0})
    warm, cool = (
        loaded(one, base).expert("action").probabilities(PAIRS) for one in (folder, cooler)
    )
    assert np.abs(cool - 0.5).max() < np.abs(warm - 0.5).max()
    assert np.array_equal(warm.argmax(1), cool.argmax(1))


def test_an_expert_that_is_not_there_is_guessed(folder, base):
    with pytest.raises(UnknownName, match="did you mean 'action'"):
        loaded(folder, base).expert("actoin")


def test_bases_by_name(tmp_path, base):
    assert resolve_base(str(base)) == (base, folder_checksum(base))
    with pytest.raises(UnknownName, match="did you mean 'mpnet'"):
        resolve_base("mpnett")
    with pytest.raises(InputError, match="there is no folder"):
        resolve_base(str(tmp_path / "none" / "here"))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"no \.safetensors"):
        resolve_base(str(empty))


def test_a_base_that_is_no_transformer_is_refused_in_one_line(tmp_path, base):
    from moralscope.models.classifiers.module import load_body

    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "model.safetensors").write_bytes(b"no")
    with pytest.raises(StoreError, match="cannot be loaded as a transformer") as caught:
        load_body(broken, "broken")
    assert "\n" not in str(caught.value)


def test_opposite_replies_differ_however_long_the_prompt(folder, base):
    experts = loaded(folder, base)
    pairs = [("be kind " * 300, "jo is " + end) for end in ("bad", "good")]
    one, other = experts.expert("action+norm").probabilities(pairs)
    assert np.abs(one - other).max() > 1e-6


@pytest.mark.parametrize("place", [0, 40, 150, 1999])
def test_any_word_of_a_long_text_is_read(folder, base, place):
    words = ["jo"] * 2000
    plain = " ".join(words)
    words[place] = "bad"
    experts = loaded(folder, base)
    columns, vectors = experts.read([("", plain), ("", " ".join(words))])
    assert np.abs(columns[0] - columns[1]).max() > 0
    assert np.abs(vectors[0] - vectors[1]).max() > 0


def test_a_long_pair_has_the_mean_of_its_windows(folder, base):
    experts = loaded(folder, base)
    pair = ("be kind", "jo is bad and al good " * 40)
    (cut,) = experts.windows([pair])
    assert len(cut.pairs) > 5
    np.testing.assert_allclose(
        experts.read([pair])[0][0], experts.read(cut.pairs)[0].mean(0), atol=1e-5
    )


def test_vectors_of_the_middle_come_with_the_same_columns(folder, base, monkeypatch):
    plain = loaded(folder, base)
    monkeypatch.setattr("moralscope.models.classifiers.experts._read_plain", lambda *_: None)
    padded = loaded(folder, base)
    columns, last = plain.read(PAIRS)
    for experts in (plain, padded):
        some, middle = experts.read(PAIRS, middle=True)
        np.testing.assert_allclose(some, columns, atol=1e-4)
        assert np.abs(middle - last).max() > 0.01
        np.testing.assert_allclose(np.linalg.norm(middle, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(middle, plain.read(PAIRS, middle=True)[1], atol=1e-4)
    assert experts.read([], middle=True)[1].shape == experts.read([])[1].shape


@pytest.mark.parametrize(
    ("lengths", "count"), [([62] * 20, 4), ([150] * 20, 6), (range(20, 60), 4), ([7], 1), ([], 0)]
)
def test_every_core_gets_as_many_tokens_as_the_others(monkeypatch, lengths, count):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    network, batches = _UnpaddedNetwork.__new__(_UnpaddedNetwork), []

    def body(batch, middle):
        batches.append([len(row) for row in batch])
        return [torch.full((1, len(row), 4), float(row[0])) for row in batch]

    network._weights, network._body, network._pool = None, body, SingleThreadPool(2)
    network._head = (torch.ones(3, 4), torch.zeros(3))
    rows = [[number] * length for number, length in enumerate(lengths)]
    columns, pooled = network.run(rows)
    assert pooled[:, 0].tolist() == list(range(len(rows)))
    assert columns.shape == (len(rows), 3)
    assert len(batches) == count
    sizes = [sum(batch) for batch in batches]
    assert max(sizes, default=0) - min(sizes, default=0) <= max(lengths, default=0)
