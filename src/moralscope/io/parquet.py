"""Parquet files of strangers: what their pages unpack to is known before anything is unpacked.

A few hundred bytes can stand for gigabytes: a page says how large it becomes, a run length repeats
one value of a dictionary ten million times, and the footer may lie about all of it. So the headers
of the pages are walked as the decoder will read them, dictionaries stay dictionaries, and rows are
made a few at a time. What unpacks to far more than its size is refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from moralscope.core.errors import InputError
from moralscope.io.formats import MAX_LINE

if TYPE_CHECKING:
    import pyarrow as pa

_FREE = 32 << 20  # bytes that anything may unpack to
_TIMES = 100  # and how many times its size beside them; what people write stays far below
_FREE_ROWS = 1_000_000
_AT_ONCE = 16 << 20  # bytes of a batch
_SMALL = 1 << 20  # bytes of rows that are made at once
_MAX_COLUMNS = 10_000
_HEADER = 1 << 20  # bytes of a page's header
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # kinds of pages
_SHARED_PREFIXES = 7  # the encoding DELTA_BYTE_ARRAY: a value may be as long as its page


class DamagedPages(Exception):
    """The pages of a row group are not what its footer says."""


def most_unpacked(size: int) -> int:
    """Return how many bytes a file of this size may unpack to.

    Examples
    --------
    >>> most_unpacked(0) == 32 << 20, most_unpacked(1_000_000) - most_unpacked(0)
    (True, 100000000)
    """
    return _FREE + _TIMES * size


def too_packed(name: str, size: int) -> InputError:
    """Return the error of a file that unpacks to more than it may."""
    problem = f"{name} has {size:,} bytes and unpacks to more than {most_unpacked(size):,}"
    return InputError(problem, "give it as CSV or JSONL that is not packed")


class ParquetPages:
    """An open Parquet file whose row groups are checked before they are decoded.

    Parameters
    ----------
    stream
        Where it is read from; any place of it can be asked for.
    name
        What messages call it.
    source
        What pyarrow reads, where it can open the file itself.
    """

    def __init__(
        self, stream: IO[bytes], name: str, source: str | None = None, **options: Any
    ) -> None:
        import pyarrow.parquet as pq

        self.name = name
        self._stream = stream
        self.size = stream.seek(0, 2)
        stream.seek(0)
        # The footer alone first: which columns can be kept as dictionaries stands in it.
        self.metadata = pq.read_metadata(source or stream)
        self.schema: pa.Schema = self.metadata.schema.to_arrow_schema()
        leaves = self.metadata.num_columns
        if leaves > _MAX_COLUMNS or len(self.schema.names) > _MAX_COLUMNS:
            raise InputError(f"{name} has more than {_MAX_COLUMNS:,} columns", "leave some out")
        self._leaves = [self.metadata.schema.column(index) for index in range(leaves)]
        groups = [self.metadata.row_group(n) for n in range(self.metadata.num_row_groups)]
        # Arrow makes no dictionaries of texts that were written as differences.
        kept = [
            leaf.physical_type == "BYTE_ARRAY"
            and leaf.logical_type.type != "DECIMAL"
            and not any("DELTA" in str(group.column(at).encodings) for group in groups)
            for at, leaf in enumerate(self._leaves)
        ]
        self._dictionaries = {
            leaf.path for leaf, keep in zip(self._leaves, kept, strict=True) if keep
        }
        self.file: pq.ParquetFile = pq.ParquetFile(
            source or stream,
            metadata=self.metadata,
            read_dictionary=sorted(self._dictionaries),
            pre_buffer=False,  # a whole row group in memory otherwise
            **options,
        )
        self.rows = [int(group.num_rows) for group in groups]
        if min(self.rows, default=0) < 0 or sum(self.rows) != self.metadata.num_rows:
            raise InputError(f"{name} is not Parquet (its rows do not add up)", "write it again")
        if sum(self.rows) > _FREE_ROWS + self.size:
            problem = f"{name} has {self.size:,} bytes and {sum(self.rows):,} rows"
            raise InputError(problem, "give it as CSV or JSONL, or in parts")

    def batches(self, group: int, most: int, columns: Sequence[str] | None = None) -> "Batches":
        """Check a row group, then yield its rows, at most `most` at a time.

        Raises
        ------
        DamagedPages
            Its pages are not what the footer says.
        InputError
            They unpack to more than they may.
        """
        rows, wide, unpacked = self.rows[group], 1.0, 0
        chunks = self.metadata.row_group(group)
        for index, leaf in enumerate(self._leaves):
            names = columns if columns is not None else (leaf.path,)
            if not any(f"{leaf.path}.".startswith(f"{name}.") for name in names):
                continue
            is_flat = leaf.max_repetition_level == 0
            is_loose = leaf.physical_type == "BYTE_ARRAY" and leaf.path not in self._dictionaries
            widest, values = float(max(leaf.length, 8)), 0
            for page in _pages(self._stream, chunks.column(index), self.size):
                unpacked += page.unpacked
                is_data = page.kind != _DICTIONARY
                values += page.values * is_data
                # Of a dictionary that is not kept, and of shared prefixes, a value may be all.
                if page.encoding == _SHARED_PREFIXES if is_data else is_loose:
                    widest = max(widest, page.unpacked)
                elif is_data:
                    widest = max(widest, page.unpacked / page.values)
            if (values != rows) if is_flat else (values < rows):
                raise DamagedPages(f"a column has {values:,} values for {rows:,} rows")
            unpacked += 0 if is_flat else int(values * widest)  # one row may hold all of them
            wide += widest
            if unpacked > most_unpacked(self.size):
                raise too_packed(self.name, self.size)
        step = max(1, min(most, int(_AT_ONCE / wide)))
        chosen = None if columns is None else list(columns)
        batches: Batches = self.file.iter_batches(
            step, row_groups=[group], columns=chosen, use_threads=False
        )
        return batches


Batches = Iterator["pa.RecordBatch"]


def plain_rows(batch: "pa.RecordBatch") -> Iterator[dict[str, Any] | str]:
    """Yield the rows of a batch as plain values, or what is wrong with one, few at a time."""
    size = unpacked_bytes(batch)
    if size <= _SMALL or batch.num_rows == 1:
        if size > MAX_LINE:
            yield f"has more than {MAX_LINE:,} bytes"
            return
        try:
            yield from batch.to_pylist()
            return
        except (ValueError, OverflowError):  # no UTF-8, or a date that Python has not
            if batch.num_rows == 1:
                yield "holds a value that cannot be read"
                return
    half = batch.num_rows // 2
    yield from plain_rows(batch.slice(0, half))
    yield from plain_rows(batch.slice(half))


def unpacked_bytes(data: "pa.RecordBatch | pa.Table") -> int:
    """Return about how many bytes rows take when every value stands for itself."""
    import pyarrow as pa

    batches = data.to_batches() if isinstance(data, pa.Table) else [data]
    return sum(_bytes(array, pa) for batch in batches for array in batch.columns)


def _bytes(array: Any, pa: Any) -> int:
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        if not (pa.types.is_primitive(kind.value_type) or pa.types.is_null(kind.value_type)):
            lengths = pc.binary_length(array.dictionary).cast(pa.int64())
            return int(pc.sum(lengths.take(array.indices)).as_py() or 0) + 8 * len(array)
        return 8 * len(array)
    if pa.types.is_map(kind):  # of a slice, keys and items are those of the whole
        start, stop = array.offsets[0].as_py(), array.offsets[-1].as_py()
        parts = [part.slice(start, stop - start) for part in (array.keys, array.items)]
    elif pa.types.is_struct(kind):
        parts = array.flatten()
    elif pa.types.is_nested(kind):
        parts = [array.flatten()]
    else:
        return int(array.nbytes)
    return sum(_bytes(part, pa) for part in parts) + 8 * len(array)


@dataclass(frozen=True, slots=True)
class _Page:
    kind: int
    unpacked: int
    values: int
    encoding: int


def _pages(stream: IO[bytes], chunk: Any, size: int) -> Iterator[_Page]:
    """Yield the pages of a column, read from their headers alone.

    Where it starts and ends is where pyarrow starts and ends; see parquet/file_reader.cc.
    """
    at = int(chunk.data_page_offset)
    if chunk.dictionary_page_offset and 0 < chunk.dictionary_page_offset < at:
        at = int(chunk.dictionary_page_offset)
    end, left = min(at + int(chunk.total_compressed_size), size), int(chunk.num_values)
    while 0 < at < end and left > 0:
        stream.seek(at)
        data = stream.read(min(512, end - at))
        try:
            fields, length = _struct(data, 0)
        except IndexError:
            try:
                fields, length = _struct(data + stream.read(min(_HEADER, end - at)), 0)
            except IndexError:
                raise DamagedPages("a page has no end") from None
        kind = fields.get(1, -1)
        inner = fields.get({_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}.get(kind, 0))
        if not isinstance(inner, dict):
            raise DamagedPages("a page's header is damaged")
        encoding = inner.get(4 if kind == _DATA_V2 else 2)
        numbers: tuple[Any, ...] = (fields.get(2), fields.get(3), inner.get(1), encoding)
        if not all(isinstance(number, int) and 0 <= number < 1 << 31 for number in numbers):
            raise DamagedPages("a page's header is damaged")
        unpacked, packed, values, encoding = numbers
        if kind != _DICTIONARY:
            if not values:
                raise DamagedPages("a page is empty")
            left -= values
        yield _Page(kind, unpacked, values, encoding)
        at += length + packed


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
        if shift > 63:
            raise DamagedPages("a page's header is damaged")


def _struct(data: bytes, at: int, depth: int = 0) -> tuple[dict[Any, Any], int]:
    """Read a struct of Thrift's compact protocol: its fields by number, and where it ends."""
    fields: dict[Any, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            raw, at = _varint(data, at)
            number = (raw >> 1) ^ -(raw & 1)
        if number in fields:
            raise DamagedPages("a page's header says a thing twice")
        fields[number], at = _value(data, at, head & 15, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int, *, listed: bool = False) -> tuple[Any, int]:
    if depth > 8:
        raise DamagedPages("a page's header is nested too deep")
    if kind in (1, 2) and not listed:  # a truth value stands in the field's own byte
        return kind == 1, at
    if kind in (1, 2, 3):
        return data[at], at + 1
    if kind in (4, 5, 6):
        raw, at = _varint(data, at)
        return (raw >> 1) ^ -(raw & 1), at
    if kind == 7:
        return None, at + 8
    if kind == 8:  # statistics: of no use here
        length, at = _varint(data, at)
        return None, at + length
    if kind in (9, 10):
        head, at = data[at], at + 1
        count = head >> 4
        if count == 15:
            count, at = _varint(data, at)
        for _ in range(count):
            _, at = _value(data, at, head & 15, depth + 1, listed=True)
        return None, at
    if kind == 12:
        return _struct(data, at, depth + 1)
    raise DamagedPages("a page's header is damaged")
