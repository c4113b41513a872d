"""The numbers in a file of `torch.save`, without unpickling it: nothing in it is ever called.

Such a file is a zip: `data.pkl` says how its values hang together, `data/0`, `data/1`, … are the
tensors' bytes. The opcodes of `data.pkl` are walked here with a stack of our own; names of classes
and functions stay names, and whatever is not a dict, list, text, number or tensor is refused.
"""

import pickletools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAX_BYTES = 32_000_000
_KINDS = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2"}
_MARK = object()
_PLAIN = {
    *("BINUNICODE", "SHORT_BINUNICODE", "UNICODE", "BININT", "BININT1", "BININT2", "LONG1", "INT"),
    *("BINFLOAT", "FLOAT", "BINSTRING", "SHORT_BINSTRING"),
}
_EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class NotPlain(Exception):
    """What a file holds that is not data."""


class _Name(str):
    """The name of something that a pickle would call; here it stays a name."""


def read_torch(path: Path) -> Any:
    """Return the dicts, lists, texts, numbers and tensors (as arrays) of a file.

    Raises
    ------
    NotPlain
        It is no such file, or holds anything else.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MAX_BYTES:
                raise NotPlain("it is too large")
            found = {each.split("/", 1)[-1]: each for each in archive.namelist()}
            parts = {name: archive.read(each) for name, each in found.items()}
            return _Walk(parts).value()
    except NotPlain:
        raise
    except Exception as error:  # whatever a damaged file makes the walk raise means the same
        raise NotPlain("it is damaged, or of another tool") from error


class _Walk:
    def __init__(self, parts: dict[str, bytes]) -> None:
        self._parts = parts
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def value(self) -> Any:
        for opcode, argument, _ in pickletools.genops(self._parts["data.pkl"]):
            if opcode.name == "STOP":
                return self._stack.pop()
            self._step(opcode.name, argument)
        raise NotPlain("it is cut short")

    def _step(self, name: str, argument: Any) -> None:
        stack = self._stack
        if name in _PLAIN:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            stack[-_TUPLES[name] :] = [tuple(stack[-_TUPLES[name] :])]
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "GLOBAL":
            stack.append(_Name(argument.replace(" ", ".")))
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self._memo[len(self._memo) if argument is None else argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self._memo[argument])
        elif name not in ("PROTO", "FRAME"):
            self._join(name)

    def _join(self, name: str) -> None:
        """Do what takes values off the stack and puts one back."""
        stack = self._stack
        if name in ("SETITEMS", "APPENDS", "TUPLE"):
            values = self._marked()
            if name == "TUPLE":
                stack.append(tuple(values))
            elif name == "APPENDS":
                stack[-1].extend(values)
            else:
                _fill(stack[-1], values)
        elif name == "SETITEM":
            pair = stack[-2:]
            del stack[-2:]
            _fill(stack[-1], pair)
        elif name == "BINPERSID":
            stack.append(self._storage(stack.pop()))
        elif name == "REDUCE":
            given, function = stack.pop(), stack.pop()
            stack.append(_made(function, given))
        else:
            raise NotPlain(f"it asks for {name}")

    def _marked(self) -> list[Any]:
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise NotPlain("it is damaged")
        values = self._stack[at + 1 :]
        del self._stack[at:]
        return values

    def _storage(self, given: Any) -> NDArray[Any]:
        _, kind, key, *_ = given
        form = _KINDS.get(kind.rpartition(".")[2])
        if form is None:
            raise NotPlain(f"it holds numbers of the kind {kind[:40]}")
        return np.frombuffer(self._parts[f"data/{key}"], dtype=form)


def _fill(found: dict[str, Any], values: list[Any]) -> None:
    """Put pairs into a dict; keys are texts, since tuples of tuples of … could take forever."""
    for key, value in zip(values[0::2], values[1::2], strict=True):
        if type(key) is not str:
            raise NotPlain("a key is no text")
        found[key] = value


def _made(function: Any, given: Any) -> Any:
    """Return what two known functions would: a tensor of its numbers, an empty ordered dict."""
    if isinstance(function, _Name) and function == "collections.OrderedDict" and not given:
        return {}
    if isinstance(function, _Name) and function == "torch._utils._rebuild_tensor_v2":
        storage, offset, shape, strides, *_ = given
        if len(shape) == 1 and strides == (1,) and isinstance(storage, np.ndarray):
            found = storage[int(offset) : int(offset) + int(shape[0])]
            if len(found) == shape[0]:
                return found.astype(np.float32)
        raise NotPlain("a tensor is no plain row of numbers")
    raise NotPlain(f"it would call {function[:60] if isinstance(function, str) else 'something'}")
