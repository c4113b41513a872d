"""Statistics with their spread: bootstrap intervals, correlations, t-tests."""

from moralscope.engine.stats.bootstrap import (
    crossed_bootstrap,
    percentile_interval,
    resample_weights,
)
from moralscope.engine.stats.correlation import Correlation, correlate, stars
from moralscope.engine.stats.summary import Summary, summarise
from moralscope.engine.stats.ttest import TTest, t_test, t_test_from_summaries

__all__ = [
    "Correlation",
    "Summary",
    "TTest",
    "correlate",
    "crossed_bootstrap",
    "percentile_interval",
    "resample_weights",
    "stars",
    "summarise",
    "t_test",
    "t_test_from_summaries",
]
