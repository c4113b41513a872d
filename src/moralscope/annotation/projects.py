"""Annotation projects: made, opened, filled with items, exported, looked at.

`project.yaml` is one readable file that says how a project is run; items, people and answers are in
its database. What people and leads do is `AnnotationService`'s.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from moralscope.annotation.forms import load_form, one_of, task_names
from moralscope.annotation.item_files import read_items
from moralscope.annotation.options import (
    AnnotationExportOptions,
    ImportOptions,
    InitOptions,
    Policies,
    StatementTexts,
)
from moralscope.annotation.records import Invitation, Project, ProjectProgress
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.storage import Storage
from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.options import Options, chosen_options, option_fields, plain_options
from moralscope.core.records import NoStatistics, RunRecord, Statistics
from moralscope.io.documents import Document, read_document
from moralscope.io.files import write_whole
from moralscope.io.tables import parse_columns

PROJECT_FILE = "project.yaml"
VERSION = 1
WARNING = (
    "Some texts here are offensive, cruel or otherwise disturbing; some were made by machines. You "
    "may skip any item and pause or stop at any time, without giving a reason."
)
CONSENT = (
    "Your answers are kept and may be published under a random id, never with your name. Questions "
    "about yourself are optional and kept apart from your answers."
)
_LONGEST = 5000  # characters of a text of the first page
_ENV = "env:"  # before the name of a variable that holds the URL of the database
_FILE_NAMES = {"jsonl": "answers", "csv": "answers", "parquet": "answers", "mic": "MIC"}
_REMEDY = "fix the line; `moralscope annotate init` writes a good file to compare with"
_HEAD = """\
# An annotation project of moralscope: how it is run. Change it while the server is stopped.
# Items, people and answers are in the database, not here.
"""


def new_project(name: str, task: str, database: str = "") -> Project:
    """Return a project with the policies and texts that its task has by default."""
    one_of(task, task_names(), "task")
    form = load_form(task)
    rulebooks = ("moralscope",) if form.search else ()
    return Project(name, task, Policies(**form.policies), WARNING, CONSENT, rulebooks, database)


def project_text(project: Project) -> str:
    """Return the file's text: every policy with what it means."""

    def quoted(text: str) -> str:  # JSON's quotes are YAML's too
        return json.dumps(text, ensure_ascii=False)

    lines = [
        _HEAD,
        f"version: {project.version}",
        f"name: {quoted(project.name)}",
        f"task: {project.task}",
        "# Nothing for SQLite in this folder, or postgresql://user@host/name",
        f"database: {quoted(project.database)}",
        "# Shown first, before anything else.",
        f"warning: {quoted(project.warning)}",
        f"consent: {quoted(project.consent)}",
        "# Where the search box finds examples: moralscope (ours), or rulebook files beside this.",
        f"rulebooks: [{', '.join(map(quoted, project.rulebooks))}]",
        "# For the data statement (moralscope annotate statement): what only you know.",
        "statement:",
    ]
    texts = asdict(project.statement)
    for one in option_fields(StatementTexts):
        lines.append(f"  {one.name}: {quoted(texts[one.name])}  # {one.option.help}")
    lines.append("policies:")
    policies = asdict(project.policies)
    for one in option_fields(Policies):
        value = json.dumps(policies[one.name])
        lines.append(f"  {one.name}: {value}".ljust(30) + f"  # {one.option.help}")
    return "\n".join(lines) + "\n"


def write_project(project: Project, folder: Path) -> Path:
    """Write `project.yaml` into a folder that has none yet."""
    path = folder / PROJECT_FILE
    if path.exists():
        raise InputError(f"{folder} holds a project already", "choose another folder")
    _make(folder)
    write_whole(path, [project_text(project).encode()])
    return path


