"""Intraclass correlation, one-way random effects: how far raters agree on numbers.

For units whose raters are not the same people. Knows nothing of who rated what.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Intraclass:
    """ICC(1, 1) of one rating, ICC(1, k) of the mean of a unit's ratings; `k` is their mean number.

    Not a number where nothing can be said: fewer than two units with two ratings, or no spread.
    """

    single: float
    mean: float
    k: float
    units: int
    ratings: int


def intraclass(units: Sequence[Sequence[float]]) -> Intraclass:
    """Return the ICC of units, each a list of its ratings; a unit with one rating does not count.

    ICC(1, k) = (MSB - MSW) / MSB and ICC(1, 1) = (MSB - MSW) / (MSB + (k₀ - 1) MSW), where MSB and
    MSW are the mean squares between and within units of the one-way analysis of variance and
    k₀ = (N - Σ kᵤ² / N) / (n - 1) for n units with kᵤ of the N ratings (Shrout and Fleiss 1979;
    unequal numbers as in Donner 1986).

    Examples
    --------
    >>> found = intraclass([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6]])
    >>> found.units, found.k
    (4, 4.0)
    """
    rows = [unit for unit in units if len(unit) > 1]
    n, sizes = len(rows), np.array([len(row) for row in rows], dtype=np.int64)
    total = int(sizes.sum())
    nan = float("nan")
    if n < 2:
        return Intraclass(nan, nan, nan, n, total)
    values = np.array([value for row in rows for value in row], dtype=np.float64)
    owners = np.repeat(np.arange(n), sizes)
    means = np.bincount(owners, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (n - 1)
    within = float(((values - means[owners]) ** 2).sum()) / (total - n)
    if between + within == 0:
        return Intraclass(nan, nan, total / n, n, total)
    share = (total - float((sizes**2).sum()) / total) / (n - 1)
    single = (between - within) / (between + (share - 1) * within)
    return Intraclass(single, (between - within) / between if between else nan, total / n, n, total)
