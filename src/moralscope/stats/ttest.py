"""Two-sample t-tests from data or from printed summaries, by SciPy."""

from collections.abc import Sequence
from dataclasses import dataclass

from moralscope.stats.correlation import stars
from moralscope.stats.summary import Summary, summarise


@dataclass(frozen=True, slots=True)
class TTest:
    """A two-sided test that two groups have the same mean; `kind` is welch or student."""

    t: float
    p: float
    df: float
    kind: str
    stars: str


def t_test(first: Sequence[float], second: Sequence[float], *, equal_variance: bool) -> TTest:
    """Compare two samples (Student when the variances are taken as equal, else Welch).

    Examples
    --------
    >>> round(t_test([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], equal_variance=True).t, 4)
    -1.2247
    """
    return t_test_from_summaries(summarise(first), summarise(second), equal_variance=equal_variance)


def t_test_from_summaries(first: Summary, second: Summary, *, equal_variance: bool) -> TTest:
    """Compare two samples of which only size, mean and sd are known (a paper's table)."""
    kind = "student" if equal_variance else "welch"
    spread = (first.sd or 0.0) + (second.sd or 0.0)
    if min(first.n, second.n) < 2 or spread == 0.0:
        return TTest(float("nan"), float("nan"), float("nan"), kind, "")
    from scipy.stats import ttest_ind_from_stats

    found = ttest_ind_from_stats(
        first.mean, first.sd, first.n, second.mean, second.sd, second.n, equal_var=equal_variance
    )
    df = first.n + second.n - 2.0 if equal_variance else _welch_df(first, second)
    p = float(found.pvalue)
    return TTest(float(found.statistic), p, df, kind, stars(p))


def _welch_df(first: Summary, second: Summary) -> float:
    a, b = first.sd**2 / first.n, second.sd**2 / second.n
    return (a + b) ** 2 / (a**2 / (first.n - 1) + b**2 / (second.n - 1))