def read_project(folder: Path) -> Project:
    """Read and check a project; a wrong key is named with the nearest right one."""
    path = folder / PROJECT_FILE
    if not path.is_file():
        raise InputError(f"{folder} holds no {PROJECT_FILE}", "make one: moralscope annotate init")
    text = read_document(path, "project", "give the folder of a project").content
    return replace(parse_project(text, str(path)), folder=str(folder))


def parse_project(text: str, source: str) -> Project:
    """Parse `project.yaml`."""
    document = Document(text, source, _REMEDY).yaml_values()
    if not isinstance(document, dict):
        raise InputError(f"{source} needs keys and values", _REMEDY)
    version = document.get("version", VERSION)
    if isinstance(version, int) and version > VERSION:  # first: it may have keys of its own
        raise InputError(
            f"{source} has version {version} of a newer moralscope, this one knows {VERSION}",
            "open it with the newer version: pip install -U moralscope",
        )
    # What stands empty in the file is as if it were not there.
    plain: dict[str, Any] = {"warning": WARNING, "consent": CONSENT}
    plain |= {key: value for key, value in document.items() if value is not None}
    task = plain.get("task")
    if isinstance(task, str):
        defaults = load_form(one_of(task, task_names(), "task")).policies
        if isinstance(plain.get("policies", {}), dict):
            plain["policies"] = {**defaults, **plain.get("policies", {})}
    project = decode(Project, plain, source, remedy=_REMEDY, exact=True)
    if project.version != VERSION:
        raise InputError(f"{source} has version {project.version}", f"give {VERSION}")
    texts = {"name": project.name, "warning": project.warning, "consent": project.consent}
    for name, value in texts.items():
        if not value.strip() or len(value) > _LONGEST:
            raise InputError(f"{source} has {len(value):,} characters of {name}", "give 1 to 5,000")
    policies = project.policies
    if policies.pass_mark > policies.questions:
        raise InputError(
            f"{source} asks for {policies.pass_mark} right answers of {policies.questions} "
            "questions",
            "lower pass_mark",
        )
    return project


@dataclass(frozen=True, slots=True, kw_only=True)
class InitStatistics(Statistics):
    """What a new project begins with: items, and the policies that it is run by (`Policies`)."""

    items: int = field()  # type: ignore[assignment]  # a key here, not the method of mappings
    staging_items: int
    people_per_item: int
    validators_per_item: int
    qualification: bool
    questions: int
    pass_mark: int
    retakes: int
    good_in_a_row: int
    lease_minutes: int
    session_days: int
    questionnaire: bool
    smallest_group: int


@dataclass(frozen=True, slots=True)
class ImportStatistics(Statistics):
    """How many items were added."""

    added: int


@dataclass(frozen=True, slots=True)
class ExportStatistics(Statistics):
    """Where an export is, and how many answers (or lines about people) it holds."""

    file: str
    answers: int


def project_record(
    job: str,
    folder: Path,
    results: Sequence[Any] = (),
    statistics: Statistics | None = None,
    **config: Any,
) -> RunRecord:
    """Return the record of a command on a project; it asks no model, and draws nothing."""
    plain = {"folder": str(folder), **config}
    if isinstance(config.get("options"), Options):
        plain["options"] = plain_options(config["options"])
    sums = NoStatistics() if statistics is None else statistics
    return RunRecord(job, seed=0, config=plain, models=[], results=results, statistics=sums)


