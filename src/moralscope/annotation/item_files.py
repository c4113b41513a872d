"""Items from files: tables with the columns of a form, or blinded sheets of a pack.

A table is CSV, JSONL or Parquet, such as `collect` writes. Sheets are those that `stories people`
writes: every rater's sheet has the same items, so one of them is enough. Nothing is repaired: a
missing column, a line without text and the same item twice are refused by line.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeGuard

from moralscope.annotation.checks import storable
from moralscope.annotation.forms import load_form, task_names
from moralscope.annotation.records import Item, TaskForm
from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean
from moralscope.io.tables import (
    SUFFIXES,
    Cells,
    Layout,
    LineProblem,
    Row,
    Table,
    is_table,
    name_problems,
)

MAX_ITEMS = 1_000_000
MAX_CHARACTERS = 50_000
RATINGS = "story-ratings"  # any of the three tasks that judge generated texts
_KEPT = ("chatbot",)  # kept beside the texts that are shown, for exports
_OFFERED = ("norm_1", "norm_2", "norm_3")
_SHEETS, _STORY = "sheets", "story_"


def read_items(
    path: Path,
    task: str,
    columns: Mapping[str, str] | None = None,
    restore: Callable[[str], str] = str,
) -> tuple[str, list[Item]]:
    r"""Return the task and its items.

    Parameters
    ----------
    path
        A table, a sheet, or the folder of a pack.
    task
        The name of a task; `story-ratings` stands for the one that the sheets are of.
    columns
        Our name → the file's, where its columns have other names: `{"prompt": "Q"}`.
    restore
        Undoes what a sheet's CSV does to cells to keep a spreadsheet from running them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "actions.csv")
    ...     _ = path.write_text("id,action,source\nA,wave to a friend,ours\n")
    ...     read_items(path, "action-yes-no")[1]
    [Item(id='A', texts={'action': 'wave to a friend'}, form='', stage='main', author='')]
    """
    file = _file(path)
    if not is_table(file):
        raise InputError(f"{file} is no file of items", f"give {', '.join(SUFFIXES)}")
    is_sheet = _of_sheet(
        next((row for _, row in Table(file).rows() if isinstance(row, Mapping)), {})
    )
    if task == RATINGS:
        task = _rated(file, is_sheet)
    form = load_form(task)
    names = {name: name for name in ("id", *_KEPT, *(shown.name for shown in form.shows))}
    for name in columns or {}:
        if name not in names:
            raise InputError(f"--columns has '{name[:60]}'", did_you_mean(name, list(names)))
    names.update(columns or {})
    found: dict[str, Item] = {}
    lines: dict[str, int] = {}
    problems: list[LineProblem] = []
    for line, row in _rows(file, form, names, is_sheet):
        item = row if isinstance(row, str) else _item(_laid_out(row, restore), form, names)
        if isinstance(item, Item) and item.id in found:
            item = f"is the item of line {lines[item.id]} again"
        if isinstance(item, str):
            problems.append(LineProblem(line, item))
        else:
            found[item.id], lines[item.id] = item, line
        if len(problems) > 100 or len(found) > MAX_ITEMS:
            break
    _refuse(file, problems, len(found))
    return task, list(found.values())


def _rows(file: Path, form: TaskForm, names: Mapping[str, str], is_sheet: bool) -> Iterable[Row]:
    """Return a table's rows; where three norms are needed, a plain list of norms will do."""
    if is_sheet:
        return Table(file).rows()
    needed = [names[one.name] for one in form.shows if one.required]
    if set(_OFFERED) <= set(needed):
        rows = list(Table(file).rows())
        first = next((row for _, row in rows if isinstance(row, Mapping)), {})
        if "norm" in first and not set(needed) & set(first):
            return _offered(rows)
    yours = ",".join(f"{name}=NAME" for name in needed)
    remedy = f"give {', '.join(needed)}, or say what your columns are called: --columns {yours}"
    return Table(file, layout=Layout(remedy=remedy)).rows(needed)


