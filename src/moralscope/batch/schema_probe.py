"""The start of each file looked at: whether it is what its name says, and its columns.

Files that disagree are refused here, in one line, before anything is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from moralscope.batch.columns import JsonColumns, carried_as_json, settled, unified
from moralscope.batch.files import open_bytes, reason
from moralscope.batch.parquet_rows import open_parquet
from moralscope.batch.reading import RowNeeds, draft
from moralscope.batch.types import SourceFile
from moralscope.core.errors import InputError
from moralscope.io.formats import FORMATS, Record
from moralscope.io.tables import check_columns

_HEAD = 1 << 16
_FAR = 1 << 24
_LINES = 10_000
_BOM = b"\xef\xbb\xbf"
_ONE = "give files with the same columns"
_SIGNS = {
    b"PAR1": "Parquet",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "a zip file or a spreadsheet",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


@dataclass(frozen=True, slots=True)
class FileSchema:
    """A file and the columns at its start; of JSON lines there may be more further on."""

    source: SourceFile
    schema: pa.Schema

    @property
    def fixed(self) -> bool:
        """Whether the columns are the same throughout."""
        return self.source.kind == ".parquet" or FORMATS[self.source.kind].header


def probe(source: SourceFile, wanted: RowNeeds) -> FileSchema:
    """Return what the start of a file says about it.

    Raises
    ------
    InputError
        It is empty, not what its name says, or lacks a needed column.
    """
    try:
        with open_bytes(source.url) as stream:
            start = stream.read(_HEAD)
        _check_content(source, start)
        if source.kind == ".parquet":
            schema = _parquet_schema(source, wanted)
        else:
            skipped = len(_BOM) * start.startswith(_BOM)
            read = _read_header if FORMATS[source.kind].header else _read_first_objects
            source, schema = read(replace(source, start=skipped), wanted)
    except OSError as error:
        raise InputError(f"{source.name} cannot be read ({reason(error)})", "check it") from error
    remedy = "say with --columns what your columns are called"
    check_columns(schema.names, wanted.needed, source.name, remedy)
    return FileSchema(source, schema)


def _check_content(source: SourceFile, start: bytes) -> None:
    is_parquet = source.kind == ".parquet"
    headed = not is_parquet and FORMATS[source.kind].header
    what = next((name for sign, name in _SIGNS.items() if start.startswith(sign)), None)
    text = start.removeprefix(_BOM).lstrip()
    if not text:
        raise InputError(f"{source.name} is empty", "give a file with rows")
    if what is None:
        if text.startswith(b"{") and headed:
            what = "JSON lines"
        elif text.startswith(b"[") and not headed and not is_parquet:
            what = "one JSON array, not one object per line"
        elif b"\0" in start.split(b"\n", 1)[0] and not is_parquet:
            what = "no text (it has NUL bytes)"
        elif is_parquet:
            what = "JSON lines" if text.startswith(b"{") else "something else"
    if what and not (is_parquet and what == "Parquet"):
        raise InputError(
            f"{source.name} is named {source.kind} and holds {what}",
            "give it the suffix of what it holds, or convert it",
        )


def _parquet_schema(source: SourceFile, wanted: RowNeeds) -> pa.Schema:
    texts = (
        *(pa.types.is_null, pa.types.is_string),
        *(pa.types.is_large_string, pa.types.is_string_view),
    )
    try:
        schema = open_parquet(source.url, source.stamp).schema
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = f"{source.name} is not a complete Parquet file ({reason(error)})"
        raise InputError(problem, "write or fetch it again") from error
    _check_twice(schema.names, source.name)
    fields = []
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if field.name in wanted.texts:
            nested = wanted.structured and pa.types.is_nested(kind)
            if not nested and not any(is_kind(kind) for is_kind in texts):
                problem = f"{source.name} holds {kind} under '{field.name[:60]}', not text"
                raise InputError(problem, "give a column of text")
            kind = pa.string()
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _read_header(source: SourceFile, wanted: RowNeeds) -> tuple[SourceFile, pa.Schema]:
    with open_bytes(source.url) as stream:
        stream.seek(source.start)
        record = next(FORMATS[source.kind].records(stream, source.bytes - source.start), None)
    if record is None or record[4] or isinstance(record[3], str):
        what = record[4] if record else "is empty"
        problem = f"{source.name} has no {source.kind[1:].upper()} header (line 1 {what})"
        raise InputError(problem, "give a header in UTF-8")
    header = tuple(name.strip() for name in record[3])
    _check_twice(header, source.name)
    start, line = source.start + record[0], record[1] + 1
    schema = pa.schema([pa.field(name, pa.string()) for name in header])
    return replace(source, header=header, start=start, line=line), schema


def _read_first_objects(source: SourceFile, wanted: RowNeeds) -> tuple[SourceFile, pa.Schema]:
    """Read the first lines, further than usual while none of them is an object."""
    records: list[Record] = []
    objects = False
    with open_bytes(source.url) as stream:
        stream.seek(source.start)
        lines = FORMATS[source.kind].records(stream, source.bytes - source.start)
        for record in islice(lines, _LINES):
            records.append(record)
            objects = objects or bool(draft(source, (0, 1), [record], RowNeeds(())).rows)
            if record[0] >= (_HEAD if objects else _FAR):
                break
    rows = draft(source, (0, 1), records, RowNeeds(()))
    if not rows.rows:
        bad = rows.failed[0]
        problem = f"{source.name} line {bad.line} {bad.reason}, nor is any line after it"
        raise InputError(problem, "give one JSON object per line")
    columns = JsonColumns()
    if all(name in rows.columns for name in wanted.needed):
        columns.see(draft(source, (0, 1), records, wanted).columns)
    names = [pa.field(name, pa.string()) for name in rows.columns]
    fields = {field.name: field for field in [*names, *columns.fields()]}
    return source, pa.schema(list(fields.values()))


def _check_twice(names: Sequence[str], where: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where} names the column '{twice[:60]}' twice", "name each column once")


def common_schema(schemas: Sequence[FileSchema]) -> pa.Schema | None:
    """Return the columns that files of fixed columns share; None where all are JSON lines.

    Raises
    ------
    InputError
        Two files have different columns, or different things under one name.
    """
    first = next((file for file in schemas if file.fixed), None)
    if first is None:
        return None
    kinds = {field.name: field.type for field in first.schema}
    for other in schemas:
        for one, two in ((first, other), (other, first)):
            for name in one.schema.names:
                if name not in two.schema.names:
                    problem = f"{two.source.name} has no column '{name[:60]}'"
                    raise InputError(f"{problem} and {one.source.name} has", _ONE)
        for field in other.schema if other.fixed else ():
            kind = kinds[field.name]
            try:
                kinds[field.name] = unified(kind, field.type)
            except pa.ArrowException as error:
                problem = f"the column '{field.name[:60]}' is {kind} in {first.source.name}"
                raise InputError(
                    f"{problem} and {field.type} in {other.source.name}",
                    "give files with the same types",
                ) from error
    return pa.schema([pa.field(name, settled(kind)) for name, kind in kinds.items()])


def whole_schema(fixed: pa.Schema | None, seen: JsonColumns) -> pa.Schema:
    """Return the columns of the corpus: the shared ones, widened by what JSON lines held."""
    if fixed is None:
        return pa.schema(seen.fields())
    more = {field.name: field for field in seen.fields()}
    fields = []
    for field in fixed:
        other = more.pop(field.name, field)
        if other.type == field.type or pa.types.is_string(field.type):
            fields.append(field)
            continue
        try:
            kind = unified(field.type, other.type)
        except pa.ArrowException as error:
            is_json = "several things" if carried_as_json(other) else str(other.type)
            problem = f"the column '{field.name[:60]}' is {field.type} in some files"
            raise InputError(f"{problem} and {is_json} in JSON lines", _ONE) from error
        fields.append(pa.field(field.name, kind))
    return pa.schema([*fields, *more.values()])
