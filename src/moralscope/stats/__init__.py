"""Statistics with their spread: bootstrap intervals, correlations, t-tests, paired differences."""

from moralscope.stats.bootstrap import (
    crossed_bootstrap,
    percentile_interval,
    resample_weights,
)
from moralscope.stats.correlation import Correlation, correlate, stars
from moralscope.stats.paired import (
    PairedDifferences,
    holm,
    minimum_detectable_effect,
    paired_differences,
)
from moralscope.stats.ranks import kendall, spearman
from moralscope.stats.summary import Summary, summarise, without_column_effects, z_scores
from moralscope.stats.ttest import TTest, t_test, t_test_from_summaries

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
