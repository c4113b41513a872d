"""Reading the plain form of a run record: what JSON holds, from any version, friend or foe.

A value that a figure needs and that is no number is refused with its place; text is cut and
cleaned of control characters, so that nothing downstream meets a surprise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.run_records import check_record as check_plain

NOTHING = "\N{EN DASH}"
Plain = Mapping[str, Any]

__all__ = [
    "NOTHING",
    "Plain",
    "Scored",
    "check_plain",
    "label_key",
    "number",
    "numbers",
    "rows_of",
    "scored",
    "text",
]
LABELS = ("action", "word", "answer")
_MAX_NAME = 200
_REMEDY = "the file was changed or damaged: run the job again"


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored thing of any job: an action, a word, an answer."""

    name: str
    score: float
    low: float | None = None
    high: float | None = None
    prompts: tuple[float | None, ...] = ()
    place: int = 0

    @property
    def row(self) -> int:
        """The same, as charts call it."""
        return self.place

    @property
    def span(self) -> tuple[float, float]:
        """The interval, or the score itself where none was computed."""
        low = self.score if self.low is None else self.low
        high = self.score if self.high is None else self.high
        return low, high


def number(value: Any, where: str) -> float | None:
    """Return a number, or None for null; refuse everything else."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where} has {str(value)[:40]!r} where a number is expected", _REMEDY)
    return float(value)


def numbers(values: Any, where: str) -> list[float]:
    """Return a list of numbers without its nulls."""
    if not isinstance(values, list):
        raise InputError(f"{where} is no list of numbers", _REMEDY)
    found = [number(value, where) for value in values]
    return [value for value in found if value is not None]


def text(value: Any) -> str:
    """Write any value as one line of text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: NOTHING}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(text(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {text(item)}" for key, item in value.items())
    return str(value)


def rows_of(value: Any, where: str) -> list[Plain]:
    """Return a list of mappings, or refuse."""
    if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
        raise InputError(f"{where} is no list of rows", _REMEDY)
    return value


def label_key(rows: Sequence[Any]) -> str | None:
    """Return the key that names a row of scored things, if these are scored things."""
    first = rows[0] if rows else None
    if not isinstance(first, Mapping) or "score" not in first:
        return None
    return next((key for key in LABELS if isinstance(first.get(key), str)), None)


def scored(plain: Plain) -> list[Scored]:
    """Return the scored things of a record in their order; one without a score is left out."""
    results = rows_of(plain["results"], "'results'")
    key = label_key(results)
    if key is None:
        return []
    found = []
    for place, row in enumerate(results):
        where = f"results, row {place + 1},"
        score = number(row.get("score"), where)
        if score is None:
            continue
        prompts = row.get("prompts") or []
        if not isinstance(prompts, list):
            raise InputError(f"{where} has no list of prompts", _REMEDY)
        found.append(
            Scored(
                _name(row.get(key)),
                score,
                number(row.get("low"), where),
                number(row.get("high"), where),
                tuple(number(value, where) for value in prompts),
                place,
            )
        )
    return found


def _name(value: Any) -> str:
    name = text(value)
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"
