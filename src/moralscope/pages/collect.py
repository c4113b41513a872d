"""The page of `collect`: how many replies passed each step, and those that were kept."""

from collections.abc import Sequence

from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import bars
from moralscope.pages.corpus import corpus_headline, corpus_summary, corpus_tiles, run_sections
from moralscope.pages.page import Column, Page, Section, Table, columns, head
from moralscope.pages.words import cut, more_note, plural
from moralscope.rules.collect.chatbots import CollectedExchange, CollectStatistics

LIMITS = (
    "It is not moral advice. Replies are what these chatbots said.",
    "The filters are rough: they choose what is worth annotating, and judge nobody. What they "
    "dropped may still be worth reading.",
)
_MOST = 2_000  # exchanges that a page lists
_SHOWN = 10  # and the terminal


def collect_page(record: RunRecord) -> Page:
    """Lay out collected exchanges."""
    statistics: CollectStatistics = record.statistics
    results: Sequence[CollectedExchange] = record.results
    bots = list(statistics.forms)
    prompts = Table("Prompts", head("prompts | count: whole"), list(statistics.prompts.items()))
    several = len(bots) > 1
    titles = [*bots, *(["all"] if several else [])]
    rows: list[list[object]] = []
    for step in statistics.steps:
        by_chatbot = [step.by_chatbot.get(bot) for bot in bots]
        rows.append([step.step, *by_chatbot, *([step.all] if several else [])])
    steps = Table("Steps", [Column("step"), *columns(*titles, kind="whole")], rows)
    left = "Replies that are left after each step."
    sections = [
        Section("Prompts", [], [prompts], shown="all"),
        Section("Steps", [left], [steps], shown="all", gap=True),
    ]
    kept = [row for row in results if row.dropped is None]
    if kept:
        heads = head("kept: wide 24 | prompt: wide 60 | reply: wide 60")
        rows = [[row.id, cut(row.prompt), cut(row.reply)] for row in kept[:_MOST]]
        note = more_note(len(kept) - _MOST)
        table = Table("Exchanges kept", heads, rows, note=note, ends=_SHOWN)
        sections.append(Section("Exchanges kept", [], [table], shown="all", gap=True))
    for title, counts in (("Categories", statistics.categories), ("Keywords", statistics.keywords)):
        if counts:
            values = [float(count) for count in counts.values()]
            prose = ["Words of the lexicons in the replies that were kept."]
            chart = bars(title, {"replies": values}, list(counts), "replies")
            sections.append(Section(title, prose, [chart]))
    asked = statistics.prompts.get("asked", 0)
    summary = [f"{', '.join(bots)} answered {plural(asked, 'prompt')}; {statistics.kept:,} kept."]
    tiles = [(f"{statistics.kept:,}", "kept"), (f"{asked:,}", "prompts asked")]
    headline = ""
    if statistics.corpus is not None:
        summary.insert(0, corpus_summary(record, statistics.corpus))
        tiles += corpus_tiles(statistics.corpus)
        sections += run_sections(statistics.corpus, statistics.failed)
        headline = corpus_headline(statistics.corpus)
    return Page("Exchanges collected", summary, tiles, sections, headline=headline)


_PRESENTATION = Presentation(collect_page, (CollectedExchange, CollectStatistics), LIMITS)
PRESENTATIONS = {"collect": _PRESENTATION, "collect corpus": _PRESENTATION}
