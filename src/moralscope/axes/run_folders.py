"""Two corpus runs row by row: their Parquet parts read side by side in constant memory.

Rows are paired by `_row`, their number in the corpus. A text that is not the same in both is
refused: then the runs are not over the same corpus.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.run_changes import RESAMPLED, Block, ChangeTally, ComparedItem
from moralscope.axes.saved_runs import AUDIT, SavedRun
from moralscope.core.errors import InputError
from moralscope.stats.streams import RankTable, rank_edges

ROW = "_row"
_BATCH = 8192
_PART = re.compile(r"part-(\d{6,})\.parquet")
_SAMPLE = 65_536  # scores from which the classes of ranks are made
_CUT = 400
_FLAG = "flag"
_TEXTS: Mapping[str, tuple[str, ...]] = {"score": ("action",), AUDIT: ("prompt", "reply")}
_AGREE = 1  # of the texts the first must be the same; a reply may be another bot's
_REMEDY = "run the corpus again into a new folder"
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ComparedFolders:
    """The tally of the rows that both folders have, and how many only one has."""

    tally: ChangeTally
    only_before: int
    only_after: int
    other_replies: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a part, ascending: numbers, scores, flags and texts."""

    rows: Rows
    scores: Floats
    flags: NDArray[np.bool_] | None
    texts: Sequence[Any]  # Arrow arrays

    def part(self, start: int, stop: int) -> "Piece":
        """Return some of the rows, without a copy."""
        return Piece(
            self.rows[start:stop],
            self.scores[start:stop],
            None if self.flags is None else self.flags[start:stop],
            [texts.slice(start, stop - start) for texts in self.texts],
        )

    def at(self, places: Rows) -> "Piece":
        """Return the rows at these places."""
        return Piece(
            self.rows[places],
            self.scores[places],
            None if self.flags is None else self.flags[places],
            [texts.take(places) for texts in self.texts],
        )


def compare_folders(before: SavedRun, after: SavedRun, *, seed: int = 0) -> ComparedFolders:
    """Read two folders of parts side by side and tally what changed.

    Parameters
    ----------
    before, after
        Comparable corpus runs, each given as its folder.
    seed
        Seeds the intervals where there are few rows.
    """
    runs = before, after
    tally = ChangeTally(_rank_table([_folder(run) for run in runs]), seed=seed)
    only, replies = [0, 0], 0
    for pair in _joined([_pieces(run) for run in runs], only):
        same = _alike(pair, 0)
        if not same.all():
            row, text = int(pair[0].rows[same.argmin()]), _TEXTS[before.job][0]
            problem = f"row {row:,} has another {text} in {after.path}"
            raise InputError(problem, "give two runs over the same corpus")
        tally.add(_block(*pair))
        replies += int((~_alike(pair, _AGREE)).sum()) if len(pair[0].texts) > _AGREE else 0
    if not tally.items:
        raise InputError(
            f"{before.path} and {after.path} have no row in common",
            "give two runs over the same corpus",
        )
    return ComparedFolders(tally, only[0], only[1], replies)


def _folder(run: SavedRun) -> Path:
    return run.folder or run.path


def _parts(folder: Path) -> list[Path]:
    named = [(match, path) for path in folder.iterdir() if (match := _PART.fullmatch(path.name))]
    found = [path for _, path in sorted(named, key=lambda pair: int(pair[0][1]))]
    if not found:
        raise InputError(f"{folder} holds no parts", "give a folder that was made with --out DIR")
    return found


def _rank_table(folders: Sequence[Path]) -> RankTable | None:
    """Return a table of ranks made for these scores; None where all rows can be kept."""
    counts = [sum(_opened(part).metadata.num_rows for part in _parts(each)) for each in folders]
    if max(counts) <= RESAMPLED:
        return None
    edges = [
        rank_edges(_sample(folder, math.ceil(count / _SAMPLE)))
        for folder, count in zip(folders, counts, strict=True)
    ]
    return RankTable(*edges)


def _sample(folder: Path, step: int) -> Floats:
    """Return every step-th score of a folder."""
    found, offset = [np.empty(0)], 0
    for part in _parts(folder):
        for batch in _batches(part, ["score"]):
            scores = _floats(batch.column(0))
            found.append(scores[(-offset) % step :: step])
            offset += len(scores)
    values = np.concatenate(found)
    return values[np.isfinite(values)]


