"""The pages of `stories stats`, `split`, `reverse` and `norms`: what stories are made of."""

from itertools import groupby

from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.closing import DATA_LIMITS
from moralscope.pages.page import Block, Chart, Column, Facts, Page, Section, Table, columns, head
from moralscope.stories.reverse import ReversedNorm, ReverseStatistics
from moralscope.stories.select_norms import NormsStatistics, SelectedNorm
from moralscope.stories.split import CROSSINGS, SplitPart, SplitStatistics, StoryMembership
from moralscope.stories.stats import Category, StoriesStatistics

_LOOKS = (("good", ""), ("third", "/"), ("bad", "x"))
_LISTED = 20  # norms that could not be read


def stats_page(record: RunRecord) -> Page:
    """Lay out counts, lengths, topics, duplicates and frequent norms (Tables 7 and 13)."""
    statistics: StoriesStatistics = record.statistics
    cells = []
    for row in record.results:
        tokens = (row.tokens, row.paper, row.different, row.repeated)
        cells.append([row.name.replace("_", " "), row.present, row.missing, *tokens])
    heads = head(
        "sentence | stories: whole | missing: whole | mean tokens: number 2 | paper: number 2",
        "different: whole | repeated: whole",
    )
    note = f"A token is {record.config.get('token')}."
    sentences = Table("Sentences", heads, cells, note=note)
    twice = statistics.duplicates
    facts = [
        ("Repeated stories", f"{twice.whole_stories:,}"),
        ("Repeated pairs of actions", f"{twice.both_actions:,}"),
        ("Stories with one action twice", f"{twice.same_action_twice:,}"),
    ]
    frequent = [[norm.text, norm.stories] for norm in statistics.frequent_norms]
    heads = head("most frequent norms: wide 60 | stories: whole")
    repeats: list[Block] = [Facts(facts), Table("Most frequent norms", heads, frequent)]
    beside = ["Beside Table 7 of Emelin et al. 2021."]
    alike = ["Norms count as one when they have the same content words and the same negation."]
    official = [
        [row.kind, row.split.replace("_", " "), row.train, row.dev, row.test, row.unknown]
        for row in statistics.official_parts
    ]
    heads = head("kind | split | train: whole | dev: whole | test: whole | unknown: whole")
    parts = Table("Parts", heads, official)
    sections = [
        Section("Sentences", beside, [sentences], shown="all"),
        *_topics(statistics),
        Section("Duplicates and frequent norms", alike, repeats, shown="all", gap=True),
        *([Section("Official membership", [], [parts])] if parts.rows else []),
    ]
    stories, complete = f"{statistics.stories:,}", f"{statistics.complete:,}"
    summary = [f"{stories} stories, {complete} of them with all seven sentences."]
    figures = [(stories, "stories"), (complete, "complete")]
    headline = f"{stories} stories, {complete} with all seven sentences"
    return Page("Contents of Moral Stories", summary, figures, sections, headline=headline)


def _topics(statistics: StoriesStatistics) -> list[Section]:
    if not statistics.topics:
        return []
    rows = []
    for topic in statistics.topics:
        known = topic.nearest in statistics.paper_topics
        near = " ".join(statistics.paper_topics[topic.nearest]) if known else ""
        words, nearest = " ".join(topic.words), f"{topic.nearest}: {near}"
        rows.append([words, topic.share, nearest, topic.shared])
    titles = "topic: wide 36 | stories: share 0 | nearest of Table 13: wide 36"
    table = Table("Topics", head(titles, "words in common: whole"), rows)
    prose = ["Latent Dirichlet allocation over lemmas, without function words and first names."]
    return [Section("Topics", prose, [table], shown="all", gap=True)]


def split_page(record: RunRecord) -> Page:
    """Lay out the splits, their metrics beside Table 1, and the leaks between their parts."""
    statistics: SplitStatistics = record.statistics
    cells = []
    for part in statistics.parts:
        means = (part.mean, part.paper, part.official_mean, part.official_overlap)
        cells.append([_named(part), part.part, part.stories, part.samples, *means])
    heads = head(
        "split | part | stories: whole | samples: whole | mean: number 2 | paper: number 2",
        "official: number 2 | in both: whole",
    )
    crossings = [f"{part} in {into}" for part, into in CROSSINGS]
    twins: dict[tuple[str, str], dict[str, str | None]] = {}
    for leak in statistics.leaks:
        key = (leak.split.replace("_", " "), leak.field)
        row = twins.setdefault(key, dict.fromkeys(crossings))
        row[f"{leak.part} in {leak.into}"] = f"{leak.near:,} ({leak.exact:,})"
    title = "Held-out stories with a twin in another part: near (exact)"
    titles = [Column("split"), Column("of"), *(Column(name, right=True) for name in crossings)]
    shared = [[*key, *(row[name] for name in crossings)] for key, row in twins.items()]
    leaks = Table(title, titles, shared, titled=True)
    means_of = (
        "mean: the split's own metric over the part; paper: Table 1 of Emelin et al. 2021; "
        "official: the same metric over the membership that the data gives, and how many stories "
        "are in both."
    )
    twins_are = (
        "Held-out stories that have a twin in another part. Exact twins differ in case and "
        "punctuation at most; near ones count the exact ones too."
    )
    sections = [
        Section("Splits", [means_of], [Table("Parts", heads, cells)], shown="all"),
        Section("Metrics", [], _metric_charts(statistics)),
        Section("Leaks", [twins_are], [leaks], shown="all"),
    ]
    for kind, lemmas in statistics.biased_lemmas.items():
        title = f"Biased lemmas of {kind}s"
        counts = columns("moral", "immoral", kind="whole")
        rows = [[word.lemma, word.moral, word.immoral] for word in lemmas]
        sections.append(Section(title, [], [Table(title, [Column("lemma"), *counts], rows)]))
    count = f"{len(record.results):,}"
    return Page(
        "Moral stories: adversarial splits",
        [
            f"{count} stories shared out by norm distance, lexical bias and minimal pairs: the "
            "test part holds what the train part is least like."
        ],
        [(count, "stories"), (f"{statistics.norm_clusters:,}", "norm clusters")],
        sections,
    )


