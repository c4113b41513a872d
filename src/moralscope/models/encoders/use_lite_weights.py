"""Reads the float32 weights of a TF.js model: ``model.json`` and the shards that it names.

It reads what the published Universal Sentence Encoder lite has, unquantised 32-bit numbers, and
refuses the rest. It knows nothing of the graph: `use_lite` asks for weights by name and shape.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import StoreError
from moralscope.core.protocols import Matrix

_MAX_JSON = 20_000_000


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
            if path.stat().st_size > _MAX_JSON:
                raise ValueError(f"more than {_MAX_JSON:,} bytes")
            for group in json.loads(path.read_text(encoding="utf-8"))["weightsManifest"]:
                self._read(group)
        except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise self._damaged(f"{type(error).__name__}: {error}") from error

    def take(self, name: str, *shape: int) -> Matrix:
        """Give the weight of that name; one of another size than `shape` is refused."""
        weight = self._weights.get(name)
        if weight is None or weight.size != math.prod(shape):
            raise self._damaged(f"no weight {name} of shape {shape}")
        return weight.reshape(shape)

    def _read(self, group: dict[str, Any]) -> None:
        specs = [(spec["name"], spec["dtype"], _count(spec)) for spec in group["weights"]]
        needed = 4 * sum(count for _, _, count in specs)
        shards = [self._path.parent / _plain_name(shard) for shard in group["paths"]]
        there = sum(shard.stat().st_size for shard in shards)
        if needed != there:  # before anything is read
            raise ValueError(f"the shards have {there} bytes instead of {needed}")
        data = b"".join(shard.read_bytes() for shard in shards)
        offset = 0
        for name, kind, count in specs:
            if kind == "float32":
                self._weights[name] = np.frombuffer(data, "<f4", count, offset)
            offset += 4 * count

    def _damaged(self, why: str) -> StoreError:
        return StoreError(
            f"{self._path} is not the model of use-lite ({' '.join(why.split())[:200]})",
            f"remove {self._path.parent} and pull the model again",
        )


def _count(spec: Any) -> int:
    """Return how many numbers a weight has."""
    if spec["dtype"] not in ("float32", "int32") or "quantization" in spec:
        raise ValueError(f"{spec['name']} is quantised or not of 32 bits")
    shape = spec["shape"]
    if not isinstance(shape, list) or not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(f"{spec['name']} has no shape")
    if not isinstance(spec["name"], str) or len(shape) > 8:
        raise ValueError("a weight has no name or too many dimensions")
    return math.prod(shape)


def _plain_name(shard: Any) -> str:
    """Refuse the name of a shard that could lie anywhere but beside the model."""
    if not isinstance(shard, str) or not re.fullmatch(r"[\w-]+(\.[\w-]+)*", shard, re.ASCII):
        raise ValueError("a shard does not lie beside it")
    return shard
