"""Steering vectors in other tools' files: llama.cpp's GGUF control vectors, lm-eval's .pt.

llama.cpp adds `direction.N` to the output of block N, counted from 0, so our layer L is its L - 1;
it has no direction 0. lm-eval hooks the module `layers.N`, counted alike, 0 included; its file is
torch's, of which nothing but tensors and plain values is read.
"""

import io
import pickletools
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError, StoreError
from moralscope.core.extras import require_extra
from moralscope.core.protocols import Matrix
from moralscope.io.files import check_writable, file_size, half_file, write_whole
from moralscope.models.language import load_language_model
from moralscope.models.language.gguf_header import read_header
from moralscope.models.language.steering import SteeringVector, VectorInfo, load_vector, save_vector
from moralscope.steer.options import SteerExportOptions, SteerImportOptions

_MAX_BYTES = 256_000_000
_MAX_UNPACKED = 32_000_000
_STRONGEST = 1e30
_ARCHITECTURE = "controlvector"
_DIRECTION = re.compile(r"direction\.(\d{1,4})")
_HOOKPOINT = re.compile(r"(.+)\.(\d{1,4})")


def export_vector(options: SteerExportOptions) -> SteeringVector:
    """Write a vector for another tool, its strength multiplied in, and return it."""
    check_writable(options.save)
    vector = load_vector(options.vector)
    if vector.gate_rows is not None:
        problem = f"{options.vector} has a gate, which {options.to} files cannot hold"
        raise InputError(problem, "export a vector that was made without --gate")
    write = write_gguf if options.to == "gguf" else write_lm_eval
    write(vector, options.save)
    return vector


def import_vector(options: SteerImportOptions) -> VectorInfo:
    """Read another tool's vector for a model, and save it as ours.

    Such files name no weights: that the vector is for this model is the caller's word. Width and
    layers are checked.
    """
    check_writable(options.save)
    path = options.file
    try:
        if file_size(path) > _MAX_BYTES:
            raise InputError(f"{path} is too large for a steering vector", "give another file")
    except OSError as error:
        problem = f"{path} cannot be read ({error.strerror})"
        raise InputError(problem, "give a GGUF control vector or lm-eval's .pt") from error
    read = read_lm_eval if path.suffix.lower() in (".pt", ".pth") else read_gguf
    added = read(path)
    loaded = load_language_model(options.model)
    layers = tuple(sorted(added))
    loaded.steered({layer: added[layer] for layer in layers})  # refuses what does not fit
    info = VectorInfo(
        model=loaded.name,
        checksum=loaded.checksum,
        width=loaded.dimension,
        layers=layers,
        method="imported",
        strength=1.0,
        kl=float("nan"),
        source=path.name,
        blocks=loaded.block_path,
    )
    save_vector(SteeringVector(info, np.stack([added[layer] for layer in layers])), options.save)
    return info


def write_gguf(vector: SteeringVector, path: Path) -> None:
    """Write a control vector that llama.cpp reads with ``--control-vector``."""
    require_extra("train", "writing GGUF")
    from gguf import GGUFWriter

    if 1 in vector.info.layers:
        raise InputError("llama.cpp cannot steer the first layer", "make it of layers 2 and above")
    with half_file(path, "choose another place") as half:
        writer = GGUFWriter(half, _ARCHITECTURE)
        writer.add_string(f"{_ARCHITECTURE}.model_hint", vector.info.model)
        writer.add_uint32(f"{_ARCHITECTURE}.layer_count", len(vector.info.layers))
        for layer, row in vector.added.items():
            writer.add_tensor(f"direction.{layer - 1}", np.ascontiguousarray(row))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def read_gguf(path: Path) -> dict[int, Matrix]:
    """Return what a control vector adds, by layer."""
    try:
        header = read_header(path)  # walked first: the library believes every count
    except StoreError as error:
        raise InputError(error.problem, "give a GGUF control vector") from error
    if header.values.get("general.architecture") != _ARCHITECTURE:
        raise InputError(f"{path} is not a control vector", "give one of llama.cpp or repeng")
    require_extra("train", "reading GGUF")
    from gguf import GGUFReader

    try:
        tensors = {tensor.name: np.array(tensor.data) for tensor in GGUFReader(path).tensors}
    except Exception as error:  # whatever the library raises at a damaged file
        raise InputError(f"{path} is damaged", "write it again") from error
    vectors = {}
    for name, data in tensors.items():
        match = _DIRECTION.fullmatch(name)
        if match is None or data.dtype != np.float32 or data.ndim != 1:
            raise InputError(f"{path} holds '{name[:60]}'", "give direction.N in 32 bits only")
        vectors[int(match[1]) + 1] = data
    return _some(vectors, path)


