"""What a worker does with a block: its own rows through the work, in fixed pieces, guarded.

The pieces do not depend on the number of workers, on kills or on the engine: the same bytes come
out. A piece that raises is cut in halves down to the row that fails; that row becomes a dead
letter and the rest goes on. Knows nothing of processes, of parts or of what the work means.
"""

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from moralscope.batch.dedupe import block_digest, row_keys, text_columns
from moralscope.batch.reading import changed
from moralscope.batch.sources import CorpusFiles
from moralscope.batch.types import POSITION, BlockRows, FailedRow, RowBlock, Task
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.io.formats import MAX_SHOWN

Piece = tuple[int, int]  # from, to: indices among a block's own rows
_REASON = 300  # characters
_STRIKES = 3  # pieces out of memory until all later ones are smaller
_MEMORY_WORDS = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc")


class BatchWork(Protocol):
    """The one callable class of a batch job: `__init__` loads once, each call takes a batch.

    A call gets columns and returns columns of the same length. It may raise `RowErrors` for rows
    that cannot be done, best before the costly part: the others are given again without them.
    An `InputError` or any other exception is put down to a row, found by halving. A
    `MoralscopeError` that is no `InputError` (an endpoint that is gone) ends the run.
    """

    def __call__(self, batch: Mapping[str, list[Any]]) -> Mapping[str, list[Any]]: ...


class RowErrors(Exception):
    """Some rows of a batch cannot be done: position in the batch → reason."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(dict(reasons))
        self.reasons = dict(reasons)


@dataclass(frozen=True, slots=True)
class WorkSpec:
    """Which work to do; pickles small, so that every worker makes its own."""

    factory: str  # "package.module:Class"
    options: Mapping[str, Any]  # keywords of its `__init__`
    reads: tuple[str, ...]  # input columns it gets; those that are not there are left out
    writes: pa.Schema


@dataclass(frozen=True, slots=True)
class BlockResult:
    """A block's own results: Arrow IPC of the rows that worked, with `_position`."""

    number: int
    results: bytes
    failed: list[FailedRow]
    seconds: float

    def table(self) -> pa.Table:
        """Return the results as a table."""
        with pa.ipc.open_stream(self.results) as stream:
            return stream.read_all()


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """How to go about a block that has killed a worker before."""

    pieces: tuple[Piece, ...] = ()  # instead of the fixed ones
    skip: Mapping[int, str] = field(default_factory=dict)  # place among own rows → reason


def load_named(factory: str) -> Any:
    """Return what "package.module:Name" names.

    Examples
    --------
    >>> load_named("collections:OrderedDict")
    <class 'collections.OrderedDict'>
    """
    module, _, name = factory.partition(":")
    return getattr(importlib.import_module(module), name)


def fixed_pieces(rows: int, rows_per_call: int) -> tuple[Piece, ...]:
    """Cut `rows` rows in pieces of `rows_per_call`.

    Examples
    --------
    >>> fixed_pieces(5, 2)
    ((0, 2), (2, 4), (4, 5))
    """
    return tuple(
        (start, min(start + rows_per_call, rows)) for start in range(0, rows, rows_per_call)
    )


