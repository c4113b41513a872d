"""Items from files: tables with the columns of a form.

A table is CSV, JSONL or Parquet, such as `collect` writes. Nothing is repaired: a missing column, a
line without text and the same item twice are refused by line.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.annotation.checks import storable
from moralscope.annotation.forms import load_form
from moralscope.annotation.records import AnnotationItem, TaskForm
from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean
from moralscope.io.tables import (
    SUFFIXES,
    Layout,
    LineProblem,
    Row,
    TableFile,
    is_table,
    name_problems,
)

MAX_ITEMS = 1_000_000
MAX_CHARACTERS = 50_000
_KEPT = ("chatbot",)  # kept beside the texts that are shown, for exports
_OFFERED = ("norm_1", "norm_2", "norm_3")


def read_items(
    path: Path, task: str, columns: Mapping[str, str] | None = None
) -> list[AnnotationItem]:
    r"""Return the items of a table.

    Parameters
    ----------
    path
        The table.
    task
        The name of a task: its form says which columns there must be.
    columns
        Our name → the file's, where its columns have other names: `{"prompt": "Q"}`.
    """
    form = load_form(task)
    if not is_table(path):
        raise InputError(f"{path} is not a file of items", f"give {', '.join(SUFFIXES)}")
    names = {name: name for name in ("id", *_KEPT, *(shown.name for shown in form.shows))}
    for name in columns or {}:
        if name not in names:
            raise InputError(f"--columns has '{name[:60]}'", did_you_mean(name, list(names)))
    names.update(columns or {})
    items: dict[str, AnnotationItem] = {}
    lines: dict[str, int] = {}
    problems: list[LineProblem] = []
    for line, row in _rows(path, form, names):
        item = row if isinstance(row, str) else _item(row, form, names)
        if isinstance(item, AnnotationItem) and item.id in items:
            item = f"is the item of line {lines[item.id]} again"
        if isinstance(item, str):
            problems.append(LineProblem(line, item))
        else:
            items[item.id], lines[item.id] = item, line
        if len(problems) > 100 or len(items) > MAX_ITEMS:
            break
    if problems:
        raise InputError(name_problems(path, problems), "fix or delete these lines")
    if not items:
        raise InputError(f"{path} holds no items", "give one item per line")
    if len(items) > MAX_ITEMS:
        raise InputError(f"{path} holds too many items", f"at most {MAX_ITEMS:,}")
    return list(items.values())


def _rows(path: Path, form: TaskForm, names: Mapping[str, str]) -> Iterable[Row]:
    """Return a table's rows; where three norms are needed, a plain list of norms will do."""
    needed = [names[one.name] for one in form.shows if one.required]
    first = next((row for _, row in TableFile(path).rows() if isinstance(row, Mapping)), {})
    if set(_OFFERED) <= set(needed) and "norm" in first and not set(needed) & set(first):
        return _offered(list(TableFile(path).rows()))
    yours = ",".join(f"{name}=NAME" for name in needed)
    remedy = f"give {', '.join(needed)}, or say what your columns are called: --columns {yours}"
    return TableFile(path, layout=Layout(remedy=remedy)).rows(needed)


def _offered(rows: list[Row]) -> Iterable[Row]:
    """Offer norms three at a time, mixed by a hash of their words; each stands first once."""
    problems: list[Row] = []
    norms: dict[str, int] = {}
    for line, row in rows:
        norm = row.get("norm") if isinstance(row, Mapping) else None
        if isinstance(norm, str) and norm.strip() and storable(norm):
            norms[norm.strip()] = line
        else:
            problems.append((line, row if isinstance(row, str) else "has no text under 'norm'"))
    mixed = sorted(norms, key=lambda norm: sha256(norm.encode()).digest())
    if len(mixed) < len(_OFFERED):
        return [*problems, (1, f"begins {len(mixed)} norms, and three are offered at a time")]
    offers: list[Row] = []
    for start in range(0, len(mixed), len(_OFFERED)):
        three = [mixed[(start + n) % len(mixed)] for n in range(len(_OFFERED))]
        offers.append((norms[three[0]], dict(zip(_OFFERED, three, strict=True))))
    return [*problems, *offers]


def _item(
    cells: Mapping[str, Any], form: TaskForm, names: Mapping[str, str]
) -> AnnotationItem | str:
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
    value = cells.get(names["id"])
    name = str(value).strip() if isinstance(value, str | int) else ""
    if len(name) > 200 or not storable(name):
        return "has an id that is too long"
    for extra in _KEPT:
        value = cells.get(names[extra])
        if isinstance(value, str) and value.strip() and storable(value):
            texts[extra] = value.strip()[:200]
    parts = "\0".join(f"{name}\0{text}" for name, text in sorted(texts.items()))
    return AnnotationItem(name or sha256(parts.encode()).hexdigest()[:16], texts)
