"""A corpus: files of any number and size, cut into blocks that are read on their own.

Knows where rows stand and which columns they have, not what they mean. Compressed text is unpacked
beside the run, because blocks need places in a file to start from.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from moralscope.batch.columns import JsonColumns
from moralscope.batch.files import (
    FoundFile,
    ReadLost,
    find_files,
    fingerprint,
    open_bytes,
    reason,
    shown,
    with_checksums,
)
from moralscope.batch.folder import size_text
from moralscope.batch.parquet_rows import open_parquet
from moralscope.batch.reading import (
    RESUME,
    RowNeeds,
    TextRows,
    check_unchanged,
    cut_parquet,
    cut_text,
    draft,
    read_parquet,
    read_text,
)
from moralscope.batch.schema_probe import FileSchema, common_schema, probe, whole_schema
from moralscope.batch.types import BlockRows, RowBlock, SourceFile
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.io.parquet import most_unpacked, too_packed

_PIECE = 8 << 20
_LOOKED_AT = 4 << 20  # bytes from which the size of the whole is estimated
_SPARE = 64 << 20
_REMEDY = "free space or unpack the files elsewhere and give those"


@dataclass(frozen=True)
class CorpusFiles:
    """Files, their columns and what rows must hold; small, and the same in every process.

    `schema` is what the files' starts say until `RunPlan.bind` gives what all rows say.
    """

    files: tuple[SourceFile, ...]  # in the order in which rows are numbered
    fingerprint: str
    schema: pa.Schema
    wanted: RowNeeds
    fixed: pa.Schema | None = None
    """The columns that CSV and Parquet files share; None where all files are JSON lines."""
    planned: bool = False
    inputs: tuple[FoundFile, ...] = ()
    """The files as they were found, packed ones packed."""

    @property
    def bytes(self) -> int:
        """Bytes to read, unpacked."""
        return sum(file.bytes for file in self.files)

    @cached_property
    def _by_name(self) -> dict[str, SourceFile]:
        return {file.name: file for file in self.files}

    @cached_property
    def _bytes_before(self) -> dict[str, int]:
        sums = accumulate((file.bytes for file in self.files), initial=0)
        return {file.name: before for file, before in zip(self.files, sums, strict=False)}

    def blocks(self, rows: int, limit: int | None = None) -> Iterator[RowBlock]:
        """Yield blocks of at most `rows` rows, in order, up to `limit` rows in all."""
        for block, _ in self._cut(rows, limit, parse=False):
            yield block

    def scan(
        self, rows: int, limit: int | None = None
    ) -> Iterator[tuple[RowBlock, TextRows | BlockRows]]:
        """Yield blocks with their rows in one pass, text with types not yet settled."""
        for block, read in self._cut(rows, limit, parse=True):
            if read is None:
                raise AssertionError(block)
            yield block, read

    def _cut(
        self, rows: int, limit: int | None, *, parse: bool
    ) -> Iterator[tuple[RowBlock, TextRows | BlockRows | None]]:
        number = first = 0
        for source in self.files:
            left = None if limit is None else limit - first
            if left is not None and left <= 0:
                return
            start = (number, first)
            with _readable_later(source.name):
                if source.kind == ".parquet":
                    for block in cut_parquet(source, start, rows, left):
                        yield block, self.read(block) if parse else None
                        number, first = block.number + 1, block.first + block.rows
                else:
                    for block, records in cut_text(source, start, rows, left):
                        at = (block.first, source.line)
                        yield block, draft(source, at, records, self.wanted) if parse else None
                        number, first = block.number + 1, block.first + block.rows

    def read(self, block: RowBlock) -> BlockRows:
        """Return the rows of a block, from its place in its file alone.

        Raises
        ------
        MoralscopeError
            The file is gone, or is not what it was.
        """
        source = self._by_name[block.file]
        with _readable_later(source.name):
            check_unchanged(source)
            if source.kind == ".parquet":
                return read_parquet(source, block, self.schema, self.wanted)
            rows = draft(source, (block.first, block.line), read_text(source, block), self.wanted)
            if self.planned or not rows.json:
                return rows.settle(self.schema)
            columns = JsonColumns()  # as these rows alone have them
            columns.see(rows.columns)
            fields = {field.name: field for field in (*self.schema, *columns.fields())}
            return rows.settle(fields.values())

    def bytes_before(self, block: RowBlock) -> int:
        """Return how many bytes of the corpus lie before a block's end, about."""
        file = self._by_name[block.file]
        before = self._bytes_before[block.file]
        if file.kind == ".parquet":
            return before + file.bytes * block.stop // open_parquet(file.url, file.stamp).rows
        return before + block.stop


