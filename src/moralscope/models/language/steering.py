"""A steering vector as a file, and a language model with it: the same weights, pushed one way.

One safetensors file: a row a layer, the rest as JSON metadata. It names the model that it was made
for by checksum; another model is refused, because its layers mean something else.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.protocols import Generator, LanguageModel, Matrix
from moralscope.io.files import read_tensors, write_whole
from moralscope.models.language.gated import GatedModel, SteeringGate
from moralscope.models.language.loading import load_generator, load_language_model
from moralscope.models.store import Progress

FORMAT = "moralscope.steering/1"
_MAX_BYTES = 256_000_000
_REMEDY = "give a file that 'moralscope steer make' or 'steer import' wrote"


@dataclass(frozen=True, slots=True)
class VectorInfo:
    """What a steering file says of itself."""

    model: str
    checksum: str
    width: int
    layers: tuple[int, ...]
    method: str
    strength: float  # what the rows are multiplied with where they are added
    kl: float  # what they then move the next word by on neutral text; NaN: never measured
    source: str  # what the vector was made of
    blocks: str = "layers"  # where the model's layers are, as other tools name them
    gate_layer: int = 0  # first whose state at a prompt's end opens the gate; 0: no gate
    gate_limit: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.strength) or len(set(self.layers)) < len(self.layers):
            raise ValueError("has no finite strength, or a layer twice")


@dataclass(frozen=True, slots=True, eq=False)
class SteeringVector:
    """A row for each of some layers of one model, and where it has a gate, the row of that."""

    info: VectorInfo
    rows: Matrix
    gate_rows: Matrix | None = None

    def __post_init__(self) -> None:
        shape = len(self.info.layers), self.info.width
        if self.rows.shape != shape or not np.isfinite(self.rows).all() or not shape[0]:
            raise InputError("a steering vector's rows do not fit its layers", _REMEDY)
        row = self.gate_rows
        if (row is None) != (self.info.gate_layer == 0) or (
            row is not None and (row.shape[1:] != shape[1:] or not np.isfinite(row).all())
        ):
            raise InputError("a steering vector's gate does not fit its layer", _REMEDY)

    @property
    def added(self) -> dict[int, Matrix]:
        """What is added to the output of each layer."""
        strong = np.float32(self.info.strength) * self.rows.astype(np.float32)
        return dict(zip(self.info.layers, strong, strict=True))

    def steer(self, model: LanguageModel) -> LanguageModel:
        """Return the model with this vector; one that it was not made for is refused."""
        info = self.info
        if not model.layers:
            raise InputError(f"'{model.name}' cannot be steered", "use a local model")
        if info.width != model.dimension:
            problem = f"the vector is {info.width} wide and {model.name} is {model.dimension}"
            raise InputError(problem, f"it was made for {info.model}; make one for {model.name}")
        if info.checksum != model.checksum:
            raise InputError(
                f"the vector was made for {info.model} ({info.checksum[:12]}), not for "
                f"{model.name} ({model.checksum[:12]})",
                f"make one with 'moralscope steer make --model {model.name}'",
            )
        return self.push(model, self.added)

    def push(self, model: LanguageModel, added: Mapping[int, Matrix]) -> LanguageModel:
        """Return the model with these rows, behind the vector's gate where it has one."""
        pushed = model.steered(added)  # refuses a layer that does not exist
        if self.gate_rows is None:
            return pushed
        return GatedModel(
            model, pushed, SteeringGate(self.info.gate_layer, self.gate_rows, self.info.gate_limit)
        )


def steer_model(model: LanguageModel, path: Path | None) -> LanguageModel:
    """Return the model as a steering file pushes it; without a file, the model itself."""
    return model if path is None else load_vector(path).steer(model)


def load_steered(name: str, path: Path | None, *, progress: Progress | None = None) -> Generator:
    """Return the generator that `name` means, pushed by a steering file where one is given."""
    if path is None:
        return load_generator(name, progress=progress)
    return load_vector(path).steer(load_language_model(name, progress=progress))


def save_vector(vector: SteeringVector, path: Path) -> None:
    """Write a vector, whole or not at all."""
    from safetensors.numpy import save

    tensors = {"rows": np.ascontiguousarray(vector.rows, dtype=np.float32)}
    if vector.gate_rows is not None:
        tensors["gate"] = np.ascontiguousarray(vector.gate_rows, dtype=np.float32)
    metadata = {"format": FORMAT, "vector": json.dumps(asdict(vector.info))}
    write_whole(path, [save(tensors, metadata=metadata)])


def load_vector(path: Path) -> SteeringVector:
    """Read a vector of ours; anything else is refused, and nothing in it is executed.

    Examples
    --------
    >>> import tempfile
    >>> info = VectorInfo("scripted", "abc", 2, (3,), "mean", 0.5, 0.1, "declining")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "v.safetensors"
    ...     save_vector(SteeringVector(info, np.ones((1, 2), np.float32)), file)
    ...     load_vector(file).added[3].tolist()
    [0.5, 0.5]
    """
    refused = InputError(f"{path} does not hold a steering vector of ours", _REMEDY)
    arrays, metadata = read_tensors(path, _MAX_BYTES, refused)
    try:
        tensors = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
        if metadata.get("format") != FORMAT:
            raise refused
        info = decode(VectorInfo, json.loads(metadata["vector"]))
        gate = tensors["gate"].reshape(-1, info.width) if "gate" in tensors else None
        return SteeringVector(info, tensors["rows"], gate)
    except (KeyError, TypeError, ValueError, RecursionError, InputError) as error:
        raise refused from error