def _pieces(run: SavedRun) -> Iterator[Piece]:
    """Yield the rows of a folder in ascending order; rows without a score are left out."""
    last = -1
    for part in _parts(_folder(run)):
        texts = _columns(part, run)
        flag = [_FLAG] if run.job == AUDIT else []
        for batch in _batches(part, [ROW, "score", *flag, *texts]):
            rows = np.asarray(batch.column(ROW).to_numpy(zero_copy_only=False), dtype=np.int64)
            if len(rows) and (rows[0] <= last or (np.diff(rows) <= 0).any()):
                raise InputError(f"{part} does not hold its rows in order", _REMEDY)
            last = int(rows[-1]) if len(rows) else last
            flags = None
            if flag:
                known = batch.column(_FLAG).fill_null(False)
                flags = np.asarray(known.to_numpy(zero_copy_only=False), dtype=bool)
            columns = [batch.column(name) for name in texts]
            piece = Piece(rows, _floats(batch.column("score")), flags, columns)
            usable = np.flatnonzero(np.isfinite(piece.scores))
            yield piece if len(usable) == len(rows) else piece.at(usable)


def _columns(part: Path, run: SavedRun) -> list[str]:
    """Return what the texts of the run are called in a part; refuse one that lacks a column."""
    names = _opened(part).schema_arrow.names
    told = run.config["corpus"].get("columns")
    given = told if isinstance(told, Mapping) else {}
    texts = [str(given.get(name, name)) for name in _TEXTS[run.job]]
    # A column of the input that is called like one of ours was carried under another name.
    found = [f"input_{name}" if f"input_{name}" in names else name for name in texts]
    for name in (ROW, "score", *([_FLAG] if run.job == AUDIT else []), *found):
        if name not in names:
            raise InputError(
                f"{part} has no column '{name[:60]}' (columns: {', '.join(names)[:200]})",
                "give folders that 'moralscope score' or 'moralscope audit' made with --out DIR",
            )
    return found


def _opened(part: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(part)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(part, error) from error


def _batches(part: Path, columns: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa

    try:
        with _opened(part) as file:
            yield from file.iter_batches(batch_size=_BATCH, columns=list(columns))
    except (OSError, pa.ArrowException) as error:
        raise _damaged(part, error) from error


def _damaged(part: Path, error: Exception) -> InputError:
    line = (str(error).splitlines() or ["damaged"])[0][:160]
    return InputError(f"{part} cannot be read ({line})", _REMEDY)


def _floats(column: Any) -> Floats:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _joined(streams: Sequence[Iterator[Piece]], only: list[int]) -> Iterator[tuple[Piece, Piece]]:
    """Yield rows that both streams have; count in `only` those that one has alone."""
    held: list[Piece | None] = [_next(stream) for stream in streams]
    while (one := held[0]) is not None and (other := held[1]) is not None:
        last = min(int(one.rows[-1]), int(other.rows[-1]))
        cuts = [int(np.searchsorted(piece.rows, last, side="right")) for piece in (one, other)]
        here = one.part(0, cuts[0]), other.part(0, cuts[1])
        common, *places = np.intersect1d(
            here[0].rows, here[1].rows, assume_unique=True, return_indices=True
        )
        for side in (0, 1):
            only[side] += cuts[side] - len(common)
        if len(common):
            yield here[0].at(places[0]), here[1].at(places[1])
        for side, (piece, cut) in enumerate(zip((one, other), cuts, strict=True)):
            left = piece.part(cut, len(piece.rows))
            held[side] = left if len(left.rows) else _next(streams[side])
    for side, rest in enumerate(held):
        if rest is not None:
            only[side] += len(rest.rows) + sum(len(each.rows) for each in streams[side])


def _next(stream: Iterator[Piece]) -> Piece | None:
    return next((piece for piece in stream if len(piece.rows)), None)


def _alike(pair: tuple[Piece, Piece], column: int) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    same = pc.fill_null(pc.equal(*(piece.texts[column] for piece in pair)), False)
    return np.asarray(same.to_numpy(zero_copy_only=False), dtype=bool)


def _block(before: Piece, after: Piece) -> Block:
    flagged = None
    if before.flags is not None and after.flags is not None:
        flagged = before.flags, after.flags

    def item(place: int) -> ComparedItem:
        one, other = float(before.scores[place]), float(after.scores[place])
        first, second = ([_cut(texts[place]) for texts in piece.texts] for piece in (before, after))
        flags = (bool(flagged[0][place]), bool(flagged[1][place])) if flagged else (None, None)
        replies = (first[_AGREE], second[_AGREE]) if len(first) > _AGREE else ("", "")
        row = str(before.rows[place])
        return ComparedItem(row, first[0], one, other, other - one, *replies, *flags)

    return Block(before.scores, after.scores, item, flagged)


def _cut(value: Any) -> str:
    found = value.as_py()
    return "" if found is None else str(found)[:_CUT]
