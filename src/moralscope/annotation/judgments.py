"""Judgments as ratings to count with: who answered what of which item, field by field.

A field of which any number of values may be chosen becomes one yes-or-no field a value. Measures
nothing: `disagreement` and `groups` do.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean
from moralscope.stats.agreement import LEVELS
from moralscope.stats.ratings import Ints, Rating, RatingTable, long_table

SEVERAL, TEXT = "several", "text"
FIELD_LEVELS = (*LEVELS, SEVERAL, TEXT)
SEPARATOR = "|"  # of values in one cell of a table
YES, NO = "yes", "no"
_MAX_LABELS = 20
_LONG = 60  # characters; a label is shorter
_LONGEST_SCALE = 10


class PersonJudgment(NamedTuple):
    """One person's answer to one field of one item; None: not answered."""

    item: str
    person: str
    field: str
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class FieldRatings:
    """The ratings of one field; `items` and `people` name the table's units and raters."""

    field: str
    level: str
    table: RatingTable
    items: tuple[str, ...]
    people: tuple[str, ...]

    @property
    def persons(self) -> Ints:
        """How many people answered at all."""
        return np.unique(self.table.rater)

    def label(self, code: int) -> str:
        """Write a value as tables show it."""
        value = self.table.values[code]
        return value if isinstance(value, str) else f"{value:g}"

    def counts(self) -> list[dict[str, int]]:
        """Return how often each value was given, item by item."""
        found: list[dict[str, int]] = [{} for _ in self.items]
        pairs = Counter(zip(self.table.unit.tolist(), self.table.code.tolist(), strict=True))
        for (unit, code), count in sorted(pairs.items()):
            found[unit][self.label(code)] = count
        return found


def by_field(
    judgments: Iterable[PersonJudgment], levels: Mapping[str, str] | None = None
) -> tuple[list[FieldRatings], list[str]]:
    """Return each field's ratings, and the fields that are free text and cannot be compared.

    Parameters
    ----------
    judgments
        In any order; at most one of a person for a field of an item.
    levels
        Field → nominal, ordinal, interval, ratio, several or text; the others are guessed.

    Examples
    --------
    >>> given = [PersonJudgment("1", "p", "severity", 4), PersonJudgment("1", "q", "severity", 5)]
    >>> found, left = by_field(given, {"severity": "ordinal"})
    >>> [(one.field, one.level, one.counts()) for one in found]
    [('severity', 'ordinal', [{'4': 1, '5': 1}])]
    """
    told = dict(levels or {})
    rows: dict[str, list[PersonJudgment]] = {}
    for one in judgments:
        rows.setdefault(one[2], []).append(PersonJudgment(*one))
    for name, level in told.items():
        if level not in FIELD_LEVELS:
            raise InputError(
                f"'{name}' has the level '{level[:40]}'", did_you_mean(level, FIELD_LEVELS)
            )
    found: list[FieldRatings] = []
    left = []
    for name, given in rows.items():
        level = told.get(name) or guess_level([one.value for one in given])
        if level == TEXT:
            left.append(name)
        elif level == SEVERAL:
            placed, chosen = _placed(given, _each(given, lambda one: _options(one.value)))
            for option in sorted(set().union(*chosen)):
                values = [YES if option in several else NO for several in chosen]
                found.append(placed.ratings(f"{name}: {option}", "nominal", values))
        else:
            placed, values = _placed(given, _each(given, partial(_rating, level=level)))
            found.append(placed.ratings(name, level, values))
    return found, left


