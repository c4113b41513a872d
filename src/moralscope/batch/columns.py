"""The types of columns: of JSON rows as they come, and of record classes; values made into them.

A column that holds several kinds of value, or whose objects no table can hold, is carried as
JSON text. Types only widen as more values are seen, so what was seen always fits.
"""

import dataclasses
import json
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from moralscope.core.errors import InputError

AS_JSON: Final = {b"moralscope.carried": b"json"}  # metadata of a column of JSON text
_MAX_DEPTH = 12
_MAX_LEAVES = 200  # more names under one object are data, not columns
_MAX_COLUMNS = 2_000
_INT64 = 2**63
_NOTHING = type(None)


def kind_of(values: Sequence[Any]) -> Any:
    """Return the Arrow type that holds all values, or "json" when only JSON text does.

    Examples
    --------
    >>> str(kind_of([1, None, 2.5])), kind_of(["a", 1]), str(kind_of([{"a": 1}]))
    ('double', 'json', 'struct<a: int64>')
    """
    kinds = set(map(type, values)) - {_NOTHING}
    if not kinds:
        return pa.null()
    if kinds == {str}:
        return pa.string()
    if kinds == {bool}:
        return pa.bool_()
    if kinds <= {int, float}:
        if any(type(value) is int and not -_INT64 <= value < _INT64 for value in values):
            return "json"
        return pa.int64() if kinds == {int} else pa.float64()
    if kinds not in ({dict}, {list}):
        return "json"
    try:
        kind = pa.array(values).type
    except (pa.ArrowException, OverflowError, RecursionError):
        return "json"
    return kind if _storable(kind) else "json"


def _storable(kind: Any, depth: int = 0) -> bool:
    """Say whether Parquet can hold it and a person would call it a column."""
    if depth > _MAX_DEPTH:
        return False
    if pa.types.is_list(kind):
        return _storable(kind.value_type, depth + 1)
    if pa.types.is_struct(kind):
        fields = [kind.field(index).type for index in range(kind.num_fields)]
        return 0 < len(fields) <= _MAX_LEAVES and all(_storable(one, depth + 1) for one in fields)
    return True


def wider(left: Any, right: Any) -> Any:
    """Return the kind that holds the values of both."""
    if left is right or left == right:
        return left
    if "json" in (left, right):
        return "json"
    try:
        kind = unified(left, right)
    except pa.ArrowException:
        return "json"
    return kind if _storable(kind) else "json"


def unified(left: Any, right: Any) -> Any:
    """Return the Arrow type that both can be cast to, or raise what Arrow raises."""
    both = [pa.schema([("_", kind)]) for kind in (left, right)]
    return pa.unify_schemas(both, promote_options="permissive").field(0).type


def check_count(columns: int) -> None:
    """Refuse names without end: they are data, not columns."""
    if columns > _MAX_COLUMNS:
        problem = f"the JSON lines have more than {_MAX_COLUMNS:,} names at the top"
        raise InputError(problem, "put what is not a column under one name")


class JsonColumns:
    """The columns of JSON rows as they come in, each of a type that holds all it has held.

    Examples
    --------
    >>> seen = JsonColumns()
    >>> seen.see({"text": ["a", None], "n": [1, 2]})
    >>> seen.see({"n": ["three"]})
    >>> [(field.name, str(field.type)) for field in seen.fields()]
    [('text', 'string'), ('n', 'string')]
    """

    def __init__(self, fields: Iterable[pa.Field] = ()) -> None:
        self._kinds: dict[str, Any] = {
            field.name: "json" if carried_as_json(field) else field.type for field in fields
        }

    def see(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Widen the types by more values."""
        for name, values in columns.items():
            kind = kind_of(values)
            known = self._kinds.get(name)
            self._kinds[name] = kind if known is None else wider(known, kind)
        check_count(len(self._kinds))

    def fields(self) -> list[pa.Field]:
        """Return the columns; one that never held a value is text."""
        return [
            pa.field(name, pa.string(), metadata=AS_JSON)
            if isinstance(kind, str)
            else pa.field(name, settled(kind))
            for name, kind in self._kinds.items()
        ]


def settled(kind: Any) -> Any:
    """Return the type with text where nothing but null was seen: not every reader knows null."""
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(settled(kind.value_type))
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([pa.field(one.name, settled(one.type)) for one in fields])
    return kind


def carried_as_json(field: pa.Field) -> bool:
    """Say whether a column holds JSON text of what stood there."""
    return bool(field.metadata) and field.metadata.get(b"moralscope.carried") == b"json"


def to_array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    """Return values as a column of the field's type."""
    if carried_as_json(field):
        return pa.array([None if one is None else _json(one) for one in values], pa.string())
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError):
        return pa.array([_fitted(one, field.type) for one in values], field.type)


def _fitted(value: Any, kind: Any) -> Any:
    """Return the value as the type asks: whole numbers as floats, anything as text."""
    if value is None:
        return None
    if pa.types.is_floating(kind) and isinstance(value, int):
        return float(value)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return value if isinstance(value, str) else _json(value)
    if pa.types.is_list(kind):
        return [_fitted(one, kind.value_type) for one in value]
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return {one.name: _fitted(value.get(one.name), one.type) for one in fields}
    return value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


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
    names = [field.name for field in dataclasses.fields(kind) if field.name not in leave_out]
    return pa.schema([(name, _type(hints[name])) for name in names])


def _type(hint: Any) -> pa.DataType:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):  # every column may hold null
        return _type(next(kind for kind in inner if kind is not _NOTHING))
    if origin is Annotated and get_origin(inner[0]) is Mapping:
        value = _type(get_args(inner[0])[1])
        return pa.struct([(key, value) for key in inner[1]])
    if origin in (tuple, list, Sequence):
        return pa.list_(_type(inner[0]))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return pa.struct(list(arrow_schema(hint)))
    return {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}[hint]
