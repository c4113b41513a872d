"""A corpus: files of any number and size, cut into blocks that are read on their own.

Knows where rows stand and which columns they have, not what they mean.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from moralscope.batch.columns import JsonColumns
from moralscope.batch.finding import FoundFile, find_files, fingerprint, reason, shown
from moralscope.batch.parquet_rows import open_parquet
from moralscope.batch.reading import (
    RESUME,
    Draft,
    Sample,
    SourceFile,
    Wanted,
    check_unchanged,
    cut_parquet,
    cut_text,
    draft,
    json_fields,
    read_parquet,
    read_text,
)
from moralscope.batch.schema_probe import Head, agreed, look, whole_schema
from moralscope.batch.types import Block, BlockRows
from moralscope.batch.unpacking import unpack
from moralscope.core.errors import InputError, MoralscopeError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Corpus:
    """Files, their columns and what rows must hold; small, and the same in every process.

    `schema` is what the files' starts say until `Plan.bind` gives what all rows say.

    Attributes
    ----------
    files
        In the order in which rows are numbered.
    fixed
        The columns that CSV and Parquet files share; None where all files are JSON lines.
    """

    files: tuple[SourceFile, ...]
    fingerprint: str
    schema: "pa.Schema"
    wanted: Wanted
    fixed: "pa.Schema | None" = None
    planned: bool = False

    @property
    def bytes(self) -> int:
        """Bytes to read, unpacked."""
        return sum(file.bytes for file in self.files)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that must hold text."""
        return self.wanted.needed

    @property
    def optional(self) -> tuple[str, ...]:
        """The columns that may hold text, of those that are there."""
        return tuple(name for name in self.wanted.optional if name in self.schema.names)

    @cached_property
    def _by_name(self) -> dict[str, SourceFile]:
        return {file.name: file for file in self.files}

    @cached_property
    def _before(self) -> dict[str, int]:
        sums = accumulate((file.bytes for file in self.files), initial=0)
        return {file.name: before for file, before in zip(self.files, sums, strict=False)}

    def blocks(self, rows: int, limit: int | None = None) -> Iterator[Block]:
        """Yield blocks of at most `rows` rows, in order, up to `limit` rows in all."""
        for block, _ in self._cut(rows, limit, parse=False):
            yield block

    def scan(
        self, rows: int, limit: int | None = None
    ) -> Iterator[tuple[Block, Draft | BlockRows]]:
        """Yield blocks with their rows in one pass, text with types not yet settled."""
        for block, found in self._cut(rows, limit, parse=True):
            if found is None:
                raise AssertionError(block)
            yield block, found

    def _cut(
        self, rows: int, limit: int | None, *, parse: bool
    ) -> Iterator[tuple[Block, Draft | BlockRows | None]]:
        number = first = 0
        for source in self.files:
            left = None if limit is None else limit - first
            if left is not None and left <= 0:
                return
            start = (number, first)
            with _lasting(source.name):
                if source.kind == ".parquet":
                    for block in cut_parquet(source, start, rows, left):
                        yield block, self.read(block) if parse else None
                        number, first = block.number + 1, block.first + block.rows
                else:
                    for block, records in cut_text(source, start, rows, left):
                        at = (block.first, source.line)
                        yield block, draft(source, at, records, self.wanted) if parse else None
                        number, first = block.number + 1, block.first + block.rows

    def read(self, block: Block) -> BlockRows:
        """Return the rows of a block, from its place in its file alone.

        Raises
        ------
        MoralscopeError
            The file is gone, or is not what it was.
        """
        source = self._by_name[block.file]
        with _lasting(source.name):
            check_unchanged(source)
            if source.kind == ".parquet":
                return read_parquet(source, block, self.schema, self.wanted)
            found = draft(source, (block.first, block.line), read_text(source, block), self.wanted)
            if self.planned or not found.json:
                return found.settle(self.schema)
            own = {field.name: field for field in json_fields(found)}
            return found.settle(({field.name: field for field in self.schema} | own).values())

    def bytes_before(self, block: Block) -> int:
        """Return how many bytes of the corpus lie before a block's end, about."""
        file = self._by_name[block.file]
        before = self._before[block.file]
        if file.kind == ".parquet":
            return before + file.bytes * block.stop // open_parquet(file.url, file.stamp).rows
        return before + block.stop

    def planned_with(self, schema: "pa.Schema", sample: Sample | None) -> "Corpus":
        """Return the corpus with the columns that all its rows have, and the rows of a sample."""
        wanted = replace(self.wanted, sample=sample)
        return replace(self, schema=schema, wanted=wanted, planned=True)


@contextmanager
def _lasting(name: str) -> Iterator[None]:
    """Say of a file that cannot be read in the middle of a run how to go on."""
    try:
        yield
    except OSError as error:
        raise MoralscopeError(f"{name} cannot be read ({reason(error)})", RESUME) from error


def open_corpus(
    inputs: Sequence[str],
    needed: Sequence[str],
    *,
    optional: Sequence[str] = (),
    scratch: Path | None = None,
) -> Corpus:
    r"""Open files, folders, globs and fsspec URLs as one corpus.

    Parameters
    ----------
    inputs
        CSV, JSONL or Parquet; of folders, every such file below that is not hidden.
    needed
        Columns that must be there; a row without text in one of them is a failed row.
    optional
        Columns of text that may be missing or null.
    scratch
        Where compressed files are unpacked; else a folder that goes with the process.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.jsonl").write_text('{"text": "kill time", "n": 1}\n{"text": 2}')
    ...     corpus = open_corpus([folder], ["text"])
    ...     found = corpus.read(next(corpus.blocks(100)))
    >>> found.table.to_pylist(), found.failed[0].reason
    ([{'text': 'kill time', 'n': 1}], "has no text under 'text'")
    """
    found = find_files(inputs)
    files = [file for file in found if file.bytes or file.asked]
    if not files:
        raise InputError(
            f"{shown(found[0].url)} is empty, as are all files", "give files with rows"
        )
    wanted = Wanted(tuple(needed), tuple(name for name in optional if name not in needed))
    places = unpack(files, scratch or _passing()) if any(file.packing for file in files) else {}
    heads = [look(source, wanted) for source in _sources(files, places)]
    fixed = agreed(heads)
    schema = _first_schema(heads, fixed)
    sources = tuple(head.source for head in heads)
    return Corpus(sources, fingerprint(files), schema, wanted, fixed)


def _sources(files: Sequence[FoundFile], places: dict[str, Path]) -> Iterator[SourceFile]:
    names: set[str] = set()
    for file in files:
        name = shown(file.url)
        if name in names:  # addresses that differ in what may not be shown
            name = f"{name}#{len(names)}"
        names.add(name)
        place = places.get(file.url)
        size = file.bytes if place is None else place.stat().st_size
        yield SourceFile(name, str(place or file.url), file.kind, size, file.stamp)


def _first_schema(heads: Sequence[Head], fixed: "pa.Schema | None") -> "pa.Schema":
    import pyarrow as pa

    if fixed is not None:
        return fixed
    fields: dict[str, pa.Field] = {}
    for head in heads:
        for field in head.schema:
            fields.setdefault(field.name, field)
    return whole_schema(None, JsonColumns(fields.values()))


def _passing() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="moralscope-corpus-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
