"""The page of `agreement`: coefficients with intervals, split items, who the annotators are.

A record names no person and no leaning of too few; this page adds nothing to it.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

from moralscope.annotation.agreement import AgreementStatistics
from moralscope.annotation.disagreement import FieldAgreement, GroupSplit, ItemSpread, significant
from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.charts import bars, error_bars, marks, named_rows, row_chart
from moralscope.pages.closing import PEOPLE_LIMITS
from moralscope.pages.page import Block, Chart, Column, Page, Section, Table, head
from moralscope.pages.words import more_note

_MAX_ROWS = 5_000
_SPREAD = head("item | field | answers: whole | difference: number 2 | distribution")


def agreement_page(record: RunRecord) -> Page:
    """Lay out agreement and disagreement."""
    statistics: AgreementStatistics = record.statistics
    spreads: Sequence[ItemSpread] = record.results
    note = more_note(len(spreads) - _MAX_ROWS)
    listed = [_spread_row(row) for row in spreads[:_MAX_ROWS]]
    every_item = Table("Every item", _SPREAD, listed, note=note)
    prose = "How often each value was given, and how much the answers differ."
    items = len({row.item for row in spreads})
    measured = [row for row in statistics.fields if isfinite(row.alpha.value)]
    return Page(
        "Agreement between people",
        [
            f"{statistics.people:,} people judged {items:,} items in "
            f"{len(statistics.fields):,} fields. Agreement is how similarly people judge; where "
            "they disagree, their answers are kept as they are."
        ],
        [
            (f"{statistics.people:,}", "people"),
            (f"{items:,}", "items"),
            *((f"{row.alpha.value + 0.0:.2f}", f"alpha, {row.field}") for row in measured[:4]),
        ],
        [
            *_coefficients(statistics.fields, measured),
            *_most_split(statistics),
            *_annotators(statistics),
            *_groups(statistics),
            Section("Every item", [prose], [every_item]),
        ],
        main=every_item,
    )


def _coefficients(
    fields: Sequence[FieldAgreement], measured: Sequence[FieldAgreement]
) -> list[Section]:
    if not fields:
        return []
    kappas = []
    for row in fields:
        kappa = row.cohen or row.fleiss
        known = kappa is not None and isfinite(kappa.value)
        name = "Cohen" if row.cohen else "Fleiss"
        kappas.append(f"{kappa.value + 0.0:.2f} ({name})" if kappa and known else "")
    rows = [
        [row.field, row.level, row.items, row.people, row.alpha, kappa, row.percent.value]
        for row, kappa in zip(fields, kappas, strict=True)
    ]
    titles = "field | level | items: whole | people: whole | alpha: interval 2 | kappa"
    coefficients = Table("Coefficients", head(titles, "agree: share 0"), rows)
    forms = [
        [row.field, form.form, form, form.f, f"{form.df1}, {form.df2}", form.p]
        for row in fields
        for form in row.icc
    ]
    titles = "field | form | intraclass correlation: interval 2 | F: number 2 | degrees of freedom"
    intraclass = Table("Intraclass correlation", head(titles, "p: p"), forms)
    prose = [
        "Krippendorff's alpha is 1 where all agree and 0 where they agree as by chance; kappa is "
        "for labels, the intraclass correlation for numbers; agree is the share of pairs of "
        "answers that are the same. Intervals are 95 %, over items."
    ]
    charts = [_alphas(measured)] if measured else []
    tables = [coefficients, *([intraclass] if forms else [])]
    return [
        Section("How far people agree", prose, charts),
        Section("Agreement by field", [], tables, shown="all"),
    ]


def _alphas(fields: Sequence[FieldAgreement]) -> Chart:
    """Draw alpha of each field with its interval."""
    rows = [(row.field, row.alpha) for row in sorted(fields, key=lambda row: row.alpha.value)]
    spans = [
        (a.value, a.low, a.high) if isfinite(a.low + a.high) else (a.value, a.value, a.value)
        for _, a in rows
    ]
    hover = [
        f"{name}\nalpha {value:.2f} ({low:.2f} … {high:.2f})"
        for (name, _), (value, low, high) in zip(rows, spans, strict=True)
    ]
    points = [(alpha.value, float(index)) for index, (_, alpha) in enumerate(rows)]
    whiskers = error_bars(spans, "good")
    trace = marks("alpha", points, "good", size=9, hovertext=hover, error_x=whiskers, legend=False)
    about = f"Alpha of {len(rows)} fields, from {rows[0][0]} to {rows[-1][0]}, with intervals."
    axis = named_rows([name for name, _ in rows], list(range(len(rows))), -0.8)
    return row_chart("Alpha by field", about, [trace], "Krippendorff's alpha", axis)


def _most_split(statistics: AgreementStatistics) -> list[Section]:
    if not statistics.most_split:
        return []
    has_texts = any(statistics.texts.get(row.item) for row in statistics.most_split)
    rows = [
        [*_spread_row(row), *([statistics.texts.get(row.item, "")] if has_texts else [])]
        for row in statistics.most_split
    ]
    shown = [*_SPREAD, Column("text", wide=40)] if has_texts else _SPREAD
    prose = [
        "“Difference” is the mean distance of two answers to the item, from 0 (all the same) to "
        "1. Content warning: items are shown as they were given; some may be offensive."
    ]
    table = Table("Most split items", shown, rows, titled=True)
    return [Section("Where annotators disagree", prose, [table], shown="all")]


def _annotators(statistics: AgreementStatistics) -> list[Section]:
    if not statistics.leanings:
        return []
    names = [row.leaning for row in statistics.leanings]
    series = {
        "people": [_percent(row.share.value) for row in statistics.leanings],
        "annotations": [_percent(row.annotation_share) for row in statistics.leanings],
    }
    charts = [bars("Leanings of people and of annotations", series, names, "%")]
    shown = head("leaning | people: whole | share: share 0 | annotations: whole | share: share 0")
    leanings = [
        [row.leaning, row.people, row.share.value, row.annotations, row.annotation_share]
        for row in statistics.leanings
    ]
    tables = [Table("Leanings", shown, leanings)]
    if statistics.foundations:
        title = "Weight of each foundation by leaning"
        names = list(dict.fromkeys(one.foundation for one in statistics.foundations))
        by_leaning: dict[str, list[float]] = {}
        for one in statistics.foundations:
            means = by_leaning.setdefault(one.leaning, [0.0] * len(names))
            means[names.index(one.foundation)] = one.mean if isfinite(one.mean) else 0.0
        charts.append(bars(title, by_leaning, names, "mean weight, 1 to 5"))
        shown = head("leaning | foundation | mean weight, 1 to 5: interval 2 | people: whole")
        weights = [
            [one.leaning, one.foundation, (one.mean, one.low, one.high), one.people]
            for one in statistics.foundations
        ]
        tables.append(Table(title, shown, weights))
    prose = [
        "What people said of themselves (Ziems et al. 2022, Figures 3 and 4). Leanings of too few "
        "people are among the others."
    ]
    return [
        Section("Who the annotators are", prose, charts),
        Section("Leanings in figures", [], tables, shown="all"),
    ]


def _groups(statistics: AgreementStatistics) -> list[Section]:
    if not statistics.leanings:
        return []
    tables: list[Block] = []
    if statistics.within:
        shown = head("field | leaning | people: whole | alpha: interval 2 | answers")
        rows = [
            [row.field, row.leaning, row.people, row.alpha, _counts(row.counts)]
            for row in statistics.within
        ]
        tables.append(Table("Agreement within leanings", shown, rows))
    over_all, by_item = statistics.field_splits or (), statistics.item_splits or ()
    if over_all:
        tables.append(_splits("Leanings over all items", over_all))
    if by_item:
        tables.append(_splits("Items that split leanings", by_item))
    prose = [
        "Means of people's answers; for labels the share who chose the value. p comes from "
        "permutations of people between the two leanings, corrected for everything compared: "
        "below 0.05 the difference would be rare if leaning did not matter."
    ]
    surely, title = significant([*over_all, *by_item]), "Differences that hold"
    none = f"no difference of leanings holds ({statistics.items_compared or 0:,} compared)"
    held = ([], [_splits(title, surely)]) if surely else ([none], [])
    return [
        *([Section("Items that divide groups", prose, tables)] if tables else []),
        Section(title, *held, shown="terminal"),
    ]


def _splits(title: str, rows: Sequence[GroupSplit]) -> Table:
    cells = []
    for row in rows:
        field, pair = f"{row.field} {row.value}".strip(), f"{row.first} / {row.second}"
        means = f"{row.first_mean:.2f} / {row.second_mean:.2f}"
        people = f"{row.first_people} / {row.second_people}"
        figures = (row.difference, row.p, row.corrected)
        cells.append([row.item or "all", field, pair, means, *figures, people])
    heads = head("item | field | leanings | means | difference: signed 2 | p: p | p corrected: p")
    return Table(title, heads, cells, details=("people",))


def _spread_row(row: ItemSpread) -> list[object]:
    return [row.item, row.field, row.answers, row.disagreement, _counts(row.counts)]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{value}: {count}" for value, count in counts.items())


def _percent(share: float) -> float:
    return 100 * share if isfinite(share) else 0.0


_SHOWN = Presentation(agreement_page, (ItemSpread, AgreementStatistics), PEOPLE_LIMITS)
PRESENTATIONS = {"agreement": _SHOWN}
