"""The start of each file looked at: whether it is what its name says, and its columns.

Files that disagree are refused here, in one line, before anything is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from moralscope.batch.columns import JsonColumns, carried_as_json, settled
from moralscope.batch.files import open_bytes, reason
from moralscope.batch.parquet_rows import open_parquet
from moralscope.batch.reading import RowNeeds, SourceFile, draft
from moralscope.core.errors import InputError
from moralscope.io.formats import FORMATS, Record
from moralscope.io.tables import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

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
    schema: "pa.Schema"

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
            found = _look_parquet(source, wanted)
        elif FORMATS[source.kind].header:
            found = _look_headed(source, start)
        else:
            found = _look_json(source, start, wanted)
    except OSError as error:
        raise InputError(f"{source.name} cannot be read ({reason(error)})", "check it") from error
    remedy = "say with --columns what your columns are called"
    check_columns(found.schema.names, wanted.needed, source.name, remedy)
    return found


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
            what = "one JSON array, not one object a line"
        elif b"\0" in start.split(b"\n", 1)[0] and not is_parquet:
            what = "no text (it has NUL bytes)"
        elif is_parquet:
            what = "JSON lines" if text.startswith(b"{") else "something else"
    if what and not (is_parquet and what == "Parquet"):
        raise InputError(
            f"{source.name} is named {source.kind} and holds {what}",
            "give it the suffix of what it holds, or convert it",
        )


def _look_parquet(source: SourceFile, wanted: RowNeeds) -> FileSchema:
    import pyarrow as pa

    try:
        schema = open_parquet(source.url, source.stamp).schema
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = f"{source.name} is not a whole Parquet file ({reason(error)})"
        raise InputError(problem, "write or fetch it again") from error
    _check_twice(schema.names, source.name)
    fields = []
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if field.name in (*wanted.needed, *wanted.optional):
            if not _is_text(kind):
                problem = f"{source.name} holds {kind} under '{field.name[:60]}', not text"
                raise InputError(problem, "give a column of text")
            kind = pa.string()
        fields.append(pa.field(field.name, kind))
    return FileSchema(source, pa.schema(fields))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return pa.types.is_null(kind) or any(check(kind) for check in checks)


def _look_headed(source: SourceFile, start: bytes) -> FileSchema:
    import pyarrow as pa

    with open_bytes(source.url) as stream:
        stream.seek(skipped := len(_BOM) * start.startswith(_BOM))
        record = next(FORMATS[source.kind].records(stream, source.bytes - skipped), None)
    if record is None or record[4] or isinstance(record[3], str):
        what = record[4] if record else "is empty"
        problem = f"{source.name} has no {source.kind[1:].upper()} header (line 1 {what})"
        raise InputError(problem, "give a header in UTF-8")
    header = tuple(name.strip() for name in record[3])
    _check_twice(header, source.name)
    opened = SourceFile(
        source.name, source.url, source.kind, source.bytes, source.stamp,
        header, skipped + record[0], record[1] + 1,
    )  # fmt: skip
    return FileSchema(opened, pa.schema([pa.field(name, pa.string()) for name in header]))


def _look_json(source: SourceFile, start: bytes, wanted: RowNeeds) -> FileSchema:
    import pyarrow as pa

    skipped = len(_BOM) * start.startswith(_BOM)
    opened = SourceFile(
        source.name, source.url, source.kind, source.bytes, source.stamp, (), skipped
    )
    with open_bytes(source.url) as stream:
        stream.seek(skipped)
        records = _first_lines(stream, opened)
    found = draft(opened, (0, 1), records, RowNeeds(()))
    if not found.rows:
        bad = found.failed[0]
        problem = f"{source.name} line {bad.line} {bad.reason}, nor is any line after it"
        raise InputError(problem, "give one JSON object a line")
    columns = JsonColumns()
    if all(name in found.columns for name in wanted.needed):
        columns.see(draft(opened, (0, 1), records, wanted).columns)
    names = [pa.field(name, pa.string()) for name in found.columns]
    fields = {field.name: field for field in [*names, *columns.fields()]}
    return FileSchema(opened, pa.schema(list(fields.values())))


def _first_lines(stream: IO[bytes], source: SourceFile) -> list[Record]:
    """Return the first lines, further than usual while none of them is an object."""
    records: list[Record] = []
    objects = False
    left = source.bytes - source.start
    for record in islice(FORMATS[source.kind].records(stream, left), _LINES):
        records.append(record)
        objects = objects or bool(draft(source, (0, 1), [record], RowNeeds(())).rows)
        if record[0] >= (_HEAD if objects else _FAR):
            break
    return records


def _check_twice(names: Sequence[str], where: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where} names the column '{twice[:60]}' twice", "name each column once")


def common_schema(schemas: Sequence[FileSchema]) -> "pa.Schema | None":
    """Return the columns that files of fixed columns share; None where all are JSON lines.

    Raises
    ------
    InputError
        Two files have different columns, or different things under one name.
    """
    import pyarrow as pa

    fixed = [found for found in schemas if found.fixed]
    if not fixed:
        return None
    first = fixed[0]
    kinds = {field.name: field.type for field in first.schema}
    for found in schemas:
        _check_names(first, found)
        for field in found.schema if found.fixed else ():
            kinds[field.name] = _shared(kinds[field.name], field, first, found)
    return pa.schema([pa.field(name, settled(kind)) for name, kind in kinds.items()])


def _check_names(first: FileSchema, other: FileSchema) -> None:
    for one, two in ((first, other), (other, first)):
        for name in one.schema.names:
            if name not in two.schema.names:
                problem = f"{two.source.name} has no column '{name[:60]}' and {one.source.name} has"
                raise InputError(problem, _ONE)


def _shared(kind: Any, field: "pa.Field", first: FileSchema, other: FileSchema) -> Any:
    import pyarrow as pa

    if kind == field.type:
        return kind
    try:
        both = [pa.schema([("_", each)]) for each in (kind, field.type)]
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    except pa.ArrowException as error:
        problem = (
            f"the column '{field.name[:60]}' is {kind} in {first.source.name} and {field.type} "
            f"in {other.source.name}"
        )
        raise InputError(problem, "give files with the same types") from error


def whole_schema(fixed: "pa.Schema | None", seen: JsonColumns) -> "pa.Schema":
    """Return the columns of the corpus: the shared ones, widened by what JSON lines held."""
    import pyarrow as pa

    if fixed is None:
        return pa.schema(seen.fields())
    found = {field.name: field for field in seen.fields()}
    fields = []
    for field in fixed:
        other = found.pop(field.name, field)
        if other.type == field.type or pa.types.is_string(field.type):
            fields.append(field)
            continue
        both = [pa.schema([pa.field("_", each.type)]) for each in (field, other)]
        try:
            kind = pa.unify_schemas(both, promote_options="permissive").field(0).type
        except pa.ArrowException as error:
            is_json = "several things" if carried_as_json(other) else str(other.type)
            problem = f"the column '{field.name[:60]}' is {field.type} in some files"
            raise InputError(f"{problem} and {is_json} in JSON lines", _ONE) from error
        fields.append(pa.field(field.name, kind))
    return pa.schema([*fields, *found.values()])
