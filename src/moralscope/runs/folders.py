"""Two corpus runs row by row: their Parquet parts joined by `_row`, their number in the corpus.

A part of one run is joined with the rows of the other that lie in its range, so that memory does
not grow with the corpus. A text that is not the same in both is refused: then the runs are not over
the same corpus.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from moralscope.batch.folder import ROW, numbered_parts
from moralscope.core.errors import InputError
from moralscope.runs.changes import RESAMPLED, ChangeTally, ComparedItem, PairedScores
from moralscope.runs.saved import AUDIT, SavedRun
from moralscope.stats.streams import RankTable, rank_edges

_SAMPLE = 65_536  # scores from which the classes of ranks are made
_CUT = 400
_TEXTS: Mapping[str, tuple[str, ...]] = {"score": ("action",), AUDIT: ("prompt", "reply")}


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """The tally of the rows that both folders have, and how many only one has."""

    tally: ChangeTally
    only_before: int
    only_after: int
    other_replies: int


def compare_folders(before: SavedRun, after: SavedRun, *, seed: int = 0) -> FolderChanges:
    """Join the rows of two folders of parts and tally what changed.

    Parameters
    ----------
    before, after
        Comparable corpus runs, each given as its folder.
    seed
        Seeds the intervals where there are few rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    replies = 0
    try:
        sides = _open(before), _open(after)
        counts = [rows.count_rows(filter=_has_score()) for rows, _ in sides]
        ranks = None
        if max(counts) > RESAMPLED:
            edges = []
            for (rows, _), count in zip(sides, counts, strict=True):  # evenly from all parts
                batches = rows.to_batches(columns=["score"], filter=_has_score())
                step = math.ceil(count / _SAMPLE)
                some = [batch["score"].to_numpy()[::step] for batch in batches]
                edges.append(rank_edges(np.concatenate(some)))
            ranks = RankTable(*edges)
        tally = ChangeTally(ranks, seed=seed)
        for table in _joined(*sides):
            same = pc.fill_null(pc.equal(table["text"], table["text_after"]), False)
            if not pc.all(same).as_py():
                row = table["row"][pc.index(same, False).as_py()].as_py()
                problem = f"row {row:,} has another {_TEXTS[before.job][0]} in {after.path}"
                raise InputError(problem, "give two runs over the same corpus")
            tally.add(_paired(table))
            if before.job == AUDIT:
                alike = pc.fill_null(pc.equal(table["reply"], table["reply_after"]), False)
                replies += table.num_rows - pc.sum(alike).as_py()
    except (OSError, pa.ArrowException) as error:
        line = (str(error).splitlines() or ["damaged"])[0][:300]
        problem = f"the parts of {before.path} and {after.path} cannot be read ({line})"
        raise InputError(problem, "run the corpus again into a new folder") from error
    if not tally.items:
        problem = f"{before.path} and {after.path} have no row in common"
        raise InputError(problem, "give two runs over the same corpus")
    return FolderChanges(tally, counts[0] - tally.items, counts[1] - tally.items, replies)


def _open(run: SavedRun) -> tuple[Any, dict[str, Any]]:
    """Return the parts of a run as one data set, and its columns under our names for them."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    folder = run.folder or run.path
    parts = [str(path) for _, path in numbered_parts(folder)]
    if not parts:
        raise InputError(f"{folder} holds no parts", "give a folder that was made with --out DIR")
    rows = ds.dataset(parts, format="parquet")
    names = rows.schema.names
    renamed = run.config["corpus"].get("columns")
    called = renamed if isinstance(renamed, Mapping) else {}
    texts = [str(called.get(name, name)) for name in _TEXTS[run.job]]
    # A column of the input that is called like one of ours was carried under another name.
    texts = [f"input_{name}" if f"input_{name}" in names else name for name in texts]
    columns = {"row": ROW, "score": "score", **dict(zip(("text", "reply"), texts, strict=False))}
    columns |= {"flag": "flag"} if run.job == AUDIT else {}
    for name in columns.values():
        if name not in names:
            raise InputError(
                f"{folder} has no column '{name[:60]}' (columns: {', '.join(names)[:200]})",
                "give folders that 'moralscope score' or 'moralscope audit' made with --out DIR",
            )
    return rows, {ours: pc.field(name) for ours, name in columns.items()}


def _has_score() -> Any:
    import pyarrow.compute as pc

    return pc.is_finite(pc.field("score"))


def _joined(before: tuple[Any, Any], after: tuple[Any, Any]) -> Iterator[Any]:
    """Yield the rows that both have, a part of the first at a time, in their order."""
    import pyarrow.compute as pc

    (rows, columns), (others, other_columns) = before, after
    for part in rows.get_fragments():
        table = part.to_table(schema=rows.schema, columns=columns, filter=_has_score())
        if not table.num_rows:
            continue
        ends = pc.min_max(table["row"]).as_py()
        inside = (pc.field(ROW) >= ends["min"]) & (pc.field(ROW) <= ends["max"])
        other = others.to_table(columns=other_columns, filter=_has_score() & inside)
        both = table.join(other, "row", join_type="inner", right_suffix="_after")
        if both.num_rows:
            yield both.sort_by("row")  # a join keeps no order


def _paired(table: Any) -> PairedScores:
    before, after = (table[name].to_numpy().astype(np.float64) for name in ("score", "score_after"))
    flagged = None
    if "flag" in table.column_names:
        flags = (table[name].fill_null(False).to_numpy() for name in ("flag", "flag_after"))
        flagged = next(flags), next(flags)

    def item(index: int) -> ComparedItem:
        (row,) = table.slice(index, 1).to_pylist()
        return ComparedItem(
            id=str(row["row"]),
            text=str(row["text"])[:_CUT],
            before=row["score"],
            after=row["score_after"],
            change=row["score_after"] - row["score"],
            reply_before=str(row.get("reply") or "")[:_CUT],
            reply_after=str(row.get("reply_after") or "")[:_CUT],
            flagged_before=bool(row["flag"]) if flagged else None,
            flagged_after=bool(row["flag_after"]) if flagged else None,
        )

    return PairedScores(before, after, item, flagged)
