"""The data statement of a project: who annotated, what, how, and with what care.

Its sections are those of Bender and Friedman 2018, as Emelin et al. 2021 fill them in; people and
annotations by group are in the form of Ziems et al. 2022, Figure 3. What people told of themselves
is optional and counted only: no group of fewer than `smallest_group` people is named, here or in an
export, and what is left over is never small enough to be worked out from the total.

What only a lead can say stands in `project.yaml` under `statement`; what is missing is said to be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from moralscope.annotation.agreement import agreement_so_far
from moralscope.annotation.forms import load_form, load_questionnaire
from moralscope.annotation.groups import NOT_SAID, OTHERS, GroupShare, group_shares
from moralscope.annotation.projects import open_project, record_of
from moralscope.annotation.records import AnswerRow
from moralscope.core.records import RunRecord
from moralscope.io.files import csv_bytes

if TYPE_CHECKING:
    from moralscope.annotation.records import Person
    from moralscope.annotation.service import AnnotationService

LEANING = "leaning"
NOT_STATED = "Not stated."
_COLUMNS = ("question", "group", "people", "share", "annotations", "annotation_share")


def data_statement(folder: Path) -> RunRecord:
    """Write `statement.md` and `demographics.csv` into a project's `exports`; return the figures.

    `statistics` holds `sections` (title → lines of Markdown), `groups`, `quality` and where the
    files are.
    """
    with open_project(folder) as service:
        lead = service.owner
        found = statement_of(service, lead)
        place = service.export_place("statement", "csv")
        text = statement_text(service.project.name, found["sections"])
        written = service.write_export(lead, place.with_suffix(".md"), [text.encode()], "statement")
        table = demographics_bytes(found["groups"])
        groups = service.write_export(lead, place.with_stem("demographics"), table, "demographics")
    config = {"folder": str(folder), "smallest_group": found["smallest_group"]}
    files = {"file": str(written), "table": str(groups)}
    return record_of("annotate statement", config, {**found, **files}, found["groups"])


def statement_of(service: "AnnotationService", lead: "Person") -> dict[str, Any]:
    """Return people, answers, groups, quality and the sections of a project's data statement."""
    rows = service.answers(lead)
    written = Counter(row.person for row in rows)
    smallest = service.project.policies.smallest_group
    groups = people_groups(service, lead, written)
    quality = service.quality(lead)
    sections = {
        "A. Curation rationale": _rationale(service, rows, written),
        "B. Language variety": _said(service, "language"),
        "C. Speaker demographic": _speakers(service),
        "D. Annotator demographic": _demographics(groups, len(written), smallest),
        "E. Speech situation": _situation(service, rows),
        "F. Text characteristics": _lengths(rows),
        "G. Recording quality": ["Not applicable: nothing was recorded."],
        "H. Quality control and agreement": _quality(service, lead, quality),
        "I. Provenance": _said(service, "provenance"),
    }
    return {
        "people": len(written),
        "answers": len(rows),
        "smallest_group": smallest,
        "groups": groups,
        "quality": quality,
        "sections": sections,
    }


def people_groups(
    service: "AnnotationService", lead: "Person", written: Mapping[str, int]
) -> list[GroupShare]:
    """Return for every question who the contributors are; nothing where too few contributed.

    `written` counts the answers of every contributor.
    """
    smallest = service.project.policies.smallest_group
    told = {one.person: one for one in service.facts(lead) if one.person in written}
    if len(written) < smallest or not told:
        return []
    answers: dict[str, dict[str, str | None]] = {
        question.id: {
            who: told[who].about.get(question.id) if who in told else None for who in written
        }
        for question in load_questionnaire().about
    }
    answers[LEANING] = {who: told[who].leaning if who in told else None for who in written}
    return [
        replace(row, label=group_label(name, row.group))
        for name, given in answers.items()
        if any(given.values())
        for row in _ordered(name, group_shares(name, given, written, smallest))
    ]


def statement_text(name: str, sections: Mapping[str, Sequence[str]]) -> str:
    """Return a data statement as Markdown.

    Examples
    --------
    >>> print(statement_text("Rules", {"B. Language variety": ["US English."]}))
    # Data statement: Rules
    <BLANKLINE>
    ## B. Language variety
    <BLANKLINE>
    US English.
    <BLANKLINE>
    """
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
    """Return what a group is called on a page.

    Examples
    --------
    >>> group_label("region", "south-asia"), group_label("age", "not said")
    ('South Asia', 'no answer')
    """
    if group in (NOT_SAID, OTHERS):
        return "no answer" if group == NOT_SAID else OTHERS
    asked = load_questionnaire()
    known = {one.id: one.choices for one in asked.about} | {LEANING: asked.leanings}
    labels = {choice.value: choice.label for choice in known.get(question, ())}
    return labels.get(group, group)


def question_label(question: str) -> str:
    """Return what a question is called: `economic-class` is Economic class."""
    return "Political leaning" if question == LEANING else question.replace("-", " ").capitalize()


def _ordered(question: str, rows: Sequence[GroupShare]) -> list[GroupShare]:
    """Return groups in the order in which they were offered; others and no answer last."""
    asked = load_questionnaire()
    known = {one.id: one.choices for one in asked.about} | {LEANING: asked.leanings}
    places = {choice.value: place for place, choice in enumerate(known[question])}
    last = {OTHERS: len(places), NOT_SAID: len(places) + 1}
    return sorted(rows, key=lambda row: {**places, **last}[row.group])


def _said(service: "AnnotationService", key: str) -> list[str]:
    return [service.project.statement.get(key, "") or NOT_STATED]


