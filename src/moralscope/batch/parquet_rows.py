"""Rows of a Parquet file from any place in it, within bounds, around damaged row groups.

A row group can only be decoded from its start, so the decoder is left where the last block ended
and the last batches stay at hand: blocks asked for in about their order cost one pass.
"""

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any

import pyarrow as pa

from moralscope.batch.files import ReadLost, current_bytes, is_url, open_bytes, reason, shown
from moralscope.io.parquet import (
    DamagedPages,
    ParquetPages,
    most_unpacked,
    too_packed,
    unpacked_bytes,
)

# Rows; never the block's size, so that what a damaged batch takes is always the same.
_BATCH = 2_048
_AT_HAND = 12
_BUFFER = 1 << 20

Damage = tuple[int, int, str]  # rows from, to, and why


class ParquetRows:
    """An open Parquet file."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._file = ParquetPages(
            open_bytes(url),
            shown(url),
            None if is_url(url) else url,
            buffer_size=_BUFFER,
            page_checksum_verification=True,
        )
        self._starts: list[int] = list(accumulate(self._file.rows, initial=0))
        self._bytes = current_bytes(url)
        self._group = -1
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._next = 0
        self._broken: str | None = None
        self._at_hand: deque[tuple[int, pa.RecordBatch]] = deque(maxlen=_AT_HAND)

    @property
    def groups(self) -> int:
        """How many row groups there are."""
        return len(self._file.rows)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._starts[-1]

    @property
    def schema(self) -> pa.Schema:
        """The columns, without what other programs noted about them; views as plain text."""
        schema = self._file.schema.remove_metadata()
        for index, field in enumerate(schema):
            if pa.types.is_string_view(field.type):  # of which Arrow cannot take some rows
                schema = schema.set(index, field.with_type(pa.string()))
        return schema

    def read(self, start: int, stop: int) -> tuple[pa.Table, list[Damage]]:
        """Return the rows that can be read, and which cannot."""
        batches: list[pa.RecordBatch] = []
        damaged: list[Damage] = []
        for group in range(self.groups):
            at, high = max(start, self._starts[group]), min(stop, self._starts[group + 1])
            if at >= high:
                continue
            if self._group != group or at < (self._at_hand[0][0] if self._at_hand else self._next):
                self._restart(group)
            for first, batch in self._at_hand:
                at = self._take(first, batch, at, high, batches)
            while at < high and not self._broken:
                self._advance()
                if not self._broken:
                    at = self._take(*self._at_hand[-1], at, high, batches)
            if at < high:
                damaged.append((at, high, self._broken or "cannot be read"))
        table = pa.Table.from_batches(batches, self._file.file.schema_arrow)
        if unpacked_bytes(table) > most_unpacked(self._file.size):
            raise too_packed(shown(self._url), self._file.size)
        return table.replace_schema_metadata(None), damaged

    @staticmethod
    def _take(first: int, batch: Any, at: int, high: int, batches: list[Any]) -> int:
        """Take the part of a batch from `at`, return where to go on."""
        end = min(high, first + int(batch.num_rows))
        if not first <= at < end:
            return at
        batches.append(batch.slice(at - first, end - at))
        return end

    def _restart(self, group: int) -> None:
        self._at_hand.clear()
        self._group, self._next, self._broken = group, self._starts[group], None
        try:
            self._batches = self._file.batches(group, _BATCH)
        except DamagedPages as error:
            self._broken = f"the row group is damaged ({error})"

    def _advance(self) -> None:
        """Decode one batch more; a group that cannot be decoded on is broken from there."""
        try:
            batch = next(self._batches)
        except StopIteration:
            self._broken = "the row group ends early"
        except (pa.ArrowException, OSError, ValueError) as error:
            if self._is_lost(error):
                open_parquet.cache_clear()  # where the decoder stands is not known any more
                raise
            self._broken = f"the row group is damaged ({reason(error)})"
        else:
            self._at_hand.append((self._next, batch))
            self._next += batch.num_rows

    def _is_lost(self, error: Exception) -> bool:
        """Say whether what carries the file failed, not its content."""
        if isinstance(error, ReadLost) or (isinstance(error, OSError) and error.errno is not None):
            return True
        if current_bytes(self._url) != self._bytes:
            raise ReadLost("it is being rewritten") from error
        return False


@lru_cache(maxsize=2)
def open_parquet(url: str, stamp: str) -> ParquetRows:
    """Return the open file, the same one while blocks of it are asked for."""
    return ParquetRows(url)