def _named(part: SplitPart) -> str:
    name = part.split.replace("_", " ")
    return name if part.kind == "both" else f"{name} {part.kind}"


def _metric_charts(statistics: SplitStatistics) -> list[Chart]:
    """Draw ours and the paper's mean per part, one chart a split."""
    charts = []
    for name, rows in groupby(statistics.parts, _named):
        parts = list(rows)
        series = {
            "ours": [row.mean for row in parts],
            "paper": [row.paper for row in parts],
            "official membership": [row.official_mean for row in parts],
        }
        traces = [
            {
                "type": "bar",
                "name": title,
                "x": [row.part for row in parts],
                "y": values,
                "marker": {"color": colour, "pattern": {"shape": shape}},
            }
            for (title, values), (colour, shape) in zip(series.items(), _LOOKS, strict=True)
        ]
        layout = {"xaxis": {"title": "", "type": "category"}, "yaxis": {"title": "mean metric"}}
        about = "Bars: the mean metric of train, dev and test."
        charts.append(Chart(name, about, traces, layout, height=280))
    return charts


def reverse_page(record: RunRecord) -> Page:
    """Lay out reversals and, for a file of stories, how many norms could be read."""
    statistics: ReverseStatistics = record.statistics
    rows: list[ReversedNorm] = list(record.results)
    reversals = [[row.norm, row.pattern, " · ".join(row.reversals)] for row in rows]
    table = Table("Reversals", columns("norm", "pattern", "reversals"), reversals)
    counts = f"{statistics.reversed:,} of {statistics.norms:,} norms reversed"
    share = Column("", "share", 1).write(statistics.share)
    sections = []
    if record.config.get("source") == "arguments":
        headline = ""
        lines = []
        for row in rows:
            lines += [row.norm, *(f"  {text}" for text in row.reversals)]
            if not row.reversals:
                lines.append("  cannot be read, so it is not reversed")
        sections.append(Section("", lines, shown="terminal"))
    else:
        headline = f"{record.config.get('source')}: {counts} ({share})"
        heads = head("pattern | norms: whole | share: share 1")
        counted = [[name, n, n / statistics.norms] for name, n in statistics.patterns.items()]
        patterns = Table("Patterns", heads, counted)
        facts = [
            ("Demand a behaviour", f"{statistics.demand:,}"),
            ("Forbid one", f"{statistics.forbid:,}"),
            (
                "Reversals that read back as the opposite",
                f"{statistics.read_back:,} of {statistics.written:,}",
            ),
            *(("Not read", norm) for norm in statistics.unread[:_LISTED]),
        ]
        if len(statistics.unread) > _LISTED:
            facts.append(("", f"… {len(statistics.unread) - _LISTED:,} more: --json or --out"))
        sections.append(Section("Patterns", [], [patterns, Facts(facts)], shown="all"))
    figures = [(f"{statistics.norms:,}", "norms"), (share, "reversed")]
    sections.append(Section("Reversals", [], [table]))
    return Page("Reversed norms", [f"{counts} ({share})."], figures, sections, headline=headline)


def norms_page(record: RunRecord) -> Page:
    """Lay out what each filter removed, and the norms that are left."""
    statistics: NormsStatistics = record.statistics
    norms: list[SelectedNorm] = list(record.results)
    rows = [["in the file", statistics.rules]]
    rows += [[f"  removed: {name}", count] for name, count in statistics.removed.items()]
    rows.append(["norms", statistics.kept])
    if statistics.drawn < statistics.kept:
        rows.append(["drawn", statistics.drawn])
    for counts in (statistics.categories, statistics.sides):
        rows += [[f"  {name}", count] for name, count in counts.items()]
    filters = Table("Filters", [Column("filter"), Column("rules", "whole")], rows)
    heads = head("norm | categories | agree: number 2 | judgment: number 2 | people: whole")
    cells = [[n.norm, ", ".join(n.categories), n.agree, n.judgment, n.people] for n in norms]
    table = Table("Norms", heads, cells)
    return Page(
        "Norms for new stories",
        [f"{statistics.kept:,} of {statistics.rules:,} rules are norms that can carry a story."],
        [(f"{statistics.rules:,}", "rules"), (f"{statistics.drawn:,}", "norms")],
        [Section("Filters", [], [filters], shown="all"), Section("Norms", [], [table])],
    )


PRESENTATIONS = {
    "stories stats": Presentation(stats_page, (Category, StoriesStatistics), DATA_LIMITS),
    "stories split": Presentation(split_page, (StoryMembership, SplitStatistics), DATA_LIMITS),
    "stories reverse": Presentation(reverse_page, (ReversedNorm, ReverseStatistics), DATA_LIMITS),
    "stories norms": Presentation(norms_page, (SelectedNorm, NormsStatistics), DATA_LIMITS),
}
