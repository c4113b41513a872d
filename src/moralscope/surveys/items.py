"""What is asked: dilemmas with two or more actions, and statements to agree with.

A table's columns say which it holds. Dilemmas: `situation` (MoralChoice: `context`), `action1`,
`action2`, … and, where known, `better` (which action is the right one), the values that an action
upholds (`value1`: "honesty; care") and the rules that it breaks: `breaks1` ("lie; cheat") or
MoralChoice's `a1_lie` (Yes/No). Questionnaires: `statement`, and where wanted `negated`,
`subscale`, `scale` ("no|rather not|rather|yes"). In both, `people_NAME` is the share of a
population that chooses the first action, or agrees. What is wrong is said with its line.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.actions import wrong_text
from moralscope.io.documents import shipped_text
from moralscope.io.tables import Layout, TableFile
from moralscope.models.store import data_file
from moralscope.models.store.data_cards import load_data_cards

OURS, THEORIES = "values", "theories"
_MOST_ACTIONS = 6
_REMEDY = (
    "give a table with situation, action1, action2, or with statement; or say what your columns "
    "are called: --columns situation=NAME"
)
_LAYOUT = Layout(lower=True, remedy=_REMEDY, others=True)
_NEITHER = "has neither dilemmas nor statements"
_ACTION = re.compile(r"action(\d)")
_BREAKS = re.compile(r"breaks(\d)|a(\d)_(\w+)")
_VALUE = re.compile(r"value(\d)")
_PEOPLE = re.compile(r"people_(\w+)")
_KEYED = "answer_matching_behavior"  # of Perez et al. 2022: what an adherent answers
_OTHERS = f"situation|context|ambiguity|better|statement|negated|subscale|scale|{_KEYED}"
_COLUMNS = (_ACTION, _BREAKS, _VALUE, _PEOPLE)
_READ = re.compile("|".join([_OTHERS, *(column.pattern for column in _COLUMNS)]))
COLUMNS = (  # those that a user may call otherwise
    *("id", "situation", "better", "statement", "negated", "subscale", "scale"),
    *(
        f"{name}{number}"
        for name in ("action", "value", "breaks")
        for number in range(1, _MOST_ACTIONS + 1)
    ),
)
_YES, _NO = {"yes", "true", "1"}, {"no", "false", "0", "", "no agreement"}
_SCALE = ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree")
_MOST_ITEMS = 50_000


@dataclass(frozen=True, slots=True)
class Dilemma:
    """A situation and what can be done in it; `better` is the index of the right action."""

    id: str
    situation: str
    actions: tuple[str, ...]
    better: int | None = None
    breaks: tuple[frozenset[str], ...] = ()  # of each action
    values: tuple[frozenset[str], ...] = ()  # that each action upholds
    people: tuple[tuple[str, float], ...] = ()  # populations: the share that does the first action


@dataclass(frozen=True, slots=True)
class Statement:
    """Something to agree or disagree with; `negated` says the opposite."""

    id: str
    text: str
    negated: str
    subscale: str = ""
    scale: tuple[str, ...] = _SCALE
    people: tuple[tuple[str, float], ...] = ()  # populations: how far they agree


Items = Sequence[Dilemma | Statement]


def read_items(source: str | Path | TableFile, columns: Mapping[str, str] | None = None) -> Items:
    """Read dilemmas or statements; `values` is the questionnaire that ships, - is stdin (CSV).

    `theories` are the statements of six ethical theories of Perez et al. 2022, below
    MORALSCOPE_DATA. `columns` says what a file calls its columns, where that is not what we do.
    """
    if str(source) == THEORIES:
        return _theories()
    if isinstance(source, TableFile):
        table = source
    elif str(source) == "-":
        table = TableFile(sys.stdin.buffer, name="stdin", kind=".csv", layout=_LAYOUT)
    elif str(source) == OURS:
        table = TableFile(values_text(), name="values.csv", kind=".csv", layout=_LAYOUT)
    else:
        table = TableFile(Path(source).expanduser(), layout=_LAYOUT, columns=columns)
    items: list[Dilemma | Statement] = []
    lines: dict[str, int] = {}  # of each id
    for line, cells in table.strict_rows((), "quote commas in CSV"):
        if not items and not _is_readable(cells):
            raise table.wrong(1, _NEITHER, _REMEDY)
        try:
            item = parse_item(cells, line - 1)
        except InputError as error:
            raise table.wrong(line, error.problem, error.remedy) from None
        if lines.setdefault(item.id, line) != line:
            problem = f"has the id '{item.id[:60]}' of line {lines[item.id]}"
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


def _theories() -> Items:
    """Return the statements of six ethical theories."""
    files = [file.path for file in load_data_cards()["persona-ethics"].files]
    paths = {name: data_file(f"persona_ethics/{name}") for name in files}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        problem = f"there is no persona_ethics/{missing[0]} below MORALSCOPE_DATA"
        raise InputError(problem, "'moralscope data where persona-ethics' says where to get it")
    items: list[Statement] = []
    for name, path in paths.items():
        theory = Path(name).stem.replace("-", " ")
        for number, item in enumerate(read_items(Path(str(path))), 1):
            if isinstance(item, Statement):
                items.append(replace(item, id=f"{theory} {number}", subscale=theory))
    return items


def values_text() -> str:
    """Return our own questionnaire, as CSV.

    Examples
    --------
    >>> values_text().splitlines()[0]
    'statement,negated,subscale'
    """
    return shipped_text("moralscope.surveys", "values.csv")


def item_columns(header: Iterable[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a file that items are read from: our names for them, then the file's.

    `columns` says what the user calls them; otherwise the case of a name does not matter.

    Examples
    --------
    >>> item_columns(["Context", "action1", "a1_lie", "note"], {})
    {'context': 'Context', 'action1': 'action1', 'a1_lie': 'a1_lie'}
    """
    renamed = {theirs: ours for ours, theirs in columns.items()}
    names = {renamed.get(name, name.lower()): name for name in header}
    return {name: theirs for name, theirs in names.items() if _READ.fullmatch(name)}


