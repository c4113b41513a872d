"""The pages of `annotate`: what was done to a project, how far it is, who its people are.

A record names no group of too few people; these pages add nothing to it.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from moralscope.annotation.decisions import AdjudicateStatistics, DecisionStatistics
from moralscope.annotation.groups import GroupShare
from moralscope.annotation.projects import ExportStatistics, ImportStatistics, InitStatistics
from moralscope.annotation.records import (
    Decision,
    DisputedItem,
    FinalAnswer,
    PersonLine,
    ProjectProgress,
)
from moralscope.annotation.statement import StatementStatistics, question_label
from moralscope.core.records import NoStatistics, RunRecord, grouped
from moralscope.pages import Presentation
from moralscope.pages.charts import bars
from moralscope.pages.closing import PEOPLE_LIMITS
from moralscope.pages.page import Block, Code, Page, Section, Table, columns, head
from moralscope.pages.words import plural

_FIRST = ("region", "leaning")  # the figures of the paper; the rest follows


def init_page(record: RunRecord) -> Page:
    """Say what a new project begins with."""
    statistics: InitStatistics = record.statistics
    staged = statistics.staging_items
    items = plural(statistics.items, "item")
    if staged:
        items += f" and {staged:,} for the staging round"
    lines = [
        f"{record.config['folder']}: {record.config['task']}, {items}",
        f"{statistics.people_per_item} people per item; all policies are in project.yaml",
    ]
    return Page("A new annotation project", sections=[Section("Project", lines, shown="all")])


def import_page(record: RunRecord) -> Page:
    """Say how many items were added."""
    line = f"{plural(record.statistics['added'], 'item')} added"
    return Page("Items added", sections=[Section("Items", [line], shown="all")])


def export_page(record: RunRecord) -> Page:
    """Say where an export is and how much it holds."""
    statistics: ExportStatistics = record.statistics
    noun = "line" if record.config["shape"] in ("people", "audit") else "answer"
    file = Code(f"{statistics.file}: {plural(statistics.answers, noun)}")
    return Page("Export", sections=[Section("File", [], [file], shown="all")])


def status_page(record: RunRecord) -> Page:
    """Lay out how far a project is, and who did what."""
    statistics: ProjectProgress = record.statistics
    people: Sequence[PersonLine] = record.results
    state = " (paused)" if statistics.paused else ""
    line = (
        f"{statistics.submitted:,} of {statistics.wanted:,} answers, {statistics.complete:,} of "
        f"{statistics.items:,} items complete, {statistics.open:,} open, "
        f"{statistics.to_review:,} to review, {plural(statistics.appeals, 'appeal')} to answer"
    )
    titles = ("answers", "staging", "skipped", "rejected", "checks", "seconds")
    rows = []
    for row in people:
        counts = (row.submitted, row.staged, row.skipped, row.rejected, row.failed_checks)
        rows.append([row.person.name, row.person.stage, *counts, row.seconds])
    shown = [*columns("person", "stage"), *columns(*titles, kind="whole")]
    table = Table("People", shown, rows)
    figures = [
        (f"{statistics.submitted:,} of {statistics.wanted:,}", "answers"),
        (f"{statistics.complete:,} of {statistics.items:,}", "items complete"),
    ]
    progress = Section("Progress", [line], shown="all")
    sections = [progress, Section("People", [], [table], shown="all")]
    headline = f"{record.config['name']}: {record.config['task']}{state}"
    return Page("How far the project is", [], figures, sections, main=table, headline=headline)


def decisions_page(record: RunRecord) -> Page:
    """List rejections and blocks, with the appeals against them."""
    rows = []
    for row in record.results:
        outcome = "appeal waits" if row.waits else row.outcome
        rows.append([row.id, row.kind, row.person, row.reason, row.appeal, outcome])
    titles = columns("decision", "kind", "person", "reason", "appeal", "outcome")
    table = Table("Decisions", titles, rows)
    none = [] if rows else ["no decisions"]
    section = Section("Decisions", none, [table] if rows else [], shown="all")
    return Page("Decisions of leads", sections=[section], main=table)


def adjudicate_page(record: RunRecord) -> Page:
    """Lay out the items on which annotators differ, or the final answer of one."""
    if "item" in record.config:
        (final,) = record.results
        answer = ", ".join(f"{name}: {_value(value)}" for name, value in final.answer.items())
        line = Section("Final answer", [], [Code(f"{final.item}: {answer}")], shown="all")
        return Page("A final answer", sections=[line])
    statistics: AdjudicateStatistics = record.statistics
    rows = []
    for disputed in record.results:
        for name in disputed.differs:
            replies = disputed.answers.items()
            answers = ", ".join(f"{who}: {_value(answer.get(name))}" for who, answer in replies)
            final = _value(disputed.final.answer.get(name)) if disputed.final else ""
            rows.append([disputed.item.id, name, answers, final])
    table = Table("Disputed items", columns("item", "field", "answers", "final"), rows)
    sections = [Section("Disputed items", [], [table], shown="all")]
    headline = f"{statistics.disputed or 0:,} disputed, {statistics.undecided or 0:,} undecided"
    return Page("Where annotators disagree", sections=sections, main=table, headline=headline)


def statement_page(record: RunRecord) -> Page:
    """Lay out people by group (Ziems et al. 2022, Figure 3), then the statement itself."""
    statistics: StatementStatistics = record.statistics
    by_question = grouped((row.question, row) for row in statistics.groups)
    ordered = sorted(by_question, key=lambda name: _FIRST.index(name) if name in _FIRST else 9)
    charts: list[Block] = []
    for name in ordered:
        rows = by_question[name]
        shares = [row.annotation_share for row in rows]
        series = {
            "people": [100 * row.share.value for row in rows],
            "annotations": [100 * share if isfinite(share) else 0.0 for share in shares],
        }
        labels = [row.label or row.group for row in rows]
        charts.append(bars(question_label(name), series, labels, "%"))
    cells = []
    for row in statistics.groups:
        counts = (row.people, row.share.value, row.annotations, row.annotation_share)
        cells.append([question_label(row.question), row.label or row.group, *counts])
    titles = "question | group | people: whole | share: share 1 | annotations: whole"
    groups = Table("Groups", head(titles, "share: share 1"), cells)
    prose = [
        "Left bar: share of the people who gave this answer. Right bar: share of the annotations "
        "that they gave (Ziems et al. 2022, Figure 3). Groups of too few people are among the "
        "others."
    ]
    none = ["no group is described: too few people contributed, or nobody answered"]
    who = [Section("Who the annotators are", prose, charts)] if charts else []
    in_figures = Section("Groups", [], [groups], shown="all")
    return Page(
        "Data statement",
        ["Who annotated, what, how, and with what care (Bender and Friedman 2018)."],
        [(f"{statistics.people:,}", "people"), (f"{statistics.answers:,}", "answers")],
        [
            *who,
            in_figures if statistics.groups else Section("Groups", none, shown="terminal"),
            *(_section(title, lines) for title, lines in statistics.sections.items()),
            Section("Files", [], [Code(statistics.file), Code(statistics.table)], shown="terminal"),
        ],
    )


def _section(title: str, lines: Sequence[str]) -> Section:
    """Return a section of the statement, whose lines are Markdown of ours: words, a table."""
    plain = [line.replace("**", "").replace("`", "") for line in lines]
    prose = [line.removeprefix("- ") for line in plain if not line.startswith("|")]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in plain
        if line.startswith("|")
    ]
    if not rows:
        return Section(title, prose)
    head, _, *body = rows
    cells = [row for row in body if len(row) == len(head)]
    return Section(title, prose, [Table("Agreement", columns(*head), cells)])


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "|".join(value) if isinstance(value, list) else "" if value is None else str(value)


PRESENTATIONS = {
    "annotate init": Presentation(init_page, (Any, InitStatistics)),
    "annotate import": Presentation(import_page, (Any, ImportStatistics)),
    "annotate export": Presentation(export_page, (Any, ExportStatistics)),
    "annotate status": Presentation(status_page, (PersonLine, ProjectProgress)),
    "annotate decide": Presentation(decisions_page, (Decision, NoStatistics)),
    "annotate decisions": Presentation(decisions_page, (Decision, DecisionStatistics)),
    "annotate adjudicate": Presentation(
        adjudicate_page,
        lambda config: (FinalAnswer if "item" in config else DisputedItem, AdjudicateStatistics),
    ),
    "annotate statement": Presentation(
        statement_page, (GroupShare, StatementStatistics), PEOPLE_LIMITS
    ),
}
