"""The data statement of a project: who annotated, what, how, and with what care.

Its sections are those of Bender and Friedman 2018, as Emelin et al. 2021 fill them in; people and
annotations by group are in the form of Ziems et al. 2022, Figure 3. What people told of themselves
is optional and counted only: no group of fewer than `smallest_group` people is named, here or in an
export, and what is left over is never small enough to be worked out from the total.

What only a lead can say stands in `project.yaml` under `statement`; what is missing is said to be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from moralscope.annotation.agreement import agreement_so_far
from moralscope.annotation.forms import load_form, load_questionnaire
from moralscope.annotation.groups import NOT_SAID, OTHERS, GroupShare, group_shares
from moralscope.annotation.projects import open_project, project_record
from moralscope.annotation.questions import AnswerChoice
from moralscope.annotation.records import AnswerRow, QualityCounts
from moralscope.core.records import RunRecord, Statistics, grouped
from moralscope.io.files import csv_bytes

if TYPE_CHECKING:
    from moralscope.annotation.records import Person
    from moralscope.annotation.service import AnnotationService

LEANING = "leaning"
NOT_STATED = "Not stated."
_COLUMNS = ("question", "group", "people", "share", "annotations", "annotation_share")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataStatement(Statistics):
    """A data statement: who annotated, what, how; no group of too few people is named."""

    people: int
    answers: int
    smallest_group: int
    groups: Sequence[GroupShare]
    quality: QualityCounts
    sections: Mapping[str, Sequence[str]]
    """Title → lines of Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementStatistics(DataStatement):
    """A data statement and where it was written: the text and a table of groups."""

    file: str
    table: str


def data_statement(folder: Path) -> RunRecord:
    """Write `statement.md` and `demographics.csv` into a project's `exports`; return the figures.

    `statistics` are `StatementStatistics`.
    """
    with open_project(folder) as service:
        lead = service.owner
        statement = statement_of(service, lead)
        path = service.export_path("statement", "csv")
        text = statement_text(service.project.name, statement.sections)
        file = service.write_export(lead, path.with_suffix(".md"), [text.encode()], "statement")
        cells = demographics_bytes(statement.groups)
        table = service.write_export(lead, path.with_stem("demographics"), cells, "demographics")
    statistics = StatementStatistics(**statement, file=str(file), table=str(table))
    smallest = statement.smallest_group
    return project_record(
        "annotate statement", folder, statement.groups, statistics, smallest_group=smallest
    )


def statement_of(service: "AnnotationService", lead: "Person") -> DataStatement:
    """Return people, answers, groups, quality and the sections of a project's data statement."""
    rows = service.answers(lead)
    written = Counter(row.person for row in rows)
    project, policies = service.project, service.project.policies
    smallest = policies.smallest_group
    groups = people_groups(service, lead, written)
    quality = service.quality(lead)
    texts = asdict(project.statement)
    stated = {name: [text.strip() or NOT_STATED] for name, text in texts.items()}
    stated["rationale"].append(
        f"The task is `{project.task}` ({service.form.title}), with "
        f"{_count(policies.people_per_item, 'person')} an item. {_count(len(rows), 'answer')} of "
        f"{_count(len(written), 'person')} to {_count(len({row.item for row in rows}), 'item')} "
        "count."
    )
    if any(field.kind.writes for field in service.form.fields):
        stated["speakers"].append("The annotators wrote texts of their own, too: see D.")
    if rows:
        days = [datetime.fromtimestamp(row.submitted, UTC).date().isoformat() for row in rows]
        stated["situation"].append(
            f"Answers were given from {min(days)} to {max(days)}, on moralscope's annotation "
            "pages, by each person at their own pace. Everybody could skip, pause, stop and change "
            "answers."
        )
    return DataStatement(
        people=len(written),
        answers=len(rows),
        smallest_group=smallest,
        groups=groups,
        quality=quality,
        sections={
            "A. Curation rationale": stated["rationale"],
            "B. Language variety": stated["language"],
            "C. Speaker demographic": stated["speakers"],
            "D. Annotator demographic": _demographics(groups, len(written), smallest),
            "E. Speech situation": stated["situation"],
            "F. Text characteristics": _lengths(rows),
            "G. Recording quality": ["Not applicable: nothing was recorded."],
            "H. Quality control and agreement": _quality(service, lead, quality),
            "I. Provenance": stated["provenance"],
        },
    )


def people_groups(
    service: "AnnotationService", lead: "Person", written: Mapping[str, int]
) -> list[GroupShare]:
    """Return for every question who the contributors are; nothing where too few contributed.

    `written` counts the answers of every contributor.
    """
    smallest = service.project.policies.smallest_group
    facts = {one.person: one for one in service.facts(lead) if one.person in written}
    if len(written) < smallest or not facts:
        return []
    rows = []
    for question, choices in _questions().items():
        answers: dict[str, str | None] = dict.fromkeys(written)
        for who, fact in facts.items():
            answers[who] = fact.leaning if question == LEANING else fact.about.get(question)
        if any(answers.values()):
            # In the order in which they were offered; others and no answer last.
            order = [*(choice.value for choice in choices), OTHERS, NOT_SAID]
            shares = group_shares(question, answers, written, smallest)
            shares.sort(key=lambda row: order.index(row.group))
            rows += [replace(row, label=group_label(question, row.group)) for row in shares]
    return rows


def _questions() -> dict[str, tuple[AnswerChoice, ...]]:
    """Return what is asked about people, with the choices."""
    questionnaire = load_questionnaire()
    return {one.id: one.choices for one in questionnaire.about} | {LEANING: questionnaire.leanings}


