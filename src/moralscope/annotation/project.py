"""`project.yaml`: one readable file that says how a project is run. Answers are not in it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from moralscope.annotation.forms import default_policies, load_form, task_names
from moralscope.annotation.records import Policies, Project
from moralscope.annotation.yaml_files import Keys, one_of, parse_yaml
from moralscope.core.errors import InputError
from moralscope.io.files import read_small_text, write_whole

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
_LONGEST = 5000
# What each policy means, in the file's comments, and its bounds.
_POLICIES: dict[str, tuple[str, int, int]] = {
    "people_per_item": ("how many people answer each item", 1, 1000),
    "validators_per_item": ("how many others check each written story; 0 for none", 0, 100),
    "qualification": ("whether people take a test first", 0, 0),
    "questions": ("questions of a test", 1, 14),
    "pass_mark": ("right answers that pass it", 1, 14),
    "retakes": ("how often it may be taken again", 0, 100),
    "staging_items": ("items that a lead reviews before admission; 0 for none", 0, 1000),
    "lease_minutes": ("after how many idle minutes an item goes to somebody else", 1, 100_000),
    "session_days": ("after how many days people join again by their link", 1, 365),
    "questionnaire": ("whether people are asked about themselves (optional for them)", 0, 0),
    "smallest_group": ("groups of fewer people are never shown by themselves", 3, 1000),
}
_KEYS = tuple(one.name for one in dataclasses.fields(Project) if one.name != "folder")
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
        "policies:",
    ]
    for name, (meaning, _, _) in _POLICIES.items():
        value = json.dumps(getattr(project.policies, name))
        lines.append(f"  {name}: {value}".ljust(30) + f"  # {meaning}")
    return "\n".join(lines) + "\n"


def write_project(project: Project, folder: Path) -> Path:
    """Write `project.yaml` into a folder that has none yet."""
    path = folder / PROJECT_FILE
    if path.exists():
        raise InputError(f"{folder} holds a project already", "choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror})", "choose another") from error
    write_whole(path, [project_text(project).encode()])
    return path


def read_project(folder: Path) -> Project:
    """Read and check a project; a wrong key is named with the nearest right one."""
    path = folder / PROJECT_FILE
    if not path.is_file():
        raise InputError(f"{folder} holds no {PROJECT_FILE}", "make one: moralscope annotate init")
    text = read_small_text(path, "project", "give the folder of a project")
    return dataclasses.replace(parse_project(text, str(path)), folder=str(folder))


def parse_project(text: str, source: str) -> Project:
    """Parse `project.yaml`.

    Examples
    --------
    >>> parse_project("{name: a, task: filter, polices: {}}", "project.yaml")
    Traceback (most recent call last):
    moralscope.core.errors.InputError: project.yaml has an unknown key 'polices'; did you mean 'p...
    """
    found = parse_yaml(text, source)
    version = found.get("version", VERSION) if isinstance(found, dict) else VERSION
    if isinstance(version, int) and version > VERSION:  # first: it may have keys of its own
        raise InputError(
            f"{source} has version {version} of a newer moralscope, this one knows {VERSION}",
            "open it with the newer version: pip install -U moralscope",
        )
    keys = Keys(found, source, _KEYS)
    task = one_of(keys.text("task"), task_names(), "task")
    project = Project(
        keys.text("name"),
        task,
        _policies(keys.inner("policies", _POLICIES), task, source),
        keys.text("warning", WARNING),
        keys.text("consent", CONSENT),
        keys.texts("rulebooks"),
        keys.text("database", ""),
        keys.number("version", VERSION, 1, VERSION),
    )
    for name in ("name", "warning", "consent"):
        value = getattr(project, name)
        if not value or len(value) > _LONGEST:
            raise InputError(f"{source} has {len(value):,} characters of {name}", "give 1 to 5,000")
    return project


def _policies(keys: Keys, task: str, source: str) -> Policies:
    defaults = Policies(**default_policies(task))
    values: dict[str, Any] = {}
    for name, (_, low, high) in _POLICIES.items():
        default = getattr(defaults, name)
        if isinstance(default, bool):
            values[name] = keys.flag(name, default)
        else:
            values[name] = keys.number(name, default, low, high)
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


assert set(_POLICIES) == {field.name for field in dataclasses.fields(Policies)}  # noqa: S101
