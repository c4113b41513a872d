"""Two groups of people on many questions at once: permutation tests corrected for their number.

People change sides, never answers: what one person answers to many questions stays together, so
the questions may hang on each other. Knows nothing of who the groups are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PERMUTATIONS = 2000
_BLOCK = 1 << 21
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class GroupDifferences:
    """For each question the mean of the first group less that of the second, and its p-values.

    `p` is of the question alone; `corrected` holds for all questions together. Not a number where
    nobody of a group answered, or all answered the same.
    """

    difference: Floats
    p: Floats
    corrected: Floats


def group_differences(
    values: Floats, first: Bools, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> GroupDifferences:
    """Compare two groups question by question (people x questions; not a number: not answered).

    z = (mean₁ - mean₂) / (s √(1/n₁ + 1/n₂)), where s is the question's spread over both groups. `p`
    is the share of permutations of the people whose |z| is at least as large, `corrected` that of
    permutations whose largest |z| over all questions is (Westfall and Young 1993, single-step
    maxT), both with the data themselves counted as one permutation.

    Parameters
    ----------
    values
        People x questions.
    first
        Which people are the first group; the others are the second.
    permutations, seed
        How many, and their seed.

    Examples
    --------
    >>> apart = np.repeat([[1.0], [5.0]], 8, axis=0) + np.tile([[0.0], [0.5]], (8, 1))
    >>> found = group_differences(apart, np.arange(16) < 8)
    >>> found.difference.tolist(), bool(found.p[0] < 0.01)
    ([-4.0], True)
    """
    if not values.size:
        nothing = np.full(values.shape[1], np.nan)
        return GroupDifferences(nothing, nothing, nothing)
    there = np.isfinite(values)
    counts = there.sum(axis=0)
    means = np.divide(
        np.where(there, values, 0.0).sum(axis=0),
        counts,
        out=np.zeros(values.shape[1]),
        where=counts > 0,
    )
    centred = np.where(there, values - means, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / np.maximum(counts - 1, 1))
    spread[spread < 1e-12] = np.nan
    mask = there.astype(np.float64)
    difference, found = _z(first[None].astype(np.float64), centred, mask, spread)
    size = np.abs(found[0])
    generator = np.random.default_rng(seed)
    own, largest = np.ones(len(size)), np.ones(len(size))
    rows = max(1, _BLOCK // max(values.shape))
    for start in range(0, permutations, rows):
        drawn = np.tile(first, (min(rows, permutations - start), 1))
        sides = generator.permuted(drawn, axis=1).astype(np.float64)
        z = np.nan_to_num(np.abs(_z(sides, centred, mask, spread)[1]))
        # What is equal but for rounding counts as equal: ties are common among few people.
        own += (z >= size - 1e-9).sum(axis=0)
        above = len(sides) - np.searchsorted(np.sort(z.max(axis=1)), size - 1e-9)
        largest += above
    unknown = np.isnan(size)
    own[unknown] = largest[unknown] = np.nan
    total = permutations + 1
    return GroupDifferences(difference[0], own / total, largest / total)


def _z(sides: Floats, centred: Floats, mask: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return differences of means and z of each division into sides (divisions x questions)."""
    ones = sides @ mask
    twos = mask.sum(axis=0) - ones
    sums = sides @ centred  # those of the other side are the same with the other sign
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.where((ones > 0) & (twos > 0), sums / ones + sums / twos, np.nan)
        return difference, difference / (spread * np.sqrt(1 / ones + 1 / twos))