def _rationale(
    service: "AnnotationService", rows: Sequence[AnswerRow], written: Mapping[str, int]
) -> list[str]:
    project = service.project
    items = len({row.item for row in rows})
    done = (
        f"The task is `{project.task}` ({service.form.title}), with "
        f"{_count(project.policies.people_per_item, 'person')} an item. "
        f"{_count(len(rows), 'answer')} of {_count(len(written), 'person')} to "
        f"{_count(items, 'item')} count."
    )
    return [*_said(service, "rationale"), done]


def _speakers(service: "AnnotationService") -> list[str]:
    said = _said(service, "speakers")
    writes = any(field.level == "text" and field.type != "confirm" for field in service.form.fields)
    return [*said, "The annotators wrote texts of their own, too: see D."] if writes else said


def _demographics(groups: Sequence[GroupShare], people: int, smallest: int) -> list[str]:
    """Write groups as Emelin et al. do, the largest in bold, and annotations as Ziems et al. do."""
    if not groups:
        few = people < smallest
        why = f"{_count(people, 'person')} contributed" if few else "nobody told anything"
        return [f"No group is described: {why}. A group must have {smallest} people to be named."]
    lines = []
    for question in dict.fromkeys(row.question for row in groups):
        rows = [row for row in groups if row.question == question]
        most = max((row.people for row in rows if row.group != OTHERS), default=0)
        told = ", ".join(_share(row, most) for row in rows)
        lines.append(f"- {question_label(question)}: {told if most else 'every group is small'}")
    head = (
        "What people said of themselves; every question was optional and asked with consent. The "
        f"first share is of the {people} contributors, the second of their annotations. Groups of "
        f"fewer than {smallest} people are among the others."
    )
    return [head, *lines]


def _share(row: GroupShare, most: int) -> str:
    text = f"{row.label}: {100 * row.share.value:.1f} % / {100 * row.annotation_share:.1f} %"
    return f"**{text}**" if row.people == most and row.group != OTHERS else text


def _situation(service: "AnnotationService", rows: Sequence[AnswerRow]) -> list[str]:
    said = _said(service, "situation")
    if not rows:
        return said
    days = [datetime.fromtimestamp(row.submitted, UTC).date().isoformat() for row in rows]
    return [
        *said,
        f"Answers were given from {min(days)} to {max(days)}, on moralscope's annotation pages, by "
        "each person at their own pace. Everybody could skip, pause, stop and change answers.",
    ]


def _lengths(rows: Sequence[AnswerRow]) -> list[str]:
    """Say how long texts are, in words: those shown and those written."""
    shown: dict[str, list[int]] = {}
    for texts in {row.item: row.texts for row in rows}.values():
        for name, text in texts.items():
            shown.setdefault(name, []).append(len(text.split()))
    own: dict[str, list[int]] = {}
    for row in rows:
        for field in load_form(row.form).fields:
            given = row.answer.get(field.name)
            if field.type in ("text", "long") and isinstance(given, str):
                own.setdefault(field.name, []).append(len(given.split()))
    told = []
    for what, found in (("shown", shown), ("written by annotators", own)):
        if found:
            means = (f"{name.replace('_', ' ')} {fmean(n):.1f}" for name, n in found.items())
            told.append(f"Mean length in words, {what}: {', '.join(means)}.")
    return told or [NOT_STATED]


def _quality(service: "AnnotationService", lead: "Person", found: Mapping[str, int]) -> list[str]:
    policies = service.project.policies
    lines = []
    if policies.qualification:
        lines.append(
            f"People answered {policies.pass_mark} of {policies.questions} questions of a test "
            f"rightly before anything else: {found['tested']} took it, {found['failed']} failed."
        )
    if policies.staging_items:
        wanted = min(policies.good_in_a_row, policies.staging_items)
        how = f"{wanted} good answers in a row, or a lead," if wanted else "A lead"
        items = _count(policies.staging_items, "item")
        lines.append(f"A trial round of {items} came first. {how} admitted people from it.")
    lines.append(_decided(found))
    measured = agreement_so_far(service, lead).fields
    table = [
        f"| {row.field} | {row.alpha.value:.2f} | {row.alpha.low:.2f} to {row.alpha.high:.2f} | "
        f"{row.items} |"
        for row in measured
        if row.items and not isnan(row.alpha.value)
    ]
    if table:
        head = ["| question | Krippendorff's alpha | 95 % interval | items |", "|---|---|---|---|"]
        lines += head + table
    return lines


def _decided(found: Mapping[str, int]) -> str:
    good, mend = found["reviewed_good"], found["reviewed_to_mend"]
    read = (
        f"Leads called {_count(good, 'answer')} good and asked to mend {mend}. "
        if good + mend
        else "No lead reviewed an answer. "
    )
    counted = found["blocked"] - found["blocked_left_out"]
    return (
        f"{read}{_count(found['rejected'], 'answer')} of the main round {_were(found['rejected'])} "
        f"rejected; rejected answers do not count. {_count(found['blocked'], 'person')} "
        f"{_were(found['blocked'])} blocked: the answers of {counted} count, those of "
        f"{found['blocked_left_out']} do not. There {_were(found['appeals'])} "
        f"{_count(found['appeals'], 'appeal')}, and {_count(found['lifted'], 'decision')} "
        f"{_were(found['lifted'])} lifted."
    )


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _count(number: int, noun: str) -> str:
    if noun == "person":
        return "1 person" if number == 1 else f"{number:,} people"
    return f"{number:,} {noun}{'s' * (number != 1)}"
