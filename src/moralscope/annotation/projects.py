"""Annotation projects: made, opened, filled with items, exported, looked at.

`project.yaml` is one readable file that says how a project is run; items, people and answers are in
its database. What people and leads do is `AnnotationService`'s.
"""

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from moralscope.annotation.exporting import sheet_rows
from moralscope.annotation.forms import default_policies, load_form, one_of, task_names
from moralscope.annotation.item_files import RATINGS, read_items
from moralscope.annotation.options import ExportOptions, ImportOptions, InitOptions, Policies
from moralscope.annotation.records import STATEMENT, Invitation, Project
from moralscope.annotation.service import AnnotationService
from moralscope.annotation.storage import Storage
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, option_fields, plain_options
from moralscope.core.records import RunRecord
from moralscope.core.registry import did_you_mean
from moralscope.io.documents import Document, read_document
from moralscope.io.files import SHEET_SCHEMA, restore_cell, write_whole
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
_KEYS = tuple(one.name for one in dataclasses.fields(Project) if one.name != "folder")
_REMEDY = "mend the line; `moralscope annotate init` writes a good file to compare with"
_HEAD = """\
# An annotation project of moralscope: how it is run. Change it while the server is stopped.
# Items, people and answers are in the database, not here.
"""


def new_project(name: str, task: str, database: str = "") -> Project:
    """Return a project with the policies and texts that its task has by default.

    Examples
    --------
    >>> new_project("rules", "rule-of-thumb").policies.people_per_item
    3
    >>> new_project("rules", "rule-of-tumb")
    Traceback (most recent call last):
    moralscope.core.errors.InputError: there is no task 'rule-of-tumb'; did you mean 'rule-of-th...
    """
    one_of(task, task_names(), "task")
    policies = Policies(**default_policies(task))
    rulebooks = ("moralscope",) if load_form(task).search else ()
    return Project(name, task, policies, WARNING, CONSENT, rulebooks, database)


def project_text(project: Project) -> str:
    """Return the file's text: every policy with what it means."""
    lines = [
        _HEAD,
        f"version: {project.version}",
        f"name: {_quoted(project.name)}",
        f"task: {project.task}",
        "# Nothing for SQLite in this folder, or postgresql://user@host/name",
        f"database: {_quoted(project.database)}",
        "# Shown first, before anything else.",
        f"warning: {_quoted(project.warning)}",
        f"consent: {_quoted(project.consent)}",
        "# Where the search box finds examples: moralscope (ours), or rulebook files beside this.",
        f"rulebooks: [{', '.join(map(_quoted, project.rulebooks))}]",
        "# For the data statement (moralscope annotate statement): what only you know.",
        "statement:",
        *(
            f"  {name}: {_quoted(project.statement.get(name, ''))}  # {about}"
            for name, about in STATEMENT.items()
        ),
        "policies:",
    ]
    values = asdict(project.policies)
    for field in option_fields(Policies):
        value = json.dumps(values[field.name])
        lines.append(f"  {field.name}: {value}".ljust(30) + f"  # {field.option.help}")
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
    return dataclasses.replace(parse_project(text, str(path)), folder=str(folder))


def parse_project(text: str, source: str) -> Project:
    """Parse `project.yaml`.

    Examples
    --------
    >>> parse_project("{name: a, task: filter, polices: {}}", "project.yaml")
    Traceback (most recent call last):
    moralscope.core.errors.InputError: project.yaml has an unknown key 'polices'; did you mean 'p...
    """
    found = Document(text, source, _REMEDY).yaml_values()
    version = found.get("version", VERSION) if isinstance(found, dict) else VERSION
    if isinstance(version, int) and version > VERSION:  # first: it may have keys of its own
        raise InputError(
            f"{source} has version {version} of a newer moralscope, this one knows {VERSION}",
            "open it with the newer version: pip install -U moralscope",
        )
    keys = _Keys(found, source, _KEYS)
    task = one_of(keys.text("task"), task_names(), "task")
    stated = keys.inner("statement", STATEMENT)
    project = Project(
        keys.text("name"),
        task,
        _policies(keys, task, source),
        keys.text("warning", WARNING),
        keys.text("consent", CONSENT),
        keys.texts("rulebooks"),
        keys.text("database", ""),
        keys.number("version", VERSION, 1, VERSION),
        {name: told for name in STATEMENT if (told := stated.text(name, ""))},
    )
    texts = {"name": project.name, "warning": project.warning, "consent": project.consent}
    for name, value in {**project.statement, **texts}.items():
        if not value or len(value) > _LONGEST:
            raise InputError(f"{source} has {len(value):,} characters of {name}", "give 1 to 5,000")
    return project


