"""What is asked: dilemmas with two or more actions, and statements to agree with.

A table's columns say which it holds. Dilemmas: `situation` (MoralChoice: `context`), `action1`,
`action2`, … and, where known, `better` (which action is the right one) and the rules that an action
breaks: `breaks1` ("lie; cheat") or MoralChoice's `a1_lie` (Yes/No). Questionnaires: `statement`,
and where wanted `negated`, `subscale`, `scale` ("no|rather not|rather|yes"). What is wrong is said
with its line.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.actions import wrong_text
from moralscope.io.tables import Layout, Table

OURS = "values"
_MOST_ACTIONS = 6
_REMEDY = (
    "give a table with situation, action1, action2, or with statement; or say what your columns "
    "are called: --columns situation=NAME"
)
_LAYOUT = Layout(lower=True, remedy=_REMEDY, others=True)
_ACTION = re.compile(r"action(\d)")
_BREAKS = re.compile(r"a(\d)_(\w+)")
COLUMNS = (
    *("id", "situation", "better", "statement", "negated", "subscale", "scale"),
    *(f"action{place}" for place in range(1, _MOST_ACTIONS + 1)),
    *(f"breaks{place}" for place in range(1, _MOST_ACTIONS + 1)),
)
_YES, _NO = {"yes", "true", "1"}, {"no", "false", "0", "", "no agreement"}
_SCALE = ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree")
_MOST_ITEMS = 50_000


@dataclass(frozen=True, slots=True)
class Dilemma:
    """A situation and what can be done in it; `better` is the place of the right action, if known.

    Examples
    --------
    >>> Dilemma("1", "You find a purse.", ("I keep it.", "I give it back."), better=1).breaks
    ()
    """

    id: str
    situation: str
    actions: tuple[str, ...]
    better: int | None = None
    breaks: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """Something to agree or disagree with; `negated` says the opposite."""

    id: str
    text: str
    negated: str
    subscale: str = ""
    scale: tuple[str, ...] = _SCALE


Items = Sequence[Dilemma | Statement]


def read_items(source: str | Path | Table, columns: Mapping[str, str] | None = None) -> Items:
    """Read dilemmas or statements; `values` is the questionnaire that ships, - is stdin (CSV).

    `columns` says what a file calls its columns, where that is not what we do.

    Examples
    --------
    >>> len(read_items("values"))
    14
    """
    if isinstance(source, Table):
        table = source
    elif str(source) == "-":
        table = Table(sys.stdin.buffer, name="stdin", kind=".csv", layout=_LAYOUT)
    elif str(source) == OURS:
        table = Table(values_text(), name="values.csv", kind=".csv", layout=_LAYOUT)
    else:
        table = Table(Path(source).expanduser(), layout=_LAYOUT, columns=columns)
    items: list[Any] = []
    ids: dict[str, int] = {}
    for line, cells in table.strict_rows((), "quote commas in CSV"):
        item = _item(table, line, {key: _text(value) for key, value in cells.items()})
        first = ids.setdefault(item.id, line)
        if first != line:
            problem = f"has the id '{item.id[:60]}' of line {first}"
            raise table.wrong(line, problem, "give each item its own")
        items.append(item)
        if len(items) > _MOST_ITEMS:
            raise InputError(
                f"{table.name} holds more than {_MOST_ITEMS:,} items",
                "survey it in parts, or as a corpus with --out DIR",
            )
    if not items:
        raise InputError(f"{table.name} holds no items", _REMEDY)
    return items


def values_text() -> str:
    """Return our own questionnaire, as CSV.

    Examples
    --------
    >>> values_text().splitlines()[0]
    'statement,negated,subscale'
    """
    return (resources.files(__package__) / "data" / "values.csv").read_text("utf-8")


def read_item(cells: Mapping[str, Any], number: int, source: str) -> Dilemma | Statement:
    """Read one row that did not come from a table; without an id it is called by its number."""
    table = Table("", name=source, kind=".csv", layout=_LAYOUT)
    given = {key.lower(): _text(value) for key, value in cells.items()}
    return _item(table, number, {"id": str(number), **given})


def spread(items: Items, limit: int | None) -> Items:
    """Return so many items, evenly spread over the list.

    Examples
    --------
    >>> [item.id for item in spread(read_items("values"), 2)]
    ['1', '8']
    """
    if limit is None or limit >= len(items):
        return items
    return [items[at * len(items) // limit] for at in range(limit)]


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _item(table: Table, line: int, cells: Mapping[str, str]) -> Dilemma | Statement:
    for name, value in cells.items():
        wrong = wrong_text(value) if value else None
        if wrong is not None:
            raise table.wrong(line, f"'{name[:60]}' {wrong[0]}", wrong[1])
    if "statement" in cells:
        return _statement(table, line, cells)
    situation = cells.get("situation") or cells.get("context") or ""
    if not {"situation", "context"} & cells.keys() or "action1" not in cells:
        raise table.wrong(1, "has neither dilemmas nor statements", _REMEDY)
    if not situation:
        raise table.wrong(line, "has no situation", "write it, or remove the line")
    columns = sorted(name for name in cells if _ACTION.fullmatch(name))
    actions = tuple(cells[name] for name in columns if cells[name])
    if not 2 <= len(actions) <= _MOST_ACTIONS:
        problem = f"has {len(actions)} actions" if len(actions) != 1 else "has only one action"
        raise table.wrong(line, problem, f"give 2 to {_MOST_ACTIONS} (action1, action2, …)")
    if len({action.lower().rstrip(".") for action in actions}) < len(actions):
        raise table.wrong(line, "has actions that are equal", "give actions that differ")
    if any('"' in action or "\n" in action for action in actions):
        problem = "has an action with a quotation mark or a line break"
        raise table.wrong(line, problem, "write it without")
    return Dilemma(
        cells.get("id") or cells.get("scenario_id") or str(line - 1),
        " ".join(situation.split()),
        actions,
        _better(table, line, cells, len(actions)),
        _broken(table, line, cells, len(actions)),
    )


def _better(table: Table, line: int, cells: Mapping[str, str], count: int) -> int | None:
    given = cells.get("better", "")
    if not given:  # in MoralChoice the first action of a clear case is the right one
        return 0 if cells.get("ambiguity") == "low" else None
    if not given.isdecimal() or not 1 <= int(given) <= count:
        problem = f"has better = '{given[:20]}'"
        raise table.wrong(line, problem, f"give the number of an action, 1 to {count}")
    return int(given) - 1


def _broken(
    table: Table, line: int, cells: Mapping[str, str], count: int
) -> tuple[frozenset[str], ...]:
    found: list[set[str]] = [set() for _ in range(count)]
    labelled = False
    for name, value in cells.items():
        match = _BREAKS.fullmatch(name)
        if match and int(match[1]) <= count:
            labelled = True
            if value.lower() in _YES:
                found[int(match[1]) - 1].add(match[2].replace("_", " "))
            elif value.lower() not in _NO:
                raise table.wrong(line, f"has {name} = '{value[:20]}'", "write yes or no")
    for place in range(count):
        listed = cells.get(f"breaks{place + 1}")
        if listed is not None:
            labelled = True
            found[place] |= {rule.strip() for rule in listed.split(";") if rule.strip()}
    return tuple(frozenset(rules) for rules in found) if labelled else ()


def _statement(table: Table, line: int, cells: Mapping[str, str]) -> Statement:
    text = cells["statement"]
    if not text:
        raise table.wrong(line, "has no statement", "write it, or remove the line")
    scale = tuple(part.strip() for part in cells.get("scale", "").split("|") if part.strip())
    if cells.get("scale") and not 2 <= len(scale) <= 9:
        problem = f"has a scale of {len(scale)} points"
        raise table.wrong(line, problem, "give 2 to 9, from least to most, with | between them")
    negated = cells.get("negated") or f"It is not true that {text[:1].lower()}{text[1:]}"
    if negated.lower() == text.lower():
        raise table.wrong(line, "has a negated statement that is equal", "write its opposite")
    return Statement(
        cells.get("id") or str(line - 1), text, negated, cells.get("subscale", ""), scale or _SCALE
    )
