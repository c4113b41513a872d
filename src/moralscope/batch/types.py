"""What the parts of the corpus runner hand to each other: blocks, their rows, tasks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moralscope.core.records import Statistics

if TYPE_CHECKING:
    import pyarrow as pa

POSITION = "_position"  # the column that says where in its block's table a result belongs


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the corpus and how it is read. `name` is what may be printed of its address."""

    name: str
    url: str
    kind: str
    bytes: int
    stamp: str
    header: tuple[str, ...] = ()  # of CSV
    start: int = 0  # bytes before the first row
    line: int = 1  # the line on which the first row stands


@dataclass(frozen=True, slots=True)
class RowBlock:
    """A run of rows of one file, read on its own; its number is that of its part.

    `start` and `stop` are bytes of a text file, rows of a Parquet file; `line` is where it starts
    in the file as a person counts, `first` its first row in the corpus, from 0.
    """

    number: int
    file: str
    start: int
    stop: int
    line: int
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class FailedRow:
    """A row that could not be used, with the reason and the start of what stood there."""

    row: int
    file: str
    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class BlockRows:
    """The good rows of a block in order, their numbers in the corpus, and the bad ones.

    `lines` says where each good row stands in its file, for messages.
    """

    table: "pa.Table"
    rows: NDArray[np.int64]
    failed: list[FailedRow]
    lines: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    digest: bytes = b""  # of the records of text; a Parquet file that grows is another


@dataclass(frozen=True, slots=True)
class Task:
    """A block and the rows of it to compute: the first occurrences of their texts.

    `packed` holds int32 positions in the block's table, as bytes: a task travels small.
    """

    block: RowBlock
    packed: bytes
    texts: bytes = b""  # digest of what stood in the block when it was planned

    @property
    def positions(self) -> NDArray[np.int32]:
        """Positions of the own rows in the block's table, in order."""
        return np.frombuffer(self.packed, np.int32)


@dataclass(frozen=True, slots=True)
class JoinedBlock:
    """The results of a block: of its own rows and of the repeats of earlier ones.

    `positions` says which row of the block's table each row of `results` belongs to, in order;
    `failed` holds every failed row of the block, by row.
    """

    results: "pa.Table"
    positions: NDArray[np.int32]
    failed: list[FailedRow]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run made. `rows` are in the parts, `failed` in the dead letters."""

    rows: int
    distinct: int
    failed: int
    parts: int
    seconds: float
    resumed_parts: int
    rate: float


@dataclass(frozen=True, slots=True)
class FailureReason(Statistics):
    """Why rows failed, and how many."""

    reason: str
    rows: int


@dataclass(frozen=True, slots=True)
class FailedRows(Statistics):
    """How many rows failed, and the most frequent reasons."""

    rows: int
    reasons: Sequence[FailureReason]
