"""Columns of Parquet from record classes: what a class holds is declared once, in the class."""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

_PLAIN = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}


def arrow_schema(kind: type, leave_out: Sequence[str] = ()) -> pa.Schema:
    """Return a column for every field of a dataclass, in their order.

    A mapping needs its keys: ``Annotated[Mapping[str, float], ("care", "fairness")]``.

    Examples
    --------
    >>> from moralscope.core.records import ModelRef
    >>> arrow_schema(ModelRef).names
    ['name', 'sha256']
    """
    hints = get_type_hints(kind, include_extras=True)
    names = [each.name for each in dataclasses.fields(kind) if each.name not in leave_out]
    return pa.schema([(name, _type(hints[name])) for name in names])


def _type(hint: Any) -> pa.DataType:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):  # every column may hold null
        return _type(next(each for each in inner if each is not type(None)))
    if origin is Annotated and get_origin(inner[0]) is Mapping:
        value = _type(get_args(inner[0])[1])
        return pa.struct([(key, value) for key in inner[1]])
    if origin in (tuple, list, Sequence):
        return pa.list_(_type(inner[0]))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return pa.struct(list(arrow_schema(hint)))
    return _PLAIN[hint]
