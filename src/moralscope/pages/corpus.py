"""What pages of corpus runs have in common: the run itself, the spread of scores, what failed.

The rows themselves are in the parts; a record holds what is true of all of them.
"""

import math
from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise

from moralscope.batch.types import FailedRows, Outcome
from moralscope.core.records import RunRecord
from moralscope.pages.charts import bars
from moralscope.pages.page import Block, Column, Facts, Section, Table, signed
from moralscope.pages.words import cut, text
from moralscope.stats.streams import HistogramBins

_SHORT = 300
_SHOWN = 5  # reasons in the terminal


def corpus_headline(run: Outcome) -> str:
    """Return the terminal's first line: rows, parts, pace."""
    resumed = f", {run.resumed_parts:,} of them there before" if run.resumed_parts else ""
    return (
        f"{run.rows:,} rows ({run.distinct:,} distinct) in {run.parts:,} parts{resumed}; "
        f"{duration(run.seconds)}, {run.rate:,.0f} rows per second"
    )


def corpus_summary(record: RunRecord, run: Outcome) -> str:
    """Return a report's first sentence: what was read, and where the rows are."""
    config = record.config["corpus"]
    source = f" from {text(config['inputs'])}" if config.get("inputs") else ""
    target = f" The rows with their results are in {config['out']}." if config.get("out") else ""
    return (
        f"{run.rows:,} rows{source}, {run.distinct:,} of them distinct: each distinct text was "
        f"computed once.{target}"
    )


def corpus_tiles(run: Outcome) -> list[tuple[str, str]]:
    """Return a report's first figures."""
    return [
        (f"{run.rows:,}", "rows"),
        (f"{run.distinct:,}", "distinct"),
        (f"{run.failed:,}", "failed"),
    ]


def spread_section(
    histogram: HistogramBins | None, quantiles: Mapping[str, float] | None
) -> list[Section]:
    """Draw how the scores of a corpus are spread, where there are any."""
    if histogram is None:
        return []
    labels = [signed((low + high) / 2) for low, high in pairwise(histogram.edges)]
    title = "How the scores are spread"
    blocks: list[Block] = [bars(title, {"rows": histogram.counts[: len(labels)]}, labels, "rows")]
    if quantiles:
        facts = [
            (f"{100 * float(share):g} % lie below", signed(at)) for share, at in quantiles.items()
        ]
        blocks.append(Facts(facts))
    return [Section(title, ["Each bar is named by the middle of its scores."], blocks)]


def run_sections(run: Outcome, failed: FailedRows | None) -> list[Section]:
    """Return the end of a corpus page: which rows failed, and the pace."""
    sections = []
    if failed is not None and failed.reasons:
        columns = [Column("reason", wide=80), Column("rows", "whole")]
        rows = [[cut(row.reason, _SHORT), row.rows] for row in failed.reasons]
        prose = ["They are in no part; _run/failed.jsonl names each with its file and line."]
        table = Table("Rows that failed", columns, rows, titled=True, ends=_SHOWN)
        sections.append(Section("Rows that failed", prose, [table], shown="all"))
    facts = [
        ("parts", f"{run.parts:,}"),
        ("parts that were there before", f"{run.resumed_parts:,}"),
        ("time", duration(run.seconds)),
        ("rows per second", f"{run.rate:,.0f}"),
    ]
    return [*sections, Section("The run", [], [Facts(facts)])]


def duration(seconds: float) -> str:
    """Write a time as h:mm:ss."""
    return (
        str(timedelta(seconds=round(min(seconds, 1e9)))) if math.isfinite(seconds) else text(None)
    )
