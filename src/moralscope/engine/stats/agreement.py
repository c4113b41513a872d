"""Krippendorff's alpha: how far raters agree beyond chance, with missing ratings and an interval.

Any number of raters; nominal, ordinal and interval ratings. Knows nothing of who rated what.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.engine.stats.bootstrap import percentile_interval, resample_weights

LEVELS = ("nominal", "ordinal", "interval")
_RESAMPLES = 2000
_BLOCK = 1 << 22  # coincidences of resamples in memory at once
Floats = NDArray[np.float64]
Rating = str | float | None


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


def krippendorff_alpha(ratings: Sequence[Sequence[Rating]], level: str = "nominal") -> float:
    """Return alpha of a table raters x units; None or not-a-number is a missing rating.

    alpha = 1 - Dₒ / Dₑ = 1 - (n - 1) Σ oₓᵧ δ²ₓᵧ / Σ nₓ nᵧ δ²ₓᵧ, where oₓᵧ adds 1 / (mᵤ - 1) for
    every ordered pair of ratings (x, y) of a unit u with mᵤ ratings, nₓ = Σᵧ oₓᵧ and n = Σ nₓ. δ²
    is [x ≠ y] for nominal ratings, (x - y)² for interval ones, and for ordinal ones the square of
    Σ nₖ over the values from x to y, less (nₓ + nᵧ) / 2 (Krippendorff 2011, "Computing
    Krippendorff's Alpha-Reliability").

    Examples
    --------
    >>> jon = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    >>> meg = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    >>> round(krippendorff_alpha([jon, meg]), 3)
    0.095
    """
    units, values = _coincidences(ratings, level)
    return float(_alpha(units.sum(axis=0)[None], values, level)[0])


def agreement(
    ratings: Sequence[Sequence[Rating]], level: str = "nominal", *, seed: int = 0
) -> Agreement:
    """Return alpha with a percentile bootstrap interval over the units.

    Examples
    --------
    >>> found = agreement([["a", "b", "b", None], ["a", "b", "a", "a"]])
    >>> found.units, found.ratings, found.raters
    (3, 6, 2)
    """
    units, values = _coincidences(ratings, level)
    whole = units.sum(axis=0)
    n = float(whole.sum())
    low, high = _interval(units, values, level, seed)
    return Agreement(
        float(_alpha(whole[None], values, level)[0]),
        low,
        high,
        float(np.trace(whole)) / n if n else float("nan"),
        level,
        len(ratings),
        len(units),
        round(n),
    )


def _coincidences(ratings: Sequence[Sequence[Rating]], level: str) -> tuple[Floats, Floats]:
    """Return each pairable unit's coincidences (units x values x values) and the values."""
    if level not in LEVELS:
        raise ValueError(f"level is one of {', '.join(LEVELS)}, not '{level}'")
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("every rater has the same units; a missing rating is None")
    known = {value for row in ratings for value in row if not _missing(value)}
    # Nominal values have no order: any fixed one will do.
    ordered = sorted(known, key=str if level == "nominal" else _number)
    codes = {value: place for place, value in enumerate(ordered)}
    counts = np.zeros((len(ratings[0]) if ratings else 0, len(ordered)))
    for row in ratings:
        for unit, value in enumerate(row):
            if not _missing(value):
                counts[unit, codes[value]] += 1
    sizes = counts.sum(axis=1)
    counts, sizes = counts[sizes > 1], sizes[sizes > 1]
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs -= counts[:, :, None] * np.eye(len(ordered))  # a rating is not paired with itself
    values = np.arange(float(len(ordered)))
    if level != "nominal":
        values = np.array([_number(value) for value in ordered])
    return pairs / (sizes[:, None, None] - 1), values


def _missing(value: Rating) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _number(value: Rating) -> float:
    if isinstance(value, str) or value is None:
        raise ValueError(f"ordinal and interval ratings are numbers, not '{value}'")
    return float(value)


def _alpha(tables: Floats, values: Floats, level: str) -> Floats:
    """Return alpha of each table of coincidences (tables x values x values)."""
    margins = tables.sum(axis=2)
    n = margins.sum(axis=1)
    if level == "ordinal":
        below = np.cumsum(margins, axis=1) - margins / 2
        distance = (below[:, :, None] - below[:, None, :]) ** 2
    elif level == "interval":
        distance = ((values[:, None] - values) ** 2)[None]
    else:
        distance = 1.0 - np.eye(len(values))[None]
    observed = (tables * distance).sum(axis=(1, 2))
    expected = (margins[:, :, None] * margins[:, None, :] * distance).sum(axis=(1, 2))
    share: Floats = np.full(len(n), np.nan)
    np.divide((n - 1) * observed, expected, out=share, where=expected > 0)
    return 1.0 - share


def _interval(units: Floats, values: Floats, level: str, seed: int) -> tuple[float, float]:
    if len(units) < 2:
        return float("nan"), float("nan")
    counts = resample_weights(len(units), _RESAMPLES, seed) * len(units)
    flat, size = units.reshape(len(units), -1), len(values)
    rows = max(1, _BLOCK // max(1, size * size))
    draws = [
        _alpha((counts[start : start + rows] @ flat).reshape(-1, size, size), values, level)
        for start in range(0, _RESAMPLES, rows)
    ]
    found = np.concatenate(draws)
    usable = found[np.isfinite(found)]  # a resample whose ratings are all the same has no alpha
    if not usable.size:
        return float("nan"), float("nan")
    low, high = percentile_interval(usable[None])
    return float(low[0]), float(high[0])
