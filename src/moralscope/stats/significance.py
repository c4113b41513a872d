"""Tests of differences: t-tests, McNemar's, paired differences, and corrections for their number.

The tests are SciPy's; Holm's correction and the effect that a test can see are not in it.

Paired: two systems answered the same n questions about the same things, so each difference is
taken question by question. The interval is a paired bootstrap over the questions; the p-value is
Student's paired t. With n around ten a bootstrap p is too small in its tails and cannot fall
below 1 / resamples, which a correction over hundreds of comparisons needs.

Groups of people on many questions at once: people change sides, never answers. What one person
answers to many questions stays together, so the questions may hang on each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moralscope.core.protocols import Bools, Floats
from moralscope.stats.intervals import percentile_interval, resample_weights
from moralscope.stats.summary import Summary, summarise

_RESAMPLES = 2000
_BLOCK = 4096  # rows whose draws are in memory at once
_CELLS = 1 << 21  # sides of people in memory at once
PERMUTATIONS = 2000
_POWER = 0.8


def stars(p: float) -> str:
    """Return the papers' significance marks: 5 %, 1 %, 0.1 %."""
    return "*" * sum(p < limit for limit in (0.05, 0.01, 0.001))


@dataclass(frozen=True, slots=True)
class TTest:
    """A two-sided test that two groups have the same mean; `kind` is welch or student."""

    t: float
    p: float
    df: float
    kind: str
    stars: str


def t_test(first: Sequence[float], second: Sequence[float], *, equal_variance: bool) -> TTest:
    """Compare two samples (Student when the variances are taken as equal, else Welch)."""
    return t_test_from_summaries(summarise(first), summarise(second), equal_variance=equal_variance)


def t_test_from_summaries(first: Summary, second: Summary, *, equal_variance: bool) -> TTest:
    """Compare two samples of which only size, mean and sd are known (a paper's table)."""
    kind = "student" if equal_variance else "welch"
    spread = (first.sd or 0.0) + (second.sd or 0.0)
    if min(first.n, second.n) < 2 or spread == 0.0:
        return TTest(float("nan"), float("nan"), float("nan"), kind, "")
    from scipy.stats import ttest_ind_from_stats

    test = ttest_ind_from_stats(
        first.mean, first.sd, first.n, second.mean, second.sd, second.n, equal_var=equal_variance
    )
    df = first.n + second.n - 2.0
    if not equal_variance:
        a, b = first.sd**2 / first.n, second.sd**2 / second.n
        df = (a + b) ** 2 / (a**2 / (first.n - 1) + b**2 / (second.n - 1))
    p = float(test.pvalue)
    return TTest(float(test.statistic), p, df, kind, stars(p))


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact p-value of McNemar's test (1947) on the cases where two differ."""
    from scipy.stats import binomtest

    apart = only_first + only_second
    return float(binomtest(only_first, apart).pvalue) if apart else 1.0


@dataclass(frozen=True, slots=True)
class PairedDifferences:
    """For each row the mean difference, its 95 % interval, its p and the differences' sd."""

    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    sd: Floats


def paired_differences(
    first: Floats, second: Floats, *, seed: int = 0, negligible: float = 0.0
) -> PairedDifferences:
    """Compare two tables (rows x shared observations) row by row.

    Parameters
    ----------
    first, second
        The same observations in the same columns: each resample draws them for both.
    seed
        Seeds the bootstrap.
    negligible
        A mean difference up to this size is rounding: its p is 1.

    Notes
    -----
    d = first - second; t = mean(d) / (sd(d) / √n) with n - 1 degrees of freedom. Percentile
    intervals of few observations are too narrow; their levels are widened to
    Φ(-√(n / (n - 1)) t₀.₉₇₅,ₙ₋₁), which gives the t interval where the draws are normal
    (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", section 4.3).
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    rows, n = differences.shape
    mean = differences.mean(axis=1)
    if n < 2:
        nothing = np.full(rows, np.nan)
        return PairedDifferences(mean, nothing, nothing, nothing, nothing)
    from scipy.stats import norm, t

    sd = differences.std(axis=1, ddof=1)
    error = sd / np.sqrt(n)
    ratio = np.divide(np.abs(mean), error, out=np.full(rows, np.inf), where=error > 0)
    p = np.where(np.abs(mean) <= negligible, 1.0, 2 * t.sf(ratio, n - 1))
    tail = float(norm.sf(np.sqrt(n / (n - 1)) * t.ppf(0.975, n - 1)))
    weights = resample_weights(n, _RESAMPLES, seed).T
    ends = [
        percentile_interval(differences[start : start + _BLOCK] @ weights, tail=tail)
        for start in range(0, rows, _BLOCK)
    ]
    low, high = np.concatenate(ends, axis=1) if ends else np.empty((2, 0))
    return PairedDifferences(mean, low, high, p, sd)


def holm(p: Sequence[float] | Floats) -> Floats:
    """Correct p-values for their number (Holm 1979); valid however they depend on each other.

    Sorted ascending, the k-th of m becomes max over j ≤ k of min(1, (m - j + 1) p_j). What is
    not a number stays so and does not count.
    """
    values = np.asarray(p, dtype=np.float64)
    corrected = np.full(values.shape, np.nan)
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(values[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return corrected


def minimum_detectable_effect(sd: float, n: int, *, alpha: float = 0.05) -> float:
    """Return the smallest true mean difference that a paired t-test finds with a power of 0.8.

    effect = δ sd / √n, where δ solves P(T > t(1 - alpha / 2, n - 1)) = 0.8 for T noncentral t
    with n - 1 degrees of freedom and noncentrality δ (Cohen 1988, chapter 2). The other tail, a
    significant difference of the wrong sign, is too rare to count.
    """
    if n < 2 or not np.isfinite(sd):
        return float("nan")
    from scipy.optimize import brentq
    from scipy.stats import nct, t

    limit = float(t.ppf(1 - alpha / 2, n - 1))
    if limit > 1000:  # two or three observations at a tiny level: no difference is large enough
        return float("inf")

    def excess(delta: float) -> float:
        return float(nct.sf(limit, n - 1, delta)) - _POWER

    return float(brentq(excess, 0.0, 2 * limit + 2)) * sd / float(np.sqrt(n))


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
    difference, observed = _z(first[None].astype(np.float64), centred, mask, spread)
    size = np.abs(observed[0])
    generator = np.random.default_rng(seed)
    alone, largest = np.ones(len(size)), np.ones(len(size))
    rows = max(1, _CELLS // max(values.shape))
    for start in range(0, permutations, rows):
        drawn = np.tile(first, (min(rows, permutations - start), 1))
        sides = generator.permuted(drawn, axis=1).astype(np.float64)
        z = np.nan_to_num(np.abs(_z(sides, centred, mask, spread)[1]))
        # What is equal but for rounding counts as equal: ties are common among few people.
        alone += (z >= size - 1e-9).sum(axis=0)
        largest += len(sides) - np.searchsorted(np.sort(z.max(axis=1)), size - 1e-9)
    unknown = np.isnan(size)
    alone[unknown] = largest[unknown] = np.nan
    total = permutations + 1
    return GroupDifferences(difference[0], alone / total, largest / total)


def _z(sides: Floats, centred: Floats, mask: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return differences of means and z of each division into sides (divisions x questions)."""
    ones = sides @ mask
    twos = mask.sum(axis=0) - ones
    sums = sides @ centred  # those of the other side are the same with the other sign
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.where((ones > 0) & (twos > 0), sums / ones + sums / twos, np.nan)
        return difference, difference / (spread * np.sqrt(1 / ones + 1 / twos))
