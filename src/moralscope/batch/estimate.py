"""The dry run of a corpus job: rows, time, bytes and cost from a few rows, and nothing written.

Blocks are counted; rows are drawn from some of them and computed in one worker, on one thread,
after it has warmed up. What repeats can only be guessed from a part of the corpus: the estimate of
Charikar et al. (2000) is used, which cannot be far off in either direction.
"""

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from moralscope.batch.block_worker import BlockWorker, WorkSpec
from moralscope.batch.child import in_child
from moralscope.batch.dedupe import row_keys, text_columns
from moralscope.batch.folder import part_schema
from moralscope.batch.job import OpenJob
from moralscope.batch.options import BatchOptions
from moralscope.batch.sources import CorpusFiles
from moralscope.batch.types import BlockRows, RowBlock, Task
from moralscope.batch.workers.local import useful_cores
from moralscope.core.errors import InputError
from moralscope.core.records import RunRecord, Statistics
from moralscope.models.store import Progress as Fetching

DRAWN = 200  # rows that are timed
_BLOCKS = 48  # blocks that are read to draw from
_WARM = 16  # rows that a worker computes before it is timed


@dataclass(frozen=True, slots=True)
class Timed:
    """What a worker took: to start, and for a row; and what the rows weigh as a part."""

    start_seconds: float
    row_seconds: float
    row_bytes: float
    failed: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would take."""

    rows: int
    distinct: int
    distinct_share: float
    exact: bool  # `distinct` is, where the whole corpus was looked at
    drawn: int  # rows that were timed
    failed_share: float
    workers: int
    start_seconds: float
    seconds_a_row: float
    rows_a_second: float
    seconds: float  # one start of the workers and every distinct row
    bytes: int
    cost: float | None  # the hours times the price of one


@dataclass(frozen=True, slots=True)
class EstimateStatistics(Statistics):
    """The statistics of a dry run."""

    estimate: Estimate


def estimate_job(opened: OpenJob, report: Callable[[int], None] | None = None) -> RunRecord:
    """Return a record with what a job would take; `report` is told the rows that were counted."""
    options, spec = opened.options, opened.spec
    rows, blocks = _count(opened.corpus, options, report)
    read = [opened.corpus.read(block) for block in blocks]
    everything = pa.concat_tables([block.table for block in read], promote_options="default")
    if not everything.num_rows:
        raise InputError("none of the sampled rows can be read", "look at a few of them")
    drawn = random.Random(options.seed).sample(  # noqa: S311
        range(everything.num_rows), min(DRAWN, everything.num_rows)
    )
    table = everything.take(pa.array(sorted(drawn)))
    looked = sum(block.rows for block in blocks)
    keys = Counter(key for one in read for key in row_keys(text_columns(one.table, spec.reads)))
    distinct = distinct_rows(keys, rows)
    share = options.sample if options.sample is not None else 1.0
    timed: Timed = in_child(time_rows, spec, table, options.call_rows)
    workers = options.workers or useful_cores()
    seconds = timed.start_seconds + share * distinct * timed.row_seconds / workers
    readable = 1 - (sum(len(block.failed) for block in read) / looked if looked else 0.0)
    price = options.price_per_hour
    estimate = Estimate(
        rows=round(share * rows),
        distinct=round(share * distinct),
        distinct_share=distinct / rows,
        exact=looked == rows,
        drawn=table.num_rows,
        # Some cannot be read, some can be and then fail in the work.
        failed_share=1 - readable * (1 - timed.failed / table.num_rows),
        workers=workers,
        start_seconds=timed.start_seconds,
        seconds_a_row=timed.row_seconds,
        rows_a_second=share * rows / seconds,
        seconds=seconds,
        bytes=round(share * rows * timed.row_bytes),
        cost=None if price is None else seconds / 3600 * price,
    )
    warning = "this is an estimate from a few rows; nothing was computed or written"
    return opened.record(EstimateStatistics(estimate), [warning])


def distinct_rows(counts: Mapping[Any, int], rows: int) -> int:
    """Estimate how many distinct keys `rows` rows have from the counts of keys in some of them.

    √(N/n) · f₁ + Σ f_j over j ≥ 2, with f_j the number of keys seen j times in n of N rows
    (Charikar et al. 2000, Towards estimation error guarantees for distinct values).
    """
    seen = sum(counts.values())
    if not seen:
        return 0
    once = sum(count == 1 for count in counts.values())
    return min(rows, round(math.sqrt(max(1.0, rows / seen)) * once + len(counts) - once))


def time_rows(
    spec: WorkSpec, table: pa.Table, call_rows: int, progress: Fetching | None = None
) -> Timed:
    """Start a worker, warm it up, and time it on the rows of a table."""
    began = time.monotonic()
    worker = BlockWorker(_Drawn(table), spec)  # type: ignore[arg-type]
    worker(_task(min(_WARM, table.num_rows)), call_rows)
    started = time.monotonic()
    done = worker(_task(table.num_rows), call_rows)
    seconds = time.monotonic() - started
    results = done.table()
    taken = table.take(results.column(results.num_columns - 1))
    schema = part_schema(table.schema, spec.writes)
    columns = [*taken.columns, *results.columns]
    part = pa.Table.from_arrays(columns, schema=schema.set(len(schema) - 1, _POSITIONS))
    sink = pa.BufferOutputStream()
    pq.write_table(part, sink, compression="zstd")
    rows = max(1, table.num_rows)
    return Timed(started - began, seconds / rows, len(sink.getvalue()) / rows, len(done.failed))


_POSITIONS = pa.field("_row", pa.int32())


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Drawn rows in the place of a corpus."""

    table: pa.Table

    def read(self, block: RowBlock) -> BlockRows:
        numbers = np.arange(self.table.num_rows, dtype=np.int64)
        return BlockRows(self.table, numbers, [], numbers)


def _task(rows: int) -> Task:
    block = RowBlock(0, "drawn rows", 0, 0, 1, 0, rows)
    return Task(block, np.arange(rows, dtype=np.int32).tobytes())


def _count(
    corpus: CorpusFiles, options: BatchOptions, report: Callable[[int], None] | None
) -> tuple[int, list[RowBlock]]:
    """Count the rows, and choose some blocks on the way, each as likely as any other."""
    draw = random.Random(options.seed)  # noqa: S311 (a sample, no secret)
    rows = 0
    chosen: list[RowBlock] = []
    for number, block in enumerate(corpus.blocks(options.block_rows, options.limit)):
        rows += block.rows
        if len(chosen) < _BLOCKS:
            chosen.append(block)
        elif (index := draw.randrange(number + 1)) < _BLOCKS:
            chosen[index] = block
        if report:
            report(rows)
    if not rows:
        raise InputError("the input holds no rows", "give at least one")
    return rows, chosen
