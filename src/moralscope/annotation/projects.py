"""Annotation projects: made, opened, filled with items, exported, looked at.

The doors know the room by the names given out here. What people and leads do in a project is
`Desk`'s; serving it over HTTP is the server's.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from moralscope.annotation.checks import choice_values
from moralscope.annotation.errors import Conflict, NotAllowed, NotSaved, Paused
from moralscope.annotation.exporting import SUFFIXES, sheet_rows
from moralscope.annotation.forms import task_names
from moralscope.annotation.item_files import RATINGS, read_items
from moralscope.annotation.project import (
    PROJECT_FILE,
    new_project,
    read_project,
    write_project,
)
from moralscope.annotation.records import (
    Answer,
    AnswerRow,
    AuditLine,
    Choice,
    Field,
    Finding,
    Invitation,
    Item,
    Overview,
    PastWork,
    Person,
    PersonFacts,
    PersonLine,
    Policies,
    Progress,
    Project,
    Question,
    Questionnaire,
    Receipt,
    Review,
    Revision,
    Session,
    Shown,
    Statement,
    TaskForm,
    Test,
    TestResult,
    ToReview,
    Work,
)
from moralscope.annotation.service import Desk
from moralscope.annotation.storage import Storage
from moralscope.core.errors import InputError
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.io.cells import SHEET_SCHEMA, escape_cell, restore_cell
from moralscope.io.files import write_whole

__all__ = [
    "PROJECT_FILE",
    "Answer",
    "AnswerRow",
    "AuditLine",
    "Choice",
    "Conflict",
    "Desk",
    "Field",
    "Finding",
    "InitOptions",
    "Invitation",
    "Item",
    "NotAllowed",
    "NotSaved",
    "Overview",
    "PastWork",
    "Paused",
    "Person",
    "PersonFacts",
    "PersonLine",
    "Policies",
    "Progress",
    "Project",
    "Question",
    "Questionnaire",
    "Receipt",
    "Review",
    "Revision",
    "Session",
    "Shown",
    "Statement",
    "TaskForm",
    "Test",
    "TestResult",
    "ToReview",
    "Work",
    "add_items",
    "choice_values",
    "export_project",
    "init_project",
    "lead_link",
    "open_desk",
    "project_status",
    "tasks",
]

_ENV = "env:"
_NAMES = {"jsonl": "answers", "csv": "answers", "parquet": "answers", "mic": "MIC"}


@dataclass(frozen=True, slots=True)
class InitOptions:
    """What `annotate init` may be told besides folder, task and items; None is the task's own."""

    name: str = ""
    database: str = ""
    people: int | None = None
    staging: int | None = None
    columns: Mapping[str, str] | None = None


def tasks() -> tuple[str, ...]:
    """Return the names of the tasks, and the one that stands for all ratings of stories.

    Examples
    --------
    >>> "rule-of-thumb" in tasks(), "story-ratings" in tasks()
    (True, True)
    """
    return tuple(sorted({*task_names(), RATINGS}))


def init_project(
    folder: Path, task: str, items: Path, options: InitOptions | None = None
) -> tuple[RunRecord, Invitation]:
    """Make a project: `project.yaml`, a database with the items, and a first lead.

    Everything is checked before anything is written, and `project.yaml` is written last.
    """
    options = options or InitOptions()
    if task not in tasks():
        raise InputError(f"there is no task '{task[:60]}'", did_you_mean(task, tasks()))
    _check_database(options.database)
    if (folder / PROJECT_FILE).exists():
        raise InputError(f"{folder} holds a project already", "choose another folder")
    task, found = read_items(items, task, options.columns, restore_cell)
    project = _with_policies(
        new_project(options.name or folder.resolve().name, task, options.database), options
    )
    project = replace(project, folder=str(folder))
    staging = project.policies.staging_items
    if len(found) <= staging:
        raise InputError(
            f"{items} holds {len(found)} items, and {staging} are for the staging round",
            "give more items, or a smaller --staging",
        )
    _make(folder)
    desk = Desk(project, Storage(folder, _url(project)))
    try:
        if not desk.is_new():
            raise InputError("the database holds a project already", "give an empty one")
        desk.add_items(desk.owner, found, staging=staging)
        invitation = desk.invite(desk.owner, "lead", "lead")
        write_project(project, folder)
    finally:
        desk.close()
    record = _record(
        "annotate init",
        {"folder": str(folder), "task": task, "items": str(items)},
        [],
        {"items": len(found) - staging, "staging_items": staging, **asdict(project.policies)},
    )
    return record, invitation


