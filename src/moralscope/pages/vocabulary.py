"""The pages of `words associate`, `extract`, `validate` and `correlate`: what vectors say."""

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from moralscope.axes.correlate import CorrelateStatistics, WordPair
from moralscope.core.records import RunRecord, grouped
from moralscope.pages import Presentation
from moralscope.pages.charts import Mark, named_scatter, ranked, ranked_section
from moralscope.pages.page import Block, Column, Facts, Page, Section, Table, head
from moralscope.pages.words import correlation_text, plural, text
from moralscope.words.associate import AssociateStatistics, AssociationTest, TestsStatistics
from moralscope.words.association import WordScore
from moralscope.words.extract import ExtractedVerb, ExtractStatistics
from moralscope.words.valence import RatedWord, Valence, ValenceStatistics

_ENDS = ("bad", "good")
_SHOWN = 20  # words at either end of a long list in the terminal
_HOW = "The bar through each mark is its 95 % interval, over the words of the sets."


def associate_page(record: RunRecord) -> Page:
    """Lay out words by their association, or the association tests."""
    if "tests" in record.config:
        return _tests_page(record)
    scored = [row for row in record.results if row.score is not None and row.score == row.score]
    scored.sort(key=lambda row: -row.score)
    scale = max((abs(row.score) for row in scored), default=0.0) or 1.0
    columns = head(
        "word: wide 44",
        Column("|".join(_ENDS), "bar"),
        "score: signed | 95 % interval: range right",
    )
    rows = [[row.word, row.score / scale, row.score, _span(row)] for row in scored]
    table = Table("Words", columns, rows, ends=_SHOWN)
    marks = [Mark(row.word, row.score, at, row.low, row.high) for at, row in enumerate(scored)]
    sets, vectors = text(record.config.get("sets")), text(record.config.get("vectors"))
    summary = (
        f"How much nearer {plural(len(scored), 'word')} are to the good than to the bad words of "
        f"{sets}, in {vectors}."
    )
    every = Section("All words", [], [table], shown="all")
    sections = [*ranked_section(marks, _ENDS, _HOW), every]
    title = f"Association with {sets}, {vectors}"
    headline = f"association with {sets}, {vectors}"
    return Page(title, [summary], sections=sections, main=table, headline=headline)


def _span(row: WordScore | ExtractedVerb | AssociationTest) -> tuple[float, float] | None:
    return None if row.low is None or row.high is None else (row.low, row.high)


def _tests_page(record: RunRecord) -> Page:
    columns = head(
        "test | words: right | d: signed 2 | 95 % interval: range 2 right",
        "p: right | word2vec: right | GloVe: right",
    )
    rows: list[list[Any]] = []
    marks = []
    tests: Sequence[AssociationTest] = record.results
    for test in tests:
        printed = [test.published.get(kind) for kind in ("word2vec", "glove")]
        published = [f"{cell.d:+.2f} {cell.p:.2g}" if cell else "" for cell in printed]
        figures: list[Any] = [None, None, None, None]
        if test.effect_size is not None and test.p is not None:
            p = f"{test.p:.2g}" if test.exact else f"~{test.p:.2g}"
            figures = [f"{test.n_x}+{test.n_y}", test.effect_size, _span(test), p]
            marks.append(Mark(test.name, test.effect_size, len(rows), test.low, test.high))
        rows.append([test.name, *figures, *published])
    key = "word2vec, GloVe: d and p as Caliskan et al. 2017 print them; ~ sampled, not exact"
    table = Table("Association tests", columns, rows, note=key)
    title = f"association tests, {text(record.config.get('vectors'))}"
    marks.sort(key=lambda mark: -mark.score)
    charts = [ranked(marks, "Effect sizes", ("y is nearer", "x is nearer"))] if marks else []
    summary = [f"{record.statistics.significant} of {record.statistics.run} tests have p < 0.05."]
    sections = [
        Section("Effect sizes", [], charts),
        Section("All tests", [], [table], shown="all"),
        Section("", [key], shown="terminal"),
    ]
    return Page(title.capitalize(), summary, sections=sections, main=table, headline=title)


