"""How far raters agree, with missing ratings and intervals: alpha, kappas, plain agreement.

Krippendorff's alpha for any number of raters and nominal, ordinal, interval and ratio ratings;
Cohen's kappa for two raters (weighted for scales) and Fleiss' for many, for labels. Neither SciPy
nor scikit-learn gives an interval or takes a missing rating. Knows nothing of who rated what.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from moralscope.core.records import Interval
from moralscope.stats.ratings import RESAMPLES, Floats, Ratings, bootstrapped, rating_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LEVELS = ("nominal", "ordinal", "interval", "ratio")
WEIGHTS = ("none", "linear", "quadratic")
_MAX_RATIO_VALUES = 4000  # their distances are a table in memory
_Measure = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class RaterAgreement:
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


def krippendorff_alpha(ratings: Ratings, level: str = "nominal") -> float:
    """Return alpha of a table raters x units; None or not-a-number is a missing rating.

    alpha = 1 - Dₒ / Dₑ = 1 - (n - 1) Σ oₓᵧ δ²ₓᵧ / Σ nₓ nᵧ δ²ₓᵧ, where oₓᵧ adds 1 / (mᵤ - 1) for
    every ordered pair of ratings (x, y) of a unit u with mᵤ ratings, nₓ = Σᵧ oₓᵧ and n = Σ nₓ. δ²
    is [x ≠ y] for nominal ratings, (x - y)² for interval ones, ((x - y) / (x + y))² for ratio ones,
    and for ordinal ones the square of Σ nₖ over the values from x to y, less (nₓ + nᵧ) / 2
    (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").
    """
    return agreement(ratings, level, resamples=0).alpha


def agreement(
    ratings: Ratings, level: str = "nominal", *, seed: int = 0, resamples: int = RESAMPLES
) -> RaterAgreement:
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
    alpha = bootstrapped(measure, len(sizes), resamples, seed, len(table.values))
    n = float(sizes.sum())
    same = float(((_squares(counts) - sizes) / (sizes - 1)).sum())
    return RaterAgreement(
        alpha.value,
        alpha.low,
        alpha.high,
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
    return np.asarray((counts * counts).sum(axis=1))


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


def cohen_kappa(
    ratings: Ratings, weights: str = "none", *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Return kappa of two raters over the units that both rated, with an interval over units.

    κ = 1 - Σ wₓᵧ oₓᵧ / Σ wₓᵧ eₓᵧ, where oₓᵧ is the share of units rated x by the first and y by
    the second, eₓᵧ the product of the two raters' shares of x and y, and w the disagreement
    (Cohen 1960, 1968): [x ≠ y] without weights, |x - y| for linear and (x - y)² for quadratic
    ones. Labels that are numbers are as far apart as the numbers, others as their places.
    """
    if weights not in WEIGHTS:
        raise ValueError(f"weights are one of {', '.join(WEIGHTS)}, not '{weights}'")
    table = rating_table(ratings)
    if table.raters != 2:
        raise ValueError(f"Cohen's kappa is for two raters, not {table.raters}")
    codes = table.matrix()
    first, second = codes[(codes >= 0).all(axis=1)].T
    if weights == "none":
        distance = 1.0 - np.eye(len(table.values))
    else:
        text = any(isinstance(value, str) for value in table.values)
        values = np.arange(float(len(table.values))) if text else table.numbers
        steps = np.abs(values[:, None] - values)
        distance = steps if weights == "linear" else steps**2
    apart = distance[first, second]
    eye = np.eye(len(table.values))
    ones, twos = eye[first], eye[second]

    def measure(drawn: Floats) -> Floats:
        n = drawn.sum(axis=1)
        expected = (((drawn @ ones) @ distance) * (drawn @ twos)).sum(axis=1)
        return _beyond_chance(n * (drawn @ apart), expected)

    return bootstrapped(measure, len(first), resamples, seed, len(table.values))


def fleiss_kappa(ratings: Ratings, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Return kappa of any number of raters, who need not be the same for every unit.

    κ = (P̄ - Pₑ) / (1 - Pₑ), where P̄ is the mean over units of the share of pairs of ratings that
    agree, and Pₑ the sum of squares of the labels' shares (Fleiss 1971). Where units have
    different numbers of ratings, a label's share is the mean of its shares in the units (Gwet
    2014, section 2.5). Units with one rating do not count.
    """
    counts = rating_table(ratings).pairable()
    agreeing = _agreeing(counts)
    shares = counts.multiply(1 / counts.sum(axis=1)[:, None]).tocsr()

    def measure(drawn: Floats) -> Floats:
        n = drawn.sum(axis=1)
        chance = (((drawn @ shares) / n[:, None]) ** 2).sum(axis=1)
        return _beyond_chance(1 - (drawn @ agreeing) / n, 1 - chance)

    return bootstrapped(measure, len(agreeing), resamples, seed, counts.shape[1])


def percent_agreement(ratings: Ratings, *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Return the mean over units of the share of pairs of ratings that agree, from 0 to 1."""
    agreeing = _agreeing(rating_table(ratings).pairable())

    def measure(drawn: Floats) -> Floats:
        return np.asarray((drawn @ agreeing) / drawn.sum(axis=1))

    return bootstrapped(measure, len(agreeing), resamples, seed)


def _agreeing(counts: "csr_array") -> Floats:
    """Return each unit's share of pairs of ratings that agree."""
    sizes = counts.sum(axis=1)
    return (_squares(counts) - sizes) / (sizes * (sizes - 1))


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """Return 1 - observed / expected disagreement; where none is expected nothing can be said."""
    share: Floats = np.full(len(observed), np.nan)
    np.divide(observed, expected, out=share, where=expected > 1e-12)
    return 1.0 - share