def statement_text(name: str, sections: Mapping[str, Sequence[str]]) -> str:
    """Return a data statement as Markdown."""
    text = f"# Data statement: {name}"
    for title, lines in sections.items():
        last = ""
        for line in (f"## {title}", *lines):
            together = line[:1] in "-|" and line[:1] == last[:1]  # a list, a table
            text += ("\n" if together else "\n\n") + line
            last = line
    return text + "\n"


def demographics_bytes(groups: Sequence[GroupShare]) -> Iterator[bytes]:
    """Yield a table of groups: how many people, and how many annotations."""
    yield csv_bytes([_COLUMNS])
    for row in groups:
        share = f"{row.annotation_share:.4f}"
        counts = (row.people, f"{row.share.value:.4f}", row.annotations, share)
        yield csv_bytes([[row.question, row.group, *counts]])


def group_label(question: str, group: str) -> str:
    """Return what a group is called on a page."""
    if group in (NOT_SAID, OTHERS):
        return "no answer" if group == NOT_SAID else OTHERS
    labels = {choice.value: choice.label for choice in _questions().get(question, ())}
    return labels.get(group, group)


def question_label(question: str) -> str:
    """Return what a question is called: `economic-class` is Economic class."""
    return "Political leaning" if question == LEANING else question.replace("-", " ").capitalize()


def _demographics(groups: Sequence[GroupShare], people: int, smallest: int) -> list[str]:
    """Write groups as Emelin et al. do, the largest in bold, and annotations as Ziems et al. do."""
    if not groups:
        few = people < smallest
        why = f"{_count(people, 'person')} contributed" if few else "nobody answered"
        return [f"No group is described: {why}. A group must have {smallest} people to be named."]
    lines = []
    for question in dict.fromkeys(row.question for row in groups):
        rows = [row for row in groups if row.question == question]
        most = max((row.people for row in rows if row.group != OTHERS), default=0)
        shares = []
        for row in rows:
            text = f"{row.label}: {_percent(row.share.value)} / {_percent(row.annotation_share)}"
            largest = row.people == most and row.group != OTHERS
            shares.append(f"**{text}**" if largest else text)
        listed = ", ".join(shares) if most else "every group is small"
        lines.append(f"- {question_label(question)}: {listed}")
    head = (
        "What people said of themselves; every question was optional and asked with consent. The "
        f"first share is of the {people} contributors, the second of their annotations. Groups of "
        f"fewer than {smallest} people are among the others."
    )
    return [head, *lines]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _lengths(rows: Sequence[AnswerRow]) -> list[str]:
    """Say how long texts are, in words: those shown and those written."""
    items = {row.item: row.texts for row in rows}.values()
    shown = grouped((name, len(text.split())) for texts in items for name, text in texts.items())
    written: dict[str, list[int]] = {}
    for row in rows:
        for field in load_form(row.form).fields:
            answer = row.answer.get(field.name)
            if field.kind.writes and isinstance(answer, str):
                written.setdefault(field.name, []).append(len(answer.split()))
    lines = []
    for what, lengths in (("shown", shown), ("written by annotators", written)):
        if lengths:
            means = (f"{name.replace('_', ' ')} {fmean(n):.1f}" for name, n in lengths.items())
            lines.append(f"Mean length in words, {what}: {', '.join(means)}.")
    return lines or [NOT_STATED]


def _quality(service: "AnnotationService", lead: "Person", counts: QualityCounts) -> list[str]:
    policies = service.project.policies
    lines = []
    if policies.qualification:
        lines.append(
            f"People answered {policies.pass_mark} of {policies.questions} questions of a test "
            f"rightly before anything else: {counts.tested} took it, {counts.failed} failed."
        )
    if policies.staging_items:
        wanted = min(policies.good_in_a_row, policies.staging_items)
        how = f"{wanted} good answers in a row, or a lead," if wanted else "A lead"
        items = _count(policies.staging_items, "item")
        lines.append(f"A trial round of {items} came first. {how} admitted people from it.")
    read = "No lead reviewed an answer."
    if counts.reviewed_good + counts.reviewed_to_mend:
        good = _count(counts.reviewed_good, "answer")
        read = f"Leads called {good} good and asked for changes in {counts.reviewed_to_mend}."
    lines.append(
        f"{read} {_count(counts.rejected, 'answer')} of the main round {_were(counts.rejected)} "
        f"rejected; rejected answers do not count. {_count(counts.blocked, 'person')} "
        f"{_were(counts.blocked)} blocked: the answers of "
        f"{counts.blocked - counts.blocked_left_out} count, those of {counts.blocked_left_out} do "
        f"not. There {_were(counts.appeals)} {_count(counts.appeals, 'appeal')}, and "
        f"{_count(counts.lifted, 'decision')} {_were(counts.lifted)} lifted."
    )
    table = [
        f"| {row.field} | {row.alpha:.2f} | {_number(row.low)} to {_number(row.high)} | "
        f"{row.items} |"
        for row in agreement_so_far(service, lead).fields
        if row.items and row.alpha is not None
    ]
    if table:
        head = ["| question | Krippendorff's alpha | 95 % interval | items |", "|---|---|---|---|"]
        lines += head + table
    return lines


def _number(value: float | None) -> str:
    return "nan" if value is None else f"{value:.2f}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _count(number: int, noun: str) -> str:
    if noun == "person":
        return "1 person" if number == 1 else f"{number:,} people"
    return f"{number:,} {noun}{'s' * (number != 1)}"
