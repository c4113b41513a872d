"""A fitted direction as one safetensors file: vectors as tensors, the rest as JSON metadata.

The file names its schema, the encoder's checksum and the template's fingerprint; what does not
fit is refused. Nothing is ever unpickled.
"""

import json
from pathlib import Path

import numpy as np

from moralscope.axes.direction.fitting import FITS, Direction, DirectionSettings
from moralscope.axes.templates import Template
from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.core.records import to_plain, values_of
from moralscope.io.files import read_tensors, write_whole

SCHEMA = "moralscope.axes.direction/1"
_TENSORS = ("vector", "second", "positions")
_MAX_BYTES = 64_000_000
_REMEDY = "give a file that 'moralscope score --axis direction --save-axis FILE' wrote"


def save_direction(direction: Direction, path: Path) -> None:
    """Write a direction whole or not at all.

    Raises
    ------
    MoralscopeError
        When the file cannot be written.
    """
    from safetensors.numpy import save

    plain = to_plain(direction)
    text = json.dumps({name: value for name, value in plain.items() if name not in _TENSORS})
    vectors = (direction.vector, direction.second, direction.positions)
    tensors = dict(zip(_TENSORS, map(np.ascontiguousarray, vectors), strict=True))
    write_whole(path, [save(tensors, {"schema": SCHEMA, "direction": text})])


def load_direction(path: Path, encoder: Encoder, template: Template) -> Direction:
    """Read a direction; one of another encoder or another template is refused."""
    refused = InputError(f"{path} is not a safetensors file", _REMEDY)
    tensors, metadata = read_tensors(path, _MAX_BYTES, refused)
    schema = metadata.get("schema", "none")
    if schema != SCHEMA:
        raise InputError(f"{path} has the schema {schema[:60]!r}, not '{SCHEMA}'", _REMEDY)
    try:
        plain = json.loads(metadata["direction"])
        vectors = {name: np.asarray(tensors[name], dtype=np.float64) for name in _TENSORS}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} does not hold a direction", _REMEDY) from error
    settings = decode(DirectionSettings, plain, str(path), remedy=_REMEDY)
    direction = Direction(**{**values_of(settings), **vectors})
    if direction.checksum != encoder.checksum:
        raise InputError(
            f"{path} was fitted with {direction.encoder} ({direction.checksum[:12]}), "
            f"not with {encoder.name} ({encoder.checksum[:12]})",
            f"use --encoder {direction.encoder}, or fit a direction for {encoder.name}",
        )
    if direction.fingerprint != template.fingerprint:
        raise InputError(
            f"{path} was fitted with another template ({direction.template})",
            "use the template that it was fitted with, or fit it again",
        )
    if not _sound(direction, encoder.dimension):
        raise InputError(f"{path} holds vectors that contradict each other", _REMEDY)
    return direction


def _sound(direction: Direction, dimension: int) -> bool:
    vectors = (direction.vector, direction.second)
    return (
        direction.fit in FITS
        and all(vector.shape == (dimension,) for vector in vectors)
        and direction.positions.shape == (len(direction.actions), 2)
        and all(np.isfinite(table).all() for table in (*vectors, direction.positions))
        and len(direction.centres) == len(direction.scales) == 2
        and bool(np.isfinite([*direction.centres, *direction.scales]).all())
        and min(direction.scales) > 0
    )
