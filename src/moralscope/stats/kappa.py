"""Kappa and plain agreement: Cohen's for two raters, Fleiss' for many, with bootstrap intervals.

For ratings that are labels; weighted Cohen's for scales. Missing ratings are allowed where the
formula has a meaning for them. Knows nothing of who rated what.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from moralscope.stats.ratings import (
    RESAMPLES,
    Estimate,
    Floats,
    Rating,
    RatingTable,
    bootstrapped,
    rating_table,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WEIGHTS = ("none", "linear", "quadratic")


def cohen_kappa(
    ratings: Sequence[Sequence[Rating]] | Floats | RatingTable,
    weights: str = "none",
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Return kappa of two raters over the units that both rated, with an interval over units.

    κ = 1 - Σ wₓᵧ oₓᵧ / Σ wₓᵧ eₓᵧ, where oₓᵧ is the share of units rated x by the first and y by
    the second, eₓᵧ the product of the two raters' shares of x and y, and w the disagreement
    (Cohen 1960, 1968): [x ≠ y] without weights, |x - y| for linear and (x - y)² for quadratic
    ones. Labels that are numbers are as far apart as the numbers, others as their places.

    Examples
    --------
    >>> found = cohen_kappa([["a", "a", "b", "b"], ["a", "b", "b", "b"]])
    >>> found.value
    0.5
    """
    if weights not in WEIGHTS:
        raise ValueError(f"weights are one of {', '.join(WEIGHTS)}, not '{weights}'")
    table = rating_table(ratings)
    if table.raters != 2:
        raise ValueError(f"Cohen's kappa is for two raters, not {table.raters}")
    codes = table.matrix()
    first, second = codes[(codes >= 0).all(axis=1)].T
    distance = _distances(table, weights)
    apart = distance[first, second]
    eye = np.eye(len(table.values))
    ones, twos = eye[first], eye[second]

    def measure(drawn: Floats) -> Floats:
        n = drawn.sum(axis=1)
        expected = (((drawn @ ones) @ distance) * (drawn @ twos)).sum(axis=1)
        return _beyond_chance(n * (drawn @ apart), expected)

    return bootstrapped(measure, len(first), resamples, seed, len(table.values))


def fleiss_kappa(
    ratings: Sequence[Sequence[Rating]] | Floats | RatingTable,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Return kappa of any number of raters, who need not be the same for every unit.

    κ = (P̄ - Pₑ) / (1 - Pₑ), where P̄ is the mean over units of the share of pairs of ratings that
    agree, and Pₑ the sum of squares of the labels' shares (Fleiss 1971). Where units have
    different numbers of ratings, a label's share is the mean of its shares in the units (Gwet
    2014, section 2.5). Units with one rating do not count.

    Examples
    --------
    >>> round(fleiss_kappa([["a", "a", "b"], ["a", "a", "b"], ["a", "b", "b"]]).value, 3)
    0.55
    """
    counts = rating_table(ratings).pairable()
    agreeing = _agreeing(counts)
    shares = counts.multiply(1 / counts.sum(axis=1)[:, None]).tocsr()

    def measure(drawn: Floats) -> Floats:
        n = drawn.sum(axis=1)
        chance = (((drawn @ shares) / n[:, None]) ** 2).sum(axis=1)
        return _beyond_chance(1 - (drawn @ agreeing) / n, 1 - chance)

    return bootstrapped(measure, len(agreeing), resamples, seed, counts.shape[1])


def percent_agreement(
    ratings: Sequence[Sequence[Rating]] | Floats | RatingTable,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Return the mean over units of the share of pairs of ratings that agree, from 0 to 1.

    Examples
    --------
    >>> percent_agreement([["a", "b", None], ["a", "a", "b"]]).value
    0.5
    """
    agreeing = _agreeing(rating_table(ratings).pairable())

    def measure(drawn: Floats) -> Floats:
        found: Floats = (drawn @ agreeing) / drawn.sum(axis=1)
        return found

    return bootstrapped(measure, len(agreeing), resamples, seed)


def _agreeing(counts: "csr_array") -> Floats:
    """Return each unit's share of pairs of ratings that agree."""
    sizes = counts.sum(axis=1)
    found: Floats = ((counts * counts).sum(axis=1) - sizes) / (sizes * (sizes - 1))
    return found


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """Return 1 - observed / expected disagreement; where none is expected nothing can be said."""
    share: Floats = np.full(len(observed), np.nan)
    np.divide(observed, expected, out=share, where=expected > 1e-12)
    return 1.0 - share


def _distances(table: RatingTable, weights: str) -> Floats:
    if weights == "none":
        return 1.0 - np.eye(len(table.values))
    text = any(isinstance(value, str) for value in table.values)
    places = np.arange(float(len(table.values))) if text else table.numbers
    apart = np.abs(places[:, None] - places)
    return apart if weights == "linear" else apart**2