def open_desk(folder: Path) -> Desk:
    """Open a project; its database is brought up to this version first."""
    project = read_project(folder)
    desk = Desk(project, Storage(folder, _url(project)))
    desk.escape = escape_cell
    desk.apply_policies()
    return desk


def add_items(folder: Path, items: Path, columns: Mapping[str, str] | None = None) -> RunRecord:
    """Add items to a project, all or none of them."""
    desk = open_desk(folder)
    try:
        _, found = read_items(items, desk.project.task, columns, restore_cell)
        added = desk.add_items(desk.owner, found)
    finally:
        desk.close()
    config = {"folder": str(folder), "items": str(items)}
    return _record("annotate import", config, [], {"added": added})


def export_project(folder: Path, shape: str, name: str = "", stage: str = "main") -> RunRecord:
    """Write an export into the project's folder `exports`; `sheets` gives a pack's sheets back."""
    known = (*SUFFIXES, "sheets")
    if shape not in known:
        raise InputError(f"there is no shape '{shape[:60]}'", did_you_mean(shape, known))
    desk = open_desk(folder)
    try:
        if shape == "sheets":
            path = _write_sheets(desk, name or shape)
        else:
            path = desk.export_to(desk.owner, name or _NAMES.get(shape, shape), shape, stage)
        rows = desk.facts(desk.owner) if shape == "people" else desk.answers(desk.owner, stage)
    finally:
        desk.close()
    config = {"folder": str(folder), "shape": shape, "stage": stage}
    return _record("annotate export", config, [], {"file": str(path), "answers": len(rows)})


def project_status(folder: Path) -> RunRecord:
    """Say how far a project is, and who did what."""
    desk = open_desk(folder)
    try:
        seen = desk.overview(desk.owner)
        project = desk.project
    finally:
        desk.close()
    figures = {name: value for name, value in asdict(seen).items() if name != "people"}
    config = {"folder": str(folder), "name": project.name, "task": project.task}
    return _record("annotate status", config, list(seen.people), figures)


def lead_link(folder: Path) -> Invitation:
    """Make one more lead with a token, for a lead who lost hers."""
    desk = open_desk(folder)
    try:
        return desk.invite(desk.owner, "lead", "lead")
    finally:
        desk.close()


def _with_policies(project: Project, options: InitOptions) -> Project:
    policies = project.policies
    if options.people is not None:
        policies = replace(policies, people_per_item=options.people)
    if options.staging is not None:
        policies = replace(policies, staging_items=options.staging)
    return replace(project, policies=policies)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror})", "choose another") from error


def _check_database(url: str) -> None:
    """Refuse a password: `project.yaml` is read, copied and committed by many."""
    if "@" in url and ":" in url.rpartition("@")[0].partition("://")[2]:
        raise InputError(
            "the database's URL holds a password, which project.yaml would show",
            "put the URL into a variable and give --database env:NAME",
        )


def _url(project: Project) -> str:
    """Return the database's URL; `env:NAME` takes it from the environment, passwords and all."""
    if not project.database.startswith(_ENV):
        return project.database
    name = project.database.removeprefix(_ENV)
    found = os.environ.get(name, "")
    if not found:
        raise InputError(f"the project's database is in the variable {name}", f"set {name}")
    return found


def _write_sheets(desk: Desk, name: str) -> Path:
    """Write ratings as the sheets of the pack they are of, for `stories people`."""
    sheets = sheet_rows(desk.answers(desk.owner))
    folder = desk.export_place(name, "jsonl").with_suffix("")
    _make(folder)
    for rater, rows in sheets.items():
        lines = (json.dumps({"schema": SHEET_SCHEMA, **row}) + "\n" for row in rows)
        write_whole(folder / f"{rater}.jsonl", (line.encode() for line in lines))
    return folder


def _record(
    job: str, config: Mapping[str, Any], results: list[Any], figures: Mapping[str, Any]
) -> RunRecord:
    return RunRecord(
        job, seed=0, config=config, models=[], results=results, statistics=figures, warnings=[]
    )
