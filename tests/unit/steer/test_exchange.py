"""Vectors in llama.cpp's and lm-eval's files: written as they read them, read back unharmed."""

import zipfile

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.language import load_language_model, load_vector
from moralscope.models.language.steering import SteeringVector, VectorInfo, save_vector
from moralscope.steer.exchange import export_vector, import_vector
from moralscope.steer.options import SteerExportOptions, SteerImportOptions


@pytest.fixture
def vector(tmp_path):
    model = load_language_model("scripted")
    rows = np.random.default_rng(0).standard_normal((2, model.dimension)).astype(np.float32)
    info = VectorInfo("scripted", model.checksum, model.dimension, (2, 4), "mean", 2.5, 0.5, "x")
    path = tmp_path / "v.safetensors"
    save_vector(SteeringVector(info, rows), path)
    return path


def brought(tmp_path, file):
    save = tmp_path / "back.safetensors"
    import_vector(SteerImportOptions(file=file, model="scripted", save=save))
    return load_vector(save)


def test_llama_cpps_own_reader_finds_a_control_vector(vector, tmp_path):
    from gguf import GGUFReader

    path = tmp_path / "v.gguf"
    export_vector(SteerExportOptions(vector=vector, to="gguf", save=path))
    reader = GGUFReader(path)
    assert reader.get_field("general.architecture").contents() == "controlvector"
    assert reader.get_field("controlvector.model_hint").contents() == "scripted"
    added = load_vector(vector).added
    tensors = {tensor.name: np.array(tensor.data) for tensor in reader.tensors}
    assert list(tensors) == ["direction.1", "direction.3"]  # llama.cpp counts blocks from 0
    np.testing.assert_array_equal(tensors["direction.3"], added[4])
    again = brought(tmp_path, path)
    np.testing.assert_array_equal(again.added[2], added[2])
    assert again.info.layers == (2, 4)


def test_lm_evals_file_holds_what_its_steered_model_reads(vector, tmp_path):
    import torch

    path = tmp_path / "v.pt"
    export_vector(SteerExportOptions(vector=vector, to="lm-eval", save=path))
    content = torch.load(path, weights_only=True)
    assert list(content) == ["layers.1", "layers.3"]
    assert (content["layers.1"]["action"], content["layers.1"]["bias"]) == ("add", None)
    added = load_vector(vector).added
    np.testing.assert_array_equal(content["layers.1"]["steering_vector"].numpy(), added[2])
    np.testing.assert_array_equal(brought(tmp_path, path).added[4], added[4])


def test_a_coefficient_of_another_tool_is_multiplied_in(tmp_path):
    import torch

    row = torch.arange(16.0, dtype=torch.float64)
    entry = {"steering_vector": row, "steering_coefficient": 3, "action": "add"}
    torch.save({"model.layers.0": entry}, tmp_path / "v.pt")
    np.testing.assert_array_equal(brought(tmp_path, tmp_path / "v.pt").added[1], 3 * row.numpy())


class Hostile:
    def __reduce__(self):
        from pathlib import Path

        return Path.touch, (Path("hostile-was-here"),)


def test_nothing_in_a_torch_file_is_ever_called(tmp_path, monkeypatch):
    import torch

    monkeypatch.chdir(tmp_path)
    torch.save({"layers.0": {"steering_vector": Hostile(), "action": "add"}}, "bad.pt")
    with pytest.raises(InputError, match=r"is not a \.pt file of plain tensors"):
        brought(tmp_path, tmp_path / "bad.pt")
    assert not (tmp_path / "hostile-was-here").exists()


def test_what_would_unfold_to_gigabytes_is_refused(tmp_path):
    """Thirty tuples, each twice in the next; a hundred megabytes of zeros in a small zip."""
    doubled = b"".join(b"(h%ch%ct" % (at, at) + b"q" + bytes([at + 1]) for at in range(30))
    for pickled, zeros in (
        (b"\x80\x02}K\x01\x85q\x00" + doubled + b"K\x01s.", 8),
        (b"\x80\x02K\x01\x85q\x00" + doubled + b")R.", 8),
        (b"\x80\x02N.", 100_000_000),
    ):
        with zipfile.ZipFile(tmp_path / "v.pt", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("v/data.pkl", pickled)
            archive.writestr("v/data/0", bytes(zeros))
        with pytest.raises(InputError):
            brought(tmp_path, tmp_path / "v.pt")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"GGUF\x03\x00\x00\x00" + b"\xff" * 64])
@pytest.mark.parametrize("name", ["v.pt", "v.gguf"])
def test_damaged_files_are_refused_in_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError):
        brought(tmp_path, tmp_path / name)


def test_what_does_not_fit_the_model_or_the_tool_is_refused(vector, tmp_path):
    import torch

    for name, row, problem in (
        ("layers.9", torch.ones(16), "no layer 10"),
        ("layers.0", torch.ones(9), "does not fit"),
        ("layers.0", torch.ones(4, 4), "cannot be read at"),
        ("layers.0", torch.ones(1).expand(10**9), "cannot be read at"),
        ("layers.0", torch.ones(16, dtype=torch.int64), "cannot be read at"),
    ):
        torch.save({name: {"steering_vector": row, "action": "add"}}, tmp_path / "v.pt")
        with pytest.raises(InputError, match=problem):
            brought(tmp_path, tmp_path / "v.pt")
    clamp = {"layers.0": {"steering_vector": torch.ones(16), "action": "clamp"}}
    torch.save(clamp, tmp_path / "v.pt")
    with pytest.raises(InputError, match=r"cannot be read at 'layers\.0'"):
        brought(tmp_path, tmp_path / "v.pt")
    options = SteerExportOptions(vector=vector, to="lm-eval", save=tmp_path / "v.bin")
    with pytest.raises(InputError, match=r"ends in \.pt"):
        export_vector(options)


def test_llama_cpp_cannot_steer_the_first_layer(tmp_path):
    info = VectorInfo("scripted", "x", 16, (1,), "mean", 1.0, 0.5, "x")
    save_vector(SteeringVector(info, np.ones((1, 16), np.float32)), tmp_path / "v.safetensors")
    options = SteerExportOptions(
        vector=tmp_path / "v.safetensors", to="gguf", save=tmp_path / "v.gguf"
    )
    with pytest.raises(InputError, match="cannot steer the first layer"):
        export_vector(options)
