"""Reading the plain form of a run record: what JSON holds, from any version, friend or foe.

A value that a figure needs and that is no number is refused with its place; text is cut and
cleaned of control characters, so that nothing downstream meets a surprise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import RUN_SCHEMA

NOTHING = "\N{EN DASH}"
Plain = Mapping[str, Any]

LABELS = ("action", "word", "answer")
_MAX_TEXT = 2000
_MAX_NAME = 200
_MAX_DEPTH = 40
_JOINERS = "\u200c\u200d"  # parts of words in Persian, of emoji everywhere
_SHAPES = {
    "job": str,
    "config": Mapping,
    "models": list,
    "results": list,
    "statistics": Mapping,
    "warnings": list,
}
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
    def span(self) -> tuple[float, float]:
        """The interval, or the score itself where none was computed."""
        low = self.score if self.low is None else self.low
        high = self.score if self.high is None else self.high
        return low, high


def check_plain(value: Any, name: str = "the run record") -> Plain:
    """Refuse what is no run record of a schema we know; return it cleaned.

    Examples
    --------
    >>> record = {"schema": "moralscope.run/1", "job": "x", "results": [], "config": {}}
    >>> check_plain(record)["job"]
    'x'
    """
    schema = value.get("schema") if isinstance(value, Mapping) else None
    family, _, number = RUN_SCHEMA.partition("/")
    if not isinstance(schema, str) or not schema.startswith(f"{family}/"):
        raise InputError(f"{name} is no run record", "give a file saved with --out or --json")
    given = schema.removeprefix(f"{family}/")
    if not given.isascii() or not given.isdigit() or int(given[:9]) > int(number):
        raise InputError(
            f"{name} has the schema {_clean(schema, 0)}, this version reads up to {RUN_SCHEMA}",
            "upgrade moralscope",
        )
    cleaned: Plain = _clean(value, 0)
    whole = {"statistics": {}, "models": [], "warnings": [], **cleaned}
    for key, kind in _SHAPES.items():
        if not isinstance(whole.get(key), kind):
            raise InputError(f"{name} has no usable '{key}'", _REMEDY)
    return whole


def number(value: Any, where: str) -> float | None:
    """Return a number, or None for null; refuse everything else.

    Examples
    --------
    >>> number(1, "results, row 1"), number(None, "results, row 1")
    (1.0, None)
    """
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
    """Return the scored things of a record in their order; one without a score is left out.

    Examples
    --------
    >>> scored({"results": [{"action": "kill time", "score": 0.1}]})[0].score
    0.1
    """
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


def _clean(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise InputError("the run record is nested too deeply", _REMEDY)
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return value if abs(value) < 1e300 and math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_clean_text(str(key)): _clean(item, depth + 1) for key, item in value.items()}
    return [_clean(item, depth + 1) for item in value]


def _clean_text(value: str) -> str:
    cut = value if len(value) <= _MAX_TEXT else f"{value[:_MAX_TEXT]}…"
    if cut.isprintable():
        return cut
    return "".join(
        char if char.isprintable() or char in _JOINERS else " " if char.isspace() else "�"
        for char in cut
    )
