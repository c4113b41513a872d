"""Reads the float32 weights of a TF.js model: ``model.json`` and the shards that it names.

It reads what the published Universal Sentence Encoder lite has, unquantised 32-bit numbers, and
refuses the rest. It knows nothing of the graph: `use_lite` asks for weights by name and shape.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import StoreError
from moralscope.core.protocols import Matrix


class UseLiteWeights:
    """The weights of one TF.js model, by name.

    Parameters
    ----------
    path
        ``model.json``; the shards lie beside it.

    Raises
    ------
    StoreError
        A file is missing, damaged or holds what this reader does not know.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._weights: dict[str, Matrix] = {}
        try:
            for group in json.loads(path.read_text(encoding="utf-8"))["weightsManifest"]:
                self._read(group)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise self._damaged(f"{type(error).__name__}: {error}") from error

    def take(self, name: str, *shape: int) -> Matrix:
        """Give the weight of that name; one of another size than `shape` is refused."""
        weight = self._weights.get(name)
        if weight is None or weight.size != math.prod(shape):
            raise self._damaged(f"no weight {name} of shape {shape}")
        return weight.reshape(shape)

    def _read(self, group: dict[str, Any]) -> None:
        data = b"".join((self._path.parent / shard).read_bytes() for shard in group["paths"])
        offset = 0
        for spec in group["weights"]:
            if spec["dtype"] not in ("float32", "int32") or "quantization" in spec:
                raise ValueError(f"{spec['name']} is quantised or not of 32 bits")
            count = math.prod(spec["shape"])
            if spec["dtype"] == "float32":
                self._weights[spec["name"]] = np.frombuffer(data, "<f4", count, offset)
            offset += 4 * count
        if offset != len(data):
            raise ValueError(f"the shards have {len(data)} bytes instead of {offset}")

    def _damaged(self, why: str) -> StoreError:
        return StoreError(
            f"{self._path} is not the model of use-lite ({why})",
            f"remove {self._path.parent} and pull the model again",
        )
