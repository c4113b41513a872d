"""Run records as they lie in files, from any version, friend or foe: checked and cleaned.

Texts are cut and lose their control characters, so that nothing downstream meets a surprise; what
is in a record is then read by `core.decode`.
"""

import math
from collections.abc import Mapping
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.printable import printable
from moralscope.core.records import RUN_SCHEMA

NOTHING = "\N{EN DASH}"
_MAX_TEXT = 2000
_MAX_DEPTH = 40
_SHAPES = {
    "job": str,
    "config": Mapping,
    "models": list,
    "results": list,
    "statistics": Mapping,
    "warnings": list,
}
_REMEDY = "the file was changed or damaged: run the job again"


def check_record(value: Any, name: str = "the run record", *, cut: bool = True) -> dict[str, Any]:
    """Refuse what is no run record of a schema we know; return it cleaned.

    `cut` shortens long texts, which is for what is drawn: what is compared stays whole.
    """
    schema = value.get("schema") if isinstance(value, Mapping) else None
    family, _, latest = RUN_SCHEMA.partition("/")
    if not isinstance(schema, str) or not schema.startswith(f"{family}/"):
        raise InputError(f"{name} is not a run record", "give a file saved with --out or --json")
    version = schema.removeprefix(f"{family}/")
    if not version.isascii() or not version.isdigit() or int(version[:9]) > int(latest):
        raise InputError(
            f"{name} has the schema {clean_text(schema)}, this version reads up to {RUN_SCHEMA}",
            "upgrade moralscope",
        )
    cleaned = clean_plain(value, _MAX_TEXT if cut else None)
    whole: dict[str, Any] = {"statistics": {}, "models": [], "warnings": [], **cleaned}
    for key, kind in _SHAPES.items():
        if not isinstance(whole.get(key), kind):
            raise InputError(f"{name} has no usable '{key}'", _REMEDY)
    return whole


def clean_plain(value: Any, most: int | None = _MAX_TEXT, depth: int = 0) -> Any:
    """Clean every text of a plain value, and take out numbers that are none."""
    if depth > _MAX_DEPTH:
        raise InputError("the run record is nested too deeply", _REMEDY)
    if isinstance(value, str):
        return clean_text(value, most)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return value if abs(value) < 1e300 and math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            clean_text(str(key), most): clean_plain(item, most, depth + 1)
            for key, item in value.items()
        }
    return [clean_plain(item, most, depth + 1) for item in value]


def clean_text(value: str, most: int | None = _MAX_TEXT) -> str:
    """Cut a text and take out what does not print.

    Examples
    --------
    >>> clean_text("a" + chr(27) + "b")
    'a�b'
    """
    return printable(value if most is None or len(value) <= most else f"{value[:most]}…")


def text(value: Any) -> str:
    """Write any plain value as one line of text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: NOTHING}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(text(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {text(item)}" for key, item in value.items())
    return str(value)