def write_lm_eval(vector: SteeringVector, path: Path) -> None:
    """Write a file for lm-eval's ``--model steered``: it reads torch's format and no other."""
    import torch

    if path.suffix not in (".pt", ".pth"):
        raise InputError(f"lm-eval reads no '{path.suffix}'", "name a file that ends in .pt")
    content = {
        f"{vector.info.blocks}.{layer - 1}": {
            "steering_vector": torch.from_numpy(row.copy()),
            "steering_coefficient": 1.0,
            "action": "add",
            "bias": None,
            "head_index": None,
        }
        for layer, row in vector.added.items()
    }
    stream = io.BytesIO()
    torch.save(content, stream)
    write_whole(path, [stream.getvalue()])


def read_lm_eval(path: Path) -> dict[int, Matrix]:
    """Return what a file of lm-eval's adds, by layer; anything but plain tensors is refused."""
    import torch

    remedy = "give a file of {hookpoint: {steering_vector, steering_coefficient, action}}"
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > _MAX_UNPACKED:
                raise ValueError("it is too large")
            for part in archive.infolist():
                if part.filename.endswith("data.pkl"):
                    _refuse_shared_values(archive.read(part))
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged file makes zipfile, pickletools or torch raise
        why = str(error) if type(error) is ValueError else "it is damaged, or of another tool"
        raise InputError(f"{path} is not a .pt file of plain tensors ({why})", remedy) from error
    if not isinstance(content, Mapping):
        raise InputError(f"{path} holds no steering vectors", remedy)
    vectors: dict[int, Matrix] = {}
    for name, entry in content.items():
        match = _HOOKPOINT.fullmatch(name) if isinstance(name, str) else None
        fields = entry if match is not None and isinstance(entry, Mapping) else {}
        row, strength = fields.get("steering_vector"), fields.get("steering_coefficient", 1.0)
        if (
            match is None
            or not isinstance(row, torch.Tensor)
            or row.dtype not in (torch.float16, torch.float32, torch.float64)
            or row.ndim != 1
            or not row.is_contiguous()  # stride 0 makes a long row of one number
            or not isinstance(strength, int | float)
            or not abs(strength) <= _STRONGEST
            or fields.get("action", "add") != "add"
            or fields.get("bias") is not None
            or fields.get("head_index") is not None
        ):
            raise InputError(f"{path} cannot be read at '{str(name)[:60]}'", remedy)
        vectors[int(match[2]) + 1] = np.float32(strength) * row.detach().float().numpy()
    return _some(vectors, path)


def _refuse_shared_values(pickled: bytes) -> None:
    """Refuse values that stand in two places: torch hashes and prints what it meets.

    A tuple of two tuples of two tuples … is a few bytes in the file and fills the memory when it is
    written out. Texts and the names of classes may be shared, as `torch.save` shares them.
    """
    shareable: set[Any] = set()
    before = ""
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name in ("BINPUT", "LONG_BINPUT"):
            if before in ("BINUNICODE", "SHORT_BINUNICODE", "GLOBAL"):
                shareable.add(argument)
        elif "GET" in opcode.name and argument not in shareable:
            raise ValueError("a value stands in it twice: save a copy of each")
        before = opcode.name


def _some(vectors: dict[int, Matrix], path: Path) -> dict[int, Matrix]:
    if not vectors:
        raise InputError(f"{path} holds no vectors", "give another file")
    return vectors
