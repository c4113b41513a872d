"""Judgments for `agreement`: from a table of any of three shapes, or from an annotation project.

Long: item, person, field, value. Wide: item, person and a column a field. An export of `annotate`:
either, or JSON objects with `answer`. A column `leaning`, or a file of people, says who they are.
A person may be called a rater, an annotator or a worker; `--columns` knows any other name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.annotation.groups import Annotator
from moralscope.annotation.judgments import PersonJudgment
from moralscope.core.errors import InputError
from moralscope.io.tables import FORMS, Cells, Layout, TableFile, check_columns

if TYPE_CHECKING:
    from moralscope.annotation.records import AnswerRow, TaskForm

_ABOUT = (
    "schema", "project", "task", "form", "item", "person", "stage", "submitted", "seconds",
    "revision", "submission", "author", "texts", "answer", "leaning", "final",
)  # fmt: skip
COLUMNS = ("item", "person", "field", "value", "leaning", "stage")
# What others call these columns, in small letters and without what is no letter.
_ALSO = {
    "item": ("itemid", "unit", "unitid", "hitid"),
    "person": ("personid", "rater", "raterid", "annotator", "annotatorid", "worker", "workerid"),
}
_TEXT, _FINAL = "text_", "final_"  # an item's texts, and what a lead decided: nobody's judgment
_MAX_TEXT = 300
_MAX_NAME = 200
_MAIN = "main"


@dataclass(frozen=True, slots=True)
class JudgmentSet:
    """What was judged by whom: judgments, levels that are known, people, texts of items."""

    source: str
    judgments: Sequence[PersonJudgment]
    levels: Mapping[str, str] = field(default_factory=dict)
    annotators: Sequence[Annotator] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    staged: int = 0  # rows of staging rounds, which do not count
    smallest_group: int | None = None
    own_texts: bool = False  # people judged texts of their own


def read_judgments(path: Path, columns: Mapping[str, str] | None = None) -> JudgmentSet:
    r"""Read a table of judgments; what cannot be read is refused by its line.

    `columns` says what the table calls its columns: `{"person": "WHO"}`.
    """
    judgments: list[PersonJudgment] = []
    leanings: dict[str, str | None] = {}
    texts: dict[str, str] = {}
    staged = 0
    for row in _good_rows(path, ("item", "person"), columns or {}):
        item, person = _name(row["item"]), _name(row["person"])
        if row.get("stage", _MAIN) not in (_MAIN, "", None):
            staged += 1
            continue
        judgments += (PersonJudgment(item, person, name, value) for name, value in _fields(row))
        inner = row.get("texts")
        if not isinstance(inner, Mapping):
            inner = {name: value for name, value in row.items() if str(name).startswith(_TEXT)}
        texts.setdefault(item, _text(inner))
        if "leaning" in row:
            leanings[person] = _leaning(row["leaning"])
    if not judgments:
        raise InputError(f"{path} holds no judgments", "give rows of item, person, field, value")
    annotators = [Annotator(who, leaning) for who, leaning in leanings.items()]
    return JudgmentSet(str(path), judgments, {}, annotators, texts, staged)


def read_people(path: Path) -> list[Annotator]:
    """Read who people are: person, leaning, and weights of foundations in columns or an object."""
    people: dict[str, Annotator] = {}
    for row in _good_rows(path, ("person",), None):
        person = _name(row["person"])
        if person in people:
            raise InputError(f"{path} names {person[:40]} twice", "keep one row per person")
        inner = row.get("foundations")
        weights = {}
        for name, value in (inner if isinstance(inner, Mapping) else row).items():
            if name not in ("schema", "person", "leaning", "foundations"):
                with suppress(TypeError, ValueError):  # other columns may say anything
                    weights[str(name)] = float(value)
        people[person] = Annotator(person, _leaning(row.get("leaning")), weights or None)
    return list(people.values())


def answer_judgments(
    rows: Iterable["AnswerRow"], forms: Mapping[str, "TaskForm"], source: str
) -> JudgmentSet:
    """Take a project's answers; the forms say each field's level.

    Fields of a form bear its name where there are several forms.
    """
    judgments: list[PersonJudgment] = []
    texts: dict[str, str] = {}
    prefixes = {name: f"{name}: " if len(forms) > 1 else "" for name in forms}
    asked = [(prefixes[name], one) for name, form in forms.items() for one in form.fields]
    for row in rows:
        for name, value in row.answer.items():
            judgments.append(PersonJudgment(row.item, row.person, prefixes[row.form] + name, value))
        texts.setdefault(row.item, _text(row.texts))
    return JudgmentSet(
        source,
        judgments,
        levels={prefix + one.name: one.level for prefix, one in asked},
        texts=texts,
        own_texts=any(one.name == "rule" and one.level == "text" for _, one in asked),
    )


def _good_rows(
    path: Path, required: Sequence[str], columns: Mapping[str, str] | None
) -> Iterator[Cells]:
    """Yield the rows of a table, then refuse it where some were bad."""
    table = TableFile(path, columns=_called(path, required, columns), layout=Layout(others=True))
    for line, cells in table.good_rows(required):
        missing = [name for name in required if not _is_name(cells.get(name))]
        if missing:
            table.note(line, f"has no {missing[0]}")
        elif "answer" in cells and not isinstance(cells["answer"], Mapping):
            table.note(line, "has no object under 'answer'")
        elif not table.problems:
            yield cells
    table.check()


def _called(
    path: Path, required: Sequence[str], columns: Mapping[str, str] | None
) -> Mapping[str, str]:
    """Return our name → the file's: as the user says, else by the names that others use."""
    listed = f"the column{'s' * (len(required) > 1)} {', '.join(required)}"
    table = TableFile(path, layout=Layout(remedy=f"give {FORMS} with {listed}"))
    next(table.rows(), None)
    names = dict(columns or {})
    for ours in required:
        if ours in names or ours in table.header:
            continue
        also = (ours, *_ALSO[ours])
        same = [name for name in table.header if "".join(filter(str.isalpha, name.lower())) in also]
        if len(same) > 1:
            listed = " and ".join(f"'{name[:40]}'" for name in same[:3])
            remedy = f"say which it is: --columns {ours}={same[0][:40]}"
            raise InputError(f"{path} has {listed} for the {ours}", remedy)
        names.update((ours, name) for name in same)
    if columns is None:  # a file that --columns does not speak of
        check_columns([*table.header, *names], required, f"{path} line 1")
    return {name: name for name in required} | names


def _fields(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield fields and values of a row of any shape."""
    if isinstance(row.get("answer"), Mapping):
        yield from ((str(name), value) for name, value in row["answer"].items())
    elif "field" in row and "value" in row:
        yield _name(row["field"]), row["value"]
    else:
        for name, value in row.items():
            if name not in _ABOUT and not str(name).startswith((_TEXT, _FINAL)):
                yield str(name), value


def _text(texts: Mapping[str, Any]) -> str:
    whole = " → ".join(str(value) for value in texts.values() if value)
    return whole if len(whole) <= _MAX_TEXT else f"{whole[:_MAX_TEXT]}…"


def _is_name(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, str | int) and bool(str(value).strip())


def _name(value: Any) -> str:
    return str(value).strip()[:_MAX_NAME]


def _leaning(value: Any) -> str | None:
    return (str(value).strip()[:_MAX_NAME] or None) if value is not None else None