def guess_level(values: Sequence[Any]) -> str:
    """Guess a field's level from its values: labels, a scale, numbers, sets of labels or text.

    Examples
    --------
    >>> guess_level(["agree", "neither"]), guess_level(["1", "5", "3"]), guess_level([0.25, 7])
    ('nominal', 'ordinal', 'interval')
    >>> guess_level(["care|fairness", "care"])
    'several'
    """
    if any(isinstance(value, list | tuple) for value in values):
        return SEVERAL
    plain = all(value is None or isinstance(value, str | int | float) for value in values)
    distinct = {(type(one), one) for one in values} if plain else set()
    known = [value for _, value in distinct if not _blank(value)]
    if not known:
        return TEXT
    numbers = [_number(value) for value in known]
    if all(number is not None for number in numbers):
        scale = {number for number in numbers if number is not None}
        if scale <= {0.0, 1.0}:
            return "nominal"
        whole = all(number.is_integer() for number in scale)
        short = max(scale) - min(scale) <= _LONGEST_SCALE
        return "ordinal" if whole and short else "interval"
    texts = [str(value) for value in known]
    options = {part.strip() for text in texts for part in text.split(SEPARATOR)}
    if len(options) > _MAX_LABELS or max(map(len, options)) > _LONG:
        return TEXT
    return SEVERAL if any(SEPARATOR in text for text in texts) else "nominal"


def _each(given: Sequence[PersonJudgment], read: Callable[[PersonJudgment], Any]) -> list[Any]:
    """Read every value, equal ones once: they are few and the judgments many."""
    seen: dict[Any, Any] = {}
    found = []
    for one in given:
        plain = one.value is None or isinstance(one.value, str | int | float)
        key = (type(one.value), one.value if plain else repr(one.value))
        if key not in seen:
            seen[key] = read(one)
        found.append(seen[key])
    return found


def _options(value: Any) -> set[str] | None:
    """Return what was chosen, which may be nothing; None is not answered."""
    if value is None:
        return None
    parts = value if isinstance(value, list | tuple) else str(value).split(SEPARATOR)
    return {str(part).strip() for part in parts} - {""}


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where each judgment of a field stands in a table of its items and people."""

    items: tuple[str, ...]
    people: tuple[str, ...]
    unit: Ints
    rater: Ints

    def ratings(self, name: str, level: str, values: Sequence[Rating]) -> FieldRatings:
        shape = (len(self.items), len(self.people))
        table = long_table(self.unit, self.rater, values, shape)
        return FieldRatings(name, level, table, self.items, self.people)


def _placed(everything: Sequence[PersonJudgment], values: list[Any]) -> tuple[_Places, list[Any]]:
    """Place what was answered; return the answers too."""
    given = [one for one, value in zip(everything, values, strict=True) if value is not None]
    items = {item: place for place, item in enumerate(dict.fromkeys(one.item for one in given))}
    people = {who: place for place, who in enumerate(dict.fromkeys(one.person for one in given))}
    unit = np.fromiter((items[one.item] for one in given), np.int64, len(given))
    rater = np.fromiter((people[one.person] for one in given), np.int64, len(given))
    cells = unit * len(people) + rater
    _, first, counts = np.unique(cells, return_index=True, return_counts=True)
    if (counts > 1).any():
        one = given[int(first[np.argmax(counts > 1)])]
        raise InputError(
            f"{one.person[:40]} answers '{one.field[:40]}' of item {one.item[:40]} twice",
            "keep one answer of a person to an item",
        )
    answered = [value for value in values if value is not None]
    return _Places(tuple(items), tuple(people), unit, rater), answered


def _rating(one: PersonJudgment, level: str) -> Rating:
    if _blank(one.value):
        return None
    number = _number(one.value)
    if level == "nominal":
        if isinstance(one.value, bool):
            return YES if one.value else NO
        return str(one.value).strip() if number is None else f"{number:g}"
    if number is None or (level == "ratio" and number < 0):
        what = "number" if number is None else "ratio"
        raise InputError(
            f"'{one.field[:40]}' of item {one.item[:40]} is '{str(one.value)[:40]}', no {what}",
            f"give numbers for an {level} field, or name it nominal or text",
        )
    return number


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found) else None


def _blank(value: Any) -> bool:
    if isinstance(value, float):
        return bool(np.isnan(value))
    return value is None or (isinstance(value, str) and not value.strip())