def init_project(
    folder: Path, task: str, items: Path, options: InitOptions | None = None, **keywords: Any
) -> tuple[RunRecord, Invitation]:
    """Make a project: `project.yaml`, a database with the items, and a first lead.

    Everything is checked before anything is written, and `project.yaml` is written last.

    Parameters
    ----------
    folder, task, items
        Where, what people do (`story-ratings` stands for all ratings of stories), and on what.
    options
        `InitOptions`, or its fields as keywords.
    """
    chosen = chosen_options(InitOptions, options, keywords)
    one_of(task, task_names(), "task")
    url = chosen.database
    if "@" in url and ":" in url.rpartition("@")[0].partition("://")[2]:
        raise InputError(  # the file is read, copied and committed by many
            "the database's URL holds a password, which project.yaml would show",
            "put the URL into a variable and give --database env:NAME",
        )
    if (folder / PROJECT_FILE).exists():
        raise InputError(f"{folder} holds a project already", "choose another folder")
    texts = read_items(items, task, parse_columns(chosen.columns))
    project = new_project(chosen.name or folder.resolve().name, task, chosen.database)
    policies = project.policies
    if chosen.people is not None:
        policies = replace(policies, people_per_item=chosen.people)
    if chosen.staging is not None:
        policies = replace(policies, staging_items=chosen.staging)
    project = replace(project, policies=policies, folder=str(folder))
    staging = policies.staging_items
    if len(texts) <= staging:
        raise InputError(
            f"{items} holds {len(texts)} items, and {staging} are for the staging round",
            "give more items, or a smaller --staging",
        )
    _make(folder)
    with AnnotationService(project, Storage(folder, _url(project))) as service:
        if not service.is_new():
            raise InputError("the database holds a project already", "give an empty one")
        service.add_items(service.owner, texts, staging=staging)
        invitation = service.invite(service.owner, "lead", "lead")
        write_project(project, folder)
    statistics = InitStatistics(items=len(texts) - staging, **asdict(policies))
    settings = {"task": task, "items": str(items), "options": chosen}
    return project_record("annotate init", folder, [], statistics, **settings), invitation


def open_project(folder: Path) -> AnnotationService:
    """Open a project; its database is brought up to this version first."""
    project = read_project(folder)
    service = AnnotationService(project, Storage(folder, _url(project)))
    service.apply_policies()
    return service


def add_items(
    folder: Path, items: Path, options: ImportOptions | None = None, **keywords: Any
) -> RunRecord:
    """Add items to a project, all or none of them."""
    chosen = chosen_options(ImportOptions, options, keywords)
    columns = parse_columns(chosen.columns)
    with open_project(folder) as service:
        added = service.add_items(service.owner, read_items(items, service.project.task, columns))
    settings = {"items": str(items), "options": chosen}
    return project_record("annotate import", folder, [], ImportStatistics(added), **settings)


def export_project(
    folder: Path, options: AnnotationExportOptions | None = None, **keywords: Any
) -> RunRecord:
    """Write an export into the project's folder `exports`."""
    chosen = chosen_options(AnnotationExportOptions, options, keywords)
    shape, stage = chosen.shape, chosen.stage
    with open_project(folder) as service:
        lead = service.owner
        path = service.export_to(lead, chosen.name or _FILE_NAMES.get(shape, shape), shape, stage)
        rows: Sequence[Any]
        if shape == "audit":
            rows = service.audit_log(lead, None)
        else:
            rows = service.facts(lead) if shape == "people" else service.answers(lead, stage)
    settings = {"shape": shape, "stage": stage, "options": chosen}
    statistics = ExportStatistics(str(path), len(rows))
    return project_record("annotate export", folder, [], statistics, **settings)


def project_status(folder: Path) -> RunRecord:
    """Say how far a project is, and who did what."""
    with open_project(folder) as service:
        overview, project = service.overview(service.owner), service.project
    progress = ProjectProgress(**{n: overview[n] for n in overview if n != "people"})
    settings = {"name": project.name, "task": project.task}
    return project_record("annotate status", folder, overview.people, progress, **settings)


def lead_link(folder: Path) -> Invitation:
    """Make one more lead with a token, for a lead who lost hers."""
    with open_project(folder) as service:
        return service.invite(service.owner, "lead", "lead")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror})", "choose another") from error


def _url(project: Project) -> str:
    """Return the database's URL; `env:NAME` takes it from the environment, passwords and all."""
    if not project.database.startswith(_ENV):
        return project.database
    name = project.database.removeprefix(_ENV)
    url = os.environ.get(name, "")
    if not url:
        raise InputError(f"the project's database is in the variable {name}", f"set {name}")
    return url
