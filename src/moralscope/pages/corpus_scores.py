"""The page of `score` over a corpus, and of the dry run of any corpus job."""

from moralscope.axes.batch import CorpusScores
from moralscope.batch.estimate import EstimateStatistics
from moralscope.core.records import ActionScore, RunRecord
from moralscope.pages import Presentation
from moralscope.pages.closing import axis_limits
from moralscope.pages.corpus import (
    corpus_headline,
    corpus_summary,
    corpus_tiles,
    duration,
    run_sections,
    spread_section,
)
from moralscope.pages.page import Column, Facts, Page, Section, Table, head, signed
from moralscope.pages.score import direction_sections
from moralscope.pages.words import cut

_CONTENT = "Content warning: texts are shown as they were given; some may be offensive."
_SHORT = 300
_LISTED = 5  # rows at each end in the terminal


def corpus_scores_page(record: RunRecord) -> Page:
    """Lay out the scores of a corpus: their spread and the rows at both ends."""
    statistics: CorpusScores = record.statistics
    scores, quantiles = statistics.scores, statistics.quantiles
    sections = []
    if scores.n and quantiles.keys() >= {"0.05", "0.95"}:
        line = (
            f"mean score {scores.mean:+.3f} (sd {scores.sd:.3f}); 90 % lie between "
            f"{quantiles['0.05']:+.3f} and {quantiles['0.95']:+.3f}"
        )
        sections.append(Section("", [line], shown="terminal"))
    sections += spread_section(statistics.histogram, quantiles)
    for title, ends in (
        ("Lowest scores", statistics.lowest),
        ("Highest scores", statistics.highest),
    ):
        if not ends:
            continue
        cells = []
        for row in ends:
            span = None if row.low is None or row.high is None else (row.low, row.high)
            cells.append([cut(row.action, _SHORT), row.score, span, row.id])
        columns = head(
            Column(title.lower(), wide=100), "score: signed | interval: range | id: right"
        )
        sections += [
            Section(title, [_CONTENT, "Each text once."], [Table(title, columns, cells)]),
            Section("", [], [Table(title, columns, cells[:_LISTED])], shown="terminal"),
        ]
    if statistics.verdicts:
        facts = [(name, f"{count:,} rows") for name, count in statistics.verdicts.items()]
        sections.append(Section("Verdicts", [], [Facts(facts)]))
    sections += direction_sections(statistics.direction)
    sections += run_sections(statistics.corpus, statistics.failed)
    tiles = corpus_tiles(statistics.corpus)
    if scores.n:
        tiles.append((signed(scores.mean), "mean score"))
    summary = [corpus_summary(record, statistics.corpus)]
    headline = corpus_headline(statistics.corpus)
    return Page("Scores of a corpus", summary, tiles, sections, headline=headline)


def estimate_page(record: RunRecord) -> Page:
    """Lay out what a run over a corpus would take."""
    statistics: EstimateStatistics = record.statistics
    estimate = statistics.estimate
    about = "" if estimate.exact else "about "
    cores = f"{estimate.workers} worker{'s' * (estimate.workers > 1)}"
    time, failing = duration(estimate.seconds), f"about {estimate.failed_share:.1%} of the rows"
    pace = (
        f"{1000 * estimate.seconds_a_row:,.2f} ms per row, {estimate.start_seconds:,.1f} s to start"
    )
    rows = [
        ["rows", f"{estimate.rows:,}"],
        ["distinct", f"{about}{estimate.distinct:,} ({estimate.distinct_share:.0%})"],
        *([["cannot be read", failing]] if estimate.failed_share else []),
        ["one worker", f"{pace} (timed on {estimate.drawn} rows)"],
        [f"time with {cores}", f"about {time} ({estimate.rows_a_second:,.0f} rows a second)"],
        ["to be written", f"about {_size(estimate.bytes)}"],
        *([] if estimate.cost is None else [["cost", f"about {estimate.cost:,.2f}"]]),
    ]
    table = Table("What a run would take", [Column("estimate"), Column(" ")], rows)
    return Page(
        f"{record.job} of a corpus: an estimate".capitalize(),
        [f"Nothing was computed or written. It would take about {time} with {cores}."],
        [(f"{estimate.rows:,}", "rows"), (f"{estimate.distinct:,}", "distinct")],
        [Section("What a run would take", [], [table], shown="all")],
    )


def _size(count: float) -> str:
    """Write bytes so that they can be read."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count:,.0f} bytes"


PRESENTATIONS = {
    "score corpus": Presentation(corpus_scores_page, (ActionScore, CorpusScores), axis_limits),
    **{
        f"{job} estimate": Presentation(estimate_page, (dict, EstimateStatistics))
        for job in ("score", "audit", "audit conversations", "collect", "survey")
    },
}