def extract_page(record: RunRecord) -> Page:
    """Lay out the dos and don'ts of a vocabulary."""
    statistics: ExtractStatistics = record.statistics
    verbs = [row for row in record.results if row.score is not None]
    verbs.sort(key=lambda row: -row.score)
    marks = [Mark(row.word, row.score, index, row.low, row.high) for index, row in enumerate(verbs)]
    vectors = text(record.config.get("vectors"))
    size = f"{statistics.verbs:,} verbs in {statistics.words:,} words"
    columns = head(
        "verb | side | score: signed | 95 % interval: range | rank in the papers' list: whole",
        "rated as",
    )
    rows = [[row.word, row.side, row.score, _span(row), row.paper_rank, row.form] for row in verbs]
    table = Table("Verbs", columns, rows)
    blocks = extraction_blocks(record.results, statistics)
    return Page(
        f"Dos and don'ts of {vectors}",
        [f"The most positive and the most negative of {size}."],
        sections=[
            *ranked_section(marks, _ENDS, _HOW),
            Section("Dos and don'ts", [], blocks, shown="all"),
            Section("All verbs", [], [table], folded=True),
        ],
        main=table,
        headline=f"{vectors}, {size}",
    )


def extraction_blocks(verbs: Sequence[ExtractedVerb], statistics: ExtractStatistics) -> list[Block]:
    """Lay out dos beside don'ts with their rank in the papers' lists, the overlap, the valence."""
    side = "score: signed | 95 %: range 2 right | rank: whole"
    columns = head(f"do | {side} | don't | {side}")

    def cells(row: ExtractedVerb | None) -> list[Any]:
        if row is None:
            return ["", None, None, None]
        marks = ("*" if row.form != row.word else "") + ("°" if row.association_word else "")
        return [row.word + marks, row.score, _span(row), row.paper_rank]

    sides = [[row for row in verbs if row.side == side] for side in ("do", "don't")]
    rows = [[*cells(do), *cells(dont)] for do, dont in zip_longest(*sides)]
    overlap = statistics.overlap
    facts = [
        (
            side,
            f"{shared.found} of {shared.of} are in the papers' list, of which "
            f"{shared.in_vocabulary} of {shared.listed} have a vector",
        )
        for side, shared in (("dos", overlap.dos), ("don'ts", overlap.donts))
    ]
    key = f"in {overlap.source}; * rated by a conjugation; ° is an association word itself"
    blocks: list[Block] = [Table("Dos and don'ts", columns, rows), Facts([*facts, ("rank", key)])]
    return [*blocks, *([valence_table(statistics.validation)] if statistics.validation else [])]


def valence_table(statistics: ValenceStatistics) -> Table:
    """Lay out both comparisons; beside them the paper's, where the lists are the paper's."""
    rows: list[list[str]] = []

    def spread(values: Valence, sd: float) -> str:
        if math.isnan(values.mean):
            return f"-, {values.n}"
        return f"{values.mean:+.2f} ({'-' if math.isnan(sd) else f'{sd:.2f}'}), {values.n}"

    paper = statistics.paper
    for label, ours, printed in (
        ("all words", statistics.all_words, paper and paper.all_words),
        ("rated only", statistics.rated_only, paper and paper.rated_only),
    ):
        for side, values, theirs in (
            ("dos", ours.dos, printed and printed.dos),
            ("don'ts", ours.donts, printed and printed.donts),
        ):
            figure = f"{label}, {side}: mean (population sd), n"
            row = [figure, spread(values, values.population_sd)]
            if theirs:
                row.append(f"{theirs.mean:+.2f} ({theirs.sd:.2f}), {theirs.n}")
            rows.append(row)
        t = "-" if math.isnan(ours.test.t) else f"{ours.test.t:.2f}{ours.test.stars}"
        rows.append([f"{label}: t", t, *([f"{printed.t:.2f}***"] if printed else [])])
    titles = ("ours", *(["paper"] if paper else []))
    columns = [Column("figure"), *(Column(title, right=True) for title in titles)]
    return Table(f"valence by {statistics.lexicon.name}", columns, rows, titled=True)


