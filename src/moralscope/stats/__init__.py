"""Statistics with their spread: bootstrap intervals, correlations, t-tests, paired differences."""

from moralscope.stats.correlation import Correlation, correlate, kendall, spearman
from moralscope.stats.intervals import crossed_bootstrap, percentile_interval, resample_weights
from moralscope.stats.significance import (
    PairedDifferences,
    TTest,
    holm,
    minimum_detectable_effect,
    paired_differences,
    stars,
    t_test,
    t_test_from_summaries,
)
from moralscope.stats.summary import Summary, summarise, without_column_effects, z_scores

__all__ = [
    "Correlation",
    "PairedDifferences",
    "Summary",
    "TTest",
    "correlate",
    "crossed_bootstrap",
    "holm",
    "kendall",
    "minimum_detectable_effect",
    "paired_differences",
    "percentile_interval",
    "resample_weights",
    "spearman",
    "stars",
    "summarise",
    "t_test",
    "t_test_from_summaries",
    "without_column_effects",
    "z_scores",
]
