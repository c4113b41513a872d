"""Mean, spread and size of a sample, and scores on a scale of their own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.core.protocols import Floats


@dataclass(frozen=True, slots=True)
class Summary:
    """Size, mean and sample standard deviation (n - 1) of a sample."""

    n: int
    mean: float
    sd: float


NO_SUMMARY = Summary(0, math.nan, math.nan)


def summarise(values: Sequence[float]) -> Summary:
    """Summarise a sample; one value has no spread, none has no mean."""
    array = np.asarray(values, dtype=np.float64)
    mean = float(array.mean()) if array.size else float("nan")
    sd = float(array.std(ddof=1)) if array.size > 1 else float("nan")
    return Summary(int(array.size), mean, sd)


def z_scores(table: Floats) -> Floats:
    """Standardise a table (rows x observations) so that its row means have mean 0 and sd 1.

    Every column loses its own mean, which all rows share, and is divided by the sample sd
    (n - 1) of the row means. Rows that do not differ become not-a-number.
    """
    centred = table - table.mean(axis=0)
    spread = float(table.mean(axis=1).std(ddof=1)) if len(table) > 1 else 0.0
    return centred / spread if spread > 0 else np.full_like(centred, np.nan)


def without_column_effects(table: Floats) -> Floats:
    """Take from each column (observation) what it does to all rows alike; row means stay.

    With few rows the columns' effects also soak up noise; what is left is widened by
    √(rows / (rows - 1)), so that its variance is that of the noise.
    """
    rows = len(table)
    means = table.mean(axis=1, keepdims=True)
    left = table - means - (table.mean(axis=0) - table.mean())
    return means + left * np.sqrt(rows / (rows - 1)) if rows > 1 else table


def unit_rows(rows: Floats) -> Floats:
    """Return rows of length one; a row without length stays what it is.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms == 0, 1.0, norms)


def reproduced(
    ours: float | None, paper: float | None, low: float | None = None, high: float | None = None
) -> str:
    """Say how far a figure of ours is what was printed: inside our interval, or its sign alone."""
    if ours is None or paper is None or np.isnan([ours, paper]).any():
        return ""
    if low is not None and high is not None and low <= paper <= high:
        return "inside the interval"
    return "same sign" if (ours >= 0) == (paper >= 0) else "other sign"
