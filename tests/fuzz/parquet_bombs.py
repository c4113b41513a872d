"""Parquet files of a few kilobytes that stand for gigabytes, or lie about what they hold."""

import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

_LONG = "x" * 1_000_000
_ROWS = 150_000


def bombs() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each; all have the column `action`."""
    repeated = pa.DictionaryArray.from_arrays(_zeros(_ROWS), pa.array([_LONG]))
    yield "one long value in every row", _written(repeated)
    yield "a million values in one row", _written(_listed(_zeros(1_000_000), [_LONG]))
    yield "ten million short values in one row", _written(_listed(_zeros(10_000_000), ["x"]))
    yield "twenty million rows of nothing", _written(pa.nulls(20_000_000, pa.int8()))
    yield "a page that unpacks to sixty megabytes", _written(pa.array([60 * _LONG]), plain=True)
    pages = pa.array([_LONG] * 200)
    yield "two hundred pages of a megabyte", _written(pages, plain=True, data_page_size=1)
    fixed = pa.array([bytes(1_000_000)] * 100, pa.binary(1_000_000))
    yield "one long value of a fixed length", _written(fixed)
    structs = pa.StructArray.from_arrays([repeated], ["text"])
    yield "one long value inside a struct", _written(structs)
    honest = _written(pa.array(["kill time", "help people"] * 1000))
    rows = _varint(2 * 2000)
    for name, count in (("more", 2 * 16_000), ("fewer", 2 * 200)):
        at = honest.rindex(b"action")
        head, tail = honest[:at], honest[at:]
        yield f"a footer with {name} rows than there are", head + tail.replace(rows, _varint(count))
    yield "pages with more values than rows", honest.replace(rows, _varint(2 * 16_000), 1)
    yield "a page cut short", honest[:20] + honest[40:]
    for at in range(4, 12):
        yield f"a page whose byte {at} lies", honest[:at] + b"\xff" + honest[at + 1 :]


def _zeros(count: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(bytes(4 * count))])


def _listed(indices: pa.Array, values: list[str]) -> pa.Array:
    inner = pa.DictionaryArray.from_arrays(indices, pa.array(values))
    return pa.ListArray.from_arrays(pa.array([0, len(indices)], pa.int32()), inner)


def _written(column: pa.Array, *, plain: bool = False, **options: int) -> bytes:
    stream = io.BytesIO()
    table = pa.table({"action": column})
    pq.write_table(
        table,
        stream,
        compression="zstd",
        use_dictionary=not plain,
        store_schema=False,
        write_statistics=False,
        write_batch_size=1,
        row_group_size=1 << 30,
        **options,
    )
    return stream.getvalue()


def _varint(number: int) -> bytes:
    data = b""
    while number > 0x7F:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])