def validate_page(record: RunRecord) -> Page:
    """Lay out the valence of two lists."""
    statistics: ValenceStatistics = record.statistics
    rows = [[row.word, row.side, row.rating] for row in record.results]
    columns = [Column("word"), Column("side"), Column("rating", "signed", 1)]
    rated = sum(row.rating is not None for row in record.results)
    summary = [f"{rated:,} of {plural(len(rows), 'word')} are rated."]
    sections = [
        Section("Dos against don'ts", [], [valence_table(statistics)], shown="all"),
        Section("All words", [], [Table("Ratings", columns, rows)], folded=True),
    ]
    return Page(f"Valence by {statistics.lexicon.name}", summary, sections=sections)


def correlate_page(record: RunRecord) -> Page:
    """Lay out Figure 4 of Jentzsch et al. 2019 (Figure 2 of Schramowski et al. 2019)."""
    statistics: CorrelateStatistics = record.statistics
    pairs: Sequence[WordPair] = [row for row in record.results if row.association is not None]
    encoder, vectors = text(record.config.get("encoder")), text(record.config.get("vectors"))
    ordered = sorted(pairs, key=lambda row: row.group != "dos")
    groups = grouped((row.group, (row.word, row.bias, row.association)) for row in ordered)
    titles = (f"question/answer bias, {encoder}", f"association, {vectors}")
    chart = named_scatter("Association against bias", groups, titles)
    correlation = statistics.correlation
    facts = [("r, all words", correlation_text(correlation))]
    facts += [
        (f"r within {name}", correlation_text(inner)) for name, inner in correlation.within.items()
    ]
    others = [
        (f"bias of {side}, mean (sd)", f"{values.mean:+.4f} ({values.sd:.4f})")
        for side, values in statistics.bias.items()
    ]
    others.append(("t (Student)", f"{statistics.t.t:.2f}{statistics.t.stars}"))
    columns = [Column("word"), Column("group")]
    columns += [Column(name, "signed") for name in ("bias", "association")]
    table = Table("All words", columns, [[r.word, r.group, r.bias, r.association] for r in pairs])
    figures = Table("Figures", [Column("figure"), Column("value", right=True)], [*facts, *others])
    caption = ["Solid: fit through all. Dotted: within a group."]
    return Page(
        f"Words: {vectors} against {encoder}",
        [
            f"Two ways to measure one thing over {len(pairs)} words: how near a word is to good "
            f"words in {vectors}, and whether {encoder} leans to yes when asked about it.",
            f"They agree with r = {facts[0][1]}. Much of a pooled r is the distance between the "
            "groups; the r within each group, beside it, says what is left.",
        ],
        [(value.split(" ")[0].rstrip(","), name) for name, value in facts],
        [
            Section("Association against bias", caption, [chart] if chart else []),
            Section("Figures", [], [figures], shown="all"),
            Section("All words", [], [table]),
        ],
        main=table,
        headline=f"association in {vectors} against bias of {encoder}",
    )


_TESTS, _WORDS = (AssociationTest, TestsStatistics), (WordScore, AssociateStatistics)
PRESENTATIONS = {
    "words associate": Presentation(
        associate_page, lambda config: _TESTS if "tests" in config else _WORDS
    ),
    "words extract": Presentation(extract_page, (ExtractedVerb, ExtractStatistics)),
    "words validate": Presentation(validate_page, (RatedWord, ValenceStatistics)),
    "words correlate": Presentation(correlate_page, (WordPair, CorrelateStatistics)),
}
