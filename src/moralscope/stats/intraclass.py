"""Intraclass correlation: how far raters agree on numbers, in the six forms of Shrout and Fleiss.

One-way forms for units whose raters are not the same people, two-way forms for units that all
raters rated. Intervals and tests are those of the analysis of variance. Knows nothing of who
rated what.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.stats.ratings import Floats, Ints, Ratings, rating_table

_NAN = float("nan")


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


@dataclass(frozen=True, slots=True)
class IntraclassForm:
    """One form with its 95 % interval and the test of no correlation, F(df1, df2).

    `k` is the number of ratings a unit has, its mean where numbers differ.
    """

    form: str
    value: float
    low: float
    high: float
    f: float
    df1: int
    df2: int
    p: float
    units: int
    k: float


@dataclass(frozen=True, slots=True)
class _OneWay:
    """Mean squares between and within units, and what else the formulas need."""

    between: float
    within: float
    units: int
    ratings: int
    share: float  # k₀: the ratings a unit has, for the formulas


@dataclass(frozen=True, slots=True)
class _TwoWay:
    """Mean squares between units, between raters and of what is left."""

    between: float
    raters: float
    rest: float
    n: int
    k: int


def intraclass(units: Sequence[Sequence[float]]) -> Intraclass:
    """Return the ICC of units, each a list of its ratings; a unit with one rating does not count.

    ICC(1, k) = (MSB - MSW) / MSB and ICC(1, 1) = (MSB - MSW) / (MSB + (k₀ - 1) MSW), where MSB and
    MSW are the mean squares between and within units of the one-way analysis of variance and
    k₀ = (N - Σ kᵤ² / N) / (n - 1) for n units with kᵤ of the N ratings (Shrout and Fleiss 1979;
    unequal numbers as in Donner 1986).
    """
    sizes = [len(unit) for unit in units]
    values = np.array([value for unit in units for value in unit], dtype=np.float64)
    squares = _one_way(np.repeat(np.arange(len(units)), sizes), values)
    n, total = squares.units, squares.ratings
    k = total / n if n > 1 else _NAN
    single, mean = _single_and_mean(squares.between, squares.within, squares.share)
    return Intraclass(single, mean, k, n, total)


def intraclass_forms(ratings: Ratings) -> tuple[IntraclassForm, ...]:
    """Return ICC(1), ICC(1,k), ICC(2,1), ICC(2,k), ICC(3,1) and ICC(3,k) of raters x units.

    With MSB, MSJ and MSE the mean squares between units, between raters and of the rest, n units
    and k raters: ICC(2, 1) = (MSB - MSE) / (MSB + (k - 1) MSE + k (MSJ - MSE) / n), ICC(3, 1) =
    (MSB - MSE) / (MSB + (k - 1) MSE), and those of the mean of k ratings with the Spearman-Brown
    step k r / (1 + (k - 1) r) (Shrout and Fleiss 1979; intervals of ICC(2) by Satterthwaite's
    approximation, as there and in McGraw and Wong 1996). The one-way forms use every unit with two
    ratings; the two-way forms only the units that all raters rated, and are left out where these
    are fewer than two. With unequal numbers of ratings the one-way interval is approximate.
    """
    table = rating_table(ratings)
    numbers = table.numbers
    one = _one_way(table.unit, numbers[table.code])
    forms = _one_way_forms(one) if one.units > 1 else ()
    if table.raters < 2 or len(table.unit) < 2 * table.raters:
        return forms
    full = np.bincount(table.unit, minlength=table.units) == table.raters
    if full.sum() < 2:
        return forms
    kept = full[table.unit]
    cells = np.empty((table.units, table.raters))
    cells[table.unit[kept], table.rater[kept]] = numbers[table.code[kept]]
    return (*forms, *_two_way_forms(_two_way(cells[full])))


def _one_way(owners: Ints, values: Floats) -> _OneWay:
    sizes = np.bincount(owners)
    several = sizes > 1
    kept = several[owners]
    values, owners = values[kept], np.cumsum(several)[owners[kept]] - 1
    sizes = sizes[several]
    n, total = len(sizes), len(values)
    if n < 2:
        return _OneWay(_NAN, _NAN, n, total, _NAN)
    means = np.bincount(owners, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (n - 1)
    within = float(((values - means[owners]) ** 2).sum()) / (total - n)
    share = (total - float((sizes**2).sum()) / total) / (n - 1)
    return _OneWay(between, within, n, total, share)


def _two_way(cells: Floats) -> _TwoWay:
    n, k = cells.shape
    grand, rows, columns = cells.mean(), cells.mean(axis=1), cells.mean(axis=0)
    between = k * float(((rows - grand) ** 2).sum()) / (n - 1)
    raters = n * float(((columns - grand) ** 2).sum()) / (k - 1)
    left = cells - rows[:, None] - columns + grand
    return _TwoWay(between, raters, float((left**2).sum()) / ((n - 1) * (k - 1)), n, k)


def _single_and_mean(between: float, within: float, k: float) -> tuple[float, float]:
    """Return the correlation of one rating and of the mean of k."""
    if not between + within > 0:
        return _NAN, _NAN
    single = (between - within) / (between + (k - 1) * within)
    return single, (between - within) / between if between else _NAN


def _one_way_forms(one: _OneWay) -> tuple[IntraclassForm, ...]:
    test = _f_test(one.between, one.within, one.units - 1, one.ratings - one.units)
    single, mean = _single_and_mean(one.between, one.within, one.share)
    ends = _f_interval(*test[:3])
    rows = (
        ("ICC(1)", single, *_single_ends(ends, one.share)),
        ("ICC(1,k)", mean, *_mean_ends(ends)),
    )
    k = one.ratings / one.units
    return tuple(IntraclassForm(*row, *test, one.units, k) for row in rows)


def _two_way_forms(two: _TwoWay) -> tuple[IntraclassForm, ...]:
    n, k = two.n, two.k
    test = _f_test(two.between, two.rest, n - 1, (n - 1) * (k - 1))
    below = two.between + (k - 1) * two.rest + k * (two.raters - two.rest) / n
    agreed = (two.between - two.rest) / below if below > 0 else _NAN
    low, high = _satterthwaite(two, agreed)
    single, mean = _single_and_mean(two.between, two.rest, k)
    ends = _f_interval(*test[:3])
    rows = (
        ("ICC(2,1)", agreed, low, high),
        ("ICC(2,k)", _stepped(agreed, k), _stepped(low, k), _stepped(high, k)),
        ("ICC(3,1)", single, *_single_ends(ends, k)),
        ("ICC(3,k)", mean, *_mean_ends(ends)),
    )
    return tuple(IntraclassForm(*row, *test, n, float(k)) for row in rows)


def _f_test(above: float, below: float, df1: int, df2: int) -> tuple[float, int, int, float]:
    from scipy.stats import f

    if not above + below > 0:
        return _NAN, df1, df2, _NAN
    ratio = above / below if below > 0 else float("inf")
    return ratio, df1, df2, float(f.sf(ratio, df1, df2))


def _f_interval(ratio: float, df1: int, df2: int) -> tuple[float, float]:
    """Return the 95 % ends of the ratio of the two true mean squares."""
    from scipy.stats import f

    return ratio / float(f.ppf(0.975, df1, df2)), ratio * float(f.ppf(0.975, df2, df1))


def _single_ends(ends: tuple[float, float], k: float) -> tuple[float, float]:
    low, high = (1.0 if np.isinf(end) else (end - 1) / (end + k - 1) for end in ends)
    return low, high


def _mean_ends(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = (1 - 1 / end if end else _NAN for end in ends)
    return low, high


def _stepped(value: float, k: int) -> float:
    """Return the correlation of the mean of k ratings from that of one (Spearman-Brown)."""
    below = 1 + (k - 1) * value
    return k * value / below if below else _NAN


def _satterthwaite(two: _TwoWay, agreed: float) -> tuple[float, float]:
    """Return the interval of ICC(2, 1): degrees of freedom of a sum of mean squares."""
    from scipy.stats import f

    n, k = two.n, two.k
    if two.rest == 0:  # every rater ranks the units alike: the approximation divides by nothing
        return (1.0, 1.0) if two.raters == 0 and two.between > 0 else (_NAN, _NAN)
    lead = k * agreed * two.raters / two.rest
    tail = n * (1 + (k - 1) * agreed) - k * agreed
    df = (n - 1) * (k - 1) * (lead + tail) ** 2 / ((n - 1) * lead**2 + tail**2)
    spread = k * two.raters + (k * n - k - n) * two.rest
    upper, lower = float(f.ppf(0.975, n - 1, df)), float(f.ppf(0.975, df, n - 1))
    low = n * (two.between - upper * two.rest) / (upper * spread + n * two.between)
    high = n * (lower * two.between - two.rest) / (spread + n * lower * two.between)
    return low, high