class _Keys:
    """A mapping of a YAML file whose keys are known; another key is refused with the nearest.

    Each value is checked by whoever asks for it, against its type.
    """

    def __init__(self, found: object, place: str, known: Iterable[str]) -> None:
        if not isinstance(found, Mapping):
            raise InputError(f"{place} needs keys and values", _REMEDY)
        self._found = found
        self._place = place
        names = tuple(known)
        for key in found:
            if key not in names:
                name = str(key)[:60]
                raise InputError(f"{place} has an unknown key '{name}'", did_you_mean(name, names))

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text; without a default it must be there."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._wrong(key, value, "a text")
        return str(value).strip()

    def number(self, key: str, default: int, low: int, high: int) -> int:
        """Return a whole number within bounds."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self._wrong(key, value, f"a whole number from {low} to {high}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, empty where there is none."""
        value = self._value(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._wrong(key, value, "a list of texts")
        return tuple(one.strip() for one in value)

    def inner(self, key: str, known: Iterable[str]) -> "_Keys":
        """Return the mapping under a key, empty where there is none."""
        return _Keys(self._value(key, {}), f"{self._place}, {key}", known)

    def _value(self, key: str, default: object) -> object:
        value = self._found.get(key, default)
        if value is None and default is None:
            raise InputError(f"{self._place} has no '{key}'", _REMEDY)
        return default if value is None else value

    def _wrong(self, key: str, value: object, wanted: str) -> InputError:
        return InputError(f"{self._place} has {key} = {str(value)[:60]!r}", f"give {wanted}")


def _policies(keys: _Keys, task: str, source: str) -> Policies:
    fields = option_fields(Policies)
    told = keys.inner("policies", [field.name for field in fields])
    values: dict[str, Any] = asdict(Policies(**default_policies(task)))
    for field in fields:
        name, option = field.name, field.option
        if field.kind is bool:
            values[name] = told.flag(name, values[name])
        else:
            low, high = int(option.least or 0), int(option.most or 0)
            values[name] = told.number(name, values[name], low, high)
    found = Policies(**values)
    if found.pass_mark > found.questions:
        raise InputError(
            f"{source} asks for {found.pass_mark} right answers of {found.questions} questions",
            "lower pass_mark",
        )
    return found


def _quoted(text: str) -> str:
    """Return a text as YAML holds it: JSON's quotes are YAML's too."""
    return json.dumps(text, ensure_ascii=False)


def init_project(
    folder: Path, task: str, items: Path, options: InitOptions | None = None, **given: Any
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
    chosen = chosen_options(InitOptions, options, given)
    one_of(task, sorted({*task_names(), RATINGS}), "task")
    url = chosen.database
    if "@" in url and ":" in url.rpartition("@")[0].partition("://")[2]:
        raise InputError(  # the file is read, copied and committed by many
            "the database's URL holds a password, which project.yaml would show",
            "put the URL into a variable and give --database env:NAME",
        )
    if (folder / PROJECT_FILE).exists():
        raise InputError(f"{folder} holds a project already", "choose another folder")
    task, found = read_items(items, task, parse_columns(chosen.columns), restore_cell)
    project = new_project(chosen.name or folder.resolve().name, task, chosen.database)
    own = {"people_per_item": chosen.people, "staging_items": chosen.staging}
    told: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    project = replace(project, policies=replace(project.policies, **told), folder=str(folder))
    staging = project.policies.staging_items
    if len(found) <= staging:
        raise InputError(
            f"{items} holds {len(found)} items, and {staging} are for the staging round",
            "give more items, or a smaller --staging",
        )
    _make(folder)
    with AnnotationService(project, Storage(folder, _url(project))) as service:
        if not service.is_new():
            raise InputError("the database holds a project already", "give an empty one")
        service.add_items(service.owner, found, staging=staging)
        invitation = service.invite(service.owner, "lead", "lead")
        write_project(project, folder)
    config: dict[str, Any] = {"folder": str(folder), "task": task, "items": str(items)}
    config["options"] = plain_options(chosen)
    figures = {
        "items": len(found) - staging, "staging_items": staging, **asdict(project.policies)
    }  # fmt: skip
    return record_of("annotate init", config, figures), invitation


def open_project(folder: Path) -> AnnotationService:
    """Open a project; its database is brought up to this version first."""
    project = read_project(folder)
    service = AnnotationService(project, Storage(folder, _url(project)))
    service.apply_policies()
    return service


def add_items(
    folder: Path, items: Path, options: ImportOptions | None = None, **given: Any
) -> RunRecord:
    """Add items to a project, all or none of them."""
    chosen = chosen_options(ImportOptions, options, given)
    columns = parse_columns(chosen.columns)
    with open_project(folder) as service:
        _, found = read_items(items, service.project.task, columns, restore_cell)
        added = service.add_items(service.owner, found)
    config = {"folder": str(folder), "items": str(items), "options": plain_options(chosen)}
    return record_of("annotate import", config, {"added": added})


def export_project(folder: Path, options: ExportOptions | None = None, **given: Any) -> RunRecord:
    """Write an export into the project's folder `exports`; `sheets` gives a pack's sheets back."""
    chosen = chosen_options(ExportOptions, options, given)
    shape, stage = chosen.shape, chosen.stage
    with open_project(folder) as service:
        if shape == "sheets":
            path = _write_sheets(service, chosen.name or shape)
        else:
            name = chosen.name or _FILE_NAMES.get(shape, shape)
            path = service.export_to(service.owner, name, shape, stage)
        rows: Sequence[Any]
        if shape == "audit":
            rows = service.audit_log(service.owner, None)
        elif shape == "people":
            rows = service.facts(service.owner)
        else:
            rows = service.answers(service.owner, stage)
    config: dict[str, Any] = {"folder": str(folder), "shape": shape, "stage": stage}
    config["options"] = plain_options(chosen)
    return record_of("annotate export", config, {"file": str(path), "answers": len(rows)})


def project_status(folder: Path) -> RunRecord:
    """Say how far a project is, and who did what."""
    with open_project(folder) as service:
        seen, project = service.overview(service.owner), service.project
    figures = {name: value for name, value in asdict(seen).items() if name != "people"}
    config = {"folder": str(folder), "name": project.name, "task": project.task}
    return record_of("annotate status", config, figures, list(seen.people))


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
    found = os.environ.get(name, "")
    if not found:
        raise InputError(f"the project's database is in the variable {name}", f"set {name}")
    return found


def _write_sheets(service: AnnotationService, name: str) -> Path:
    """Write ratings as the sheets of the pack they are of, for `stories people`."""
    sheets = sheet_rows(service.answers(service.owner))
    folder = service.export_place(name, "jsonl").with_suffix("")
    _make(folder)
    for rater, rows in sheets.items():
        lines = (json.dumps({"schema": SHEET_SCHEMA, **row}) + "\n" for row in rows)
        write_whole(folder / f"{rater}.jsonl", (line.encode() for line in lines), private=True)
    return folder


def record_of(
    job: str, config: Mapping[str, Any], figures: Mapping[str, Any], results: Sequence[Any] = ()
) -> RunRecord:
    """Return the run record of what was done to a project: no model, no chance."""
    return RunRecord(
        job, seed=0, config=config, models=[], results=results, statistics=figures, warnings=[]
    )