def _offered(rows: list[Row]) -> Iterable[Row]:
    """Offer norms three at a time, mixed by a hash of their words; each stands first once."""
    wrong = [row for row in rows if isinstance(row[1], str)]
    wrong += [
        (line, "has no text under 'norm'")
        for line, row in rows
        if isinstance(row, Mapping) and not _has_norm(row)
    ]
    norms = {row["norm"].strip(): line for line, row in rows if _has_norm(row)}
    mixed = sorted(norms, key=lambda norm: sha256(norm.encode()).digest())
    if len(mixed) < len(_OFFERED):
        return [*wrong, (1, f"begins {len(mixed)} norms, and three are offered at a time")]
    threes = range(0, len(mixed), len(_OFFERED))
    chosen = [[mixed[(at + n) % len(mixed)] for n in range(len(_OFFERED))] for at in threes]
    return [
        *wrong,
        *((norms[three[0]], dict(zip(_OFFERED, three, strict=True))) for three in chosen),
    ]


def _has_norm(row: Cells | str) -> TypeGuard[Cells]:
    """Tell whether a row holds a norm that can be shown."""
    norm = row.get("norm") if isinstance(row, Mapping) else None
    return isinstance(norm, str) and bool(norm.strip()) and storable(norm)


def _file(path: Path) -> Path:
    """Return the file to read: of a folder of sheets, its first."""
    if not path.is_dir():
        return path
    place = path / _SHEETS if (path / _SHEETS).is_dir() else path
    files = sorted(one for one in place.iterdir() if one.suffix.lower() in (".jsonl", ".csv"))
    if not files:
        raise InputError(f"{path} holds no sheets", "give a table, a sheet, or the folder of one")
    return next((one for one in files if one.suffix.lower() == ".jsonl"), files[0])


def _rated(file: Path, is_sheet: bool) -> str:
    """Tell by a sheet what kind of text it has people judge."""
    known = [name for name in task_names() if name.startswith(RATINGS)]
    if is_sheet:
        for _, row in Table(file).rows():
            if isinstance(row, Mapping):
                asked = {str(row.get("task"))} | set(row.get("questions") or row)
                kinds = {"intention": "action", "plausibility": "consequence", "relevance": "norm"}
                kind = next((kinds[name] for name in kinds if name in asked), "")
                if f"{RATINGS}-{kind}" in known:
                    return f"{RATINGS}-{kind}"
    raise InputError(f"{file} does not say what is judged", f"name the task: {', '.join(known)}")


def _item(cells: Mapping[str, Any], form: TaskForm, names: Mapping[str, str]) -> Item | str:
    """Return an item, or what is wrong with the row."""
    texts: dict[str, str] = {}
    for shown in form.shows:
        text = cells.get(names[shown.name])
        if text is None or (isinstance(text, str) and not text.strip()):
            if shown.required:
                return f"has no text under '{names[shown.name]}'"
            continue
        if not isinstance(text, str) or len(text) > MAX_CHARACTERS or not storable(text):
            return f"has no text that can be shown under '{names[shown.name]}'"
        texts[shown.name] = text.strip()
    given = cells.get(names["id"])
    name = str(given).strip() if isinstance(given, str | int) else ""
    if len(name) > 200 or not storable(name):
        return "has an id that is too long"
    for extra in _KEPT:
        value = cells.get(names[extra])
        if isinstance(value, str) and value.strip() and storable(value):
            texts[extra] = value.strip()[:200]
    parts = "\0".join(f"{name}\0{text}" for name, text in sorted(texts.items()))
    return Item(name or sha256(parts.encode()).hexdigest()[:16], texts)


def _laid_out(row: Mapping[str, Any], restore: Callable[[str], str]) -> Mapping[str, Any]:
    """Lay out a row of a sheet as a table's, the pack in its id; another row stays as it is."""
    if not _of_sheet(row):
        return row
    name = f"{row['pack']}.{row['item']}"
    context = row.get("context")
    if isinstance(context, Mapping):
        return {**context, "text": row.get("text"), "id": name}
    cells = {key: restore(value) if isinstance(value, str) else value for key, value in row.items()}
    story = {key.removeprefix(_STORY): cells[key] for key in cells if key.startswith(_STORY)}
    return {**story, "text": cells.get("text"), "id": name}


def _of_sheet(row: Mapping[str, Any]) -> bool:
    return {"pack", "rater", "item", "text"} <= set(row)


def _refuse(file: Path, problems: list[LineProblem], found: int) -> None:
    if problems:
        raise InputError(name_problems(file, problems), "mend or remove these lines")
    if not found:
        raise InputError(f"{file} holds no items", "give one item a line")
    if found > MAX_ITEMS:
        raise InputError(f"{file} holds too many items", f"at most {MAX_ITEMS:,}")
