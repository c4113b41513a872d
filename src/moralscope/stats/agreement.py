"""Krippendorff's alpha: how far raters agree beyond chance, with missing ratings and an interval.

Any number of raters; nominal, ordinal, interval and ratio ratings. Knows nothing of who rated what.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from moralscope.stats.ratings import (
    RESAMPLES,
    Floats,
    Rating,
    RatingTable,
    bootstrapped,
    rating_table,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LEVELS = ("nominal", "ordinal", "interval", "ratio")
_MAX_RATIO_VALUES = 4000  # their distances are a table in memory
_Measure = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Alpha with its 95 % interval over units; units with one rating do not count.

    `share` is the plain share of rater pairs that agree, which alpha corrects for chance. Alpha is
    not a number where nothing can be said: no unit with two ratings, or all ratings the same.
    """

    alpha: float
    low: float
    high: float
    share: float
    level: str
    raters: int
    units: int
    ratings: int


def krippendorff_alpha(
    ratings: Sequence[Sequence[Rating]] | Floats | RatingTable, level: str = "nominal"
) -> float:
    """Return alpha of a table raters x units; None or not-a-number is a missing rating.

    alpha = 1 - Dₒ / Dₑ = 1 - (n - 1) Σ oₓᵧ δ²ₓᵧ / Σ nₓ nᵧ δ²ₓᵧ, where oₓᵧ adds 1 / (mᵤ - 1) for
    every ordered pair of ratings (x, y) of a unit u with mᵤ ratings, nₓ = Σᵧ oₓᵧ and n = Σ nₓ. δ²
    is [x ≠ y] for nominal ratings, (x - y)² for interval ones, ((x - y) / (x + y))² for ratio ones,
    and for ordinal ones the square of Σ nₖ over the values from x to y, less (nₓ + nᵧ) / 2
    (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    Examples
    --------
    >>> jon = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    >>> meg = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    >>> round(krippendorff_alpha([jon, meg]), 3)
    0.095
    """
    return agreement(ratings, level, resamples=0).alpha


def agreement(
    ratings: Sequence[Sequence[Rating]] | Floats | RatingTable,
    level: str = "nominal",
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Agreement:
    """Return alpha with a percentile bootstrap interval over the units.

    Examples
    --------
    >>> found = agreement([["a", "b", "b", None], ["a", "b", "a", "a"]])
    >>> found.units, found.ratings, found.raters
    (3, 6, 2)
    """
    if level not in LEVELS:
        raise ValueError(f"level is one of {', '.join(LEVELS)}, not '{level}'")
    table = rating_table(ratings)
    counts = table.pairable()
    sizes = counts.sum(axis=1).astype(np.float64)
    numbers = np.empty(0) if level == "nominal" else table.numbers
    measure = _MEASURES[level](counts, sizes, numbers)
    found = bootstrapped(measure, len(sizes), resamples, seed, len(table.values))
    n = float(sizes.sum())
    same = float(((_squares(counts) - sizes) / (sizes - 1)).sum())
    return Agreement(
        found.value,
        found.low,
        found.high,
        same / n if n else float("nan"),
        level,
        table.raters,
        len(sizes),
        round(n),
    )


def _alpha(observed: Floats, expected: Floats, margins: Floats) -> Floats:
    """Return 1 - Dₒ / Dₑ of each row; where one value stands alone nothing can be said."""
    n = margins.sum(axis=1)
    known = ((margins > 0).sum(axis=1) > 1) & (expected > 0)
    share: Floats = np.full(len(n), np.nan)
    np.divide((n - 1) * observed, expected, out=share, where=known)
    return 1.0 - share


def _squares(counts: "csr_array") -> Floats:
    found: Floats = (counts * counts).sum(axis=1)
    return found


def _nominal(counts: "csr_array", sizes: Floats, _: Floats) -> _Measure:
    apart = (sizes**2 - _squares(counts)) / (sizes - 1)

    def measure(weights: Floats) -> Floats:
        margins = weights @ counts
        n = margins.sum(axis=1)
        return _alpha(weights @ apart, n**2 - (margins**2).sum(axis=1), margins)

    return measure


def _interval(counts: "csr_array", sizes: Floats, numbers: Floats) -> _Measure:
    # Σ (x - y)² over the ordered pairs of m ratings is 2 (m Σ x² - (Σ x)²).
    centred = numbers - numbers.mean() if numbers.size else numbers
    sums, squares = counts @ centred, counts @ centred**2
    apart = 2 * (sizes * squares - sums**2) / (sizes - 1)

    def measure(weights: Floats) -> Floats:
        margins = weights @ counts
        n = margins.sum(axis=1)
        expected = 2 * (n * (margins @ centred**2) - (margins @ centred) ** 2)
        return _alpha(weights @ apart, expected, margins)

    return measure


def _ordinal(counts: "csr_array", sizes: Floats, _: Floats) -> _Measure:
    """Measure values by their mean ranks, which hang on the resample."""

    def measure(weights: Floats) -> Floats:
        margins = weights @ counts
        n = margins.sum(axis=1)
        ranks = np.cumsum(margins, axis=1) - margins / 2 - n[:, None] / 2
        sums, squares = counts @ ranks.T, counts @ (ranks**2).T
        apart = 2 * (sizes[:, None] * squares - sums**2) / (sizes[:, None] - 1)
        observed = np.einsum("ru,ur->r", weights, apart)
        expected = 2 * (n * (margins * ranks**2).sum(axis=1) - (margins * ranks).sum(axis=1) ** 2)
        return _alpha(observed, expected, margins)

    return measure


def _ratio(counts: "csr_array", sizes: Floats, numbers: Floats) -> _Measure:
    if (numbers < 0).any():
        raise ValueError("ratio ratings are not negative")
    if numbers.size > _MAX_RATIO_VALUES:
        raise ValueError(f"ratio ratings have at most {_MAX_RATIO_VALUES:,} different values")
    above, below = numbers[:, None] - numbers, numbers[:, None] + numbers
    distance = np.divide(above, below, out=np.zeros_like(above), where=below > 0) ** 2
    apart = counts.multiply(counts @ distance).sum(axis=1) / (sizes - 1)

    def measure(weights: Floats) -> Floats:
        margins = weights @ counts
        return _alpha(weights @ apart, ((margins @ distance) * margins).sum(axis=1), margins)

    return measure


_MEASURES = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval, "ratio": _ratio}
