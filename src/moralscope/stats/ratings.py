"""Ratings as numbers to count with: who said what of which unit, whatever is missing.

Built from a table raters x units or from a long list. Measures nothing: `agreement` and
`intraclass` do.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moralscope.core.records import Interval
from moralscope.stats.intervals import percentile_interval, without_certainty

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RESAMPLES = 1000
_BLOCK = 1 << 21  # units of resamples in memory at once
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rating = str | float | None


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """Ratings one by one: unit, rater and the place of the value in `values` (sorted)."""

    unit: Ints
    rater: Ints
    code: Ints
    values: tuple[str | float, ...]
    units: int
    raters: int

    @property
    def numbers(self) -> Floats:
        """The values as numbers; text is refused."""
        wrong = next((value for value in self.values if isinstance(value, str)), None)
        if wrong is not None:
            raise ValueError(f"ordinal, interval and ratio ratings are numbers, not '{wrong}'")
        return np.array([float(value) for value in self.values], dtype=np.float64)

    def pairable(self) -> "csr_array":
        """Count each value in each unit that has two ratings or more (units x values)."""
        from scipy.sparse import csr_array

        ones = np.ones(len(self.unit))
        counts = csr_array((ones, (self.unit, self.code)), shape=(self.units, len(self.values)))
        counts.sum_duplicates()
        return counts[np.flatnonzero(np.bincount(self.unit, minlength=self.units) > 1)]

    def matrix(self) -> Ints:
        """Return units x raters: places of values, -1 where missing."""
        codes = np.full((self.units, self.raters), -1, dtype=np.int64)
        codes[self.unit, self.rater] = self.code
        return codes


Ratings = Sequence[Sequence[Rating]] | Floats | RatingTable


def rating_table(ratings: Ratings) -> RatingTable:
    """Read a table raters x units; None or not-a-number is a missing rating.

    Examples
    --------
    >>> table = rating_table([["a", "b", None], ["a", "a", "b"]])
    >>> table.values, table.code.tolist(), table.unit.tolist()
    (('a', 'b'), [0, 1, 0, 0, 1], [0, 1, 0, 1, 2])
    """
    if isinstance(ratings, RatingTable):
        return ratings
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind in "fiub":
        table = np.atleast_2d(ratings).astype(np.float64)
        there, (raters, units) = ~np.isnan(table), table.shape
        numbers, code = np.unique(table[there], return_inverse=True)
        rater, unit = np.nonzero(there)
        places = code.astype(np.int64)
        return RatingTable(unit, rater, places, tuple(numbers.tolist()), units, raters)
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("every rater has the same units; a missing rating is None")
    width = len(ratings[0]) if len(ratings) else 0
    flat = [value for row in ratings for value in row]
    owners = np.tile(np.arange(width), len(ratings)), np.repeat(range(len(ratings)), width)
    unit, rater = (places.astype(np.int64) for places in owners)
    return long_table(unit, rater, flat, (width, len(ratings)))


def long_table(
    unit: Ints, rater: Ints, values: Sequence[Rating], shape: tuple[int, int]
) -> RatingTable:
    """Read one rating a row; `shape` is the number of units and of raters."""
    distinct = {value for value in values if value is not None}
    known = {value for value in distinct if isinstance(value, str) or not np.isnan(value)}
    text = any(isinstance(value, str) for value in known)
    ordered = tuple(sorted(known, key=str if text else float))
    codes: dict[Rating, int] = {value: code for code, value in enumerate(ordered)}
    # A not-a-number is in no dictionary but its own: -1, as None is.
    code = np.fromiter((codes.get(value, -1) for value in values), np.int64, len(values))
    there = code >= 0
    return RatingTable(unit[there], rater[there], code[there], ordered, *shape)


def resampled(units: int, resamples: int, seed: int, width: int = 0) -> Iterator[Floats]:
    """Yield blocks of resamples: how often each unit was drawn (resamples x units).

    `width` says how many numbers a resample needs where these are more than its units.
    """
    generator = np.random.default_rng(seed)
    rows = max(1, _BLOCK // max(units, width))
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn = generator.integers(0, units, (size, units), dtype=np.int32)
        drawn += np.arange(size, dtype=np.int32)[:, None] * np.int32(units)
        counts = np.bincount(drawn.ravel(), minlength=size * units)
        yield counts.reshape(size, units).astype(np.float64)


def bootstrapped(
    measure: Callable[[Floats], Floats], units: int, resamples: int, seed: int, width: int = 0
) -> Interval:
    """Measure all units once and in resamples; a resample without a value does not count.

    `measure` takes weights (rows x units) and returns one value a row; `width` as in `resampled`.

    Examples
    --------
    >>> data = np.array([1.0, 2.0, 3.0, 6.0])
    >>> found = bootstrapped(lambda weights: weights @ data / weights.sum(axis=1), 4, 500, 0)
    >>> found.value, found.low < 3 < found.high
    (3.0, True)
    """
    value = float(measure(np.ones((1, units)))[0]) if units else float("nan")
    if units < 2 or resamples < 1 or np.isnan(value):
        return Interval(value, float("nan"), float("nan"))
    draws = np.concatenate([measure(block) for block in resampled(units, resamples, seed, width)])
    usable = draws[np.isfinite(draws)]
    if not usable.size:
        return Interval(value, float("nan"), float("nan"))
    low, high = percentile_interval(usable[None])
    return Interval(value, *without_certainty(value, float(low[0]), float(high[0]), units))
