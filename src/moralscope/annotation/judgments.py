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
from moralscope.core.records import grouped
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
        counts: list[dict[str, int]] = [{} for _ in self.items]
        pairs = Counter(zip(self.table.unit.tolist(), self.table.code.tolist(), strict=True))
        for (unit, code), count in sorted(pairs.items()):
            counts[unit][self.label(code)] = count
        return counts


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
    """
    levels = levels or {}
    rows = grouped((one[2], PersonJudgment(*one)) for one in judgments)
    for name, level in levels.items():
        if level not in FIELD_LEVELS:
            raise InputError(
                f"'{name}' has the level '{level[:40]}'", did_you_mean(level, FIELD_LEVELS)
            )
    fields: list[FieldRatings] = []
    free_texts = []
    for name, answers in rows.items():
        level = levels.get(name) or guess_level([one.value for one in answers])
        if level == TEXT:
            free_texts.append(name)
        elif level == SEVERAL:
            grid, chosen = _grid(answers, _options)
            for option in sorted(set().union(*chosen)):
                values = [YES if option in several else NO for several in chosen]
                fields.append(grid.ratings(f"{name}: {option}", "nominal", values))
        else:
            grid, values = _grid(answers, partial(_rating, level=level))
            fields.append(grid.ratings(name, level, values))
    return fields, free_texts


def guess_level(values: Sequence[Any]) -> str:
    """Guess a field's level from its values: labels, a scale, numbers, sets of labels or text."""
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


def _options(one: PersonJudgment) -> set[str] | None:
    """Return what was chosen, which may be nothing; None is not answered."""
    if one.value is None:
        return None
    parts = one.value if isinstance(one.value, list | tuple) else str(one.value).split(SEPARATOR)
    return {str(part).strip() for part in parts} - {""}


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Where each judgment of a field stands in a table of its items and people."""

    items: tuple[str, ...]
    people: tuple[str, ...]
    unit: Ints
    rater: Ints

    def ratings(self, name: str, level: str, values: Sequence[Rating]) -> FieldRatings:
        table = long_table(self.unit, self.rater, values, (len(self.items), len(self.people)))
        return FieldRatings(name, level, table, self.items, self.people)


def _grid(
    judgments: Sequence[PersonJudgment], read: Callable[[PersonJudgment], Any]
) -> tuple[_Grid, list[Any]]:
    """Lay out what was answered; return the answers as `read` gives them, too."""
    answered: list[PersonJudgment] = []
    values: list[Any] = []
    seen: dict[Any, Any] = {}  # equal values are read once: they are few and the judgments many
    for one in judgments:
        plain = one.value is None or isinstance(one.value, str | int | float)
        key = (type(one.value), one.value if plain else repr(one.value))
        if key not in seen:
            seen[key] = read(one)
        if seen[key] is not None:
            answered.append(one)
            values.append(seen[key])
    items = {item: unit for unit, item in enumerate(dict.fromkeys(one.item for one in answered))}
    people = {who: row for row, who in enumerate(dict.fromkeys(one.person for one in answered))}
    unit = np.fromiter((items[one.item] for one in answered), np.int64, len(answered))
    rater = np.fromiter((people[one.person] for one in answered), np.int64, len(answered))
    _, first, counts = np.unique(unit * len(people) + rater, return_index=True, return_counts=True)
    if (counts > 1).any():
        one = answered[int(first[np.argmax(counts > 1)])]
        raise InputError(
            f"{one.person[:40]} answers '{one.field[:40]}' of item {one.item[:40]} twice",
            "keep one answer of a person to an item",
        )
    return _Grid(tuple(items), tuple(people), unit, rater), values


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
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _blank(value: Any) -> bool:
    if isinstance(value, float):
        return bool(np.isnan(value))
    return value is None or (isinstance(value, str) and not value.strip())