@contextmanager
def _readable_later(name: str) -> Iterator[None]:
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
    hashed: bool = False,
    structured: bool = False,
) -> CorpusFiles:
    r"""Open files, folders, globs and fsspec URLs as one corpus.

    Parameters
    ----------
    needed, optional
        Columns of text that must be there, and that may be missing or null. A row without text in
        a needed one is a failed row.
    scratch
        Where compressed files are unpacked; else a folder that goes with the process.
    hashed
        Whether the files are known by a checksum of their content, not by their time.
    structured
        Whether the columns may hold lists and objects, which are read as JSON text.
    """
    everything = find_files(inputs)
    files = [file for file in everything if file.bytes or file.asked]
    if not files:
        name = shown(everything[0].url)
        raise InputError(f"{name} is empty, as are all files", "give files with rows")
    files = with_checksums(files) if hashed else files
    others = tuple(name for name in optional if name not in needed)
    wanted = RowNeeds(tuple(needed), others, structured=structured)
    unpacked = unpack(files, scratch)
    schemas: dict[str, FileSchema] = {}
    for file in files:
        name = shown(file.url)
        if name in schemas:  # addresses that differ in what may not be shown
            name = f"{name}#{len(schemas)}"
        path = unpacked.get(file.url)
        size = file.bytes if path is None else path.stat().st_size
        source = SourceFile(name, str(path or file.url), file.kind, size, file.stamp)
        schemas[name] = probe(source, wanted)
    fixed = common_schema(list(schemas.values()))
    schema = fixed
    if schema is None:
        every = [field for one in schemas.values() for field in one.schema]
        first = {field.name: field for field in reversed(every)}
        order = dict.fromkeys(field.name for field in every)
        schema = whole_schema(None, JsonColumns(first[name] for name in order))
    sources = tuple(one.source for one in schemas.values())
    return CorpusFiles(sources, fingerprint(files), schema, wanted, fixed, inputs=tuple(files))


def unpack(files: Sequence[FoundFile], scratch: Path | None) -> dict[str, Path]:
    """Unpack what is compressed; return where each such file now lies, by its address.

    A file that was unpacked before and has not changed is taken as it is.
    """
    packed = [file for file in files if file.packing]
    if not packed:
        return {}
    folder = scratch
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="moralscope-corpus-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths: dict[str, Path] = {}
    for file in packed:
        name = os.fsencode(f"{file.url}\0{file.bytes}\0{file.stamp}")
        paths[file.url] = folder / f"{blake2b(name, digest_size=12).hexdigest()}{file.kind}"
    missing = [file for file in packed if not paths[file.url].exists()]
    if missing:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritten(folder, error) from error
        _check_space(missing, folder)
    for file in missing:
        _unpack_one(file, paths[file.url])
    return paths


def _check_space(files: Sequence[FoundFile], folder: Path) -> None:
    """Refuse to unpack what will not fit, guessed from how much larger the start of a file gets."""
    needed = 0
    for file in files:
        with _opened(file) as (raw, stream):
            size = 0
            while size < _LOOKED_AT and (data := stream.read(1 << 18)):
                size += len(data)
            needed += int(file.bytes * size / max(1, min(raw.tell(), file.bytes)))
    free = shutil.disk_usage(folder).free
    if needed + _SPARE > free:
        problem = f"unpacking {len(files)} file{'s' * (len(files) > 1)} needs about"
        raise InputError(
            f"{problem} {size_text(needed)} and {folder} has {size_text(free)}", _REMEDY
        )


@contextmanager
def _opened(file: FoundFile) -> Any:
    try:
        with open_bytes(file.url) as raw:
            yield raw, pa.CompressedInputStream(pa.PythonFile(raw, "r"), file.packing)
    except ReadLost as error:
        raise InputError(f"{shown(file.url)} cannot be read ({error})", "check it") from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = f"{shown(file.url)} is not a complete {file.packing} file ({reason(error)})"
        raise InputError(
            problem, "fetch it again, or unpack what can be saved and give that"
        ) from error


def _unpack_one(file: FoundFile, path: Path) -> None:
    half = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with _opened(file) as (_, stream), half.open("wb") as out:
            while data := stream.read(_PIECE):
                if out.tell() + len(data) > most_unpacked(file.bytes):
                    raise too_packed(shown(file.url), file.bytes)
                if shutil.disk_usage(path.parent).free < len(data) + _SPARE:
                    raise InputError(f"{path.parent} is full while unpacking", _REMEDY)
                out.write(data)
        half.replace(path)
    except OSError as error:
        raise _unwritten(path.parent, error) from error
    finally:
        half.unlink(missing_ok=True)


def _unwritten(folder: Path, error: OSError) -> MoralscopeError:
    return MoralscopeError(f"{folder} could not be written ({reason(error)})", _REMEDY)
