"""The parts of a finished run, read one by one: memory does not grow with the rows."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from moralscope.batch.folder import INNER, ROW, numbered_parts
from moralscope.batch.types import FailedRows, FailureReason
from moralscope.stats.streams import Extremes, Frequent, Histogram, Moments

LISTED = 20  # rows or rules that a record lists
_CUT = 400  # characters of a text that is listed
_BINS = 32
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_REASONS = 20


class Parts:
    """The parts in a folder.

    Parameters
    ----------
    folder
        Of the run.
    carried
        Our name of an input column → its name in the parts.
    """

    def __init__(self, folder: Path, carried: Mapping[str, str]) -> None:
        self._folder = folder
        self._carried = carried
        self._paths = [path for _, path in numbered_parts(folder)]

    def known(self, *names: str) -> list[str]:
        """Return the columns among `names` that there are, with those carried and the row's."""
        columns = set(pq.read_schema(self._paths[0]).names) if self._paths else set()
        wanted = dict.fromkeys([*names, ROW, *self._carried.values()])
        return [name for name in wanted if name in columns]

    def tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield some columns of every part that has rows, in order."""
        for path in self._paths:
            with pq.ParquetFile(path) as file:
                table = file.read(columns=list(columns))
            if table.num_rows:
                yield table

    def failed(self) -> FailedRows:
        """Return how many rows failed, and the most frequent reasons."""
        reasons, count = Frequent(), 0
        letters = self._folder / INNER / "failed.jsonl"
        if letters.exists():
            with letters.open("rb") as stream:
                for line in stream:
                    count += 1
                    reasons.add([str(json.loads(line)["reason"])])
        listed = [FailureReason(why, rows) for why, rows in reasons.most_common(_REASONS)]
        return FailedRows(count, listed)

    def spread(self, moments: Moments) -> dict[str, Any]:
        """Return the summary of scores, and in a second pass their histogram and quantiles."""
        if not moments.n:
            return {"scores": moments.summary, "histogram": None, "quantiles": {}}
        histogram = Histogram(moments.low, moments.high)
        for table in self.tables(["score"]):
            histogram.add(table.column("score").to_numpy())
        return {
            "scores": moments.summary,
            "lowest_score": moments.low,
            "highest_score": moments.high,
            "histogram": histogram.coarse(_BINS),
            "quantiles": {f"{share:g}": histogram.quantile(share) for share in _QUANTILES},
        }

    def offer(
        self,
        extremes: Extremes[Any],
        keys: Any,
        table: pa.Table,
        describe: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        texts: Sequence[str],
    ) -> None:
        """Offer the rows of a table; only those that stay are described, equal `texts` once."""
        for index in keys.argsort(kind="stable").tolist():
            key = float(keys[index])
            if not extremes.admits(key):
                return
            row = describe(table.slice(index, 1).to_pylist()[0])
            extremes.add(key, "\0".join(str(row[name]) for name in texts), row)

    def cell(self, row: Mapping[str, Any], name: str) -> Any:
        """Return what a row of a part has in an input column, by our name of it."""
        return row.get(self._carried.get(name, name))

    def text(self, row: Mapping[str, Any], name: str) -> str:
        """Return the start of an input text of a row."""
        return str(self.cell(row, name))[:_CUT]

    def id(self, row: Mapping[str, Any]) -> str:
        """Name a row by its id, else by its number in the corpus, from 1."""
        name = self.cell(row, "id")
        known = isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip()
        return str(name)[:200] if known else str(row[ROW] + 1)


def count_true(mask: Any) -> int:
    """Return how many values of an Arrow mask are true."""
    return int(pc.sum(mask).as_py() or 0)
