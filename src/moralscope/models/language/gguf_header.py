"""The header of a GGUF file, walked within the file's own bounds: its values and tensor names.

The library's reader believes every count in the file: an array that claims 2^60 numbers in a file
of 100 bytes keeps it busy until the memory is full. So a file is walked here first, and only then
handed on. Weights are not read; big-endian files are refused.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from moralscope.core.errors import StoreError
from moralscope.io.files import file_size

_SCALARS = {
    **{0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?"},
    **{10: "<Q", 11: "<q", 12: "<d"},
}
_TEXT, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_LONGEST_NAME = 65_535  # bytes, as the format says
_MOST_SIDES = 8

Value = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Values by key (None for an array) and the names of tensors, in their order."""

    values: Mapping[str, Value] = field(default_factory=dict)
    tensors: tuple[str, ...] = ()


class _Damaged(Exception):
    """What is wrong with a header."""


def read_header(path: Path, remedy: str | None = None) -> GgufHeader:
    """Read the header of a GGUF file; one that claims more than the file holds is refused.

    `remedy` is what a user can do then; a stored file is pulled again.
    """
    remedy = remedy or f"remove {path.parent} and pull the model again"
    try:
        size = file_size(path)
        with path.open("rb") as stream:
            return _header(_Walk(stream, size))
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror})", remedy) from error
    except _Damaged as why:
        raise StoreError(f"{path} is not a GGUF file that can be used ({why})", remedy) from why


def _header(walk: "_Walk") -> GgufHeader:
    if walk.take(4) != b"GGUF":
        raise _Damaged("it does not begin with GGUF")
    version = walk.number("<I")
    if version not in _VERSIONS:
        raise _Damaged(f"its version is {version}")
    tensors, keys = walk.number("<Q"), walk.number("<Q")
    walk.needs(24 * tensors + 13 * keys)  # the fewest bytes that so many can have
    values: dict[str, Value] = {}
    for _ in range(keys):
        name = walk.text(_LONGEST_NAME)
        if name in values:
            raise _Damaged("it has a key twice")
        values[name] = walk.value(walk.number("<I"))
    names: dict[str, None] = {}
    for _ in range(tensors):
        name = walk.text(_LONGEST_NAME)
        if name in names:
            raise _Damaged("it has a tensor twice")
        names[name] = None
        sides = walk.number("<I")
        if sides > _MOST_SIDES:
            raise _Damaged(f"a tensor has {sides} dimensions")
        walk.skip(8 * sides + 12)
    return GgufHeader(values, tuple(names))


class _Walk:
    """A stream that is never asked for more than it holds."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream = stream
        self._left = size

    def needs(self, count: int) -> None:
        if count > self._left:
            raise _Damaged("it claims more than it holds, or is cut short")

    def take(self, count: int) -> bytes:
        self.needs(count)
        self._left -= count
        return self._stream.read(count)

    def skip(self, count: int) -> None:
        self.needs(count)
        self._left -= count
        self._stream.seek(count, 1)

    def number(self, form: str) -> int:
        (number,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(number)

    def text(self, longest: int) -> str:
        length = self.number("<Q")
        if length > longest:
            raise _Damaged("a name is too long")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError:
            raise _Damaged("a name is not UTF-8") from None

    def value(self, kind: int) -> Value:
        if kind in _SCALARS:
            form = _SCALARS[kind]
            number: Value = struct.unpack(form, self.take(struct.calcsize(form)))[0]
            return number
        if kind == _TEXT:
            return self.take(self.number("<Q")).decode("utf-8", "replace")
        if kind != _ARRAY:
            raise _Damaged(f"a value has the unknown type {kind}")
        kind, count = self.number("<I"), self.number("<Q")
        if kind in _SCALARS:
            self.skip(count * struct.calcsize(_SCALARS[kind]))
        elif kind == _TEXT:
            self.needs(8 * count)
            for _ in range(count):
                self.skip(self.number("<Q"))
        else:
            raise _Damaged("a list holds what is neither a number nor a text")
        return None