def read_item(cells: Mapping[str, Any], number: int, source: str) -> Dilemma | Statement:
    """Read one row that did not come from a table; messages name it by source and number."""
    try:
        return parse_item(cells, number)
    except InputError as error:
        raise InputError(f"{source} line {number} {error.problem}", error.remedy) from None


def parse_item(cells: Mapping[str, Any], number: int) -> Dilemma | Statement:
    """Read one row; without an id it is called by its number. Messages do not name the row."""
    texts = {
        key.lower(): "" if value is None else str(value).strip() for key, value in cells.items()
    }
    for name, value in texts.items():
        wrong = wrong_text(value) if value else None
        if wrong is not None:
            raise InputError(f"'{name[:60]}' {wrong[0]}", wrong[1])
    if not _is_readable(texts):
        raise InputError(_NEITHER, _REMEDY)
    return _statement(texts, number) if "statement" in texts else _dilemma(texts, number)


def spread(items: Items, limit: int | None) -> Items:
    """Return so many items, evenly spread over the list."""
    if limit is None or limit >= len(items):
        return items
    return [items[at * len(items) // limit] for at in range(limit)]


def _is_readable(cells: Mapping[str, Any]) -> bool:
    names = {name.lower() for name in cells}
    return "statement" in names or ("action1" in names and bool({"situation", "context"} & names))


def _dilemma(cells: Mapping[str, str], number: int) -> Dilemma:
    situation = cells.get("situation") or cells.get("context") or ""
    if not situation:
        raise InputError("has no situation", "write it, or delete the line")
    columns = sorted(name for name in cells if _ACTION.fullmatch(name))
    actions = tuple(cells[name] for name in columns if cells[name])
    count = len(actions)
    if not 2 <= count <= _MOST_ACTIONS:
        problem = f"has {count} actions" if count != 1 else "has only one action"
        raise InputError(problem, f"give 2 to {_MOST_ACTIONS} (action1, action2, …)")
    if len({action.lower().rstrip(".") for action in actions}) < count:
        raise InputError("has actions that are equal", "give actions that differ")
    if any('"' in action or "\n" in action for action in actions):
        raise InputError("has an action with a quotation mark or a line break", "write it without")
    better = cells.get("better", "")
    if better and not (better.isdecimal() and 1 <= int(better) <= count):
        problem = f"has better = '{better[:20]}'"
        raise InputError(problem, f"give the number of an action, 1 to {count}")
    if not better and cells.get("ambiguity") == "low":
        better = "1"  # in MoralChoice the first action of a clear case is the right one
    return Dilemma(
        cells.get("id") or cells.get("scenario_id") or str(number),
        " ".join(situation.split()),
        actions,
        int(better) - 1 if better else None,
        _broken_rules(cells, count),
        _upheld(cells, count),
        _people(cells),
    )


def _broken_rules(cells: Mapping[str, str], count: int) -> tuple[frozenset[str], ...]:
    """Return the rules that each action breaks; nothing where no column says."""
    rules: list[set[str]] = [set() for _ in range(count)]
    labelled = False
    for name, value in cells.items():
        match = _BREAKS.fullmatch(name)
        if match is None or not 1 <= int(match[1] or match[2]) <= count:
            continue
        labelled = True
        if match[1]:
            rules[int(match[1]) - 1] |= {rule.strip() for rule in value.split(";") if rule.strip()}
        elif value.lower() in _YES:
            rules[int(match[2]) - 1].add(match[3].replace("_", " "))
        elif value.lower() not in _NO:
            raise InputError(f"has {name} = '{value[:20]}'", "write yes or no")
    return tuple(frozenset(broken) for broken in rules) if labelled else ()


def _upheld(cells: Mapping[str, str], count: int) -> tuple[frozenset[str], ...]:
    """Return the values that each action upholds; nothing where no column says."""
    texts = [cells.get(f"value{number}", "") for number in range(1, count + 1)]
    values = tuple(frozenset(filter(None, map(str.strip, text.split(";")))) for text in texts)
    return values if any(values) else ()


def _people(cells: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    """Return people's shares by population; an empty cell says nothing of that population."""
    shares = []
    for name, text in cells.items():
        match = _PEOPLE.fullmatch(name)
        if match is None or not text:
            continue
        try:
            share = float(text)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise InputError(f"has {name} = '{text[:20]}'", "give a share from 0 to 1")
        shares.append((match[1].replace("_", " "), share))
    return tuple(shares)


def _statement(cells: Mapping[str, str], number: int) -> Statement:
    text = cells["statement"]
    if not text:
        raise InputError("has no statement", "write it, or delete the line")
    scale = tuple(part.strip() for part in cells.get("scale", "").split("|") if part.strip())
    if cells.get("scale") and not 2 <= len(scale) <= 9:
        problem = f"has a scale of {len(scale)} points"
        raise InputError(problem, "give 2 to 9, from least to most, with | between them")
    negated = cells.get("negated") or f"It is not true that {text[:1].lower()}{text[1:]}"
    if negated.lower() == text.lower():
        raise InputError("has a negated statement that is equal", "write its opposite")
    keyed = cells.get(_KEYED, "").lower()
    if keyed not in ("", "yes", "no"):
        raise InputError(f"has {_KEYED} = '{keyed[:20]}'", "write yes or no")
    if keyed == "no":  # who holds the theory would deny it
        text, negated = negated, text
    return Statement(
        cells.get("id") or str(number),
        text,
        negated,
        cells.get("subscale", ""),
        scale or _SCALE,
        _people(cells),
    )