class BlockWorker:
    """Holds one work, made once, and does blocks with it; both engines use it.

    `mark` is told the piece that is about to be computed: whoever watches knows where a death
    happened.
    """

    def __init__(
        self, corpus: CorpusFiles, spec: WorkSpec, mark: Callable[[Piece], None] | None = None
    ) -> None:
        self._corpus = corpus
        self._spec = spec
        self._mark = mark
        self._work: BatchWork = load_named(spec.factory)(**spec.options)
        self._ceiling = sys.maxsize
        self._strikes = 0

    def __call__(
        self, task: Task, rows_per_call: int, retry: RetryPlan | None = None
    ) -> BlockResult:
        """Compute the own rows of a block; rows that fail are named, the others come out."""
        began = time.monotonic()
        retry = retry or RetryPlan()
        positions = task.positions
        results = _Results(self._spec.writes)
        if not len(positions):
            return BlockResult(task.block.number, results.packed(), [], time.monotonic() - began)
        rows = self._corpus.read(task.block)
        keys = row_keys(text_columns(rows.table, self._spec.reads))
        if task.texts and task.texts != block_digest(keys, rows.digest):
            raise changed(task.block.file)
        batch = _OwnRows(rows, positions, self._spec.reads)
        reasons = dict(retry.skip)
        for start, stop in retry.pieces or fixed_pieces(len(positions), rows_per_call):
            low = start
            while low < stop:
                high = min(stop, low + self._ceiling)
                indices = [index for index in range(low, high) if index not in retry.skip]
                self._compute(indices, batch, results, reasons)
                low = high
        failed = [
            batch.failed(task.block, index, reason) for index, reason in sorted(reasons.items())
        ]
        return BlockResult(task.block.number, results.packed(), failed, time.monotonic() - began)

    def _compute(
        self, indices: list[int], batch: "_OwnRows", results: "_Results", reasons: dict[int, str]
    ) -> None:
        """Do a piece; a stack instead of recursion, halves in order."""
        waiting = [indices]
        while waiting:
            now = waiting.pop()
            if not now:
                continue
            if self._mark is not None:
                self._mark((now[0], now[-1] + 1))
            try:
                columns = self._work(batch.columns(now))
            except RowErrors as error:
                bad = {now[at]: reason for at, reason in error.reasons.items() if at < len(now)}
                if not bad:
                    raise RuntimeError("the work named no row of its batch as bad") from error
                reasons.update({index: reason[:_REASON] for index, reason in bad.items()})
                waiting.append([index for index in now if index not in bad])
            except Exception as error:
                if isinstance(error, MoralscopeError) and not isinstance(error, InputError):
                    raise
                if _is_memory(error):
                    self._out_of_memory(len(now))
                if len(now) == 1:
                    reasons[now[0]] = _reason(error)
                else:
                    half = (len(now) + 1) // 2
                    waiting += [now[half:], now[:half]]
            else:
                results.add(batch.positions(now), columns)

    def _out_of_memory(self, rows: int) -> None:
        """Free what can be freed; when it happens again and again, make all calls smaller."""
        gc.collect()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()
        self._strikes += 1
        if self._strikes >= _STRIKES:
            self._strikes = 0
            self._ceiling = max(1, min(self._ceiling, rows) // 2)


class _OwnRows:
    """The rows of a block that are computed here, as the columns that the work reads."""

    def __init__(self, rows: BlockRows, positions: np.ndarray, reads: Sequence[str]) -> None:
        self._rows = rows
        self._positions = positions
        self._names = [name for name in reads if name in rows.table.column_names]
        self._table = rows.table.select(self._names)

    def positions(self, indices: Sequence[int]) -> np.ndarray:
        return self._positions[np.asarray(indices, dtype=np.int64)]

    def columns(self, indices: Sequence[int]) -> dict[str, list[Any]]:
        """Return the columns of some rows; what a work does to its lists stays with it."""
        taken = self._table.take(pa.array(self.positions(indices)))
        return {name: taken.column(name).to_pylist() for name in self._names}

    def failed(self, block: RowBlock, index: int, reason: str) -> FailedRow:
        position = int(self._positions[index])
        row, line = int(self._rows.rows[position]), int(self._rows.lines[position])
        cells = self._table.slice(position, 1).to_pylist()[0]
        text = json.dumps(cells, ensure_ascii=False, default=str)[:MAX_SHOWN]
        return FailedRow(row, block.file, line, reason, text)


class _Results:
    """Results of a block as they come, checked against what the work says it writes."""

    def __init__(self, writes: pa.Schema) -> None:
        self._schema = writes.append(pa.field(POSITION, pa.int32()))
        self._batches: list[pa.RecordBatch] = []

    def add(self, positions: np.ndarray, columns: Mapping[str, list[Any]]) -> None:
        arrays = []
        for part in self._schema:
            if part.name == POSITION:
                arrays.append(pa.array(positions, pa.int32()))
                continue
            values = columns.get(part.name)
            if values is None or len(values) != len(positions):
                there = "no column" if values is None else f"{len(values)} rows of"
                problem = f"the work returned {there} '{part.name}' for {len(positions)} rows"
                raise RuntimeError(problem)
            arrays.append(pa.array(values, part.type))
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def packed(self) -> bytes:
        """Return one batch: how the rows were cut must not show."""
        table = pa.Table.from_batches(self._batches, self._schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as stream:
            stream.write_table(table.combine_chunks())
        return bytes(sink.getvalue())


def _is_memory(error: BaseException) -> bool:
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(words in said for words in _MEMORY_WORDS)


def _reason(error: Exception) -> str:
    if _is_memory(error):
        return "out of memory on this row alone"
    first = (str(error).splitlines() or [""])[0]
    if isinstance(error, InputError):
        return first[:_REASON]
    return f"{type(error).__name__}: {first}"[:_REASON]
